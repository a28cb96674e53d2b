"""The dialog that shows the permission lists of other agents and imports them as rules."""

from collections.abc import Sequence

from PySide6.QtCore import QCoreApplication, Qt, Signal
from PySide6.QtWidgets import QDialog, QVBoxLayout, QWidget

from ui.style.theme import Look
from ui.text.visible import visible
from ui.widgets.button import Button
from ui.widgets.dialog_parts import button_row, resize_in_screen
from ui.widgets.labels import label, read_only_text


class ImportRulesDialog(QDialog):
    """Shows what each entry of the lists becomes, and emits `confirmed` if the user imports the `count` new rules."""

    confirmed = Signal()

    def __init__(self, look: Look, lines: Sequence[str], count: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("import_rules")
        self.setWindowTitle(_tr("Import permission rules"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 16, 20, 16)
        column.setSpacing(8)
        column.addWidget(label(_tr("Import permission rules"), look.fonts.title))
        about = _tr(
            "From the permission lists of Claude Code and OpenCode: those in your home folder apply everywhere, those "
            "in the folder of the shown session apply there."
        )
        column.addWidget(label(about, look.fonts.text, "second", wrap=True))
        if lines:
            frame, text = read_only_text(
                "\n".join(visible(line) for line in lines),
                look.fonts.mono,
                name="import_rules.entries",
                accessible_name=_tr("Entries of the lists"),
            )
            column.addWidget(frame, 1)
            found = _tr("No new rules.") if not count else _tr("Rules that you do not have yet: {}").format(count)
        else:
            found = _tr("No permission lists found.")
        column.addWidget(label(found, look.fonts.text, name="import_rules.found", wrap=True))
        cancel = Button(look, _tr("Cancel") if count else _tr("Close"), name="import_rules.cancel")
        cancel.clicked.connect(self.reject)
        add = Button(look, _tr("Import rules"), name="import_rules.yes", tone="primary")
        add.setVisible(bool(count))
        add.clicked.connect(self.accept)
        self.accepted.connect(self.confirmed)
        column.addLayout(button_row(cancel, add))
        resize_in_screen(self, look.size(620), look.size(420 if lines else 160))
        (text if lines else cancel).setFocus()


def _tr(text: str) -> str:
    return QCoreApplication.translate("settings", text)
