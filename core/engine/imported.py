"""Sessions that were imported are read: nobody works in them, and what is forked from one trusts none of its words."""

from dataclasses import replace

from core.domain.consent import ModeSet
from core.domain.events import RunEvent, RunStarted
from core.domain.exchanged import agent_of
from core.domain.modes import DEFAULT_MODE
from core.domain.problems import Problem
from core.domain.provenance import Source, taint_name
from core.domain.sessions import SessionRow
from core.domain.text import Text


def refuse_imported(row: SessionRow) -> None:
    """Only what a person says of it as a thing in the list may be added."""
    if row.source:
        raise Problem(
            "This session was imported and is only read.",
            f"{agent_of(row.source)} wrote it.",
            f"Fork it to go on from there: journeyman fork {row.id}",
        )


def distrusted(event: RunEvent, source: str) -> RunEvent:
    """The same fact in a fork of an imported session: what a stranger wrote gives no rights."""
    if isinstance(event, RunStarted):
        taint = tuple(dict.fromkeys((*event.taint, taint_name(Source("import", agent_of(source))))))
        return replace(event, mode=DEFAULT_MODE, allow=(), taint=taint, script=Text(), in_words=False)
    return replace(event, mode=DEFAULT_MODE) if isinstance(event, ModeSet) else event
