"""Sessions as the palette lists them."""

from collections.abc import Iterable
from pathlib import Path

from core.domain.clock import now as wall_clock
from core.domain.sessions import SessionRow
from ui.icons import status_icon
from ui.palette.entries import Entry
from ui.sessions.rows import second_line, side_text
from ui.theme import STATUS_TOKENS


def session_entries(rows: Iterable[SessionRow], shown: str) -> list[Entry]:
    """In their order, except that the one on display is last: nobody goes where they are."""
    home, now = str(Path.home()), wall_clock()
    listed = sorted((row for row in rows if not row.trashed), key=lambda row: row.id == shown)
    return [
        Entry(
            row.id,
            row.title,
            second_line(row, home),
            side_text(row, now),
            status_icon(row.status),
            STATUS_TOKENS.get(row.status, "second"),
        )
        for row in listed
    ]
