"""A run that pauses after its current turn. The event log does not know this until the run has paused."""

from typing import Final, NamedTuple

from core.domain.sessions import SessionRow

PAUSING: Final = "pausing"


class PauseRequested(NamedTuple):
    """An update of the window: the user has asked the active run of a session to pause."""

    session: str


def with_pausing(row: SessionRow) -> SessionRow:
    """Return the row of a session as displayed while its run is about to pause."""
    return row._replace(activity_kind=PAUSING, activity="") if row.status == "running" else row


def displayed_status(row: SessionRow) -> str:
    """Return the status of a session, or PAUSING for a row from `with_pausing`."""
    return PAUSING if row.status == "running" and row.activity_kind == PAUSING else row.status
