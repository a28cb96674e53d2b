"""The dialog that lists all keyboard shortcuts, grouped by topic."""

from typing import NamedTuple

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QGridLayout, QHBoxLayout, QVBoxLayout, QWidget

from ui.palette.panel import native_shortcut
from ui.shell.command_actions import shortcut_text
from ui.shell.commands import COMMANDS, Command
from ui.shell.widget_shortcuts import WIDGET_SHORTCUTS
from ui.style.theme import Look
from ui.widgets.button import Button
from ui.widgets.dialog_parts import resize_in_screen
from ui.widgets.fitting_scroll_area import FittingScrollArea
from ui.widgets.labels import label


class ShortcutLine(NamedTuple):
    """A shortcut: the keys that the user presses, and their effect."""

    keys: str
    text: str


class ShortcutGroup(NamedTuple):
    """The shortcuts of a topic."""

    title: str
    lines: list[ShortcutLine]

    @property
    def height(self) -> int:
        """The height in the dialog, in lines: the title, the shortcuts and the space below them."""
        return len(self.lines) + 2


class ShortcutsDialog(QDialog):
    """The dialog. The groups are in two columns of about the same height."""

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self.setObjectName("keys")
        self.setWindowTitle(self.tr("Keyboard shortcuts"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        scroll = FittingScrollArea(self._build_columns(shortcut_groups()))
        scroll.setObjectName("keys.scroll")
        scroll.setAccessibleName(self.tr("Keyboard shortcuts"))
        scroll.setFocusPolicy(Qt.FocusPolicy.StrongFocus)  # so that keys can scroll it
        close = Button(look, self.tr("Close"), name="keys.close", hint=self.tr("Esc"))
        close.clicked.connect(self.accept)
        button_row = QHBoxLayout()
        button_row.setContentsMargins(16, 8, 16, 12)
        button_row.addStretch(1)
        button_row.addWidget(close)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(scroll, 1)
        layout.addLayout(button_row)
        resize_in_screen(self, look.size(720), look.size(640))

    def _build_columns(self, groups: list[ShortcutGroup]) -> QWidget:
        content = QWidget()
        columns = QHBoxLayout(content)
        columns.setContentsMargins(24, 16, 36, 16)
        columns.setSpacing(32)
        for column_groups in in_two_columns(groups):
            column = QVBoxLayout()
            column.setSpacing(16)
            for group in column_groups:
                column.addWidget(self._build_group(group))
            column.addStretch(1)
            columns.addLayout(column, 1)
        return content

    def _build_group(self, group: ShortcutGroup) -> QWidget:
        fonts = self._look.fonts
        widget = QWidget()
        grid = QGridLayout(widget)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(16)
        grid.setVerticalSpacing(4)
        grid.addWidget(label(self.tr(group.title), fonts.bold), 0, 0, 1, 2)
        for row, line in enumerate(group.lines, 1):
            grid.addWidget(label(self.tr(line.text), fonts.text, "second", wrap=True), row, 0)
            keys = label(line.keys, fonts.caption, "key")
            grid.addWidget(keys, row, 1, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignTop)
        grid.setColumnStretch(0, 1)
        return widget


def in_two_columns(groups: list[ShortcutGroup]) -> tuple[list[ShortcutGroup], list[ShortcutGroup]]:
    """Divide the groups into two columns; the second one starts as soon as the first has half of the total height."""
    total = sum(group.height for group in groups)
    first: list[ShortcutGroup] = []
    for group in groups:
        if 2 * sum(member.height for member in first) >= total:
            break
        first.append(group)
    return first, groups[len(first) :]


def shortcut_groups() -> list[ShortcutGroup]:
    """Return all shortcuts: first those of commands in the order of the command table, then those of single widgets."""
    titles = dict.fromkeys(command.group for command in COMMANDS)
    return [
        *(ShortcutGroup(title, _command_lines(title)) for title in titles),
        *(
            ShortcutGroup(title, [ShortcutLine(native_shortcut(keys), text) for keys, text in shortcuts.items()])
            for title, shortcuts in WIDGET_SHORTCUTS.items()
        ),
    ]


def _command_lines(group: str) -> list[ShortcutLine]:
    """Return the shortcuts of a command group; Ctrl+1 to Ctrl+9 are combined into one line."""
    commands = [command for command in COMMANDS if command.group == group and command.keys]
    lines = [ShortcutLine(_all_keys(command), command.text) for command in commands if not command.hidden]
    if any(command.hidden for command in commands):
        lines.append(ShortcutLine(f"{native_shortcut('Ctrl+1')} … 9", "Go to a session in the list"))
    return lines


def _all_keys(command: Command) -> str:
    """Return the shortcuts of a command as text. The second one is included only if it is a single key, such as Q."""
    keys = shortcut_text(command)
    return f"{keys} · {native_shortcut(command.also)}" if len(command.also) == 1 else keys
