"""The session or page that is shown, shared by all panels. Panels communicate only through it."""

from PySide6.QtCore import QObject, Signal


class Selection(QObject):
    """The selected session, and the page that is shown instead, if any.

    `page` is an empty string while the session is shown. `target` identifies an item on the page; its form depends on
    the page.
    """

    session_changed = Signal(str)
    page_changed = Signal(str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._session = ""
        self._page = ""
        self._target: tuple[str, ...] = ()
        self._chosen = False

    @property
    def chosen(self) -> bool:
        """Whether a session or page has been chosen since startup. If so, the last session is not restored."""
        return self._chosen

    @property
    def session(self) -> str:
        return self._session

    @property
    def page(self) -> str:
        return self._page

    @property
    def target(self) -> tuple[str, ...]:
        return self._target

    def choose_session(self, session: str) -> None:
        """Show a session instead of a page; an empty ID shows the start screen."""
        leaves_page = bool(self._page)
        self._page = ""
        self._target = ()
        self._chosen = True
        if session != self._session:
            self._session = session
            self.session_changed.emit(session)
        elif leaves_page:
            self.page_changed.emit("")

    def choose_page(self, page: str, *target: str) -> None:
        self._page = page
        self._target = target
        self._chosen = True
        self.page_changed.emit(page)

    def leave_page(self) -> None:
        """Return from the page to the session."""
        if self._page:
            self.choose_page("")
