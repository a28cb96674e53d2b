"""Proposed changes to memories and skills, which wait for the user or the learning policy to accept them."""

from dataclasses import dataclass
from typing import Literal

from core.domain.session_metadata import SessionMetadataEvent
from core.domain.text import Text

ProposalKind = Literal["skill", "memory"]
ProposalAction = Literal["create", "patch", "write_file", "archive", "merge"]
ProposalState = Literal["pending", "accepted", "rejected", "undone"]
ProposalAuthor = Literal["agent", "review", "import"]


@dataclass(frozen=True, slots=True)
class SkillResult:
    """The skill that an accepted proposal changed. `version` is the saved version, or None if none was saved."""

    key: str
    version: int | None = None

    def __str__(self) -> str:
        """Return the stored form, `KEY VERSION` or `KEY`."""
        return self.key if self.version is None else f"{self.key} {self.version}"

    @classmethod
    def parse(cls, stored: str) -> "SkillResult":
        """Parse the stored form. The key may contain spaces, as it may be a path."""
        key, space, version = stored.rpartition(" ")
        return cls(key, int(version)) if space and version.isdecimal() else cls(stored)


@dataclass(frozen=True, slots=True)
class MemoryChangeRef:
    """A change of a memory: the memory's ID, and the number of the change within that memory."""

    memory: str
    number: int


@dataclass(frozen=True, slots=True)
class MemoryResult:
    """The changes of memories that an accepted proposal made, in order."""

    changes: tuple[MemoryChangeRef, ...]

    def __str__(self) -> str:
        """Return the stored form, `MEMORY:NUMBER` for each change, separated by spaces."""
        return " ".join(f"{change.memory}:{change.number}" for change in self.changes)

    @classmethod
    def parse(cls, stored: str) -> "MemoryResult":
        """Parse the stored form, skipping changes that are malformed."""
        pairs = (change.rpartition(":") for change in stored.split())
        return cls(tuple(MemoryChangeRef(memory, int(number)) for memory, _, number in pairs if number.isdecimal()))


ProposalResult = SkillResult | MemoryResult


def parse_result(kind: ProposalKind, stored: str) -> ProposalResult | None:
    """Parse the stored result of a proposal; None if it has none."""
    if not stored:
        return None
    match kind:
        case "skill":
            return SkillResult.parse(stored)
        case "memory":
            return MemoryResult.parse(stored)


@dataclass(frozen=True, slots=True)
class Proposal:
    """A change to a memory or a skill that the agent, a review or an import proposed.

    Attributes:
        target: the skill or memory to change; "" for a new memory.
        text: the complete new text; for a skill, of its file `path`.
        reason: why the change is proposed.
        base_version: the version that the change is based on; 0 for none.
        details: further parameters of the action, as JSON.
        session, steps: the session and the numbers of the steps that the change is based on.
        untrusted_sources: the untrusted content that the run had read before.
        created_at, resolved_at: times in microseconds; 0 means not yet.
        result: what accepting the proposal changed; None unless it was accepted.
    """

    id: str
    target_kind: ProposalKind
    action: ProposalAction
    target: str
    text: str = ""
    reason: str = ""
    base_version: int = 0
    path: str = ""
    details: str = ""
    session: str = ""
    steps: tuple[int, ...] = ()
    untrusted_sources: tuple[str, ...] = ()
    author: ProposalAuthor = "agent"
    created_at: int = 0
    state: ProposalState = "pending"
    resolved_at: int = 0
    resolved_by: str = ""
    result: ProposalResult | None = None


@dataclass(frozen=True, slots=True)
class ProposalCreated:
    """A change to a memory or a skill was proposed and waits for a decision. Fields as in Proposal."""

    proposal_id: str
    target_kind: ProposalKind
    action: ProposalAction
    target: str
    text: Text = Text()
    reason: str = ""
    base_version: int = 0
    path: str = ""
    details: str = ""
    steps: tuple[int, ...] = ()
    untrusted_sources: tuple[str, ...] = ()
    author: ProposalAuthor = "agent"


@dataclass(frozen=True, slots=True)
class ProposalStateChanged(SessionMetadataEvent):
    """A proposal was accepted, rejected, undone, or became pending again.

    The decision may come long after the run. `result` is the stored form of a `ProposalResult`, or empty. `text` is the
    accepted text if the user edited it first.
    """

    proposal_id: str
    state: ProposalState
    decided_by: str = "user"
    result: str = ""
    text: Text = Text()
