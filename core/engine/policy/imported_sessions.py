"""The restrictions on imported sessions: they are read-only, and their forks start without any permissions."""

from dataclasses import replace

from core.domain.events import RunStarted, SessionEvent
from core.domain.import_events import source_program
from core.domain.modes import DEFAULT_MODE
from core.domain.permissions import ModeChanged
from core.domain.problems import Problem
from core.domain.provenance import ContentSource, source_label
from core.domain.sessions import SessionRow
from core.domain.text import Text


def refuse_imported(row: SessionRow) -> None:
    """Raise Problem if the session was imported. Renaming, pinning, archiving and deleting stay possible."""
    if row.imported_from:
        raise Problem(
            "This session was imported and is read-only.",
            f"It was recorded by {source_program(row.imported_from)}.",
            f"Fork it to continue: journeyman fork {row.id}",
        )


def without_permissions(event: SessionEvent, source: str) -> SessionEvent:
    """Return the event for a fork of an imported session: without permissions, and marked as untrusted content."""
    if isinstance(event, RunStarted):
        untrusted_sources = tuple(
            dict.fromkeys((*event.untrusted_sources, source_label(ContentSource("import", source_program(source)))))
        )
        return replace(
            event, mode=DEFAULT_MODE, allow=(), untrusted_sources=untrusted_sources, script=Text(), text_calls=False
        )
    return replace(event, mode=DEFAULT_MODE) if isinstance(event, ModeChanged) else event
