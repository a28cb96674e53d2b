"""A few choices side by side, one of which is taken."""

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QButtonGroup, QFrame, QHBoxLayout, QToolButton

from ui.theme import Look


class Segments(QFrame):
    """`choices` are a word of ours and what is read of each."""

    chosen = Signal(str)

    def __init__(self, look: Look, title: str, choices: Sequence[tuple[str, str]], *, name: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self.setAccessibleName(title)
        self.setProperty("surface", "segments")
        self._group = QButtonGroup(self)
        self._names = [word for word, _ in choices]
        row = QHBoxLayout(self)
        row.setContentsMargins(2, 2, 2, 2)
        row.setSpacing(2)
        for number, (word, text) in enumerate(choices):
            button = QToolButton()
            button.setObjectName(f"{name}.{word}")
            button.setText(text)
            button.setAccessibleName(f"{title}: {text}")
            button.setProperty("tone", "segment")
            button.setCheckable(True)
            button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)
            button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
            button.toggled.connect(partial(_let_tab_come, button))
            self._group.addButton(button, number)
            row.addWidget(button)
        self._group.button(0).setChecked(True)
        self._group.idClicked.connect(lambda number: self.chosen.emit(self._names[number]))
        self.restyle(look)

    @property
    def choice(self) -> str:
        return self._names[self._group.checkedId()]

    def choose(self, word: str) -> None:
        """Take this one, without saying so."""
        self._group.button(self._names.index(word)).setChecked(True)

    def restyle(self, look: Look) -> None:
        for button in self._group.buttons():
            button.setFont(look.fonts.strong)


def _let_tab_come(button: QToolButton, taken: bool) -> None:
    """To the one that is taken; Qt would choose the first, and arrows go on from there."""
    button.setFocusPolicy(Qt.FocusPolicy.TabFocus if taken else Qt.FocusPolicy.NoFocus)
