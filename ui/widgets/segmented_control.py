"""A segmented control: a row of mutually exclusive options."""

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QButtonGroup, QFrame, QHBoxLayout, QToolButton

from ui.style.theme import Look


class SegmentedControl(QFrame):
    """A segmented control. `choices` are pairs of option name and displayed text."""

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
            button.toggled.connect(partial(_set_tab_focus, button))
            self._group.addButton(button, number)
            row.addWidget(button)
        self._group.button(0).setChecked(True)
        self._group.idClicked.connect(lambda number: self.chosen.emit(self._names[number]))
        self.restyle(look)

    @property
    def selected(self) -> str:
        return self._names[self._group.checkedId()]

    def select(self, word: str) -> None:
        """Select an option without emitting `chosen`."""
        self._group.button(self._names.index(word)).setChecked(True)

    def restyle(self, look: Look) -> None:
        for button in self._group.buttons():
            button.setFont(look.fonts.strong)


def _set_tab_focus(button: QToolButton, checked: bool) -> None:
    """Let Tab focus only the checked button. Otherwise Qt would focus the first button, not the selected one."""
    button.setFocusPolicy(Qt.FocusPolicy.TabFocus if checked else Qt.FocusPolicy.NoFocus)
