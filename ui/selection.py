"""What the person looks at: one session, one of its rows. Panels meet here and nowhere else."""

from PySide6.QtCore import QObject, Signal


class Selection(QObject):
    session_changed = Signal(str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._session = ""

    @property
    def session(self) -> str:
        return self._session

    def choose_session(self, name: str) -> None:
        if name != self._session:
            self._session = name
            self.session_changed.emit(name)
