"""The form that starts a session: the task with attachments, the folder, the model and how the agent works."""

from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import QCoreApplication, QEvent, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent, QTextCursor
from PySide6.QtWidgets import QComboBox, QFileDialog, QVBoxLayout, QWidget

from core.domain.message_files import AttachedFile
from core.domain.modes import DEFAULT_MODE, Mode
from ui.message.attachments import AttachmentBar
from ui.message.completion import Completion
from ui.message.efforts import EFFORTS
from ui.message.message_field import MessageField
from ui.message.mode_button import ModeButton
from ui.start.new_session import NewSession, OfferedAgent
from ui.start.run_options import RunOptions
from ui.start.session_choices import AgentDropDown, FolderButton, OptionsButton, RecentFoldersButton
from ui.style.theme import Look
from ui.widgets.button import Button
from ui.widgets.check_box import CheckBox
from ui.widgets.drop_down import DropDown
from ui.widgets.flow_layout import WrappingRow
from ui.widgets.labels import ENTER_KEYS, label, show_focus_on, styled_frame
from ui.widgets.stacking_row import StackingRow

MAX_TASK_LINES: Final = 8
MIN_TASK_LINES: Final = 3
DRAFT_DELAY_MS: Final = 400


class NewSessionForm(QWidget):
    """The form. It shows which information is still missing. The folder of the previous session is preselected."""

    start_requested = Signal(object)  # a NewSession
    folder_chosen = Signal(str)
    draft_changed = Signal(str)  # the unsent task; emitted shortly after the user has typed

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._mode: Mode = DEFAULT_MODE
        self._default_model = ""
        self._model_before_agent = ""  # the model to restore when an agent is chosen that names no model
        self.setObjectName("start.begin")
        self._task_field = MessageField(look.fonts.text, max_lines=MAX_TASK_LINES, min_lines=MIN_TASK_LINES)
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
        self._mode_button = ModeButton(look, self, name="start.mode")
        self._mode_button.show_mode(self._mode)
        self._agents = AgentDropDown(look)
        self._efforts = DropDown(name="start.effort", title=self.tr("Reasoning effort"), font=look.fonts.text)
        for effort in EFFORTS:
            text = self.tr("Effort: {}").format(effort) if effort else self.tr("Default effort")
            self._efforts.addItem(text, effort)
        self._options_button = OptionsButton(look)
        self._folder_button = FolderButton(look)
        self._recent_button = RecentFoldersButton(look)
        self._models = DropDown(name="start.model", title=self.tr("Model"), font=look.fonts.text)
        self._models.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self._models.setMinimumContentsLength(18)
        self._models.setPlaceholderText(self.tr("Choose a model"))
        self._worktree_box = CheckBox(look, self.tr("Work in a new Git worktree"), name="start.worktree")
        self._worktree_box.setToolTip(
            self.tr("The agent works on a new branch in a separate working copy. Merge the branch to get its changes.")
        )
        self._worktree_box.hide()
        self._start_button = Button(look, self.tr("Start session"), name="start.go", tone="primary")
        self._missing = label("", look.fonts.second, "second", name="start.missing")
        self._draft_timer = QTimer(self, singleShot=True, interval=DRAFT_DELAY_MS)
        self._lay_out()
        self._connect()
        self._update_state()

    def _lay_out(self) -> None:
        box = styled_frame("input")
        show_focus_on(box, self._task_field)
        box_layout = QVBoxLayout(box)
        box_layout.setContentsMargins(12, 12, 12, 12)
        box_layout.addWidget(self.attached)
        box_layout.addWidget(self._task_field)
        box_layout.addWidget(
            WrappingRow(self._mode_button, self._attach_button, self._agents, self._efforts, self._options_button)
        )
        choices = WrappingRow(self._folder_button, self._recent_button, self._models)
        bottom = Qt.AlignmentFlag.AlignBottom | Qt.AlignmentFlag.AlignRight
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        column.addWidget(box)
        column.addWidget(StackingRow(choices, self._start_button, alignment=bottom))
        column.addWidget(WrappingRow(self._worktree_box, self._missing))

    def _connect(self) -> None:
        self._folder_button.picked.connect(self._choose_folder)
        self._recent_button.picked.connect(self._choose_folder)
        self._attach_button.clicked.connect(self.pick_files)
        self._mode_button.chosen.connect(self._choose_mode)
        self._agents.activated.connect(self._use_model_of_agent)
        self._models.currentIndexChanged.connect(self._update_state)
        self.attached.changed.connect(self._update_state)
        self._task_field.mime_data_received.connect(self.attached.add_mime_data)
        self._task_field.textChanged.connect(self._update_state)
        self._task_field.textChanged.connect(self._draft_timer.start)
        self._draft_timer.timeout.connect(lambda: self.draft_changed.emit(self._task_field.toPlainText()))
        self._task_field.entered.connect(self._start)
        self._task_field.send_now_pressed.connect(self._start)
        self._start_button.clicked.connect(self._start)

    def _start(self) -> None:
        """Start the session. If nothing but the folder is missing, ask for the folder."""
        if self._start_button.isEnabled():
            self.start_requested.emit(
                NewSession(
                    task=self.text(),
                    folder=self.folder,
                    model=self._chosen_model(),
                    mode=self._mode,
                    agent=self._agents.chosen.name,
                    effort=self._efforts.currentData() or "",
                    files=self.attached.files(),
                    options=self._options_button.chosen,
                )
            )
        elif self.text() and not self.folder:
            self._folder_button.open_picker()

    def _update_state(self) -> None:
        """Show what is still missing, and enable the Start button if nothing is."""
        missing = ""
        if not self._chosen_model():
            missing = self.tr("Choose a model.")
        elif not self.folder:
            missing = self.tr("Choose a folder.")
        self._missing.setText(missing)
        self._missing.setVisible(bool(missing))
        self._start_button.setEnabled(bool(self.text()) and not missing)

    def set_models(self, names: Sequence[str], default: str = "", last_used: str = "") -> None:
        """List the models. The chosen one is kept if it is still available, unless the default has changed.

        Without a default, a model is only chosen for an empty list, and never in place of a removed one: the one of the
        last session, or the only one. Among several models, the user has to choose.
        """
        chosen = self._chosen_model() if default == self._default_model else ""
        suggested = last_used or (names[0] if len(names) == 1 else "")
        first = suggested if not self._models.count() else ""
        self._default_model = default
        self._models.clear()
        for name in names:
            self._models.addItem(name, name)
        model = next((model for model in (chosen, default, first) if model in names), "")
        self._models.setCurrentIndex(self._models.findData(model) if model else -1)
        self._update_state()

    def choose_default_model(self) -> None:
        """Choose the default model again.

        Called after a session has started, for which another one may have been chosen.
        """
        if (index := self._models.findData(self._default_model)) >= 0:
            self._models.setCurrentIndex(index)

    def choose_model(self, name: str) -> None:
        self._models.setCurrentIndex(self._models.findData(name))
        self._update_state()
        self.focus_task()

    def _chosen_model(self) -> str:
        """Return the name of the chosen model; "" if there is none."""
        return self._models.currentData() or ""

    def set_agents(self, agents: Sequence[OfferedAgent]) -> None:
        """List the agent profiles of the user. If there are none, hide the choice."""
        self._agents.set_agents(agents)

    def _use_model_of_agent(self) -> None:
        """Choose the model that the chosen agent profile names. The user may then choose another one."""
        agent = self._agents.chosen
        model = agent.model or self._model_before_agent
        if not agent.model:
            self._model_before_agent = ""
        elif not self._model_before_agent:
            self._model_before_agent = self._chosen_model()
        if model:
            if self._models.findData(model) < 0:
                self._models.addItem(model, model)
            self._models.setCurrentIndex(self._models.findData(model))
            self._update_state()

    def _choose_mode(self, mode: Mode) -> None:
        self._mode = mode
        self._mode_button.show_mode(mode)

    def set_usual_options(self, options: RunOptions) -> None:
        """Set the options of the settings. They apply unless the user chooses others."""
        self._options_button.set_usual(options)

    def choose_options(self, options: RunOptions | None) -> None:
        """Choose the options of the run; None means those of the settings."""
        self._options_button.choose(options)

    def pick_files(self) -> None:
        """Open the system's file dialog without blocking."""
        dialog = QFileDialog(self, self.tr("Attach files"))
        dialog.setObjectName("start.files")
        dialog.setFileMode(QFileDialog.FileMode.ExistingFiles)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.filesSelected.connect(self.attached.add_paths)
        dialog.open()

    # Choosing the folder

    @property
    def folder(self) -> str:
        return self._folder_button.folder

    def set_folder(self, folder: str) -> None:
        if folder != self.folder:
            self.completion.forget_files()
            self._worktree_box.hide()  # it is shown if the folder turns out to be in a git repository
        self._folder_button.show_folder(folder)
        self._update_state()
        self.folder_chosen.emit(folder)

    def set_recent_folders(self, folders: Sequence[str]) -> None:
        """List the folders of the latest sessions."""
        self._recent_button.set_folders(folders)

    def _choose_folder(self, folder: str) -> None:
        self.set_folder(folder)
        self.focus_task()

    @property
    def use_worktree(self) -> bool:
        """Whether the session should work in its own git worktree."""
        return self._worktree_box.isVisibleTo(self) and self._worktree_box.isChecked()

    def offer_worktree(self, folder: str, possible: bool) -> None:
        """Show the worktree option if it is `possible`. Ignored if the user has chosen another folder meanwhile."""
        if folder == self.folder:
            self._worktree_box.setVisible(possible)

    # Entering the task

    def focus_task(self) -> None:
        self._task_field.setFocus(Qt.FocusReason.OtherFocusReason)

    def type_ahead(self, event: QEvent) -> None:
        """Pass a key to the task field that was pressed before the form was shown."""
        QCoreApplication.sendEvent(self._task_field, event)

    def restore_draft(self, draft: str) -> None:
        """Restore an unsent task. What the user has already typed follows on a separate line."""
        typed = self.text()
        self._task_field.clear()
        self.fill("\n".join(filter(None, (draft, typed))))

    def clear(self) -> None:
        """Clear the form. Called when the session has started."""
        self._task_field.clear()
        self.attached.take()

    def text(self) -> str:
        return self._task_field.stripped_text()

    def fill(self, task: str, files: Sequence[AttachedFile] = ()) -> None:
        """Fill in a task, unless the user has already typed one, and place the cursor at its end."""
        if not self.text():
            self._task_field.setPlainText(task)
            self._task_field.moveCursor(QTextCursor.MoveOperation.End)
        self.attached.restore(files)

    def restyle(self, look: Look) -> None:
        self._task_field.apply_font(look.fonts.text)
        for drop_down in (self._models, self._efforts):
            drop_down.setFont(look.fonts.text)
        self._missing.setFont(look.fonts.second)
        for widget in (
            self._worktree_box,
            self._folder_button,
            self._recent_button,
            self._start_button,
            self._attach_button,
            self._mode_button,
            self._agents,
            self._options_button,
            self.attached,
            self.completion,
        ):
            widget.restyle(look)

    # Overridden Qt methods

    def event(self, event: QEvent) -> bool:
        """Clear the focus on Escape. On Ctrl+Enter, start the session, even if the focus is on a check box."""
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            if event.key() == Qt.Key.Key_Escape:
                self._task_field.clearFocus()
            elif event.key() in ENTER_KEYS and event.modifiers() & Qt.KeyboardModifier.ControlModifier:
                self._start()
                return True
        return super().event(event)
