"""The rows of a session as a Qt model: a count, pages read on demand, folds, and the reply being streamed."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from PySide6.QtCore import QModelIndex, QObject, QPersistentModelIndex, Qt, Signal

from core.domain.clock import SECOND, Clock, now
from core.domain.steps import OPEN, Step, verb
from ui.looks import kind_look, spoken_row, words
from ui.plain import plain
from ui.timeline.changed import attached
from ui.timeline.likes import Group, Likes, summary
from ui.timeline.nested import NestedRows
from ui.timeline.nests import SPAN, UNSEEN
from ui.timeline.pages import Rows, first_row
from ui.visible import visible

WORDS_LIMIT = 64 * 1024
ALWAYS_SHOWN = frozenset({"run", "person", "reply", "question", "interrupted", "end"})
STEP_ROLE = Qt.ItemDataRole.UserRole + 1
DRAFT_ROLE = Qt.ItemDataRole.UserRole + 2

WORDS_KEPT = 64
BROKEN_OFF = frozenset({"interrupted", "unknown"})
OPENING_ROWS = 20  # what the person said stands before the header of the run that it began
AXIS_START = 20 * SECOND

AnyIndex = QModelIndex | QPersistentModelIndex
NOWHERE = QModelIndex()


class TimelineModel(NestedRows):
    """A *row* is a step's number in its session; a *place* is where it stands in this model, folded rows left out.

    A row of a sub-agent that is unfolded has a number of its own here, by which everybody may call it; `origin` knows
    what it is in its session.
    """

    grew = Signal(int)
    """Rows that came at the end and are not folded away."""
    settled = Signal(int)
    """The row of the finished reply that stands where its draft was."""

    def __init__(self, rows: Rows, clock: Clock = now, parent: QObject | None = None) -> None:
        super().__init__(rows, parent)
        self._clock = clock
        self._start("", 0)

    def _start(self, session: str, count: int) -> None:
        self._begin(session, count)
        self._likes = Likes(self._pages.page)
        self._folded: set[int] = set()
        self._headers: dict[int, int] = {}
        self._words: dict[int, str] = {}
        self._draft: str | None = None

    # what is shown

    def open(self, session: str, count: int) -> None:
        """Show another session, or the same one afresh."""
        self.beginResetModel()
        self._start(session, count)
        self.endResetModel()

    def apply(self, changes: Sequence[Step]) -> None:
        """Bring the rows up to date: known rows change, rows at the end are new, a reply takes its draft's place."""
        latest = {step.row: step for step in changes}
        rows = sorted(latest)
        for row in rows:
            self._pages.put(latest[row])
            self._words.pop(row, None)
        self._likes.forget(rows)
        for row in rows:
            if row < self._count and (place := self.place(row)) is not None:
                self._changed(place)
        if rows and rows[-1] >= self._count:
            shown = self._count - self._folds.hidden
            self._append(rows[-1] + 1)
            if more := self._count - self._folds.hidden - shown:
                self.grew.emit(more)

    def draft(self, text: str) -> None:
        """The reply as far as it has come: one more row at the end while it lasts."""
        if self._draft is not None:
            self._draft = text
            self._changed(self.rowCount() - 1)
        elif self.session:
            place = self.rowCount()
            self.beginInsertRows(QModelIndex(), place, place)
            self._draft = text
            self.endInsertRows()

    def end_draft(self) -> None:
        """No reply is being streamed. Apply the finished reply first and its row stays where the draft was."""
        if self._draft is None:
            return
        place = self.rowCount() - 1
        self.beginRemoveRows(QModelIndex(), place, place)
        self._draft = None
        self.endRemoveRows()

    # reading

    def shown(self, place: int) -> Step | None:
        """What the row at a place shows: its step, or all those that it stands for."""
        step = self.step(place)
        if step and step.kind == "delegate":
            return self._family.told(self.origin(step.row)[0], step)
        if step and step.kind == "fork":
            return self._family.forked(step)
        group = self._likes.closed(step.row) if step and step.kind == "read" and step.row < SPAN else None
        if group is None:
            return step
        return summary([each for row in range(*group) if (each := self._pages.step(row))])

    def group(self, place: int) -> tuple[Group, bool] | None:
        """The like reads that begin at a place, and whether they are shown one by one."""
        step = self.step(place)
        group = self._likes.group(step.row) if step and step.kind == "read" and step.row < SPAN else None
        if group is None or step is None or group.first != step.row:
            return None
        return group, self._likes.closed(step.row) is None

    def is_hidden(self, place: int) -> bool:
        """Does the row at this place take no room, because another stands for it?"""
        step = self.step(place)
        if step is not None and step.row >= SPAN:
            return step.kind in UNSEEN
        return step is not None and step.kind == "read" and self._likes.hides(step.row)

    def turn(self, group: Group) -> None:
        """Show like reads one by one, or as one row again."""
        self._likes.turn(group)
        self._tell(group)

    def open_group_of(self, row: int) -> None:
        """A row somebody goes to is shown."""
        if group := self._likes.closed(row):
            self._likes.open(group)
            self._tell(group)

    def _tell(self, group: Group) -> None:
        first, last = self.place(group.first), self.place(group.end - 1)
        if first is not None and last is not None:
            self.dataChanged.emit(self.index(first, 0), self.index(last, 0))

    def is_draft(self, place: int) -> bool:
        return self._draft is not None and place == self.rowCount() - 1

    def words(self, place: int) -> str:
        """The whole text of a row of words, as far as the flow shows it."""
        if self.is_draft(place):
            return (self._draft or "")[: WORDS_LIMIT + 1]
        step = self.step(place)
        if step is None:
            return ""
        if step.row not in self._words:
            session = self.origin(step.row)[0]
            seq = step.last if step.kind == "person" else step.first  # words that wait may be changed
            said = self._rows.words(session, seq, "text", WORDS_LIMIT + 1)
            sent = attached(self._rows.entry(session, step.first)) if step.kind == "person" else ""
            self._words[step.row] = "\n".join(filter(None, (said, sent)))
            if len(self._words) > WORDS_KEPT:
                del self._words[next(iter(self._words))]
        return self._words[step.row]

    def header(self, run: int) -> Step | None:
        """The header row of a run."""
        if run not in self._headers:
            first = self.first_row(run)
            opening = map(self._pages.peek, range(first, min(first + OPENING_ROWS, self._count)))
            found = next((step for step in opening if step and step.kind == "run"), None)
            if found and found.run == run:
                self._headers[run] = found.row
        row_or_none = self._headers.get(run)
        return None if row_or_none is None else self._pages.step(row_or_none)

    def axis(self, run: int) -> tuple[int, int]:
        """When a run began and ended: the axis its bars share. While it goes on the axis grows in few, large steps."""
        header = self.header(run)
        if header is None:
            return 0, 0
        if header.ended:
            return header.began, header.ended
        length = AXIS_START
        while length < self._until(header) - header.began:
            length = length * 3 // 2
        return header.began, header.began + length

    def lasted(self, step: Step) -> int:
        """How long a step took, or takes until now."""
        if step.status in OPEN and not step.ended:
            return max(0, self._until(step) - step.began)
        return max(0, step.ended - step.began)

    def _until(self, step: Step) -> int:
        """Now; or, where the program ended in between, the last that is known."""
        last = self.step_of_row(self._count - 1) if step.status in BROKEN_OFF else None
        return last.began if last else self._clock()

    def first_row(self, run: int) -> int:
        """The first row of a run, or where it would stand."""
        return first_row(run, self._count, self._run_of)

    def run_beside(self, step: Step | None, by: int) -> Step | None:
        """The header of the run after the one of a step, or of its own and then of the one before; else the last."""
        step = step or self.step_of_row(self._count - 1)
        header = self.header(step.run) if step else None
        if step is None or (by < 0 and header and header.row < self.root_row(step.row)):
            return header
        row = self.first_row(step.run + 1) if by > 0 else self.first_row(step.run) - 1
        neighbour = self.step_of_row(row)
        return self.header(neighbour.run) if neighbour else None

    # folding

    def is_folded(self, run: int) -> bool:
        return run in self._folded

    def toggle(self, run: int) -> None:
        """Fold a run's work away, or show it again; what was said, and its end, stay."""
        if run in self._folded:
            self._folded.discard(run)
            for first, end in reversed(self._folds.between(self.first_row(run), self.first_row(run + 1))):
                place = self._nests.place(0, first - self._hidden_before(first))
                self.beginInsertRows(QModelIndex(), place, place + end - first - 1)
                self._folds.show(first, end)
                self._nests.lay_out()
                self.endInsertRows()
        elif header := self.header(run):
            first, end = self._work_of(header)
            for nest in [nest for nest in self._nests if first <= nest.anchor < end]:
                self._close(nest)
            self._folded.add(run)
            if first < end:
                place = self._nests.place(0, first - self._hidden_before(first))
                self.beginRemoveRows(QModelIndex(), place, place + end - first - 1)
                self._folds.hide(first, end)
                self._nests.lay_out()
                self.endRemoveRows()
        if (header := self.header(run)) and (place_of := self.place(header.row)) is not None:
            self._changed(place_of)

    def _work_of(self, header: Step) -> tuple[int, int]:
        """The rows between a run's header and its answer."""
        first, end = header.row + 1, self.first_row(header.run + 1)
        for kinds in ({"end"}, {"interrupted", "question"}, {"reply"}):
            last = self._pages.peek(end - 1) if end > first else None
            if last and last.kind in kinds:
                end -= 1
        return first, end

    def _hidden_before(self, row: int) -> int:
        return sum(end - first for first, end in self._folds.between(0, row))

    # growing

    def _append(self, end: int) -> None:
        """Take in the rows up to `end`, in stretches that are all shown or all folded away."""
        edges = [row for row in range(self._count + 1, end) if self._turns(row)]
        for first, last in pairwise([self._count, *edges, end]):
            if self._stretch(first):
                self._count = last
                self._folds.hide(first, last)
            elif self._adopts(first):
                self._draft = None
                self._count = last
                self.settled.emit(first)
                self._changed(self.rowCount() - 1)
            else:
                place = self._end
                self.beginInsertRows(QModelIndex(), place, place + last - first - 1)
                self._count = last
                self.endInsertRows()

    def _turns(self, row: int) -> bool:
        """Does something else begin here?"""
        return self._stretch(row) != self._stretch(row - 1) or self._adopts(row) or self._adopts(row - 1)

    def _stretch(self, row: int) -> bool:
        """Is this new row folded away?"""
        if not self._folded:
            return False
        step = self._pages.step(row)
        return step is not None and step.run in self._folded and step.kind not in ALWAYS_SHOWN

    def _adopts(self, row: int) -> bool:
        """Is this new row the reply whose draft is on screen?"""
        if self._draft is None:
            return False
        step = self._pages.step(row)
        return step is not None and step.kind == "reply"

    def _run_of(self, row: int) -> int:
        step = self._pages.peek(row)
        return step.run if step else 0

    def _spoken(self, step: Step, place: int) -> str:
        said = spoken_row(step, self.lasted(step))
        if kind_look(step.kind).shape not in {"reply", "bubble"}:
            return said
        return f"{words(verb(step.kind, step.status))} {plain(self.words(place)) or visible(step.object)}".strip()

    # Qt

    def rowCount(self, parent: AnyIndex = NOWHERE) -> int:
        return 0 if parent.isValid() else self._end + (self._draft is not None)

    def columnCount(self, parent: AnyIndex = NOWHERE) -> int:
        return 0 if parent.isValid() else 1

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        place = index.row()
        if role == STEP_ROLE:
            return self.step(place)
        if role == DRAFT_ROLE:
            return self.is_draft(place)
        if role in {Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole}:
            if self.is_draft(place):
                return self.tr("Replying")
            step = self.shown(place)
            said = self._spoken(step, place) if step else ""
            if step and self.is_nested(step.row):
                said = f"{words('Sub-agent')}: {said}"
            group = self.group(place)
            unfolded = group[1] if group else self.unfolded(step.row) if step else None
            return said if unfolded is None else f"{said}, {words('open' if unfolded else 'closed')}"
        return None
