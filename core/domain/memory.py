"""Memories that persist across sessions: their content, their scope and their history.

A memory is derived from its changes, as a session is derived from its events. A change is never overwritten.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final, Literal, get_args

from core.domain.clock import SECOND
from core.domain.text import end_sentence

MemoryKind = Literal["preference", "heuristic", "knowledge", "outcome", "anti-pattern"]
MemoryScope = Literal["everywhere", "folder", "agent", "session"]
MemoryAuthor = Literal["user", "agent", "review", "run", "import"]
MemoryStatus = Literal["active", "archived", "forgotten"]
MemoryAction = Literal[
    "created",
    "reinforced",
    "edited",
    "pinned",
    "unpinned",
    "archived",
    "restored",
    "forgotten",
    "conflict_found",
    "undone",
]
RelevanceLevel = Literal["high", "normal", "low", "decayed"]

MEMORY_KINDS: Final[tuple[MemoryKind, ...]] = get_args(MemoryKind)
SCOPES: Final[tuple[MemoryScope, ...]] = get_args(MemoryScope)
# Scope and scope id of memories that every run may receive.
EVERYWHERE: Final[tuple[MemoryScope, str]] = ("everywhere", "")
TEXT_LIMIT = 2_000  # characters of a memory; longer text belongs in a skill or a file
CONTEXT_LIMIT = 4_000  # characters of a memory's context
FIELDS: Final[Mapping[MemoryKind, tuple[str, ...]]] = MappingProxyType(
    {
        "preference": ("about",),
        "heuristic": ("when", "do"),
        "knowledge": ("about", "source"),
        "outcome": ("task", "tried", "tools", "status", "rating", "error", "seconds"),
        "anti-pattern": ("what", "why", "instead"),
    }
)
# Fields that every kind may have, and that are not part of the sentence.
MARKS: Final = ("tags", "expires", "user_rating")
HALF_LIFE: Final[Mapping[MemoryKind, float]] = MappingProxyType(  # days in which the recency of a memory halves
    {"preference": 365.0, "heuristic": 60.0, "knowledge": 90.0, "outcome": 30.0, "anti-pattern": 45.0}
)
# The lowest relevance of each level; a lower one is "decayed".
HIGH_RELEVANCE = 0.7
NORMAL_RELEVANCE = 0.3
LOW_RELEVANCE = 0.1
MAX_CONFIDENCE = 0.95
DAY = 24 * 60 * 60 * SECOND


@dataclass(frozen=True, slots=True)
class MemoryContent:
    """The content of a memory.

    `text` is a sentence, and `context` the text that surrounded it where it was learned. `fields` are the parts of the
    sentence, named as in `FIELDS` for the kind. `scope_id` is the folder, agent profile or session to which the memory
    is limited; empty for *everywhere*. `confidence` is from 0 to 1.
    """

    kind: MemoryKind
    text: str
    scope: MemoryScope = "everywhere"
    scope_id: str = ""
    context: str = ""
    confidence: float = 0.5
    fields: Mapping[str, str] = field(default_factory=dict)


def reworded(content: MemoryContent, text: str) -> MemoryContent:
    """Return the content with a new sentence. If it differs, the fields that described the old sentence are dropped."""
    if " ".join(text.split()) == content.text:
        return content
    return replace(content, text=text, fields={name: content.fields[name] for name in MARKS if name in content.fields})


@dataclass(frozen=True, slots=True)
class MemoryChange:
    """The `number`-th change of a memory, counted from 1.

    `content` is the new content; None if unchanged. `session` and `seq` identify the event that caused the change. For
    `conflict_found`, `related_memory` is the conflicting memory; for `undone`, `undoes` is the number of the reverted
    change.
    """

    memory: str
    number: int
    at: int
    action: MemoryAction
    author: MemoryAuthor
    content: MemoryContent | None = None
    session: str = ""
    seq: int = 0
    reason: str = ""
    related_memory: str = ""
    undoes: int = 0


@dataclass(frozen=True, slots=True)
class MemoryUsage:
    """How often a memory was added to the context, how often the agent used it, and ratings of the runs that used it.

    `last_recalled` is in microseconds.
    """

    recall_count: int = 0
    use_count: int = 0
    good_runs: int = 0
    bad_runs: int = 0
    last_recalled: int = 0


@dataclass(frozen=True, slots=True)
class Memory:
    """The current state of a memory.

    `author`, `session` and `seq` tell its origin; `version` is the number of its last change. `evidence` counts how
    often it was learned, and `conflicts` are the ids of contradicting memories.
    """

    id: str
    content: MemoryContent
    author: MemoryAuthor
    created_at: int
    updated_at: int
    version: int
    session: str = ""
    seq: int = 0
    evidence: int = 1
    pinned: bool = False
    status: MemoryStatus = "active"
    conflicts: tuple[str, ...] = ()
    usage: MemoryUsage = MemoryUsage()

    @property
    def never_decays(self) -> bool:
        """Whether the memory keeps its full relevance, because the user wrote or pinned it."""
        return self.pinned or self.author == "user"


def fold(changes: Iterable[MemoryChange]) -> Memory | None:
    """Return the memory that results from its changes; None if its creation was undone and it was not learned again."""
    ordered = sorted(changes, key=lambda change: change.number)
    if len(ordered) == 1:
        return _after(None, ordered[0])
    memory, undone = None, undone_changes(ordered)
    reinforced = next(
        (change for change in ordered if change.action == "reinforced" and change.number not in undone), None
    )
    for change in ordered:
        if change.number not in undone:
            memory = _after(memory, change)
        elif change.action == "created" and reinforced:
            memory = _learned_later(change, reinforced)
    return replace(memory, version=ordered[-1].number, updated_at=ordered[-1].at) if memory else None


def _learned_later(first: MemoryChange, reinforced: MemoryChange) -> Memory | None:
    """Return the memory of an undone creation that was learned again: it now belongs to the author of `reinforced`.

    Its evidence starts at 0, because applying `reinforced` raises it to 1.
    """
    memory = _after(None, replace(first, author=reinforced.author, session=reinforced.session, seq=reinforced.seq))
    return replace(memory, evidence=0) if memory else None


def undone_changes(changes: Sequence[MemoryChange]) -> set[int]:
    """Return the numbers of the changes that are undone. Undoing an undo restores the original change."""
    undone: set[int] = set()
    for change in reversed(changes):
        if change.action == "undone" and change.number not in undone:
            undone.add(change.undoes)
    return undone


def _after(memory: Memory | None, change: MemoryChange) -> Memory | None:
    if memory is None:
        if change.content is None or change.action != "created":
            return None
        return Memory(
            id=change.memory,
            content=change.content,
            author=change.author,
            created_at=change.at,
            updated_at=change.at,
            version=change.number,
            session=change.session,
            seq=change.seq,
        )
    match change.action:
        case "created" | "edited":
            return replace(memory, content=change.content or memory.content)
        case "reinforced":
            content = change.content or memory.content
            raised = min(MAX_CONFIDENCE, content.confidence + (1 - content.confidence) * 0.2)
            more_confident = replace(content, confidence=max(raised, content.confidence))
            author = change.author if change.author == "user" else memory.author
            return replace(memory, evidence=memory.evidence + 1, content=more_confident, author=author)
        case "pinned" | "unpinned":
            return replace(memory, pinned=change.action == "pinned")
        case "archived":
            return replace(memory, status="archived")
        case "restored":
            return replace(memory, status="active")
        case "forgotten":
            return replace(memory, status="forgotten")
        case "conflict_found":
            return replace(memory, conflicts=tuple(dict.fromkeys((*memory.conflicts, change.related_memory))))
        case "undone":
            return memory


def relevance(memory: Memory, at: int) -> float:
    """Return the relevance, from 0 to 1, at a time in microseconds.

    It decays with the half-life of the kind since the memory was created or last recalled. Use, evidence and good
    ratings raise it.
    """
    if memory.never_decays:
        return 1.0
    days = max(0, at - max(memory.created_at, memory.usage.last_recalled)) / DAY
    recency = math.exp(-math.log(2) * days / HALF_LIFE[memory.content.kind])
    usage_bonus = min(0.4, 0.1 * math.log1p(memory.usage.use_count + memory.evidence - 1))
    rating = memory.content.fields.get("user_rating", "")
    helped = 0.3 if rating == "good" else min(0.3, 0.1 * memory.usage.good_runs)
    score = (recency + usage_bonus + helped) * (0.5 + 0.5 * memory.content.confidence)
    return min(1.0, score / 2 if rating == "bad" else score)


def relevance_level(value: float) -> RelevanceLevel:
    """Return the relevance level to display, for a relevance from 0 to 1."""
    if value >= HIGH_RELEVANCE:
        return "high"
    if value >= NORMAL_RELEVANCE:
        return "normal"
    return "low" if value >= LOW_RELEVANCE else "decayed"


# As they follow "It" in the sentence of an outcome.
OUTCOME_STATUSES = {"limit": "reached a limit", "stopped": "was stopped"}


def sentence(kind: MemoryKind, parts: Mapping[str, str]) -> str:
    """Return the sentence composed of the fields of a memory kind; "" if a required field is missing.

    Preferences and knowledge are written as sentences, so the result for them is "" as well.
    """
    values = {name: " ".join(text.split()).rstrip(".") for name, text in parts.items() if text.strip()}
    match kind:
        case "heuristic" if values.keys() >= {"when", "do"}:
            return end_sentence(f"When {values['when']}: {values['do']}")
        case "anti-pattern" if "what" in values:
            reason = f", because {values['why']}" if "why" in values else ""
            instead = f"; instead {values['instead']}" if "instead" in values else ""
            return end_sentence(f"Do not {values['what']}{reason}{instead}")
        case "outcome" if "task" in values:
            attempts = f" Tried: {end_sentence(values['tried'])}" if "tried" in values else ""
            status = OUTCOME_STATUSES.get(values.get("status", ""), values.get("status", ""))
            end = " ".join(filter(None, (status, values.get("rating", ""))))
            error = f" Error: {end_sentence(values['error'])}" if "error" in values else ""
            return f"{end_sentence(values['task'])}{attempts}{f' It {end}.' if end else ''}{error}"
        case _:
            return ""
