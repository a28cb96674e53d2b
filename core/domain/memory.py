"""What is remembered beyond one session: a sentence of a kind, with whom it is for, who said it, and what became of it.

A memory is the fold of its changes, as a session is of its facts; what a change said is never written over.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final, Literal, get_args

from core.domain.clock import SECOND

Kind = Literal["preference", "heuristic", "knowledge", "outcome", "anti-pattern"]
Reach = Literal["everywhere", "folder", "agent", "session"]
Author = Literal["person", "agent", "review", "run", "import"]
Standing = Literal["active", "archived", "forgotten"]
Did = Literal[
    "kept", "seen again", "edited", "pinned", "unpinned", "archived", "restored", "forgotten", "linked", "undone"
]
State = Literal["strong", "normal", "weak", "fading"]

KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
REACHES: Final[tuple[Reach, ...]] = get_args(Reach)
LONGEST = 2_000  # characters of one sentence; more belongs in a skill or a file
AROUND = 4_000  # characters of what stood around it
PARTS: Final[Mapping[Kind, tuple[str, ...]]] = MappingProxyType(
    {
        "preference": ("about",),
        "heuristic": ("when", "do"),
        "knowledge": ("about", "source"),
        "outcome": ("task", "tried", "tools", "status", "verdict", "error", "seconds"),
        "anti-pattern": ("what", "why", "instead"),
    }
)
HALF_LIFE: Final[Mapping[Kind, float]] = MappingProxyType(  # in days
    {"preference": 365.0, "heuristic": 60.0, "knowledge": 90.0, "outcome": 30.0, "anti-pattern": 45.0}
)
STRONG, NORMAL, WEAK = 0.7, 0.3, 0.1
SUREST = 0.95
DAY = 24 * 60 * 60 * SECOND


@dataclass(frozen=True, slots=True)
class Said:
    """What a memory says. `around` is what stood around the sentence, `parts` its fields, as its kind has them.

    `place` is the folder, the agent or the session it is for; empty where it is for everywhere.
    """

    kind: Kind
    text: str
    reach: Reach = "everywhere"
    place: str = ""
    around: str = ""
    confidence: float = 0.5
    parts: Mapping[str, str] = field(default_factory=dict)


def reworded(said: Said, text: str) -> Said:
    """The same in other words; its fields are those of the old words no more."""
    none: dict[str, str] = {}
    return said if " ".join(text.split()) == said.text else replace(said, text=text, parts=none)


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that happened to a memory, its `number`-th. `said` where what it says changed.

    `other` is the memory it was linked to, `back` the number of the change that an `undone` takes back.
    """

    memory: str
    number: int
    at: int
    did: Did
    by: Author
    said: Said | None = None
    session: str = ""
    seq: int = 0
    why: str = ""
    other: str = ""
    back: int = 0


@dataclass(frozen=True, slots=True)
class Uses:
    """How often it was recalled, how often the agent used it, and how those runs went, as far as anybody said."""

    recalled: int = 0
    used: int = 0
    good: int = 0
    bad: int = 0
    last: int = 0


@dataclass(frozen=True, slots=True)
class Memory:
    """One memory as it is now. `author`, `session` and `seq` are where it came from, `version` its last change.

    `evidence` counts how often it was learnt, `links` are memories that say otherwise.
    """

    id: str
    said: Said
    author: Author
    made: int
    changed: int
    version: int
    session: str = ""
    seq: int = 0
    evidence: int = 1
    pinned: bool = False
    standing: Standing = "active"
    links: tuple[str, ...] = ()
    uses: Uses = Uses()

    @property
    def kept_for_good(self) -> bool:
        """What a person wrote or pinned never fades."""
        return self.pinned or self.author == "person"


def fold(changes: Iterable[Change]) -> Memory | None:
    """What a memory is after its changes; None where nothing of it is left."""
    told = sorted(changes, key=lambda change: change.number)
    if len(told) == 1:
        return _after(None, told[0])
    memory, back = None, taken_back(told)
    again = next((one for one in told if one.did == "seen again" and one.number not in back), None)
    for change in told:
        if change.number not in back:
            memory = _after(memory, change)
        elif change.did == "kept" and again:
            memory = _learnt_later(change, again)
    return replace(memory, version=told[-1].number, changed=told[-1].at) if memory else None


def _learnt_later(first: Change, again: Change) -> Memory | None:
    """Who kept it first took that back, but somebody else learnt it too: it stays, as theirs."""
    memory = _after(None, replace(first, by=again.by, session=again.session, seq=again.seq))
    return replace(memory, evidence=0) if memory else None


def taken_back(changes: Sequence[Change]) -> set[int]:
    """The changes that do not count any more. Taking back a taking back lets the first one count again."""
    back: set[int] = set()
    for change in reversed(changes):
        if change.did == "undone" and change.number not in back:
            back.add(change.back)
    return back


def _after(memory: Memory | None, change: Change) -> Memory | None:
    if memory is None:
        if change.said is None or change.did != "kept":
            return None
        return Memory(
            change.memory, change.said, change.by, change.at, change.at, change.number, change.session, change.seq
        )
    match change.did:
        case "kept" | "edited":
            return replace(memory, said=change.said or memory.said)
        case "seen again":
            said = change.said or memory.said
            surer = replace(said, confidence=min(SUREST, said.confidence + (1 - said.confidence) * 0.2))
            author = change.by if change.by == "person" else memory.author
            return replace(memory, evidence=memory.evidence + 1, said=surer, author=author)
        case "pinned" | "unpinned":
            return replace(memory, pinned=change.did == "pinned")
        case "archived":
            return replace(memory, standing="archived")
        case "restored":
            return replace(memory, standing="active")
        case "forgotten":
            return replace(memory, standing="forgotten")
        case "linked":
            return replace(memory, links=tuple(dict.fromkeys((*memory.links, change.other))))
        case "undone":
            return memory


def strength(memory: Memory, at: int) -> float:
    """From 0 to 1: half of it is gone after the half-life of its kind, use and help bring it back."""
    if memory.kept_for_good:
        return 1.0
    days = max(0, at - max(memory.made, memory.uses.last)) / DAY
    fresh = math.exp(-math.log(2) * days / HALF_LIFE[memory.said.kind])
    used = min(0.4, 0.1 * math.log1p(memory.uses.used + memory.evidence - 1))
    helped = min(0.3, 0.1 * memory.uses.good)
    return min(1.0, (fresh + used + helped) * (0.5 + 0.5 * memory.said.confidence))


def state(strength: float) -> State:
    """As a person reads it."""
    if strength >= STRONG:
        return "strong"
    if strength >= NORMAL:
        return "normal"
    return "weak" if strength >= WEAK else "fading"


def sentence(kind: Kind, parts: Mapping[str, str]) -> str:
    """The fields of a kind as one sentence; empty where what it needs is not there."""
    told = {name: " ".join(text.split()).rstrip(".") for name, text in parts.items() if text.strip()}
    match kind:
        case "heuristic" if told.keys() >= {"when", "do"}:
            return f"When {told['when']}: {told['do']}."
        case "anti-pattern" if "what" in told:
            why = f", because {told['why']}" if "why" in told else ""
            instead = f"; instead {told['instead']}" if "instead" in told else ""
            return f"Do not {told['what']}{why}{instead}."
        case "outcome" if "task" in told:
            tried = f" Tried: {told['tried']}." if "tried" in told else ""
            end = " ".join(told[name] for name in ("status", "verdict") if name in told)
            error = f" Error: {told['error']}." if "error" in told else ""
            return f"{told['task']}.{tried}{f' It {end}.' if end else ''}{error}"
        case _:
            return ""
