"""The Qt model of the bars of one run. It reads rows in slices, so that a million rows do not block the window."""

from array import array
from bisect import bisect_left
from collections.abc import Sequence
from typing import Any, Final, NamedTuple, Protocol

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt, QTimer, Signal

from core.domain.clock import Clock, now
from core.domain.steps import OPEN_STATUSES, Step
from core.store.row_sampling import RowSample
from ui.base.step_presentation import accessible_row_text
from ui.timeline.folds import RowRange
from ui.timeline.step_pages import StepPages, StepSource
from ui.timeline.waterfall.time_scale import TimeRange

SLICE: Final = 5_000
PAUSE_MS: Final = 6
KINDS_WITHOUT_BAR: Final = frozenset({"user", "reply", "end", "rating", "fork", "notice"})
USER_KINDS: Final = frozenset({"question", "permission", "interrupted", "paused"})

AnyIndex = QModelIndex | QPersistentModelIndex
NOWHERE = QModelIndex()


class ShownRun(NamedTuple):
    """The run that the chart shows. `task` is the user's first message."""

    number: int
    run_count: int
    rows: RowRange
    task: str = ""


class RowSampleSource(StepSource, Protocol):
    """The data source of the bars; implemented by the store's reader."""

    def row_samples(self, session: str, first: int, count: int) -> list[RowSample]: ...


class WaterfallModel(QAbstractTableModel):
    """The steps of a run that have a bar. `progressed` is emitted after each slice of rows has been read."""

    progressed = Signal()

    def __init__(self, rows: RowSampleSource, clock: Clock = now, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._source = rows
        self._clock = clock
        self._next = QTimer(self, singleShot=True, interval=PAUSE_MS)
        self._next.timeout.connect(self.read_slice)
        self._start("", RowRange(0, 0))

    def _start(self, session: str, rows: RowRange) -> None:
        self.session = session
        self._next_row = rows.first
        self._end = rows.end
        self._pages = StepPages(self._source, session)
        self._rows = array("Q")
        self._open: dict[int, RowSample] = {}
        self._spent = {"thinking": 0, "tools": 0, "you": 0}
        self._waits: list[TimeRange] = []
        self.started_at = 0
        self.ended_at = 0

    def open(self, session: str, rows: RowRange) -> None:
        """Show these rows. The first slice is read at once, the others in the background."""
        self.beginResetModel()
        self._start(session, rows)
        self.endResetModel()
        self.read_slice()

    def apply(self, end: int, changes: Sequence[Step]) -> None:
        """Apply changed rows, and read the rows that were added up to `end` (exclusive)."""
        for step in changes:
            self._pages.update(step)
            if step.row in self._open:
                self._count(_sample_of(step))
            if (position := self.position_of(step.row)) is not None:
                self.dataChanged.emit(self.index(position, 0), self.index(position, 0))
        if end > self._end:
            self._end = end
            self.read_slice()

    def read_slice(self) -> None:
        """Append the bars of the next SLICE rows, and schedule the next slice if there are rows left."""
        count = min(SLICE, self._end - self._next_row)
        samples = self._source.row_samples(self.session, self._next_row, count) if self.session else []
        self._next_row = samples[-1].row + 1 if samples else self._end
        bars = [sample for sample in samples if sample.kind not in KINDS_WITHOUT_BAR]
        if bars:
            position = len(self._rows)
            self.beginInsertRows(QModelIndex(), position, position + len(bars) - 1)
            self._rows.extend(sample.row for sample in bars)
            for sample in bars:
                self._count(sample)
            self.endInsertRows()
        self.progressed.emit()
        if self._next_row < self._end:
            self._next.start()

    def _count(self, sample: RowSample) -> None:
        """Add the time of a step to the totals, or remember the step until it ends."""
        if sample.kind == "run":
            self.started_at = sample.started_at
            self.ended_at = sample.ended_at
        if sample.status in OPEN_STATUSES and not sample.ended_at:
            self._open[sample.row] = sample
            return
        self._open.pop(sample.row, None)
        if sample.kind != "run" and not sample.depth:
            category = _category(sample.kind)
            self._spent[category] += max(0, sample.ended_at - sample.started_at)
            if category == "you":
                self._waits.append(TimeRange(sample.started_at, sample.ended_at))

    @property
    def is_complete(self) -> bool:
        return self._next_row >= self._end

    @property
    def is_running(self) -> bool:
        return bool(self._open)

    def end_time(self) -> int:
        """Return the time in microseconds at which the run ended; for a run in progress, the current time."""
        if not self.ended_at:
            return self._clock()
        last = self.step(len(self._rows) - 1) if self._rows else None
        return max(self.ended_at, last.ended_at) if last else self.ended_at

    def totals(self) -> dict[str, int]:
        """Return how many microseconds the run spent on `thinking`, `tools`, and waiting for the user (`you`)."""
        spent = dict(self._spent)
        for sample in self._open.values():
            if sample.kind != "run":
                spent[_category(sample.kind)] += max(0, self._clock() - sample.started_at)
        return spent

    def waits(self) -> list[TimeRange]:
        """Return the times during which the run waited for the user."""
        waiting = [
            TimeRange(sample.started_at, self._clock())
            for sample in self._open.values()
            if sample.kind in USER_KINDS and not sample.depth
        ]
        return self._waits + waiting

    def step(self, position: int) -> Step | None:
        return self._pages.step(self._rows[position]) if 0 <= position < len(self._rows) else None

    def end_of(self, step: Step) -> int:
        """Return the time in microseconds at which a step ended; for a step in progress, the current time."""
        return step.ended_at if step.ended_at or step.status not in OPEN_STATUSES else self._clock()

    def position_of(self, row: int) -> int | None:
        """Return the position of the bar of a row; None if the row has no bar."""
        position = self.position_from(row)
        return position if position < len(self._rows) and self._rows[position] == row else None

    def position_from(self, row: int) -> int:
        """Return the position of the bar of a row or, if it has none, of the next row with a bar."""
        return bisect_left(self._rows, row)

    # Overridden Qt methods

    def rowCount(self, parent: AnyIndex = NOWHERE) -> int:
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: AnyIndex = NOWHERE) -> int:
        return 0 if parent.isValid() else 1

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid() or role not in {Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole}:
            return None
        step = self.step(index.row())
        return accessible_row_text(step, max(0, self.end_of(step) - step.started_at)) if step else ""


def _sample_of(step: Step) -> RowSample:
    return RowSample(
        row=step.row,
        kind=step.kind,
        status=step.status,
        started_at=step.started_at,
        ended_at=step.ended_at,
        depth=step.depth,
    )


def _category(kind: str) -> str:
    """Return to which of the totals the time of a step counts."""
    if kind == "thinking":
        return "thinking"
    return "you" if kind in USER_KINDS else "tools"
