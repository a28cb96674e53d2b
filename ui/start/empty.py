"""What the centre says while there is nothing to show: never an empty screen."""

from PySide6.QtCore import QCoreApplication, QEvent, Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from ui.icons import pixmap
from ui.theme import Look
from ui.widgets.words import label

ICON = 28
WIDTH = 420


class EmptyState(QFrame):
    """A glyph, what is missing, and what to do next."""

    def __init__(self, look: Look, *, icon: str, title: str, text: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look, self._name = look, icon
        self.setObjectName("empty")
        self.setAccessibleName(f"{title}. {text}")
        self.setProperty("surface", "background")
        self._icon = QLabel()
        self._title = label(title, look.fonts.title, name="empty.title", wrap=True)
        self._text = label(text, look.fonts.text, "second", name="empty.text", wrap=True)
        words = QWidget()
        words.setMaximumWidth(look.size(WIDTH))
        inside = QVBoxLayout(words)
        inside.setContentsMargins(0, 0, 0, 0)
        inside.setSpacing(8)
        for part in (self._icon, self._title, self._text):
            part.setAlignment(Qt.AlignmentFlag.AlignHCenter)
            inside.addWidget(part)
        row = QHBoxLayout()
        row.addStretch(1)
        row.addWidget(words, 1000)
        row.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(24, 24, 24, 24)
        column.addStretch(2)
        column.addLayout(row)
        column.addStretch(3)
        self._tint()

    def restyle(self, look: Look) -> None:
        self._look = look
        self._title.setFont(look.fonts.title)
        self._text.setFont(look.fonts.text)
        self._tint()

    def _tint(self) -> None:
        self._icon.setPixmap(
            pixmap(self._name, self._look.theme.third, self._look.size(ICON), self.devicePixelRatioF())
        )

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.DevicePixelRatioChange:
            self._tint()


def no_session(look: Look, parent: QWidget | None = None) -> EmptyState:
    """The centre while no session is chosen."""
    title = QCoreApplication.translate("EmptyState", "No session chosen")
    text = QCoreApplication.translate("EmptyState", "Choose one on the left, or start a new run with Ctrl+N.")
    return EmptyState(look, icon="footprints", title=title, text=text, parent=parent)
