"""Connects the Overview page with the window's sessions."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from ui.shell.session_index import SessionIndex
from ui.shell.unseen_sessions import UnseenSessions

if TYPE_CHECKING:
    from ui.overview.panel import BoardSource


def board_source(
    session_index: SessionIndex, unseen: UnseenSessions, open_session: Callable[[str], None]
) -> "BoardSource":
    """Return the data source of the Overview page, whose module is imported on the first visit of a page."""
    from ui.overview.panel import BoardSource

    return BoardSource(
        rows=session_index.all_rows,
        requests=session_index.pending_in,
        unseen=lambda: unseen.ids,
        mark_seen=unseen.remove,
        mark_unseen=unseen.add,
        open_session=open_session,
    )
