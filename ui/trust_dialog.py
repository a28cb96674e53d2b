"""Before the first run in a folder: whether what the folder brings along is obeyed, with its names."""

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QDialog, QHBoxLayout, QVBoxLayout, QWidget

from ui.theme import Look
from ui.visible import visible
from ui.widgets.button import Button
from ui.widgets.words import label

if TYPE_CHECKING:
    from core.engine.trust import FolderTrust

SHOWN: Final = 12


class TrustDialog(QDialog):
    """`open()` it; `said` carries yes or no, closing it says neither. The keyboard starts at Cancel."""

    said = Signal(bool)

    def __init__(self, look: Look, found: "FolderTrust", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("trust")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        again = bool(found.trusted)
        title = self.tr("Do you trust this folder?")
        if again:
            title = self.tr("This folder has changed. Do you still trust it?")
        self.setWindowTitle(title)
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 16, 20, 16)
        column.setSpacing(8)
        column.addWidget(label(title, look.fonts.bold, name="trust.title", wrap=True))
        column.addWidget(label(visible(found.folder), look.fonts.mono, name="trust.folder", wrap=True))
        about = self.tr(
            "In a trusted folder the agent obeys what lies there for agents, as it is now. In any other it does not, "
            "and what it reads there counts as words of a stranger: whatever sends data out is asked about."
        )
        column.addWidget(label(about, look.fonts.text, "second", name="trust.about", wrap=True))
        column.addWidget(label(self._told(found), look.fonts.text, name="trust.found", wrap=True))
        if names := found.changed if again else found.brought:
            lines = [visible(name) for name in names[:SHOWN]]
            if len(names) > SHOWN:
                lines.append(self.tr("and {} more").format(len(names) - SHOWN))
            column.addWidget(label("\n".join(lines), look.fonts.mono, "second", name="trust.names", wrap=True))
        column.addSpacing(4)
        row = QHBoxLayout()
        column.addLayout(row)
        self._buttons(look, row)
        self.setMinimumWidth(look.size(480))

    def _told(self, found: "FolderTrust") -> str:
        if found.trusted:
            return self.tr("New or changed since you trusted it, and not obeyed until you say so:")
        return self.tr("It holds for agents:") if found.brought else self.tr("Nothing in it speaks to agents yet.")

    def _buttons(self, look: Look, row: QHBoxLayout) -> None:
        cancel = Button(look, self.tr("Cancel"), name="trust.cancel")
        no = Button(look, self.tr("Do not obey it"), name="trust.no")
        yes = Button(look, self.tr("Trust this folder"), name="trust.yes", tone="primary")
        cancel.setToolTip(self.tr("Nothing is begun and nothing is said of the folder"))
        no.setToolTip(self.tr("The run begins; nothing that lies in the folder is obeyed"))
        yes.setToolTip(self.tr("The run begins; these files are obeyed as long as they stay as they are"))
        for button in (cancel, no, yes):
            button.setAutoDefault(False)
            button.setDefault(False)
        cancel.clicked.connect(self.reject)
        no.clicked.connect(lambda: self._say(False))
        yes.clicked.connect(lambda: self._say(True))
        row.addWidget(cancel)
        row.addStretch(1)
        row.addWidget(no)
        row.addWidget(yes)
        cancel.setFocus()

    def _say(self, trusted: bool) -> None:
        self.said.emit(trusted)
        self.accept()
