"""The dialog that commits the changes of a git repository, pushes them, and opens a pull request."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QDialog, QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from core.domain.problems import ErrorDetails
from ui.style.theme import Look, set_style_properties
from ui.text.visible import visible
from ui.widgets.button import Button
from ui.widgets.check_box import CheckBox
from ui.widgets.dialog_parts import grow_to_fit
from ui.widgets.fitting_scroll_area import FittingScrollArea
from ui.widgets.labels import ENTER_KEYS, TextField, allow_breaks, hairline, label, show_focus_on, styled_frame
from ui.widgets.tooltip import tooltip_text

if TYPE_CHECKING:
    from core.workspace.git_repository import GitFile, GitStatus

WIDTH: Final = 600
MAX_LIST_HEIGHT: Final = 220
MAX_FILES: Final = 300  # files that get their own check box at most
MESSAGE_LINES: Final = (3, 8)
STATES: Final = {"M": "changed", "A": "new", "?": "new", "D": "deleted", "R": "renamed", "U": "conflict"}


class CommitDialog(QDialog):
    """Shows the status of a repository. Signals request the actions, whose results are also shown here.

    Ctrl+Enter commits or, while the text of the pull request is edited, opens the pull request.
    """

    staged = Signal(object, bool)
    """The paths to stage (true) or unstage."""
    committed = Signal(str, object)
    """The message, and the GitStatus that is shown."""
    branch_requested = Signal(str)
    push_requested = Signal(object)
    """The GitStatus that is shown."""
    pull_request_requested = Signal(str, str, object)
    """The title, the description, and the GitStatus that is shown."""
    programs_allowed = Signal(bool)
    """Whether the repository may run programs of its own."""

    def __init__(self, look: Look, propose: Callable[[list[str]], str], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self._propose = propose
        self._status: GitStatus | None = None
        self._proposed = ""
        self._for_pull_request = False
        self._focused: QWidget | None = None
        self.setObjectName("commit")
        self.setWindowTitle(self.tr("Commit changes"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._build()
        self._lay_out()
        self._connect()
        self.setMinimumWidth(look.size(WIDTH))
        self._show_mode()
        self._message.setFocus()

    def _build(self) -> None:
        look = self._look
        self._branch = label("", look.fonts.second, "second", name="commit.branch", wrap=True)
        self._new_branch = Button(
            look, self.tr("New branch…"), name="commit.new_branch", tone="quiet", icon="git-branch"
        )
        self._branch_name = QLineEdit()
        self._branch_name.setObjectName("commit.branch_name")
        self._branch_name.setPlaceholderText(self.tr("Name of the new branch"))
        self._branch_name.setAccessibleName(self.tr("Name of the new branch"))
        self._branch_name.setFont(look.fonts.text)
        self._branch_name.hide()
        self._programs = CheckBox(look, self.tr("Let this repository run its own programs"), name="commit.programs")
        self._program_names = label("", look.fonts.second, "waiting", name="commit.program_names", wrap=True)
        self._all = CheckBox(look, "", name="commit.all")
        self._files = QWidget()
        self._file_column = QVBoxLayout(self._files)
        self._file_column.setContentsMargins(0, 0, 8, 0)
        self._file_column.setSpacing(4)
        self._boxes: list[CheckBox] = []
        self._message_title = label("", look.fonts.second, "second", name="commit.message_title")
        fewest, most = MESSAGE_LINES
        self._message = _MessageField(look.fonts.mono, max_lines=most, min_lines=fewest)
        self._message.setObjectName("commit.message")
        self._result = label("", look.fonts.second, name="commit.result", wrap=True)
        self._close = Button(look, self.tr("Close"), name="commit.close")
        self._push = Button(look, self.tr("Push"), name="commit.push", icon="arrow-up")
        self._pull = Button(look, self.tr("Pull request…"), name="commit.pull", icon="share")
        self._act = Button(look, self.tr("Commit"), name="commit.act", tone="primary", hint="Ctrl+Enter")

    def _lay_out(self) -> None:
        look = self._look
        branch_row = QHBoxLayout()
        branch_row.addWidget(self._branch, 1)
        branch_row.addWidget(self._new_branch)
        box = styled_frame("input")
        show_focus_on(box, self._message)
        box_layout = QVBoxLayout(box)
        box_layout.setContentsMargins(10, 8, 10, 8)
        box_layout.addWidget(self._message)
        self._file_area = FittingScrollArea(self._files)
        self._file_area.setMaximumHeight(look.size(MAX_LIST_HEIGHT))
        buttons = QHBoxLayout()
        buttons.setSpacing(8)
        buttons.addWidget(self._close)
        buttons.addStretch(1)
        for button in (self._pull, self._push, self._act):
            buttons.addWidget(button)
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 16, 20, 16)
        column.setSpacing(10)
        self._title = label("", look.fonts.title, name="commit.title")
        for part in (
            self._title,
            self._programs,
            self._program_names,
            self._all,
            self._file_area,
            hairline(),
            self._message_title,
            box,
            self._result,
        ):
            column.addWidget(part)
        column.insertLayout(1, branch_row)
        column.insertWidget(2, self._branch_name)
        column.addLayout(buttons)

    def _connect(self) -> None:
        self._new_branch.clicked.connect(self._ask_branch)
        self._branch_name.returnPressed.connect(self._create_branch)
        self._programs.toggled.connect(self.programs_allowed)
        self._all.clicked.connect(self._stage_all)
        self._message.textChanged.connect(self._enable)
        self._message.submitted.connect(self._perform)
        self._close.clicked.connect(self._go_back)
        self._push.clicked.connect(lambda: self.push_requested.emit(self._status))
        self._pull.clicked.connect(self._begin_pull_request)
        self._act.clicked.connect(self._perform)

    def show_status(self, status: "GitStatus") -> None:
        """Show the state of the repository, and propose a message for the staged changes."""
        self._status = status
        self._show_branch(status)
        self._programs.setVisible(bool(status.programs))
        self._program_names.setVisible(bool(status.programs))
        names = ", ".join(visible(name) for name in status.programs)
        text = self.tr("Not run until you allow it: {}") if not self._programs.isChecked() else self.tr("Allowed: {}")
        self._program_names.setText(allow_breaks(text.format(names)))
        self._show_files(status)
        proposal = self._propose([file.path for file in status.staged])
        if not self._for_pull_request and self._message.toPlainText().strip() in {"", self._proposed}:
            self._proposed = proposal.strip()
            self._message.setPlainText(proposal)
        self._enable()
        grow_to_fit(self)

    def set_busy(self, busy: bool) -> None:
        """Disable all controls while an action is running, without moving the focus."""
        if busy:
            self._focused = self.focusWidget()
        for part in (self._file_area, self._message, self._programs, self._all):
            part.setEnabled(not busy)
        if busy:
            for button in (self._act, self._push, self._pull, self._new_branch):
                button.setEnabled(False)
            return
        self._enable()
        if self._focused is self._message or self._focused is self._all:
            self._focused.setFocus()

    def show_result(self, text: str) -> None:
        """Show the result of an action."""
        self._say(text, "done")

    def show_error(self, error: ErrorDetails) -> None:
        self._say(" ".join(filter(None, (error.message, error.cause, error.fix))), "failed")

    def finish_commit(self, text: str) -> None:
        """Show that the commit was made, and clear the message."""
        self._proposed = ""
        self._message.clear()
        self.show_result(text)

    def finish_pull_request(self, text: str) -> None:
        self._for_pull_request = False
        self._proposed = ""
        self._message.clear()
        self._show_mode()
        self.show_result(text)

    def _say(self, text: str, tone: str) -> None:
        self._result.setText(allow_breaks(visible(text)))
        set_style_properties(self._result, tone=tone)
        grow_to_fit(self)

    def _show_branch(self, status: "GitStatus") -> None:
        name = visible(status.branch) if status.branch else self.tr("no branch")
        target = visible(status.upstream) or (self.tr("not pushed yet") if status.remote else self.tr("no remote"))
        parts = [f"{name} → {target}"]
        if status.ahead:
            parts.append(self.tr("{} to push").format(status.ahead))
        if status.behind:
            parts.append(self.tr("{} to pull").format(status.behind))
        self._branch.setText(" · ".join(parts))

    def _show_files(self, status: "GitStatus") -> None:
        focused = next((box.accessibleName() for box in self._boxes if box.hasFocus()), "")
        for box in self._boxes:
            self._file_column.removeWidget(box)
            box.deleteLater()
        self._boxes = [self._file_box(file) for file in status.files[:MAX_FILES]]
        for box in self._boxes:
            self._file_column.addWidget(box)
            if box.accessibleName() == focused:
                box.setFocus()
        count = len(status.files)
        text = self.tr("{} of {} files staged").format(len(status.staged), count)
        if status.blocked:
            text = self.tr("The changed files are listed once its programs are allowed.")
        elif not count:
            text = self.tr("No changes")
        elif count > MAX_FILES:
            text = self.tr("{} · the first {} are listed").format(text, MAX_FILES)
        self._all.setText(text)
        self._all.setAccessibleName(self.tr("Stage all files"))
        self._all.setEnabled(count > 0)
        self._all.setChecked(count > 0 and len(status.staged) == count and not any(f.unstaged for f in status.files))
        self._file_area.setVisible(bool(self._boxes))

    def _file_box(self, file: "GitFile") -> CheckBox:
        state = self.tr(STATES.get(file.staged or file.unstaged, "changed"))
        if file.staged and file.unstaged:
            state = self.tr("changed since it was staged")
        box = CheckBox(self._look, f"{visible(file.path)}   {state}".replace("&", "&&"), name="commit.file")
        box.setFont(self._look.fonts.mono)
        box.setToolTip(tooltip_text(file.path))
        box.setAccessibleName(f"{visible(file.path)}, {state}")
        box.setChecked(bool(file.staged) and not file.unstaged)
        box.clicked.connect(lambda on, path=file.path: self.staged.emit([path], on))
        return box

    def _stage_all(self, on: bool) -> None:
        if self._status:
            self.staged.emit([file.path for file in self._status.files], on)

    def _ask_branch(self) -> None:
        self._branch_name.setVisible(not self._branch_name.isVisible())
        if self._branch_name.isVisible():
            self._branch_name.setFocus()
        grow_to_fit(self)

    def _create_branch(self) -> None:
        if name := self._branch_name.text().strip():
            self._branch_name.clear()
            self._branch_name.hide()
            self.branch_requested.emit(name)

    def _begin_pull_request(self) -> None:
        """Let the user edit title and description of the pull request; both begin with those of the last commit."""
        self._for_pull_request = True
        self._proposed = ""
        self._message.setPlainText(self._status.last_message if self._status else "")
        self._result.clear()
        self._show_mode()
        self._message.setFocus()

    def _go_back(self) -> None:
        """Go from the pull request back to the commit; from there, close the dialog."""
        if not self._for_pull_request:
            self.reject()
            return
        self._for_pull_request = False
        self._message.clear()
        self._show_mode()
        if self._status:
            self.show_status(self._status)

    def _perform(self) -> None:
        if not self._act.isEnabled():
            return
        text = self._message.toPlainText().strip()
        if self._for_pull_request:
            title, _, body = text.partition("\n")
            self.pull_request_requested.emit(title.strip(), body.strip(), self._status)
        else:
            self.committed.emit(text, self._status)

    def _show_mode(self) -> None:
        """Show the controls for a commit, or those for a pull request."""
        pull = self._for_pull_request
        title = self.tr("Open a pull request") if pull else self.tr("Commit changes")
        self._title.setText(title)
        self._message_title.setText(
            self.tr("Title in the first line, description below") if pull else self.tr("Message")
        )
        self._message.setAccessibleName(self._message_title.text())
        self._act.setText(self.tr("Open pull request") if pull else self.tr("Commit"))
        self._act.setAccessibleName(self._act.text())
        self._close.setText(self.tr("Back") if pull else self.tr("Close"))
        self._close.setAccessibleName(self._close.text())
        for button in (self._act, self._close):
            button.updateGeometry()
        for part in (self._push, self._pull, self._all, self._new_branch):
            part.setVisible(not pull)
        self._file_area.setVisible(not pull and bool(self._boxes))
        self._enable()

    def _enable(self) -> None:
        """Enable the buttons whose actions are possible now; the tooltips of the others say why they are not."""
        status, text = self._status, self._message.toPlainText().strip()
        if status is None:
            for button in (self._act, self._push, self._pull, self._new_branch):
                button.setEnabled(False)
            return
        blocked = self.tr("Allow the programs of the repository first.") if status.blocked else ""
        obstacles = {
            self._act: blocked or ("" if text else self.tr("Write a message first.")),
            self._push: blocked
            or ("" if status.branch else self.tr("Create a branch first."))
            or ("" if status.remote else self.tr("The repository has no remote.")),
            self._pull: blocked
            or ("" if status.upstream else self.tr("Push the branch first."))
            or ("" if status.pull_request_program else self.tr("Install gh (GitHub) or glab (GitLab).")),
            self._new_branch: blocked,
        }
        if not self._for_pull_request and not blocked and not status.staged:
            obstacles[self._act] = self.tr("Select the files to commit.")
        for button, obstacle in obstacles.items():
            button.setEnabled(not obstacle)
            button.setToolTip(obstacle)
        if self._push.isEnabled():  # the address is shown because the name of a remote does not say where it leads
            self._push.setToolTip(tooltip_text(self.tr("Push to {}").format(status.remote_url)))


class _MessageField(TextField):
    """A text field in which Enter inserts a line break."""

    submitted = Signal()

    # Overridden Qt methods

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in ENTER_KEYS and event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self.submitted.emit()
        elif event.key() in ENTER_KEYS:
            self.insertPlainText("\n")
            self.ensureCursorVisible()
        else:
            super().keyPressEvent(event)
