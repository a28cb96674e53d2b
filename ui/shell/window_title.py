"""The title of the window, and the announcement of the session that it names."""

from typing import Final

from PySide6.QtWidgets import QWidget

from ui.ask.full_text import one_line
from ui.base.pausing import displayed_status
from ui.base.selection import Selection
from ui.sessions.session_rows import status_text
from ui.shell.page_stack import PAGES_BY_ID
from ui.shell.session_index import SessionIndex
from ui.widgets.announce import announce

APP_NAME: Final = "Journeyman"
MAX_NAME_CHARS: Final = 60


class WindowTitle:
    """Shows the number of what waits for the user, the page or session shown, and the name of the program.

    A session that is shown in place of another one is announced with its status, because the focus may not move.
    """

    def __init__(self, shell: QWidget, session_index: SessionIndex, selection: Selection) -> None:
        self._shell = shell
        self._session_index = session_index
        self._selection = selection
        selection.session_changed.connect(self._announce)

    def refresh(self) -> None:
        waiting, name = self._session_index.waiting_count(), self._name()
        count = f"({waiting}) " if waiting else ""
        self._shell.setWindowTitle(f"{count}{name} – {APP_NAME}" if name else f"{count}{APP_NAME}")

    def _name(self) -> str:
        """Return the title of the page or session shown, shortened to one line; "" on the start screen."""
        if self._selection.page:
            return PAGES_BY_ID[self._selection.page].title
        row = self._session_index.find(self._selection.session)
        name = " ".join(one_line(row.title).split()) if row else ""
        return name if len(name) <= MAX_NAME_CHARS else f"{name[: MAX_NAME_CHARS - 1]}…"

    def _announce(self, session: str) -> None:
        if name := self._name():
            row = self._session_index.find(session)
            announce(self._shell, f"{name}, {status_text(displayed_status(row))}" if row else name)
