"""The help dialog: a list of Markdown pages, which are rendered like replies."""

from pathlib import Path
from typing import Final

from PySide6.QtCore import Qt
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QDialog, QHBoxLayout, QListWidget, QTextBrowser, QVBoxLayout, QWidget

from ui.style.theme import RESOURCES, Look
from ui.text.markdown import render
from ui.text.safe_document import SafeDocument
from ui.widgets.button import Button
from ui.widgets.dialog_parts import button_row, resize_in_screen

PAGES_WIDTH = 180
PAGES: Final = (
    "getting-started",
    "models",
    "permissions",
    "sessions",
    "reviewing",
    "undo",
    "safety",
    "skills",
    "skill-editor",
    "memory",
    "agents",
    "mcp-servers",
    "packages",
    "external-agents",
    "hooks",
    "import-export",
    "keys",
    "settings",
    "command-line",
    "data",
    "troubleshooting",
)


class HelpDialog(QDialog):
    """Shows the help, first the page with this file name."""

    def __init__(self, look: Look, parent: QWidget | None = None, *, page: str = PAGES[0]) -> None:
        super().__init__(parent)
        self._look = look
        self._texts = [file.read_text("utf-8") for file in help_files()]
        self.setObjectName("help")
        self.setWindowTitle(self.tr("Help"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        resize_in_screen(self, look.size(900), look.size(640))
        self._pages = QListWidget()
        self._pages.setObjectName("help.pages")
        self._pages.setAccessibleName(self.tr("Help topics"))
        self._pages.setFont(look.fonts.text)
        self._pages.addItems([page_title(text) for text in self._texts])
        widest = self._pages.sizeHintForColumn(0) + 2 * self._pages.frameWidth() + look.size(8)
        widest += self._pages.verticalScrollBar().sizeHint().width()
        self._pages.setFixedWidth(max(look.size(PAGES_WIDTH), widest))
        self._text = QTextBrowser()
        self._text.setObjectName("help.text")
        self._text.setAccessibleName(self.tr("Help"))
        self._text.setProperty("bare", True)
        self._text.setOpenLinks(False)
        self._document = SafeDocument(self._text)
        self._text.setDocument(self._document)
        close = Button(look, self.tr("Close"), name="help.close", hint=self.tr("Esc"))
        close.clicked.connect(self.accept)
        middle = QHBoxLayout()
        middle.setSpacing(16)
        middle.addWidget(self._pages)
        middle.addWidget(self._text, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 12, 12, 12)
        column.addLayout(middle, 1)
        column.addLayout(button_row(close))
        self._pages.currentRowChanged.connect(self._show)
        self._pages.setCurrentRow(PAGES.index(page))

    def _show(self, number: int) -> None:
        self._document.clear()
        render(self._document, self._texts[number], self._look)
        # Otherwise, Qt would scroll to the position of the cursor in the previous page.
        self._text.moveCursor(QTextCursor.MoveOperation.Start)
        self._text.verticalScrollBar().setValue(0)


def help_files() -> list[Path]:
    """Return the files of the help pages in the order in which they are listed."""
    return [RESOURCES / "help" / f"{name}.md" for name in PAGES]


def page_title(text: str) -> str:
    return text.splitlines()[0].removeprefix("# ")
