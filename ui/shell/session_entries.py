"""The palette entries for sessions."""

from collections.abc import Iterable
from pathlib import Path

from core.domain.clock import now as wall_clock
from core.domain.sessions import SessionRow
from ui.palette.ranking import PaletteEntry
from ui.sessions.session_rows import second_line, session_icon, side_text
from ui.style.theme import STATUS_TOKENS


def session_entries(rows: Iterable[SessionRow], current: str) -> list[PaletteEntry]:
    """Return the entries in the order of `rows`, with the session `current` at the end and without trashed sessions."""
    home = str(Path.home())
    now = wall_clock()
    listed = sorted((row for row in rows if not row.trashed), key=lambda row: row.id == current)
    return [
        PaletteEntry(
            id=row.id,
            text=row.title,
            detail=second_line(row, home),
            keys=side_text(row, now),
            icon=session_icon(row),
            token=STATUS_TOKENS.get(row.status, "second"),
        )
        for row in listed
    ]
