"""The sheet of keys: every command that has one, by what it is about."""

from typing import Final

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QGridLayout, QHBoxLayout, QVBoxLayout, QWidget

from ui.actions import HIDDEN, keys_of
from ui.commands import COMMANDS, Command
from ui.palette.panel import shown_keys
from ui.theme import Look
from ui.widgets.button import Button
from ui.widgets.scroll import FittingScroll
from ui.widgets.words import label

# Keys of lists and fields, which are no commands of the window.
OF_PLACES: Final = (
    ("Sessions", (("Del", "Move to the trash"), ("F2", "Rename"), ("Shift+Down", "Select several"), ("Menu", "Menu"))),
    ("Message", (("Return", "Send, or queue while it runs"), ("Ctrl+Return", "Send now"), ("Shift+Return", "New line"),
                 ("@", "Name a file"), ("/", "Commands"))),
    ("Steps", (("J", "Next"), ("K", "Previous"), ("[", "Previous run"), ("]", "Next run"), ("Return", "Open or close"),
               ("Right", "Show a sub-agent's steps"), ("Left", "Fold them away"))),
    ("Timeline", (("W", "Nearer"), ("S", "Farther"), ("A", "Earlier"), ("D", "Later"), ("F", "Fit the step"),
                  (".", "Next"), (",", "Previous"))),
    ("Changes", (("N", "Next part"), ("P", "Previous part"), ("U", "Undo the part"))),
    ("Skill", (("Ctrl+S", "Save"), ("Ctrl+Shift+N", "New skill"), ("Ctrl+F", "Find and replace"), ("F3", "Find again"),
               ("Ctrl+Space", "Complete"), ("F8", "Next finding"), ("F6", "Next part of the page"),
               ("Alt+1", "First tab, and so on"), ("Alt+Z", "Wrap lines"))),
    ("Memory", (("Ctrl+F", "Find"), ("Ctrl+Shift+N", "New memory"), ("E", "Edit"), ("P", "Pin"), ("A", "Archive"),
                ("R", "Restore"), ("Del", "Forget"), ("F6", "Next part of the page"),
                ("Alt+1", "First tab, and so on"))),
    ("Proposal", (("Y", "Keep"), ("E", "Edit first"), ("N", "Reject"))),
    ("Question", (("1", "First option, and so on"), ("Return", "Answer"), ("Esc", "Later"))),
    ("Consent", (("A", "Allow"), ("D", "Deny"), ("1", "How far, and so on"), ("Esc", "Later"))),
)  # fmt: skip


class KeysDialog(QDialog):
    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self.setObjectName("keys")
        self.setWindowTitle(self.tr("Keys"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        inside = QWidget()
        columns = QHBoxLayout(inside)
        columns.setContentsMargins(24, 16, 36, 16)
        columns.setSpacing(32)
        titled = sheet()
        half = (sum(len(lines) + 2 for _, lines in titled) + 1) // 2
        column, height = self._column(columns), 0
        for title, lines in titled:
            if height >= half:
                column, height = self._column(columns), 0
            column.insertWidget(column.count() - 1, self._group(title, lines))
            height += len(lines) + 2
        scroll = FittingScroll(inside)
        close = Button(look, self.tr("Close"), name="keys.close", hint=self.tr("Esc"))
        close.clicked.connect(self.accept)
        foot = QHBoxLayout()
        foot.setContentsMargins(16, 8, 16, 12)
        foot.addStretch(1)
        foot.addWidget(close)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.addWidget(scroll, 1)
        whole.addLayout(foot)
        self.resize(look.size(720), look.size(640))

    def _column(self, columns: QHBoxLayout) -> QVBoxLayout:
        made = QVBoxLayout()
        made.setSpacing(16)
        made.addStretch(1)
        columns.addLayout(made, 1)
        return made

    def _group(self, title: str, lines: list[tuple[str, str]]) -> QWidget:
        fonts = self._look.fonts
        made = QWidget()
        grid = QGridLayout(made)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(16)
        grid.setVerticalSpacing(4)
        grid.addWidget(label(self.tr(title), fonts.bold), 0, 0, 1, 2)
        for number, (keys, text) in enumerate(lines, 1):
            grid.addWidget(label(self.tr(text), fonts.text, "second"), number, 0)
            chip = label(keys, fonts.caption, "key")
            grid.addWidget(chip, number, 1, Qt.AlignmentFlag.AlignRight)
        grid.setColumnStretch(0, 1)
        return made


def sheet() -> list[tuple[str, list[tuple[str, str]]]]:
    """Every key and what it does, in groups."""
    groups = dict.fromkeys(command.group for command in COMMANDS)
    places = [(title, [(shown_keys(keys), text) for keys, text in lines]) for title, lines in OF_PLACES]
    return [*((group, _lines(group)) for group in groups), *places]


def _lines(group: str) -> list[tuple[str, str]]:
    """Keys and words; the nine of the list are one line."""
    mine: list[Command] = [command for command in COMMANDS if command.group == group and command.keys]
    lines = [(_both(command), command.text) for command in mine if command.when != HIDDEN]
    if any(command.when == HIDDEN for command in mine):
        lines.append((f"{shown_keys('Ctrl+1')} … 9", "Session of the list"))
    return lines


def _both(command: Command) -> str:
    return " · ".join([keys_of(command), *([shown_keys(command.also)] if len(command.also) == 1 else [])])
