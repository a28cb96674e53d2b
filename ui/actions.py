"""The commands of the table as things that keys set off; each knows whether it can be done now."""

from collections.abc import Callable, Collection, Mapping

from PySide6.QtCore import QObject
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QWidget

from core.domain.sessions import SessionRow
from ui.commands import COMMANDS, SLASH, Command
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

    def slash(self) -> dict[str, tuple[str, str]]:
        """Word → id and what it does, for a message that begins with a slash."""
        texts = {command.id: self.tr(command.text) for command in COMMANDS}
        return {word: (name, texts[name]) for word, name in SLASH.items()}

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


def states(row: SessionRow | None, *, waiting: bool, undo: bool, tab: bool = False, sides: bool = False) -> set[str]:
    """What is so of the window: the words that commands name in `when`."""
    so = {
        "waiting": waiting,
        "going": row is not None and row.status in {"running", "waiting"},
        "running": row is not None and row.status == "running",
        "session": row is not None,
        "undo": undo,
        "tab": row is not None and (tab or sides),
        "sides": row is not None and sides,
    }
    return {state for state, is_so in so.items() if is_so}


def keys_of(command: Command) -> str:
    return shown_keys(command.keys) if command.keys else ""
