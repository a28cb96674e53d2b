"""Proposed changes to memories and skills, which wait for the user or the learning policy to accept them."""

from dataclasses import dataclass
from typing import Literal

from core.domain.session_metadata import SessionMetadataEvent
from core.domain.text import Text

ProposalKind = Literal["skill", "memory"]
ProposalAction = Literal["create", "patch", "write_file", "archive", "merge"]
ProposalState = Literal["pending", "accepted", "rejected", "undone"]


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
        author: `agent`, `review` or `import`.
        created_at, resolved_at: times in microseconds; 0 means not yet.
        result: what accepting the change produced: a version number or an id.
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
    author: str = "agent"
    created_at: int = 0
    state: ProposalState = "pending"
    resolved_at: int = 0
    resolved_by: str = ""
    result: str = ""


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
    author: str = "agent"


@dataclass(frozen=True, slots=True)
class ProposalStateChanged(SessionMetadataEvent):
    """A proposal was accepted, rejected, undone, or became pending again.

    The decision may come long after the run. `text` is the accepted text if the user edited it first.
    """

    proposal_id: str
    state: ProposalState
    decided_by: str = "user"
    result: str = ""
    text: Text = Text()
