"""The dialog that asks whether to trust a package, and lists everything that the package would run."""

from collections.abc import Sequence

from PySide6.QtCore import QCoreApplication, Qt, Signal
from PySide6.QtWidgets import QDialog, QVBoxLayout, QWidget

from ui.style.theme import Look
from ui.text.visible import visible
from ui.widgets.button import Button
from ui.widgets.dialog_parts import button_row, resize_in_screen
from ui.widgets.labels import label, read_only_text


class TrustPackageDialog(QDialog):
    """Asks whether to trust a package, and emits `trusted` if the user agrees. Cancel has the initial focus.

    `lines` are the hooks and MCP servers of the package, which run outside the sandbox.
    """

    trusted = Signal()

    def __init__(self, look: Look, package: str, lines: Sequence[str], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        title = _tr("Trust the package {}?").format(package)
        self.setObjectName("trust_package")
        self.setWindowTitle(title)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 16, 20, 16)
        column.setSpacing(8)
        column.addWidget(label(title, look.fonts.title, wrap=True))
        if lines:
            column.addWidget(label(_tr("These run with your permissions, outside the sandbox:"), look.fonts.text))
            text = "\n".join(visible(line) for line in lines)
            frame = read_only_text(
                text, look.fonts.mono, name="trust_package.runs", accessible_name=_tr("What the package runs")
            ).frame
            frame.setMinimumHeight(look.size(120))
            column.addWidget(frame, 1)
        ends = _tr(
            "Its MCP servers are started now. Agents use the rest from their next run on. If a file of the package "
            "changes, it stops, and you are asked again."
        )
        column.addWidget(label(ends, look.fonts.text, "second", wrap=True))
        cancel = Button(look, _tr("Cancel"), name="trust_package.cancel")
        trust = Button(look, _tr("Trust package"), name="trust_package.yes", tone="primary")
        cancel.clicked.connect(self.reject)
        trust.clicked.connect(self.accept)
        self.accepted.connect(self.trusted)
        column.addLayout(button_row(cancel, trust))
        resize_in_screen(self, look.size(560), look.size(340 if lines else 160))
        cancel.setFocus()


def _tr(text: str) -> str:
    return QCoreApplication.translate("settings", text)
