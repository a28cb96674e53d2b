"""The first screen: what can be done at once, and where everything is kept."""

from typing import Final

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from ui.icons import pixmap
from ui.theme import Look
from ui.widgets.button import Button
from ui.widgets.words import label, surface

WIDTH: Final = 620
ICON: Final = 18


class StartPanel(QFrame):
    """One card in the middle; each entry on it works."""

    demo_wanted = Signal()

    def __init__(self, look: Look, *, data_folder: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look, self._folder = look, data_folder
        self.setObjectName("start")
        self.setAccessibleName(self.tr("Start"))
        self.setProperty("surface", "background")
        self._build()
        self._demo.clicked.connect(lambda: self.demo_wanted.emit())
        self._tint()

    def restyle(self, look: Look) -> None:
        self._look = look
        self._title.setFont(look.fonts.heading)
        self._place.setFont(look.fonts.text)
        self._name.setFont(look.fonts.strong)
        self._what.setFont(look.fonts.second)
        self._demo.restyle(look)
        self._tint()

    def _build(self) -> None:
        fonts = self._look.fonts
        self._title = label(self.tr("Watch an agent work"), fonts.heading, name="start.title", wrap=True)
        kept = self.tr("Everything stays on this computer, in {}").format(self._folder)
        self._place = label(kept, fonts.text, "second", name="start.place", wrap=True)
        self._name = label(self.tr("Look around with the built-in demo"), fonts.strong)
        what = self.tr(
            "A scripted model works in a sample folder, really runs its tools and asks you one question. "
            "No network, no key."
        )
        self._what = label(what, fonts.second, "second", wrap=True)
        self._demo = Button(self._look, self.tr("Start demo"), name="start.demo", tone="primary")
        self._icon = QLabel()
        card = surface("card")
        card.setObjectName("start.card")
        card.setMaximumWidth(self._look.size(WIDTH))
        inside = QVBoxLayout(card)
        inside.setContentsMargins(28, 28, 28, 28)
        inside.setSpacing(4)
        inside.addWidget(self._title)
        inside.addWidget(self._place)
        inside.addSpacing(12)
        inside.addWidget(self._entry())
        self._centre(card)

    def _entry(self) -> QWidget:
        entry = surface("well")
        row = QHBoxLayout(entry)
        row.setContentsMargins(12, 10, 10, 10)
        row.setSpacing(12)
        words = QVBoxLayout()
        words.setSpacing(2)
        words.addWidget(self._name)
        words.addWidget(self._what)
        row.addWidget(self._icon, 0, Qt.AlignmentFlag.AlignTop)
        row.addLayout(words, 1)
        row.addWidget(self._demo, 0, Qt.AlignmentFlag.AlignTop)
        return entry

    def _centre(self, card: QWidget) -> None:
        row = QHBoxLayout()
        row.addStretch(1)
        row.addWidget(card, 1000)
        row.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(24, 24, 24, 24)
        column.addStretch(2)
        column.addLayout(row)
        column.addStretch(3)

    def _tint(self) -> None:
        self._icon.setPixmap(pixmap("play", self._look.theme.second, self._look.size(ICON), self.devicePixelRatioF()))

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.DevicePixelRatioChange:
            self._tint()
