"""The Qt model of the timeline: the steps of a session, read in pages, with foldable runs and the streamed reply."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from PySide6.QtCore import QModelIndex, QObject, QPersistentModelIndex, Qt, Signal

from core.domain.clock import SECOND, Clock, now
from core.domain.steps import OPEN_STATUSES, Step, verb
from ui.base.step_presentation import accessible_row_text, kind_style, translate
from ui.text.plain_text import markdown_to_plain_text
from ui.text.visible import visible
from ui.timeline.folds import RowRange
from ui.timeline.nest_layout import HIDDEN_KINDS, RowAddress
from ui.timeline.nested_rows import NestedRows
from ui.timeline.read_groups import ReadGroup, ReadGroups, ShownGroup, summarize_group
from ui.timeline.step_changes import attachment_lines
from ui.timeline.step_pages import StepSource, first_row
from ui.timeline.waterfall.time_scale import TimeRange

TEXT_LIMIT = 64 * 1024
ALWAYS_SHOWN = frozenset({"run", "user", "reply", "question", "interrupted", "end"})
STEP_ROLE = Qt.ItemDataRole.UserRole + 1
DRAFT_ROLE = Qt.ItemDataRole.UserRole + 2

MAX_CACHED_TEXTS = 64
INTERRUPTED_STATUSES = frozenset({"interrupted", "unknown"})
# A queued message has not been sent yet, and a moved one has another row.
UNSENT_STATUSES = frozenset({"queued", "moved"})
INTERRUPTION_ROWS = 40  # rows, from the end, in which an open interruption is searched
OPENING_ROWS = 20  # rows at the start of a run in which its header is searched; the user's messages precede it
MIN_AXIS_LENGTH = 20 * SECOND  # of the time axis of a run in progress

AnyIndex = QModelIndex | QPersistentModelIndex
NOWHERE = QModelIndex()


class MessageContents(NamedTuple):
    """The text of a user's message, and one line for each of its attachments."""

    text: str
    attachments: str


class TimelineModel(NestedRows):
    """The timeline of one session.

    A *row* is the index of a step in its session, a *position* its index in this model. Folded rows have no position.
    The steps of expanded sub-agents have positions too; their `depth` is above 0. `address_at` converts a position to a
    session and a row. The *draft* is the reply that is being streamed; it is the last position.
    """

    rows_added = Signal(int)
    """The number of visible rows that were appended."""
    draft_replaced = Signal(int)
    """The row of the finished reply that replaced the draft."""

    def __init__(self, rows: StepSource, clock: Clock = now, parent: QObject | None = None) -> None:
        super().__init__(rows, parent)
        self._clock = clock
        self._start("", 0)

    def _start(self, session: str, count: int) -> None:
        self._reset(session, count)
        self._read_groups = ReadGroups(self._pages.page)
        self._folded: set[int] = set()
        self._headers: dict[int, int] = {}
        self._texts: dict[RowAddress, str] = {}
        self._draft: str | None = None
        self._activity = ""

    def open(self, session: str, count: int) -> None:
        """Show a session from its beginning; `count` is its number of rows."""
        self.beginResetModel()
        self._start(session, count)
        self.endResetModel()

    def apply(self, changes: Sequence[Step]) -> None:
        """Update known rows and append new ones.

        A finished reply replaces the draft, the reply that was being streamed.
        """
        latest = {step.row: step for step in changes}
        rows = sorted(latest)
        for row in rows:
            self._pages.update(latest[row])
            self._texts.pop(RowAddress(self.session, row), None)
        self._read_groups.invalidate(rows)
        for row in rows:
            if row < self._count and (position := self.position_of(row)) is not None:
                self._changed(position)
        if rows and rows[-1] >= self._count:
            visible_count = self._count - self._folds.hidden_count
            self._append(rows[-1] + 1)
            if added_count := self._count - self._folds.hidden_count - visible_count:
                self.rows_added.emit(added_count)

    def show_draft(self, text: str) -> None:
        """Show the reply that is being streamed in an additional row at the end (the draft)."""
        if self._draft is not None:
            self._draft = text
            self._changed(self.rowCount() - 1)
        elif self.session:
            position = self.rowCount()
            self.beginInsertRows(QModelIndex(), position, position)
            self._draft = text
            self.endInsertRows()

    def show_activity(self, activity: str) -> None:
        """Show in the last row what the provider does before it replies, such as loading a model."""
        if activity != self._activity and self.session:
            self._activity = activity
            self._changed(self.rowCount() - 1)

    def object_of(self, step: Step) -> str:
        """Return the text to show after the verb of a step; for a model request in progress, what the provider does."""
        is_pending_request = step.kind == "thinking" and step.status == "running" and not step.depth
        return step.object or (self._activity if is_pending_request else "")

    def end_draft(self) -> None:
        """Remove the draft, the row of the streamed reply.

        If the finished reply was applied first, the draft is gone already.
        """
        if self._draft is None:
            return
        position = self.rowCount() - 1
        self.beginRemoveRows(QModelIndex(), position, position)
        self._draft = None
        self.endRemoveRows()

    def displayed_step(self, position: int) -> Step | None:
        """Return the step to paint at a position.

        It differs from the stored step for a collapsed group, which is summarized, for a delegating step, which shows
        the progress of the sub-agent, and for a fork, which shows the title of its original session.
        """
        step = self.step_at(position)
        if step and step.kind == "delegate":
            return self._sub_agents.with_progress(self.address_at(position).session, step)
        if step and step.kind == "fork":
            return self._sub_agents.with_fork_title(step)
        group = self._read_groups.collapsed_group_of(step.row) if step and _can_be_grouped(step) else None
        if group is None:
            return step
        return summarize_group([member for row in range(*group) if (member := self._pages.step(row))])

    def group_at(self, position: int) -> ShownGroup | None:
        """Return the group of reads whose first row is at a position; None if there is none."""
        step = self.step_at(position)
        group = self._read_groups.group_of(step.row) if step and _can_be_grouped(step) else None
        if group is None or step is None or group.first != step.row:
            return None
        is_collapsed = self._read_groups.collapsed_group_of(step.row) is not None
        return ShownGroup(group, is_expanded=not is_collapsed)

    def is_hidden(self, position: int) -> bool:
        """Return whether the row at a position has height 0, because the first row of its group stands for it."""
        step = self.step_at(position)
        if step is None:
            return False
        if step.depth:
            return step.kind in HIDDEN_KINDS
        if step.kind == "user":
            return step.status in UNSENT_STATUSES
        return step.kind == "read" and self._read_groups.is_hidden(step.row)

    def toggle_group(self, group: ReadGroup) -> None:
        """Expand or collapse a group of reads."""
        self._read_groups.toggle(group)
        self._emit_changed(group)

    def expand_group_of(self, row: int) -> None:
        """Expand the group that contains a row, so that the row is visible."""
        if group := self._read_groups.collapsed_group_of(row):
            self._read_groups.expand(group)
            self._emit_changed(group)

    def _emit_changed(self, group: ReadGroup) -> None:
        first, last = self.position_of(group.first), self.position_of(group.end - 1)
        if first is not None and last is not None:
            self.dataChanged.emit(self.index(first, 0), self.index(last, 0))

    def is_draft(self, position: int) -> bool:
        return self._draft is not None and position == self.rowCount() - 1

    def text_of(self, position: int) -> str:
        """Return the text of a message or reply; a longer one is cut to TEXT_LIMIT + 1 characters."""
        if self.is_draft(position):
            return (self._draft or "")[: TEXT_LIMIT + 1]
        step = self.step_at(position)
        if step is None:
            return ""
        address = self.address_at(position)
        if address not in self._texts:
            text = self._rows.full_text(address.session, _text_seq(step), "text", TEXT_LIMIT + 1)
            event = self._rows.event(address.session, step.message_seq) if step.kind == "user" else {}
            self._texts[address] = "\n".join(filter(None, (text, attachment_lines(event))))
            if len(self._texts) > MAX_CACHED_TEXTS:
                del self._texts[next(iter(self._texts))]
        return self._texts[address]

    def message_contents(self, step: Step) -> MessageContents:
        """Return the full text and the attachments of a message of this session."""
        return MessageContents(
            text=self._rows.full_text(self.session, step.last_seq, "text"),
            attachments=attachment_lines(self._rows.event(self.session, step.message_seq)),
        )

    def full_text(self, session: str, step: Step) -> str:
        """Return the full text of a message or reply as it was written; `session` may be a sub-agent."""
        return self._rows.full_text(session, _text_seq(step), "text")

    def run_of_message(self, first_row: int) -> int:
        """Return the run to which the first message at or after `first_row` was sent; 0 if none was sent."""
        message = self._first_message(range(first_row, self._count))
        return message.run if message else 0

    def latest_reply(self, first_row: int, run: int) -> str:
        """Return the last reply of a run at or after `first_row`, or the one being streamed; "" if there is none."""
        end = self.first_row(run + 1)
        if self._draft and end == self._count:
            return self._draft
        for row in range(end - 1, first_row - 1, -1):
            step = self._pages.step(row)
            if step and step.kind == "reply" and (text := self._rows.full_text(self.session, step.first_seq, "text")):
                return text
        return ""

    def last_message(self) -> Step | None:
        """Return the last message of the user in this session."""
        return self._first_message(range(self._count - 1, -1, -1))

    def _first_message(self, rows: Iterable[int]) -> Step | None:
        """Return the first of these rows that is a message which has been sent."""
        steps = map(self._pages.step, rows)
        sent = (step for step in steps if step and step.kind == "user" and step.status not in UNSENT_STATUSES)
        return next(sent, None)

    def open_interruption(self) -> Step | None:
        """Return the step of an interruption about which the user has not decided yet; None if there is none.

        Searching the last rows is enough, because the run cannot continue before that decision.
        """
        last_rows = range(self._count - 1, max(-1, self._count - 1 - INTERRUPTION_ROWS), -1)
        interruptions = (step for row in last_rows if (step := self._pages.step(row)) and step.kind == "interrupted")
        latest = next(interruptions, None)
        return latest if latest and latest.status == "waiting" else None

    def header(self, run: int) -> Step | None:
        """Return the step of the header row of a run; None if the run has no header yet."""
        if run not in self._headers:
            header_step = next((step for step in self.opening(run) if step.kind == "run"), None)
            if header_step is None:
                return None
            self._headers[run] = header_step.row
        return self._pages.step(self._headers[run])

    def opening(self, run: int) -> Iterator[Step]:
        """Yield the first rows of a run: the user's messages that started it, then its header."""
        first = self.first_row(run)
        for step in map(self._pages.peek, range(first, min(first + OPENING_ROWS, self._count))):
            if step and step.run == run:
                yield step
                if step.kind == "run":
                    return

    def axis(self, run: int) -> TimeRange:
        """Return the time axis of a run, in microseconds since the epoch.

        While the run is in progress, the end moves in few, large steps, so that the duration bars are seldom repainted.
        """
        header = self.header(run)
        if header is None:
            return TimeRange(0, 0)
        if header.ended_at:
            return TimeRange(header.started_at, header.ended_at)
        length = MIN_AXIS_LENGTH
        while length < self._now_or_last_event(header) - header.started_at:
            length = length * 3 // 2
        return TimeRange(header.started_at, header.started_at + length)

    def duration_of(self, step: Step) -> int:
        """Return the duration of a step in microseconds; for a step in progress, the time until now."""
        if step.status in OPEN_STATUSES and not step.ended_at:
            return max(0, self._now_or_last_event(step) - step.started_at)
        return max(0, step.ended_at - step.started_at)

    def _now_or_last_event(self, step: Step) -> int:
        """Return the current time; for an interrupted step or a paused run, the time of the last event."""
        is_halted = step.status in INTERRUPTED_STATUSES or (step.kind == "run" and step.status == "paused")
        last = self.step_of_row(self._count - 1) if is_halted else None
        return last.started_at if last else self._clock()

    def first_row(self, run: int) -> int:
        """Return the first row of a run; if the run does not exist, the row at which it would start."""
        return first_row(run, self._count, self._run_of)

    def neighbor_run(self, row: int, by: int) -> Step | None:
        """Return the header of a neighboring run.

        For `by` = 1, this is the next run. For -1, it is the row's own run or, if the row is its header, the previous
        run.
        """
        step = self.step_of_row(row)
        header = self.header(step.run) if step else None
        if step is None or (by < 0 and header and header.row < row):
            return header
        row = self.first_row(step.run + 1) if by > 0 else self.first_row(step.run) - 1
        neighbor = self.step_of_row(row)
        return self.header(neighbor.run) if neighbor else None

    def is_folded(self, run: int) -> bool:
        return run in self._folded

    def toggle_run(self, run: int) -> None:
        """Fold or unfold the steps of a run. Its messages, final reply and end card stay visible."""
        header = self.header(run)
        if run in self._folded:
            self._unfold(run)
        elif header:
            self._fold(header)
        if header and (position := self.position_of(header.row)) is not None:
            self._changed(position)

    def _unfold(self, run: int) -> None:
        self._folded.discard(run)
        for first, end in reversed(self._folds.between(self.first_row(run), self.first_row(run + 1))):
            position = self._position_after(first - 1)
            self.beginInsertRows(QModelIndex(), position, position + end - first - 1)
            self._folds.show(first, end)
            self._nests.lay_out()
            self.endInsertRows()

    def _fold(self, header: Step) -> None:
        first, end = self._foldable_rows(header)
        for nest in list(self._nests):
            if nest.anchor.session == self.session and first <= nest.anchor.row < end:
                self._close(nest)
        self._folded.add(header.run)
        if first < end:
            position = self._position_after(first - 1)
            self.beginRemoveRows(QModelIndex(), position, position + end - first - 1)
            self._folds.hide(first, end)
            self._nests.lay_out()
            self.endRemoveRows()

    def _position_after(self, row: int) -> int:
        """Return the position after that of a visible row, which must not have started a sub-agent."""
        position = self.position_of(row)
        assert position is not None
        return position + 1

    def _foldable_rows(self, header: Step) -> RowRange:
        """Return the range of rows to fold: from after the header to before the final reply or question."""
        first, end = header.row + 1, self.first_row(header.run + 1)
        for kinds in ({"end"}, {"interrupted", "question"}, {"reply"}):
            last = self._pages.peek(end - 1) if end > first else None
            if last and last.kind in kinds:
                end -= 1
        return RowRange(first, end)

    # Appending rows

    def _append(self, end: int) -> None:
        """Append the rows up to `end`, divided into ranges that are completely visible or completely folded."""
        edges = [row for row in range(self._count + 1, end) if self._starts_range(row)]
        for first, last in pairwise([self._count, *edges, end]):
            if self._is_in_folded_run(first):
                self._count = last
                self._folds.hide(first, last)
            elif self._replaces_draft(first):
                self._draft = None
                self._count = last
                self.draft_replaced.emit(first)
                self._changed(self.rowCount() - 1)
            else:
                position = self._end
                self.beginInsertRows(QModelIndex(), position, position + last - first - 1)
                self._count = last
                self.endInsertRows()

    def _starts_range(self, row: int) -> bool:
        """Return whether a new row must start another range, because it differs from the row before it."""
        if self._replaces_draft(row) or self._replaces_draft(row - 1):
            return True
        return self._is_in_folded_run(row) != self._is_in_folded_run(row - 1)

    def _is_in_folded_run(self, row: int) -> bool:
        """Return whether a new row is hidden because its run is folded."""
        if not self._folded:
            return False
        step = self._pages.step(row)
        return step is not None and step.run in self._folded and step.kind not in ALWAYS_SHOWN

    def _replaces_draft(self, row: int) -> bool:
        """Return whether a new row is the finished reply for the one that was being streamed."""
        if self._draft is None:
            return False
        step = self._pages.step(row)
        return step is not None and step.kind == "reply"

    def _run_of(self, row: int) -> int:
        step = self._pages.peek(row)
        return step.run if step else 0

    def _accessible_text(self, step: Step, position: int) -> str:
        """Return the text of a row for screen readers."""
        if kind_style(step.kind).shape in {"reply", "bubble"}:
            message = markdown_to_plain_text(self.text_of(position)) or visible(step.object)
            text = f"{translate(verb(step.kind, step.status))} {message}".strip()
        else:
            text = accessible_row_text(step._replace(object=self.object_of(step)), self.duration_of(step))
        if explanation := self._error_explanation(step):
            text = f"{text}. {explanation}"
        if step.depth:
            text = f"{translate('Sub-agent')}: {text}"
        is_unfolded = self._is_unfolded(step, position)
        if is_unfolded is None:
            return text
        return f"{text}, {translate('expanded')}" if is_unfolded else f"{text}, {translate('collapsed')}"

    def _error_explanation(self, step: Step) -> str:
        """Return the cause and the fix of the error with which a run ended; "" for any other step."""
        if step.kind != "end" or step.status != "failed":
            return ""
        error = self._rows.event(self.session, step.last_seq).get("error") or {}
        return " ".join(filter(None, (visible(error.get("cause", "")), visible(error.get("fix", "")))))

    def _is_unfolded(self, step: Step, position: int) -> bool | None:
        """Return whether a run, a group of reads or a sub-agent is unfolded; None for a row that cannot be folded."""
        if step.kind == "run" and not step.depth:
            return not self.is_folded(step.run)
        group = self.group_at(position)
        return group.is_expanded if group else self.is_expanded(position)

    # Overridden Qt methods

    def rowCount(self, parent: AnyIndex = NOWHERE) -> int:
        return 0 if parent.isValid() else self._end + (self._draft is not None)

    def columnCount(self, parent: AnyIndex = NOWHERE) -> int:
        return 0 if parent.isValid() else 1

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        position = index.row()
        if role == STEP_ROLE:
            return self.step_at(position)
        if role == DRAFT_ROLE:
            return self.is_draft(position)
        if role in {Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole}:
            if self.is_draft(position):
                return self.tr("Replying")
            step = self.displayed_step(position)
            return self._accessible_text(step, position) if step else ""
        return None


def _can_be_grouped(step: Step) -> bool:
    """Return whether a step may be in a group of reads. Steps of sub-agents are not grouped."""
    return step.kind == "read" and not step.depth


def _text_seq(step: Step) -> int:
    """Return the sequence number of the event that holds the text of a message or reply.

    For a message this is the last event, because the message may have been edited while it was queued.
    """
    return step.last_seq if step.kind == "user" else step.first_seq
