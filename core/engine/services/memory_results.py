"""What the operations on memories return, with plain values for the window and the command line."""

from dataclasses import dataclass
from typing import NamedTuple

from core.domain.memory import Memory, MemoryChange, RelevanceLevel
from core.domain.proposal import Proposal
from core.memory.decay import DecayedMemory
from core.memory.saving import SaveResult
from core.store.memory_records import MemoryUse


@dataclass(frozen=True, slots=True)
class MemoryListing:
    """A memory in a list, with its current relevance from 0 to 1.

    In search results, `score` says how well it matches and `match_reason` why.
    """

    memory: Memory
    relevance: float
    state: RelevanceLevel
    score: float = 0.0
    match_reason: str = ""


@dataclass(frozen=True, slots=True)
class RunOutcomes:
    """How many runs there were, how many of them have a rating, and how many are rated good."""

    runs: int = 0
    rated: int = 0
    good: int = 0


class RelevanceForecast(NamedTuple):
    """The relevance of a memory after a number of days without use."""

    days: int
    relevance: float


class PastRelevance(NamedTuple):
    """The relevance of a memory at a time, in microseconds since the epoch."""

    at: int
    relevance: float


@dataclass(frozen=True, slots=True)
class MemoryDetails:
    """Everything about one memory.

    Attributes:
        changes: its versions, oldest first.
        uses: the runs that received the memory, newest first.
        conflicts: active memories that contradict the memory.
        forecast: its relevance in the coming days if it is not used.
        relevance_history: its relevance at its creation, at each use and now.
        outcomes_used: outcomes of the runs that used the memory.
        outcomes_unused: outcomes of the runs that received the memory but did not use it.
    """

    listed: MemoryListing
    changes: tuple[MemoryChange, ...]
    uses: tuple[MemoryUse, ...]
    conflicts: tuple[Memory, ...]
    forecast: tuple[RelevanceForecast, ...]
    relevance_history: tuple[PastRelevance, ...]
    outcomes_used: RunOutcomes
    outcomes_unused: RunOutcomes


@dataclass(frozen=True, slots=True)
class ImportedMemories:
    """The result of an import: memories that were saved, and proposals for memories on sensitive topics."""

    saved: tuple[SaveResult, ...]
    proposed: tuple[Proposal, ...] = ()


@dataclass(frozen=True, slots=True)
class TidyResult:
    """The IDs of the memories that were archived and of the proposals that were made."""

    archived: tuple[str, ...]
    proposed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TidyPreview:
    """The memories that would be archived, each with the reason, and the proposals that would be made."""

    archived: tuple[DecayedMemory, ...]
    proposed: tuple[Proposal, ...]


@dataclass(frozen=True, slots=True)
class ForgetResult:
    """The IDs of the forgotten memories, and of the proposals that were rejected or undone together with them.

    `skills` are the undone proposals for skills.
    """

    memories: tuple[str, ...] = ()
    proposals: tuple[str, ...] = ()
    skills: tuple[Proposal, ...] = ()


@dataclass(frozen=True, slots=True)
class LearnedDay:
    """What was learned on one day (YYYY-MM-DD, local time), newest first. `runs` counts the outcome memories."""

    day: str
    learned: tuple[Memory, ...]
    runs: int
