"""A segmented control: a row of mutually exclusive options."""

from collections.abc import Mapping
from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton

from ui.style.theme import Look
from ui.widgets.radio_group import radio_group


class SegmentedControl(QFrame):
    """A segmented control. `choices` maps the name of each option to its displayed text."""

    chosen = Signal(str)

    def __init__(self, look: Look, title: str, choices: Mapping[str, str], *, name: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self.setAccessibleName(title)
        self.setProperty("surface", "segments")
        buttons: list[QPushButton] = []
        self._names = list(choices)
        row = QHBoxLayout(self)
        row.setContentsMargins(2, 2, 2, 2)
        row.setSpacing(2)
        for option, text in choices.items():
            button = QPushButton()
            button.setObjectName(f"{name}.{option}")
            button.setText(text)
            button.setAccessibleName(f"{title}: {text}")
            button.setProperty("tone", "segment")
            button.setCheckable(True)
            button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
            button.toggled.connect(partial(_set_tab_focus, button))
            buttons.append(button)
            row.addWidget(button)
        self._group = radio_group(self, buttons)
        buttons[0].setChecked(True)
        self._group.buttonClicked.connect(lambda _: self.chosen.emit(self.selected))
        self.restyle(look)

    @property
    def selected(self) -> str:
        return self._names[self._group.checkedId()]

    def select(self, option: str) -> None:
        """Select an option without emitting `chosen`."""
        self._group.button(self._names.index(option)).setChecked(True)

    def restyle(self, look: Look) -> None:
        for button in self._group.buttons():
            button.setFont(look.fonts.strong)


def _set_tab_focus(button: QPushButton, checked: bool) -> None:
    """Make Tab stop only at the checked button. Otherwise, Qt would focus the first button instead."""
    button.setFocusPolicy(Qt.FocusPolicy.TabFocus if checked else Qt.FocusPolicy.NoFocus)
