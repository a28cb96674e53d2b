"""The section for local models: models that can be downloaded, and model files on this computer."""

from PySide6.QtCore import QCoreApplication, QStandardPaths, Qt, Signal
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QFileDialog, QVBoxLayout, QWidget

from core.models.local.model_state import LocalModelRow, LocalModelStates
from ui.base.drop_filter import dragged_model_files
from ui.settings.model_address_dialog import ModelAddressDialog
from ui.style.theme import Look
from ui.widgets.button import Button
from ui.widgets.flow_layout import WrappingRow
from ui.widgets.labels import label
from ui.widgets.local_model_entry import LocalModelAction, LocalModelEntry


class LocalModelsSection(QWidget):
    """An entry for each model, and buttons to add a file from this computer or from an address."""

    action_requested = Signal(str, str)  # a `LocalModelAction`, and its model, path or address

    def __init__(self, look: Look) -> None:
        super().__init__()
        self._look = look
        self._entries: dict[str, LocalModelEntry] = {}
        self.setObjectName("settings.local")
        self.setAcceptDrops(True)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        about = _tr(
            "Journeyman runs these models itself, without another program. Nothing leaves this computer. "
            "You can also drop a GGUF file here."
        )
        add = Button(look, _tr("Add model file…"), name="settings.local.add")
        add.clicked.connect(self._choose_file)
        fetch = Button(look, _tr("Download from address…"), name="settings.local.fetch")
        fetch.clicked.connect(self._ask_address)
        column.addWidget(label(about, look.fonts.second, "second", wrap=True))
        column.addWidget(WrappingRow(add, fetch))
        self._list = QVBoxLayout()
        self._list.setSpacing(8)
        column.addLayout(self._list)

    def show_models(self, states: LocalModelStates, default_model: str) -> None:
        """Show the models: first those being downloaded, then those on this computer.

        The entry of a model is kept as long as the model exists, so that the focus stays where it is.
        """
        rows = {row.name: row for row in sorted(states.rows, key=_order)}
        for name in self._entries.keys() - rows.keys():
            entry = self._entries.pop(name)
            self._list.removeWidget(entry)
            entry.hide()
            entry.deleteLater()
        for position, row in enumerate(rows.values()):
            entry = self._entry(row.name)
            if self._list.indexOf(entry) != position:
                self._list.insertWidget(position, entry)
            entry.show_row(row, states.install_hint, default_model=default_model)

    def _entry(self, name: str) -> LocalModelEntry:
        """Return the entry of a model, creating it if needed."""
        if name not in self._entries:
            entry = self._entries[name] = LocalModelEntry(self._look, f"settings.local.{name}", can_remove=True)
            entry.action_requested.connect(self.action_requested)
        return self._entries[name]

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if dragged_model_files(event.mimeData()):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        for path in dragged_model_files(event.mimeData()):
            self.action_requested.emit(LocalModelAction.ADD_FILE, path)
        event.acceptProposedAction()

    def _ask_address(self) -> None:
        dialog = ModelAddressDialog(self._look, self)
        dialog.submitted.connect(lambda address: self.action_requested.emit(LocalModelAction.ADD_ADDRESS, address))
        dialog.open()

    def _choose_file(self) -> None:
        """Open the system's file dialog without blocking."""
        dialog = QFileDialog(self, _tr("Add model file"))
        dialog.setObjectName("settings.local.files")
        dialog.setDirectory(QStandardPaths.writableLocation(QStandardPaths.StandardLocation.DownloadLocation))
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.setNameFilters([_tr("Models in the GGUF format") + " (*.gguf)", _tr("All files") + " (*)"])
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(lambda path: self.action_requested.emit(LocalModelAction.ADD_FILE, path))
        dialog.open()


def _order(row: LocalModelRow) -> int:
    """Return the sort key of a model: incomplete downloads first, then models on this computer, then all others."""
    if row.is_available:
        return 1
    return 0 if row.download or row.partial or row.error else 2


def _tr(text: str) -> str:
    return QCoreApplication.translate("settings", text)
