"""What the main window provides to its pages."""

from typing import TYPE_CHECKING

from ui.base.bridge import Bridge
from ui.base.panel_page import PageContext, StartTask

if TYPE_CHECKING:
    from ui.overview.panel import BoardSource
    from ui.shell.main_window import MainWindow


def page_context(window: "MainWindow", bridge: Bridge, start_task: StartTask) -> PageContext:
    return PageContext(
        look=window.look,
        reader=window.session_index.reader,
        selection=window.selection,
        state=window.state,
        bridge=bridge,
        start_task=start_task,
        show_error=window.show_error,
        show_toast=window.toast.show_message,
        show_event=window.show_event,
        start_with=window.start_with,
        row=window.row,
        pick_session=window.commands.pick_session,
        board=_board_source(window),
    )


def _board_source(window: "MainWindow") -> "BoardSource":
    """Return the data source of the Overview page, whose module is imported on the first visit of a page."""
    from ui.overview.panel import BoardSource

    return BoardSource(
        rows=window.session_index.all_rows,
        requests=window.session_index.pending_in,
        unseen=lambda: window.unseen.ids,
        mark_seen=window.unseen.remove,
        mark_unseen=window.unseen.add,
        open_session=window.show_session,
    )
