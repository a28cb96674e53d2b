"""An entry of the start screen: icon, title, description and button."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from ui.style.icons import pixmap
from ui.style.theme import Look
from ui.widgets.button import Button
from ui.widgets.labels import allow_breaks, label
from ui.widgets.stacking_row import StackingRow

ICON = 18
TEXT_WIDTH = 130  # pixels; if less is left for the texts beside the button, the button moves below them


class StartEntry(QFrame):
    def __init__(self, look: Look, name: str, icon: str, title: str, text: str, action_text: str) -> None:
        super().__init__()
        self._look = look
        self._name = icon
        self._token = "second"
        self.setProperty("surface", "well")
        self.setObjectName(f"{name}.entry")
        self._icon = QLabel()
        self._title = label(title, look.fonts.strong, wrap=True)
        self._text = label(text, look.fonts.second, "second", wrap=True)
        self.button = Button(look, action_text, name=name)
        self.button.allow_shrinking()
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 10, 10, 10)
        row.setSpacing(12)
        self._texts = QWidget()
        text_column = QVBoxLayout(self._texts)
        text_column.setContentsMargins(0, 0, 0, 0)
        text_column.setSpacing(2)
        text_column.addWidget(self._title)
        text_column.addWidget(self._text)
        top = Qt.AlignmentFlag.AlignTop
        row.addWidget(self._icon, 0, top)
        row.addWidget(StackingRow(self._texts, self.button, spacing=12, alignment=top), 1)
        self.restyle(look)

    def set_texts(self, title: str, text: str, act: str, *, icon: str = "", token: str = "second") -> None:
        self._title.setText(allow_breaks(title))
        self._text.setText(allow_breaks(text))
        self.button.setText(act)
        self.button.setAccessibleName(act)
        self.button.updateGeometry()
        self._name, self._token = icon or self._name, token
        self._update_icon()

    def restyle(self, look: Look) -> None:
        self._look = look
        self._title.setFont(look.fonts.strong)
        self._text.setFont(look.fonts.second)
        self.button.restyle(look)
        self._texts.setMinimumWidth(look.size(TEXT_WIDTH))
        self._update_icon()

    def _update_icon(self) -> None:
        color = self._look.theme.color(self._token)
        self._icon.setPixmap(pixmap(self._name, color, self._look.size(ICON), self.devicePixelRatioF()))
