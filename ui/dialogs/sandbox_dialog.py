"""The dialog about the sandbox for commands on this computer: how well it works, what is missing, and how to install
it.
"""

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QDialog, QVBoxLayout, QWidget

from ui.style.theme import Look
from ui.widgets.button import Button
from ui.widgets.dialog_parts import button_row
from ui.widgets.labels import allow_breaks, error_text, label, styled_frame


class SandboxDialog(QDialog):
    """Shows the result of the sandbox's self-test. `install_command` is "" if there is nothing to install."""

    def __init__(
        self, look: Look, title: str, result: str, gaps: Sequence[str], install_command: str, parent: QWidget
    ) -> None:
        super().__init__(parent)
        self.setObjectName("sandbox")
        self.setWindowTitle(title)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 16, 20, 16)
        column.setSpacing(8)
        column.addWidget(label(title, look.fonts.title, name="sandbox.title", wrap=True))
        column.addWidget(label(error_text(result), look.fonts.text, "second", name="sandbox.result", wrap=True))
        if gaps:
            column.addWidget(label(self.tr("A command can still:"), look.fonts.strong))
            listed = "\n".join(f"• {gap}" for gap in gaps)
            column.addWidget(label(listed, look.fonts.text, name="sandbox.gaps", wrap=True))
        buttons: list[QWidget] = []
        if install_command:
            hint = self.tr("This command installs bubblewrap, which prevents that. Run it, then restart Journeyman.")
            column.addWidget(label(hint, look.fonts.text, name="sandbox.hint", wrap=True))
            well = styled_frame("well")
            inner = QVBoxLayout(well)
            inner.addWidget(label(allow_breaks(install_command), look.fonts.mono, name="sandbox.command", wrap=True))
            column.addWidget(well)
            copy = Button(look, self.tr("Copy command"), name="sandbox.copy", tone="primary")
            copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(install_command))
            buttons.append(copy)
        close = Button(look, self.tr("Close"), name="sandbox.close")
        close.clicked.connect(self.reject)
        column.addSpacing(4)
        column.addLayout(button_row(close, *buttons))
        self.setMinimumWidth(look.size(460))
        close.setFocus()
