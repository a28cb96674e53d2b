"""The form that starts a session: task, folder and model."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QVBoxLayout, QWidget

from ui.style.number_formats import short_folder
from ui.style.theme import Look
from ui.widgets.button import Button
from ui.widgets.check_box import CheckBox
from ui.widgets.dialog_parts import open_folder_picker
from ui.widgets.drop_down import DropDown
from ui.widgets.labels import TextField, label, styled_frame

LINES: Final = 8
LEAST: Final = 3


@dataclass(frozen=True, slots=True)
class ProviderOffer:
    """A provider on the start screen; `models` are full names, `is_local` means that it runs on this computer."""

    name: str
    title: str
    models: tuple[str, ...] = ()
    is_local: bool = False
    needs_key: bool = False
    variable: str = ""


class NewSessionForm(QWidget):
    """The form. It says what is still missing; the folder of the previous session is preselected."""

    start_requested = Signal(str, str, str)  # task, folder, model
    folder_chosen = Signal(str)

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self._folder = ""
        self.setObjectName("start.begin")
        self._task_field = TextField(look.fonts.text, max_lines=LINES, min_lines=LEAST)
        self._task_field.setObjectName("start.task")
        self._task_field.setAccessibleName(self.tr("Task for the agent"))
        placeholder = self.tr("Describe the task. Press Enter to start, Shift+Enter for a new line")
        self._task_field.setPlaceholderText(placeholder)
        self._folder_button = Button(look, self.tr("Choose a folder…"), name="start.folder", icon="folder-open")
        self._models = DropDown()
        self._models.setObjectName("start.model")
        self._models.setAccessibleName(self.tr("Model"))
        self._models.setFont(look.fonts.text)
        self._models.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self._models.setMinimumContentsLength(18)
        self._worktree_box = CheckBox(look, self.tr("Work in a new Git worktree"), name="start.worktree")
        self._worktree_box.setToolTip(
            self.tr("The agent works on a new branch in a separate working copy. Merge the branch to get its changes.")
        )
        self._worktree_box.hide()
        self._start_button = Button(look, self.tr("Start session"), name="start.go", tone="primary")
        self._missing = label("", look.fonts.second, "second", name="start.missing")
        self._lay_out()
        self._folder_button.clicked.connect(self.choose_folder)
        self._task_field.textChanged.connect(self._update_state)
        self._task_field.entered.connect(self._start)
        self._start_button.clicked.connect(self._start)
        self._update_state()

    def set_models(self, names: Sequence[str], default: str = "") -> None:
        """List the models; the current choice is kept if it is still available."""
        before = self._models.currentText() or default
        self._models.clear()
        self._models.addItems(list(names))
        self._models.setCurrentIndex(names.index(before) if before in names else (0 if names else -1))
        self._update_state()

    def choose_model(self, name: str) -> None:
        self._models.setCurrentIndex(self._models.findText(name))
        self._update_state()
        self.focus_task()

    def set_folder(self, folder: str) -> None:
        if folder != self._folder:
            self._worktree_box.hide()  # shown if the folder turns out to be in a Git repository
        self._folder = folder
        folder_text = short_folder(folder, str(Path.home())) if folder else self.tr("Choose a folder…")
        self._folder_button.setText(folder_text)
        self._folder_button.setAccessibleName(self.tr("Folder: {}").format(folder_text) if folder else folder_text)
        self._update_state()
        self.folder_chosen.emit(folder)

    @property
    def use_worktree(self) -> bool:
        """Whether the session should work in its own Git worktree."""
        return self._worktree_box.isVisibleTo(self) and self._worktree_box.isChecked()

    def offer_worktree(self, folder: str, possible: bool) -> None:
        """Show the worktree option if it is `possible`. Ignored if the user chose another folder meanwhile."""
        if folder == self._folder:
            self._worktree_box.setVisible(possible)

    def choose_folder(self) -> None:
        at = self._folder or str(Path.home())
        open_folder_picker(self, self.tr("Choose the folder to work in"), at, self.set_folder, name="start.folders")

    def focus_task(self) -> None:
        self._task_field.setFocus(Qt.FocusReason.OtherFocusReason)

    def clear(self) -> None:
        """Empty the form after the session has started."""
        self._task_field.clear()

    def text(self) -> str:
        return self._task_field.stripped_text()

    def fill(self, task: str) -> None:
        """Fill in a task, unless the user has typed one."""
        if not self._task_field.stripped_text():
            self._task_field.setPlainText(task)

    def restyle(self, look: Look) -> None:
        self._look = look
        self._task_field.apply_font(look.fonts.text)
        self._models.setFont(look.fonts.text)
        self._missing.setFont(look.fonts.second)
        self._worktree_box.restyle(look)
        self._folder_button.restyle(look)
        self._start_button.restyle(look)

    def _start(self) -> None:
        if self._start_button.isEnabled():
            self.start_requested.emit(self._task_field.stripped_text(), self._folder, self._models.currentText())

    def _update_state(self) -> None:
        """Show what is still missing, and enable the Start button if nothing is."""
        missing = ""
        if not self._models.currentText():
            missing = self.tr("Choose a model.")
        elif not self._folder:
            missing = self.tr("Choose a folder.")
        self._missing.setText(missing)
        self._start_button.setEnabled(bool(self._task_field.stripped_text()) and not missing)

    def _lay_out(self) -> None:
        box = styled_frame("input")
        box_layout = QVBoxLayout(box)
        box_layout.setContentsMargins(12, 12, 12, 12)
        box_layout.addWidget(self._task_field)
        button_row = QHBoxLayout()
        button_row.setSpacing(8)
        button_row.addWidget(self._folder_button)
        button_row.addWidget(self._models)
        button_row.addStretch(1)
        button_row.addWidget(self._missing)
        button_row.addWidget(self._start_button)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        column.addWidget(box)
        column.addLayout(button_row)
        column.addWidget(self._worktree_box)

    def event(self, event: QEvent) -> bool:
        """Clear the focus on Escape."""
        if isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Escape:
            self._task_field.clearFocus()
        return super().event(event)
