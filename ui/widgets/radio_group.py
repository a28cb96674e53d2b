"""Groups checkable buttons of which at most one is checked."""

from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import QCoreApplication, QEvent, QObject, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QAbstractButton, QButtonGroup

STEPS: Final = {Qt.Key.Key_Down: 1, Qt.Key.Key_Right: 1, Qt.Key.Key_Up: -1, Qt.Key.Key_Left: -1}


def radio_group(parent: QObject, buttons: Sequence[QAbstractButton], *, optional: bool = False) -> QButtonGroup:
    """Make buttons mutually exclusive, and present them to screen readers as radio buttons with their positions.

    With `optional`, the checked button can be unchecked; the caller must then uncheck the others itself. The ID of a
    button is its index. Tab stops at one button, and the arrow keys move between them.
    """
    group = QButtonGroup(parent)
    group.setExclusive(not optional)
    for number, button in enumerate(buttons):
        # Makes screen readers present a radio button; the behavior is determined by the group.
        button.setAutoExclusive(True)
        group.addButton(button, number)
        position = QCoreApplication.translate("radio group", "{} of {}").format(number + 1, len(buttons))
        description = button.accessibleDescription()
        button.setAccessibleDescription(f"{position}. {description}" if description else position)
        if optional:
            button.installEventFilter(_ArrowKeys(button, buttons))
    return group


class _ArrowKeys(QObject):
    """Moves the focus between the buttons with the arrow keys.

    Qt itself does so only if one button is always checked.
    """

    def __init__(self, button: QAbstractButton, buttons: Sequence[QAbstractButton]) -> None:
        super().__init__(button)
        self._button = button
        self._buttons = buttons

    # Overridden Qt methods

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if not isinstance(event, QKeyEvent) or event.type() != QEvent.Type.KeyPress:
            return False
        index = self._buttons.index(self._button) + STEPS.get(Qt.Key(event.key()), 0)
        if self._buttons[index % len(self._buttons)] is self._button:
            return False
        self._buttons[index % len(self._buttons)].setFocus(Qt.FocusReason.OtherFocusReason)
        return True
