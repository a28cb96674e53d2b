"""The rows of the timeline, and a writer that applies one event to them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from core.domain.events import EventRecord
from core.domain.text import Text

OBJECT_LIMIT = 300
# The kinds of rows that can become proposals, each with a prefix for the text of the proposal.
PROPOSAL_PREFIXES = MappingProxyType({"remember": "", "forget": "forget "})
MESSAGE_PREFIX = "message-"  # start of the key of a queued message's row; the event number follows
QUEUE_POSITION = "queue_position"  # metric of a queued message, once the user has changed the queue
OPEN_STATUSES = frozenset({"running", "waiting", "unknown", "interrupted", "paused", "queued"})


class Step(NamedTuple):
    """A row of the timeline.

    Attributes:
        row: the position in the session, from 0.
        kind: a key of `core.domain.step_verbs.VERBS`.
        status: one of OPEN_STATUSES, or done, failed, stopped, skipped, unknown-ended, or moved: a queued message that
            was sent later, as another row. Rows of the kinds `run` and `end` have the status of the run.
        started_at, ended_at: times in microseconds; `ended_at` is 0 while the row is open.
        number: the step number shown to the user; 0 for uncounted rows, such as messages and notices.
        key: the id by which later events refer to the row, such as a call id; "" if none does.
        object: the text after the verb, such as a path.
        depth: the nesting level of sub-agents.
        metrics: small figures such as lines added.
        first_seq, last_seq: the numbers of the events that created the row and last changed it.
    """

    row: int
    kind: str
    status: str
    started_at: int
    number: int = 0
    key: str = ""
    object: str = ""
    ended_at: int = 0
    run: int = 0
    depth: int = 0
    tokens: int = 0
    cost: float = 0.0
    metrics: Mapping[str, int] = MappingProxyType({})
    first_seq: int = 0
    last_seq: int = 0

    @property
    def message_seq(self) -> int:
        """The number of the event with the message that this row shows; for other rows, `first_seq`."""
        return int(self.key.removeprefix(MESSAGE_PREFIX)) if self.key.startswith(MESSAGE_PREFIX) else self.first_seq


@dataclass(slots=True)
class Outline:
    """The state needed to apply the next event: the row count, the last step number, and the open rows by key."""

    rows: int = 0
    last_number: int = 0
    open: dict[str, Step] = field(default_factory=dict)


def first_line(text: str | Text) -> str:
    """Return the first non-empty line of a text, truncated to OBJECT_LIMIT characters for a row."""
    content = text if isinstance(text, str) else text.head
    beginning = content[: OBJECT_LIMIT * 4].strip()
    line = beginning.splitlines()[0].rstrip() if beginning else ""
    return line if len(line) <= OBJECT_LIMIT else line[: OBJECT_LIMIT - 1] + "…"


class StepWriter:
    """Applies one event to the timeline: numbers new rows, tracks open ones, and collects the changed rows."""

    def __init__(self, entry: EventRecord, outline: Outline) -> None:
        self.entry = entry
        self.outline = outline
        self._changed: dict[int, Step] = {}

    def changed_rows(self) -> list[Step]:
        """Return the new and changed rows in timeline order."""
        return [self._changed[row] for row in sorted(self._changed)]

    def add(
        self,
        kind: str,
        status: str,
        *,
        key: str = "",
        object: str = "",
        numbered: bool = False,
        metrics: Mapping[str, int] | None = None,
        started_at: int = 0,
    ) -> None:
        """Add a row, which is open if its status is one of OPEN_STATUSES. It starts at the event's time by default."""
        outline, entry = self.outline, self.entry
        outline.last_number += numbered
        step = Step(
            row=outline.rows,
            kind=kind,
            status=status,
            started_at=started_at or entry.at,
            number=outline.last_number if numbered else 0,
            key=key,
            object=object,
            ended_at=0 if status in OPEN_STATUSES else entry.at,
            run=entry.run,
            metrics=metrics or {},
            first_seq=entry.seq,
            last_seq=entry.seq,
        )
        outline.rows += 1
        self._put(step)

    def open(
        self,
        kind: str,
        *,
        key: str,
        object: str = "",
        status: str = "running",
        numbered: bool = False,
        metrics: Mapping[str, int] | None = None,
    ) -> None:
        """Add a row that a later event closes; if one with this key is already open, only set its status."""
        if key in self.outline.open:
            self.set_status(key, status)
        else:
            self.add(kind, status, key=key, object=object, numbered=numbered, metrics=metrics)

    def set_status(self, key: str, status: str, *, object: str = "") -> None:
        """Set the status of an open row, and its object unless that is ""; do nothing if no such row is open."""
        if step := self.outline.open.get(key):
            self._put(step._replace(status=status, object=object or step.object, last_seq=self.entry.seq))

    def order_queue(self, keys: Sequence[str]) -> None:
        """Store the order in which the queued messages will be sent. Messages queued later follow them."""
        for position, key in enumerate(keys):
            if step := self.outline.open.get(key):
                self._put(step._replace(metrics={**step.metrics, QUEUE_POSITION: position}))

    def mark_delivered(self) -> None:
        """Mark all queued messages as sent. `last_seq` of their rows stays the event that contains their text.

        If other rows have followed since a message was queued, or the user has reordered the queue, all queued messages
        get new rows at the end, where the conversation continues with them. Their old rows get the status `moved`.
        """
        queued = sorted(
            (step for step in self.outline.open.values() if step.status == "queued"),
            key=lambda step: (step.metrics.get(QUEUE_POSITION, self.outline.rows), step.row),
        )
        in_place = [step.row for step in queued] == list(range(self.outline.rows - len(queued), self.outline.rows))
        for step in queued:
            sent = step._replace(status="done", ended_at=max(self.entry.at, step.started_at), metrics={})
            if in_place:
                self._put(sent)
                continue
            self._put(sent._replace(status="moved"))
            row, seq, at = self.outline.rows, self.entry.seq, self.entry.at
            self.outline.rows += 1
            self._put(sent._replace(row=row, started_at=at, ended_at=at, run=self.entry.run, first_seq=seq))

    def mark_proposed(self, numbers: Collection[int]) -> None:
        """Turn open memory rows with these step numbers into proposals that wait for a decision of the user."""
        for step in [
            step for step in self.outline.open.values() if step.number in numbers and step.kind in PROPOSAL_PREFIXES
        ]:
            text = first_line(f"{PROPOSAL_PREFIXES[step.kind]}{step.object}")
            self._put(step._replace(kind="proposal", object=text, last_seq=self.entry.seq))

    def close(
        self,
        key: str,
        status: str,
        *,
        object: str = "",
        metrics: Mapping[str, int] | None = None,
        tokens: int = 0,
        cost: float = 0.0,
    ) -> bool:
        """Give an open row its final status and add figures to it; return False if no row with this key is open."""
        step = self.outline.open.get(key)
        if step is None:
            return False
        self._put(
            step._replace(
                status=status,
                object=object or step.object,
                ended_at=max(self.entry.at, step.started_at),
                metrics={**step.metrics, **(metrics or {})},
                tokens=step.tokens + tokens,
                cost=step.cost + cost,
                last_seq=self.entry.seq,
            )
        )
        return True

    def add_metrics(self, key: str, *, tokens: int = 0, cost: float = 0.0, **amounts: int) -> None:
        """Add amounts to the figures of an open row; do nothing if no row with this key is open."""
        if step := self.outline.open.get(key):
            metrics = dict(step.metrics)
            for name, amount in amounts.items():
                metrics[name] = metrics.get(name, 0) + amount
            tokens, cost = step.tokens + tokens, step.cost + cost
            self._put(step._replace(metrics=metrics, tokens=tokens, cost=cost, last_seq=self.entry.seq))

    def add_run_metrics(self, *, tokens: int = 0, cost: float = 0.0, **amounts: int) -> None:
        """Add amounts to the totals of the run, in the run's header row."""
        self.add_metrics("run", tokens=tokens, cost=cost, **amounts)

    def set_run_metrics(self, **figures: int) -> None:
        """Set figures in the run's header row, replacing their values instead of adding to them."""
        if step := self.outline.open.get("run"):
            self._put(step._replace(metrics={**step.metrics, **figures}, last_seq=self.entry.seq))

    def _put(self, step: Step) -> None:
        self._changed[step.row] = step
        if step.key and step.status in OPEN_STATUSES:
            self.outline.open[step.key] = step
        else:
            self.outline.open.pop(step.key, None)
