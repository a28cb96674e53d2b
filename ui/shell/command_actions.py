"""QActions for the command table: keyboard shortcuts, slash commands and palette entries."""

from collections.abc import Callable, Collection, Mapping

from PySide6.QtCore import QObject
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QWidget

from core.domain.sessions import ACTIVE_STATUSES, SessionRow
from ui.composer.panel import ComposerCommand
from ui.palette.panel import native_shortcut
from ui.palette.ranking import PaletteEntry
from ui.shell.commands import COMMANDS, SLASH, Command
from ui.style.icons import icon_names


class CommandActions(QObject):
    """One QAction for each command; `handlers` maps every command id to its handler."""

    def __init__(self, handlers: Mapping[str, Callable[[], object]], owner: QWidget) -> None:
        super().__init__(owner)
        self.by_id: dict[str, QAction] = {}
        self._reasons: Mapping[str, str] = {}
        for command in COMMANDS:
            action = QAction(self.tr(command.text), owner)
            action.setObjectName(command.id)
            action.setShortcuts([QKeySequence(keys) for keys in (command.keys, command.also) if keys])
            handler = handlers[command.id]
            action.triggered.connect(lambda _=False, handler=handler: handler())
            owner.addAction(action)
            self.by_id[command.id] = action

    def enable(self, states: Collection[str], reasons: Mapping[str, str]) -> None:
        """Enable the commands whose `when` is empty or in `states`, and disable all others.

        `reasons` maps a state to the explanation why it does not hold. The palette shows this with a disabled command.
        """
        self._reasons = reasons
        for command in COMMANDS:
            self.by_id[command.id].setEnabled(not command.when or command.when in states)

    def trigger(self, command_id: str) -> None:
        self.by_id[command_id].trigger()

    def slash_commands(self) -> dict[str, ComposerCommand]:
        """Return the commands that a message of the composer can run, by the name that follows the slash."""
        texts = {command.id: self.tr(command.text) for command in COMMANDS}
        return {name: ComposerCommand(command_id, texts[command_id]) for name, command_id in SLASH.items()}

    def entries(self) -> list[PaletteEntry]:
        """Return the palette entries. Disabled commands are listed too, but dimmed."""
        icons = icon_names()
        return [
            PaletteEntry(
                id=command.id,
                text=self.tr(command.text),
                detail=self._reasons.get(command.when) or self.tr(command.group),
                keys=shortcut_text(command),
                icon=command.icon if command.icon in icons else "",
                enabled=self.by_id[command.id].isEnabled(),
            )
            for command in COMMANDS
            if not command.hidden and command.id != "palette.commands"
        ]


def window_states(
    row: SessionRow | None,
    *,
    waiting: bool,
    undo: bool,
    has_tab: bool = False,
    is_split: bool = False,
    can_repeat: bool = False,
    on_page: bool = False,
) -> set[str]:
    """Return the names of all window states that hold now. The `when` of a command is one of these names."""
    conditions = {
        "waiting": waiting,
        "going": row is not None and row.status in ACTIVE_STATUSES,
        "running": row is not None and row.status == "running",
        "paused": row is not None and row.status == "paused",
        "session": row is not None,
        "message": row is not None or not on_page,
        "repeat": row is not None and can_repeat,
        "undo": undo,
        "tab": row is not None and (has_tab or is_split),
        "sides": row is not None and is_split,
        "page": on_page,
    }
    return {state for state, holds in conditions.items() if holds}


def shortcut_text(command: Command) -> str:
    return native_shortcut(command.keys) if command.keys else ""
