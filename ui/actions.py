"""The commands of the table as things that keys set off; each knows whether it can be done now."""

from collections.abc import Callable, Collection, Mapping

from PySide6.QtCore import QObject
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QWidget

from ui.commands import COMMANDS, Command
from ui.icons import icon_names
from ui.palette.entries import Entry
from ui.palette.panel import shown_keys

HIDDEN = "hidden"  # reached by its keys alone: nine lines of "Session 1 of the list" would be in the way


class Actions(QObject):
    """`acts` has something to do for each command there is."""

    def __init__(self, acts: Mapping[str, Callable[[], object]], owner: QWidget) -> None:
        super().__init__(owner)
        self.by_id: dict[str, QAction] = {}
        for command in COMMANDS:
            action = QAction(self.tr(command.text), owner)
            action.setObjectName(command.id)
            action.setShortcuts([QKeySequence(keys) for keys in (command.keys, command.also) if keys])
            act = acts[command.id]
            action.triggered.connect(lambda _=False, act=act: act())
            owner.addAction(action)
            self.by_id[command.id] = action

    def enable(self, states: Collection[str]) -> None:
        """Only what these states of the window allow."""
        for command in COMMANDS:
            self.by_id[command.id].setEnabled(not command.when or command.when == HIDDEN or command.when in states)

    def trigger(self, name: str) -> None:
        self.by_id[name].trigger()

    def entries(self) -> list[Entry]:
        """For the palette: what it cannot do now stays listed, quietly."""
        known = icon_names()
        return [
            Entry(
                command.id,
                self.tr(command.text),
                self.tr(command.group),
                keys_of(command),
                command.icon if command.icon in known else "",
                can=self.by_id[command.id].isEnabled(),
            )
            for command in COMMANDS
            if command.when != HIDDEN and command.id != "palette.commands"
        ]


def keys_of(command: Command) -> str:
    return shown_keys(command.keys) if command.keys else ""
