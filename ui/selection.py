"""What the person looks at: one session, or a page in its place. Panels meet here and nowhere else."""

from PySide6.QtCore import QObject, Signal


class Selection(QObject):
    """`page` is empty while the session itself is shown; `about` is what of it is meant, as its panel knows it."""

    session_changed = Signal(str)
    page_changed = Signal(str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._session, self._page = "", ""
        self._about: tuple[str, ...] = ()
        self._chosen = False

    @property
    def chosen(self) -> bool:
        """Whether anything was chosen yet; then no first session is shown in its place."""
        return self._chosen

    @property
    def session(self) -> str:
        return self._session

    @property
    def page(self) -> str:
        return self._page

    @property
    def about(self) -> tuple[str, ...]:
        return self._about

    def choose_session(self, name: str) -> None:
        """Look at this one; a page that stands before it is left."""
        left, self._page, self._about = self._page, "", ()
        self._chosen = True
        if name != self._session:
            self._session = name
            self.session_changed.emit(name)
        elif left:
            self.page_changed.emit("")

    def choose_page(self, name: str, *about: str) -> None:
        self._page, self._about, self._chosen = name, about, True
        self.page_changed.emit(name)

    def leave_page(self) -> None:
        """Back to what was looked at before."""
        if self._page:
            self.choose_page("")
