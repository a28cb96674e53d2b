"""The dialog that asks, before the first run in a folder, whether to follow its project instructions."""

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QDialog, QHBoxLayout, QVBoxLayout, QWidget

from ui.style.theme import Look
from ui.text.visible import visible
from ui.widgets.button import Button
from ui.widgets.labels import label

if TYPE_CHECKING:
    from core.engine.policy.trust import FolderTrust

MAX_NAMES: Final = 12


class TrustDialog(QDialog):
    """Opened with `open()`. `decided` carries the answer; canceling emits nothing. Cancel has the initial focus."""

    decided = Signal(bool)

    def __init__(self, look: Look, found: "FolderTrust", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("trust")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        again = bool(found.trusted)
        title = self.tr("Follow the project instructions in this folder?")
        if again:
            title = self.tr("The project instructions in this folder have changed. Follow them?")
        self.setWindowTitle(title)
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 16, 20, 16)
        column.setSpacing(8)
        column.addWidget(label(title, look.fonts.bold, name="trust.title", wrap=True))
        column.addWidget(label(visible(found.folder), look.fonts.mono, name="trust.folder", wrap=True))
        about = self.tr(
            "Project instructions are files such as AGENTS.md, skills, commands and MCP configurations that control "
            "what the agent does. Trust this folder only if you trust their authors. Without trust, the agent can "
            "still work here, but it ignores these files and asks before it sends any data over the network."
        )
        column.addWidget(label(about, look.fonts.text, "second", name="trust.about", wrap=True))
        column.addWidget(label(self._heading(found), look.fonts.text, name="trust.found", wrap=True))
        if names := found.changed if again else found.instructions:
            lines = [visible(name) for name in names[:MAX_NAMES]]
            if len(names) > MAX_NAMES:
                lines.append(self.tr("and {} more").format(len(names) - MAX_NAMES))
            column.addWidget(label("\n".join(lines), look.fonts.mono, "second", name="trust.names", wrap=True))
        column.addSpacing(4)
        row = QHBoxLayout()
        column.addLayout(row)
        self._buttons(look, row)
        self.setMinimumWidth(look.size(480))

    def _heading(self, found: "FolderTrust") -> str:
        if found.trusted:
            return self.tr("New or changed since you trusted this folder, and ignored until you trust it again:")
        if found.instructions:
            return self.tr("Project instructions found:")
        return self.tr("This folder has no project instructions yet.")

    def _buttons(self, look: Look, row: QHBoxLayout) -> None:
        cancel = Button(look, self.tr("Cancel"), name="trust.cancel")
        no = Button(look, self.tr("Continue without trust"), name="trust.no")
        yes = Button(look, self.tr("Trust this folder"), name="trust.yes", tone="primary")
        cancel.setToolTip(self.tr("Do not start the run, and decide later"))
        no.setToolTip(self.tr("Start the run and ignore the project instructions"))
        yes.setToolTip(self.tr("Start the run and follow these files. You are asked again when one of them changes"))
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
        self.decided.emit(trusted)
        self.accept()
