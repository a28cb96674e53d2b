"""What an agent or a review wants to be kept: proposed, never done, until a person or their policy says so."""

from dataclasses import dataclass
from typing import Literal

from core.domain.filing import Filing
from core.domain.text import Text

Of = Literal["skill", "memory"]
What = Literal["create", "patch", "file", "archive", "merge"]
ProposalState = Literal["open", "kept", "rejected", "undone"]


@dataclass(frozen=True, slots=True)
class Proposal:
    """One change that somebody wants.

    `target` names the skill or memory, empty for a new memory; `base` is the version it was made against, 0 for none.
    `text` is what it would say afterwards, in full; of a skill that of its file `path`. `about` is what else it needs,
    as JSON. `steps` are the rows of `session` that it comes from, `taint` the strangers whose words were read before.
    `result` is what keeping it made: a version, or an id.
    """

    id: str
    of: Of
    what: What
    target: str
    text: str = ""
    reason: str = ""
    base: int = 0
    path: str = ""
    about: str = ""
    session: str = ""
    steps: tuple[int, ...] = ()
    taint: tuple[str, ...] = ()
    by: str = "agent"
    made: int = 0
    state: ProposalState = "open"
    settled: int = 0
    settled_by: str = ""
    result: str = ""


@dataclass(frozen=True, slots=True)
class ProposalMade:
    """It waits for a word. `by` is agent or review."""

    proposal_id: str
    of: Of
    what: What
    target: str
    text: Text = Text()
    reason: str = ""
    base: int = 0
    path: str = ""
    about: str = ""
    steps: tuple[int, ...] = ()
    taint: tuple[str, ...] = ()
    by: str = "agent"


@dataclass(frozen=True, slots=True)
class ProposalSettled(Filing):
    """What became of it: kept, rejected, undone, or open again. `text` is what was kept, where it was edited first.

    It may come long after the run: it moves no session in the list.
    """

    proposal_id: str
    state: ProposalState
    by: str = "person"
    result: str = ""
    text: Text = Text()
