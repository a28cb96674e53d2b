"""Rows a person reads, and the pen that writes them: numbers them, keeps the open ones, collects what changed."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from core.domain.events import Entry
from core.domain.text import Text

OBJECT_LIMIT = 300
PROPOSED = MappingProxyType({"remember": "", "forget": "forget "})  # rows that a proposal takes, and how it says so
OPEN = frozenset({"running", "waiting", "unknown", "interrupted", "paused", "queued"})


class Step(NamedTuple):
    """One row. `number` is what a person counts, 0 for rows that are words or lines; `marks` are its small figures."""

    row: int
    kind: str
    status: str
    began: int
    number: int = 0
    key: str = ""
    object: str = ""
    ended: int = 0
    run: int = 0
    depth: int = 0
    tokens: int = 0
    cost: float = 0.0
    marks: Mapping[str, int] = MappingProxyType({})
    first: int = 0
    last: int = 0


@dataclass(slots=True)
class Outline:
    """How many rows there are, the last number given, and the rows that later facts may still change, by key."""

    rows: int = 0
    numbers: int = 0
    open: dict[str, Step] = field(default_factory=dict)


def line(text: str | Text) -> str:
    """The first line that says something, cut to what a row can show."""
    words = text if isinstance(text, str) else text.head
    said = words[: OBJECT_LIMIT * 4].strip()
    first = said.splitlines()[0].rstrip() if said else ""
    return first if len(first) <= OBJECT_LIMIT else first[: OBJECT_LIMIT - 1] + "…"


class Pen:
    """Writes rows for one entry: numbers them, keeps the open ones, collects what changed."""

    def __init__(self, entry: Entry, outline: Outline) -> None:
        self.entry = entry
        self.outline = outline
        self._changed: dict[int, Step] = {}

    def rows(self) -> list[Step]:
        return [self._changed[row] for row in sorted(self._changed)]

    def add(
        self,
        kind: str,
        status: str,
        *,
        key: str = "",
        object: str = "",
        numbered: bool = False,
        marks: Mapping[str, int] | None = None,
        began: int = 0,
    ) -> None:
        """A new row; it stays open while its status says so."""
        outline, entry = self.outline, self.entry
        outline.numbers += numbered
        step = Step(
            row=outline.rows,
            kind=kind,
            status=status,
            began=began or entry.at,
            number=outline.numbers if numbered else 0,
            key=key,
            object=object,
            ended=0 if status in OPEN else entry.at,
            run=entry.run,
            marks=marks or {},
            first=entry.seq,
            last=entry.seq,
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
        marks: Mapping[str, int] | None = None,
    ) -> None:
        """A row that a later fact closes. A key that is open already is the same row, once more."""
        if key in self.outline.open:
            self.turn(key, status)
        else:
            self.add(kind, status, key=key, object=object, numbered=numbered, marks=marks)

    def turn(self, key: str, status: str, *, object: str = "") -> None:
        """Another status, still open."""
        if step := self.outline.open.get(key):
            self._put(step._replace(status=status, object=object or step.object, last=self.entry.seq))

    def deliver(self) -> None:
        """What was queued has been sent. Its last entry stays the one that has its words."""
        for step in tuple(self.outline.open.values()):
            if step.status == "queued":
                self._put(step._replace(status="done", ended=max(self.entry.at, step.began)))

    def propose(self, numbers: Collection[int]) -> None:
        """What the open rows of these numbers were to do to memory waits for the person's word."""
        for step in [one for one in self.outline.open.values() if one.number in numbers and one.kind in PROPOSED]:
            said = line(f"{PROPOSED[step.kind]}{step.object}")
            self._put(step._replace(kind="proposal", object=said, last=self.entry.seq))

    def close(
        self,
        key: str,
        status: str,
        *,
        object: str = "",
        marks: Mapping[str, int] | None = None,
        tokens: int = 0,
        cost: float = 0.0,
    ) -> bool:
        """The last word on an open row; False where there is none."""
        step = self.outline.open.get(key)
        if step is None:
            return False
        self._put(
            step._replace(
                status=status,
                object=object or step.object,
                ended=max(self.entry.at, step.began),
                marks={**step.marks, **(marks or {})},
                tokens=step.tokens + tokens,
                cost=step.cost + cost,
                last=self.entry.seq,
            )
        )
        return True

    def mark(self, key: str, *, tokens: int = 0, cost: float = 0.0, **amounts: int) -> None:
        """Add to the figures of an open row."""
        if step := self.outline.open.get(key):
            marks = dict(step.marks)
            for name, amount in amounts.items():
                marks[name] = marks.get(name, 0) + amount
            tokens, cost = step.tokens + tokens, step.cost + cost
            self._put(step._replace(marks=marks, tokens=tokens, cost=cost, last=self.entry.seq))

    def count(self, *, tokens: int = 0, cost: float = 0.0, **amounts: int) -> None:
        """Add to the totals of the run, in its header row."""
        self.mark("run", tokens=tokens, cost=cost, **amounts)

    def reach(self, **figures: int) -> None:
        """What the run is at by now, in its header row; said again, it is no more."""
        if step := self.outline.open.get("run"):
            self._put(step._replace(marks={**step.marks, **figures}, last=self.entry.seq))

    def _put(self, step: Step) -> None:
        self._changed[step.row] = step
        if step.key and step.status in OPEN:
            self.outline.open[step.key] = step
        else:
            self.outline.open.pop(step.key, None)
