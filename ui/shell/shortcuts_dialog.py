"""The dialog that lists all keyboard shortcuts, grouped by topic."""

from typing import Final

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QGridLayout, QHBoxLayout, QVBoxLayout, QWidget

from ui.palette.panel import native_shortcut
from ui.shell.command_actions import HIDDEN, shortcut_text
from ui.shell.commands import COMMANDS, Command
from ui.style.theme import Look
from ui.widgets.button import Button
from ui.widgets.dialog_parts import resize_in_screen
from ui.widgets.fitting_scroll_area import FittingScrollArea
from ui.widgets.labels import label

# Shortcuts of individual widgets, which are not in the command table.
WIDGET_SHORTCUTS: Final = (
    ("Sessions", (("Del", "Move to the trash"), ("F2", "Rename"), ("Shift+Down", "Extend the selection"),
                  ("Menu", "Open the context menu"))),
    ("Message", (("Return", "Send, or queue while a run is active"), ("Ctrl+Return", "Send now"),
                 ("Shift+Return", "Insert a line break"), ("@", "Mention a file"), ("/", "Run a command"))),
    ("Steps", (("J", "Next step"), ("K", "Previous step"), ("[", "Previous run"), ("]", "Next run"),
               ("Return", "Expand or collapse"),
               ("Right", "Expand a sub-agent's steps"), ("Left", "Collapse a sub-agent's steps"))),
    ("Timeline", (("W", "Zoom in"), ("S", "Zoom out"), ("A", "Scroll to earlier"), ("D", "Scroll to later"),
                  ("F", "Zoom to the step"), (".", "Next step"), (",", "Previous step"),
                  ("[", "Previous run"), ("]", "Next run"))),
    ("Changes", (("N", "Next hunk"), ("P", "Previous hunk"), ("Shift+N", "Next file"), ("Shift+P", "Previous file"),
                 ("K", "Keep the hunk"), ("Shift+K", "Keep all hunks of the file"), ("U", "Revert the hunk"),
                 ("C", "Comment on the selected lines"), ("]", "Next comment"), ("[", "Previous comment"),
                 ("Return", "Go from the files to the diff; edit the comment"),
                 ("Del", "Delete the comment"), ("Ctrl+Return", "Send the comments"),
                 ("O", "Open the file in the editor"), ("X", "Show more lines"),
                 ("Shift+X", "Show the whole file"), ("S", "Switch to side by side and back"),
                 ("Right", "Scroll long lines to the right"), ("Left", "Scroll long lines to the left"))),
    ("Settings", (("Alt+1", "First page (Alt+2 for the second, …)"), ("Ctrl+PgDown", "Next page"),
                  ("Ctrl+PgUp", "Previous page"))),
    ("Skill", (("Ctrl+S", "Save"), ("Ctrl+Shift+N", "New skill"), ("Ctrl+F", "Find and replace"), ("F3", "Find next"),
               ("Ctrl+Space", "Complete"), ("F8", "Next problem"), ("F6", "Next area of the page"),
               ("Alt+1", "First tab (Alt+2 for the second, …)"), ("Alt+Z", "Turn line wrapping on or off"))),
    ("Memory", (("Ctrl+F", "Find"), ("Ctrl+Shift+N", "New memory"), ("E", "Edit"), ("P", "Pin"), ("A", "Archive"),
                ("R", "Restore"), ("Del", "Forget"), ("+", "Helpful"), ("-", "Not helpful"),
                ("F6", "Next area of the page"),
                ("Alt+1", "First tab (Alt+2 for the second, …)"))),
    ("Proposal", (("Y", "Keep"), ("E", "Edit, then keep"), ("N", "Reject"))),
    ("Question", (("1", "First option (2 for the second, …)"), ("Return", "Answer"), ("Esc", "Decide later"))),
    ("Permission request", (("A", "Allow"), ("C", "Change the call before allowing it"),
        ("Ctrl+Enter", "Allow the changed call"), ("D", "Deny"), ("1", "First scope (2 for the second, …)"),
                            ("Esc", "Decide later"))),
)  # fmt: skip


class ShortcutsDialog(QDialog):
    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self.setObjectName("keys")
        self.setWindowTitle(self.tr("Keyboard shortcuts"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        content = QWidget()
        columns = QHBoxLayout(content)
        columns.setContentsMargins(24, 16, 36, 16)
        columns.setSpacing(32)
        groups = shortcut_groups()
        half = (sum(len(lines) + 2 for _, lines in groups) + 1) // 2
        column, height = self._add_column(columns), 0
        for title, lines in groups:
            if height >= half:
                column, height = self._add_column(columns), 0
            column.insertWidget(column.count() - 1, self._build_group(title, lines))
            height += len(lines) + 2
        scroll = FittingScrollArea(content)
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

    def _add_column(self, columns: QHBoxLayout) -> QVBoxLayout:
        column = QVBoxLayout()
        column.setSpacing(16)
        column.addStretch(1)
        columns.addLayout(column, 1)
        return column

    def _build_group(self, title: str, lines: list[tuple[str, str]]) -> QWidget:
        fonts = self._look.fonts
        group = QWidget()
        grid = QGridLayout(group)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(16)
        grid.setVerticalSpacing(4)
        grid.addWidget(label(self.tr(title), fonts.bold), 0, 0, 1, 2)
        for number, (keys, text) in enumerate(lines, 1):
            grid.addWidget(label(self.tr(text), fonts.text, "second", wrap=True), number, 0)
            chip = label(keys, fonts.caption, "key")
            grid.addWidget(chip, number, 1, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignTop)
        grid.setColumnStretch(0, 1)
        return group


def shortcut_groups() -> list[tuple[str, list[tuple[str, str]]]]:
    """Return all shortcuts with their descriptions as (group title, [(keys, description)])."""
    groups = dict.fromkeys(command.group for command in COMMANDS)
    places = [(title, [(native_shortcut(keys), text) for keys, text in lines]) for title, lines in WIDGET_SHORTCUTS]
    return [*((group, _lines(group)) for group in groups), *places]


def _lines(group: str) -> list[tuple[str, str]]:
    """Return the shortcuts of a command group; Ctrl+1 to Ctrl+9 are combined into one line."""
    commands: list[Command] = [command for command in COMMANDS if command.group == group and command.keys]
    lines = [(_both(command), command.text) for command in commands if command.when != HIDDEN]
    if any(command.when == HIDDEN for command in commands):
        lines.append((f"{native_shortcut('Ctrl+1')} … 9", "Go to a session in the list"))
    return lines


def _both(command: Command) -> str:
    return " · ".join([shortcut_text(command), *([native_shortcut(command.also)] if len(command.also) == 1 else [])])
