"""The form that starts a session: the task with attachments, the folder, the model and how the agent works."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from PySide6.QtCore import QCoreApplication, QEvent, QPoint, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent, QStandardItemModel, QTextCursor
from PySide6.QtWidgets import QComboBox, QFileDialog, QHBoxLayout, QMenu, QVBoxLayout, QWidget

from core.domain.modes import DEFAULT_MODE, Mode
from ui.base.draft_files import AttachedFile
from ui.message.attachments import AttachmentBar
from ui.message.completion import Completion
from ui.message.efforts import EFFORTS
from ui.message.message_field import MessageField
from ui.message.mode_button import ModeButton
from ui.start.limits_dialog import LimitsDialog, RunLimits, limits_text
from ui.style.number_formats import short_folder
from ui.style.theme import Look
from ui.text.visible import visible
from ui.widgets.button import Button
from ui.widgets.check_box import CheckBox
from ui.widgets.dialog_parts import open_folder_picker
from ui.widgets.drop_down import DropDown
from ui.widgets.flow_layout import WrappingRow
from ui.widgets.labels import label, show_focus_on, styled_frame

LINES: Final = 8
LEAST: Final = 3
DRAFT_DELAY_MS: Final = 400


@dataclass(frozen=True, slots=True)
class ProviderOffer:
    """A provider on the start screen; `models` are full names, `is_local` means that it runs on this computer."""

    name: str
    title: str
    models: tuple[str, ...] = ()
    is_local: bool = False
    needs_key: bool = False
    variable: str = ""


class OfferedAgent(NamedTuple):
    """An agent profile of the user.

    `model` is the model or tier that it names, or "" if it has no preference. It cannot be chosen if it has an `error`.
    """

    name: str = ""
    model: str = ""
    description: str = ""
    error: str = ""


class NewSession(NamedTuple):
    """What the user entered.

    An empty `agent` is the default profile, an empty `effort` the model's default; `limits` None are those of the
    settings.
    """

    task: str
    folder: str
    model: str
    mode: Mode = DEFAULT_MODE
    agent: str = ""
    effort: str = ""
    files: tuple[AttachedFile, ...] = ()
    limits: RunLimits | None = None


class NewSessionForm(QWidget):
    """The form. It says what is still missing; the folder of the previous session is preselected."""

    start_requested = Signal(object)
    folder_chosen = Signal(str)
    draft_changed = Signal(str)
    """The unsent task, shortly after the user typed."""

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self._folder = ""
        self.setObjectName("start.begin")
        self._mode: Mode = DEFAULT_MODE
        self._task_field = MessageField(look.fonts.text, max_lines=LINES, min_lines=LEAST)
        self._task_field.setObjectName("start.task")
        self._task_field.setAccessibleName(self.tr("Task for the agent"))
        placeholder = self.tr("Describe the task. Press Enter to start, Shift+Enter for a new line")
        self._task_field.setPlaceholderText(placeholder)
        self.completion = Completion(look, self._task_field)
        self.completion.setObjectName("start.completion")
        self.attached = AttachmentBar(look)
        self.attached.setObjectName("start.attached")
        self._attach_button = Button(look, self.tr("Attach files"), name="start.attach", tone="quiet", icon="paperclip")
        self._attach_button.set_icon_only(True)
        self._mode_button = ModeButton(look, name="start.mode")
        self._mode_button.show_mode(self._mode)
        self._agents = _drop_down(look, "start.agent", self.tr("Agent"))
        self._agents.hide()
        self._model_before_agent = ""  # restored when an agent without a model of its own is chosen
        self._efforts = _drop_down(look, "start.effort", self.tr("Reasoning effort"))
        for effort in EFFORTS:
            text = self.tr("Effort: {}").format(effort) if effort else self.tr("Default effort")
            self._efforts.addItem(text, effort)
        self._usual_limits = RunLimits()
        self._limits: RunLimits | None = None
        self._limits_button = Button(look, "", name="start.limits", tone="quiet", icon="gauge")
        self.choose_limits(None)
        self._folder_button = Button(look, self.tr("Choose a folder…"), name="start.folder", icon="folder-open")
        self._folder_button.set_elide_mode(Qt.TextElideMode.ElideLeft)
        self._recent_button = Button(
            look, self.tr("Recent folders"), name="start.recent", tone="quiet", icon="history", has_menu=True
        )
        self._recent_button.set_icon_only(True)
        self._recent_button.hide()
        self._recent_menu = QMenu(self)
        self._recent_menu.setObjectName("start.recents")
        self._models = _drop_down(look, "start.model", self.tr("Model"))
        self._models.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self._models.setMinimumContentsLength(18)
        self._worktree_box = CheckBox(look, self.tr("Work in a new Git worktree"), name="start.worktree")
        self._worktree_box.setToolTip(
            self.tr("The agent works on a new branch in a separate working copy. Merge the branch to get its changes.")
        )
        self._worktree_box.hide()
        self._start_button = Button(look, self.tr("Start session"), name="start.go", tone="primary")
        self._missing = label("", look.fonts.second, "second", name="start.missing")
        self._draft_wait = QTimer(self, singleShot=True, interval=DRAFT_DELAY_MS)
        self._lay_out()
        self._connect()
        self._update_state()

    def _connect(self) -> None:
        self._folder_button.clicked.connect(self.choose_folder)
        self._recent_button.clicked.connect(self._open_recent_folders)
        self._attach_button.clicked.connect(self._choose_files)
        self._limits_button.clicked.connect(self._open_limits)
        self._mode_button.chosen.connect(self._choose_mode)
        self._agents.activated.connect(self._choose_agent)
        self.attached.changed.connect(self._update_state)
        self._task_field.mime_data_received.connect(self.attached.add_mime_data)
        self._task_field.textChanged.connect(self._update_state)
        self._task_field.textChanged.connect(self._draft_wait.start)
        self._draft_wait.timeout.connect(lambda: self.draft_changed.emit(self._task_field.toPlainText()))
        self._task_field.entered.connect(self._start)
        self._task_field.send_now_pressed.connect(self._start)
        self._start_button.clicked.connect(self._start)

    def set_models(self, names: Sequence[str], default: str = "") -> None:
        """List the models; the current choice is kept if it is still available."""
        before = self._chosen_model() or default
        self._models.clear()
        for name in names:
            self._models.addItem(name, name)
        self._models.setCurrentIndex(names.index(before) if before in names else (0 if names else -1))
        self._update_state()

    def choose_model(self, name: str) -> None:
        self._models.setCurrentIndex(self._models.findData(name))
        self._update_state()
        self.focus_task()

    def _chosen_model(self) -> str:
        """Return the name of the chosen model; an empty string if there is none."""
        return self._models.currentData() or ""

    def set_agents(self, agents: Sequence[OfferedAgent]) -> None:
        """List the agent profiles of the user; without any, there is nothing to choose."""
        before = self._agents.currentData()
        self._agents.clear()
        self._agents.addItem(self.tr("Default agent"), OfferedAgent())
        for agent in agents:
            text = self.tr("{} (invalid file)").format(agent.name) if agent.error else agent.name
            self._agents.addItem(visible(text), agent)
            tip = (agent.error, agent.description, agent.model and self.tr("Model: {}").format(agent.model))
            row = self._agents.count() - 1
            self._agents.setItemData(row, visible("\n".join(filter(None, tip))), Qt.ItemDataRole.ToolTipRole)
            items = self._agents.model()
            assert isinstance(items, QStandardItemModel)
            items.item(row).setEnabled(not agent.error)
            if agent.error:
                self._agents.setItemData(row, self._look.theme.third, Qt.ItemDataRole.ForegroundRole)
        names = ["", *(agent.name for agent in agents)]
        self._agents.setCurrentIndex(names.index(before.name) if before and before.name in names else 0)
        self._agents.setVisible(bool(agents))

    def _choose_agent(self, _index: int) -> None:
        """Select the model that the agent's profile names; the user may then choose another one."""
        agent = self._agents.currentData()
        model = agent.model or self._model_before_agent
        if agent.model and not self._model_before_agent:
            self._model_before_agent = self._chosen_model()
        elif not agent.model:
            self._model_before_agent = ""
        if model:
            if self._models.findData(model) < 0:
                self._models.addItem(model, model)
            self._models.setCurrentIndex(self._models.findData(model))
            self._update_state()

    def set_recent_folders(self, folders: Sequence[str]) -> None:
        """List the folders of the latest sessions."""
        self._recent_menu.clear()
        for folder in folders:
            text = visible(short_folder(folder, str(Path.home()))).replace("&", "&&")
            self._recent_menu.addAction(text).triggered.connect(partial(self._choose_recent, folder))
        self._recent_button.setVisible(bool(folders))

    def _choose_recent(self, folder: str) -> None:
        self.set_folder(folder)
        self.focus_task()

    def _open_recent_folders(self) -> None:
        self._recent_menu.popup(self._recent_button.mapToGlobal(QPoint(0, self._recent_button.height() + 4)))

    def _choose_mode(self, mode: Mode) -> None:
        self._mode = mode
        self._mode_button.show_mode(mode)

    def set_usual_limits(self, limits: RunLimits) -> None:
        """Set the limits of the settings, which apply unless the user chooses others."""
        self._usual_limits = limits
        self.choose_limits(self._limits)

    def choose_limits(self, limits: RunLimits | None) -> None:
        """Choose the limits of the run; None for those of the settings."""
        self._limits = limits
        text = limits_text(self._usual_limits if limits is None else limits)
        self._limits_button.setText(text)
        self._limits_button.setAccessibleName(self.tr("Limits: {}").format(text))
        self._limits_button.setToolTip(self.tr("Limits of the run, after which it pauses"))
        self._limits_button.updateGeometry()

    def _open_limits(self) -> None:
        dialog = LimitsDialog(self._look, self._usual_limits if self._limits is None else self._limits, self)
        dialog.chosen.connect(self.choose_limits)
        dialog.open()

    def _choose_files(self) -> None:
        """Open the system's file dialog without blocking."""
        dialog = QFileDialog(self, self.tr("Attach files"))
        dialog.setObjectName("start.files")
        dialog.setFileMode(QFileDialog.FileMode.ExistingFiles)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.filesSelected.connect(self.attached.add_paths)
        dialog.open()

    @property
    def folder(self) -> str:
        return self._folder

    def set_folder(self, folder: str) -> None:
        if folder != self._folder:
            self.completion.forget_files()
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
        open_folder_picker(self, self.tr("Choose the folder to work in"), at, self._choose_picked, name="start.folders")

    def _choose_picked(self, folder: str) -> None:
        """Choose a folder, and focus what comes next: the Start button, or the task if it is still to be written."""
        self.set_folder(folder)
        if self._start_button.isEnabled():
            self._start_button.setFocus(Qt.FocusReason.TabFocusReason)
        else:
            self.focus_task()

    def focus_task(self) -> None:
        self._task_field.setFocus(Qt.FocusReason.OtherFocusReason)

    def type_ahead(self, event: QEvent) -> None:
        """Let the task field handle a key that was pressed before the form is shown."""
        QCoreApplication.sendEvent(self._task_field, event)

    def restore_draft(self, draft: str) -> None:
        """Restore an unsent task; what the user has typed already follows on a line of its own."""
        typed = self.text()
        self._task_field.clear()
        self.fill("\n".join(filter(None, (draft, typed))))

    def clear(self) -> None:
        """Empty the form after the session has started."""
        self._task_field.clear()
        self.attached.take()

    def text(self) -> str:
        return self._task_field.stripped_text()

    def fill(self, task: str, files: Sequence[AttachedFile] = ()) -> None:
        """Fill in a task, unless the user has typed one, and put the cursor at its end."""
        if not self._task_field.stripped_text():
            self._task_field.setPlainText(task)
            self._task_field.moveCursor(QTextCursor.MoveOperation.End)
        self.attached.restore(files)

    def restyle(self, look: Look) -> None:
        self._look = look
        self._task_field.apply_font(look.fonts.text)
        for drop_down in (self._models, self._agents, self._efforts):
            drop_down.setFont(look.fonts.text)
        self._missing.setFont(look.fonts.second)
        for widget in (
            self._worktree_box, self._folder_button, self._recent_button, self._start_button, self._attach_button,
            self._mode_button, self._limits_button, self.attached, self.completion,
        ):  # fmt: skip
            widget.restyle(look)

    def _start(self) -> None:
        """Start the session. If only the folder is missing, ask for it."""
        if self._start_button.isEnabled():
            agent: OfferedAgent | None = self._agents.currentData()
            self.start_requested.emit(
                NewSession(
                    self._task_field.stripped_text(), self._folder, self._chosen_model(), self._mode,
                    agent.name if agent else "", self._efforts.currentData() or "", self.attached.files(),
                    self._limits,
                )
            )  # fmt: skip
        elif self._task_field.stripped_text() and not self._folder:
            self.choose_folder()

    def _update_state(self) -> None:
        """Show what is still missing, and enable the Start button if nothing is."""
        missing = ""
        if not self._chosen_model():
            missing = self.tr("Choose a model.")
        elif not self._folder:
            missing = self.tr("Choose a folder.")
        self._missing.setText(missing)
        self._start_button.setEnabled(bool(self._task_field.stripped_text()) and not missing)

    def _lay_out(self) -> None:
        box = styled_frame("input")
        show_focus_on(box, self._task_field)
        box_layout = QVBoxLayout(box)
        box_layout.setContentsMargins(12, 12, 12, 12)
        box_layout.addWidget(self.attached)
        box_layout.addWidget(self._task_field)
        box_layout.addWidget(
            WrappingRow(self._mode_button, self._attach_button, self._agents, self._efforts, self._limits_button)
        )
        button_row = QHBoxLayout()
        button_row.setSpacing(8)
        choices = (self._folder_button, self._recent_button, self._models, self._missing)
        button_row.addWidget(WrappingRow(*choices), 1)
        button_row.addWidget(self._start_button, 0, Qt.AlignmentFlag.AlignBottom)
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


def _drop_down(look: Look, name: str, accessible_name: str) -> DropDown:
    drop_down = DropDown()
    drop_down.setObjectName(name)
    drop_down.setAccessibleName(accessible_name)
    drop_down.setFont(look.fonts.text)
    return drop_down
