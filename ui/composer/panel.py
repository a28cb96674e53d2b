"""The composer: the message field with a draft for each session, attachments, queued messages and the send button."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from PySide6.QtCore import QEvent, QMimeData, QSize, Qt, QTimer, Signal, SignalInstance
from PySide6.QtGui import QHideEvent, QMouseEvent
from PySide6.QtWidgets import (
    QFileDialog,
    QFrame,
    QHBoxLayout,
    QMenu,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from core.domain.message_files import AttachedFile
from core.store.queued_messages import QueuedMessage
from ui.composer.model_button import ModelButton
from ui.composer.queue_cards import QueueCards
from ui.message.attachments import AttachmentBar
from ui.message.completion import Completion
from ui.message.message_field import MessageField
from ui.message.mode_button import ModeButton
from ui.style.icons import icon
from ui.style.theme import Look
from ui.widgets.announce import announce
from ui.widgets.elided import ElidedLabel
from ui.widgets.labels import show_focus_on, styled_frame
from ui.widgets.tool_button import tool_button

LINES: Final = 8
DRAFT_DELAY_MS: Final = 400
ICON: Final = 16


class ComposerCommand(NamedTuple):
    """A command of the window that the user can run by sending its name after a slash."""

    id: str
    description: str


class ComposerPanel(QFrame):
    """The composer.

    `submitted` carries a message to send. `draft_changed` is emitted shortly after the user has typed.
    """

    submitted = Signal(str)
    submitted_now = Signal(str)
    command_submitted = Signal(str)
    files_requested = Signal()
    draft_changed = Signal(str, str)
    attachments_changed = Signal(str)  # the session whose attachments have changed
    mode_chosen = Signal(str)

    def __init__(self, look: Look, *, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self._session = ""
        self._running = False
        self._reason = ""
        self._draft_pending = False
        self._commands: dict[str, str] = {}
        self._other_attachments: dict[
            str, tuple[AttachedFile, ...]
        ] = {}  # the attachments of unsent messages in other sessions
        self.setObjectName("composer")
        self.setAccessibleName(self.tr("Message"))
        self.setProperty("surface", "background")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._build()
        self._draft_wait = QTimer(self, singleShot=True, interval=DRAFT_DELAY_MS)
        self._draft_wait.timeout.connect(self.flush_draft)
        self._input.textChanged.connect(self._on_text_changed)
        self._input.entered.connect(self.submit)
        self._input.send_now_pressed.connect(self.submit_now)
        self._input.up_pressed.connect(self.queue.focus_last)
        self._input.mime_data_received.connect(self._attach)
        self.completion = Completion(self._look, self._input)
        self.completion.files_requested.connect(self.files_requested)
        self.attached.changed.connect(self._on_files_changed)
        self._attach_button.clicked.connect(self.pick_files)
        self._send.clicked.connect(self.submit)
        self._update_state()

    def set_session(
        self, session_id: str, draft: str, saved_attachments: Callable[[], Sequence[AttachedFile]] = tuple
    ) -> None:
        """Switch to a session: keep the draft of the previous session, and show the draft of this one.

        `saved_attachments` reads the stored attachments of the session from disk.
        """
        self.flush_draft()
        if session_id != self._session:
            self._keep_unsaved_edits()
            self.attached.blockSignals(True)
            self._other_attachments[self._session] = self.attached.take()
            attachments = self._other_attachments.pop(session_id, None)
            self.attached.restore(saved_attachments() if attachments is None else attachments)
            self.attached.blockSignals(False)
            self.completion.forget_files()
        self._session = session_id
        self._input.blockSignals(True)
        self._input.setPlainText(draft)
        self._input.blockSignals(False)
        self._input.fit_height()
        self._input.moveCursor(self._input.textCursor().MoveOperation.End)
        self._update_state()

    def _keep_unsaved_edits(self) -> None:
        """Append the unsaved edits of queued messages to the draft of the session, so that they are not lost."""
        if unsaved_text := self.queue.take_unsaved():
            texts = filter(None, (self._input.stripped_text(), unsaved_text))
            self.draft_changed.emit(self._session, "\n\n".join(texts))

    def set_running(self, running: bool) -> None:
        """Set whether a run is active. If so, messages are queued for it."""
        self._running = running
        self._update_state()

    def set_disabled_reason(self, reason: str) -> None:
        """Disable the composer and show the reason; an empty reason enables it again."""
        self._reason = reason
        self._update_state()

    def set_model(self, name: str) -> None:
        self.model.show_model(name)

    def show_queue(self, messages: Sequence[QueuedMessage], *, running: bool) -> None:
        """Show the messages queued for the run."""
        self.queue.show_queue(messages, running=running)

    def set_mode(self, mode: str) -> None:
        """Show the permission mode of the session. An empty mode hides the button."""
        self._mode.show_mode(mode)

    @property
    def mode_menu(self) -> QMenu:
        return self._mode.mode_menu

    def has_input_focus(self) -> bool:
        return self._input.hasFocus()

    def draft(self) -> str:
        return self._input.toPlainText()

    def set_commands(self, commands: Mapping[str, ComposerCommand]) -> None:
        """Set the slash commands, by name."""
        self._commands = {name: command.id for name, command in commands.items()}
        self.completion.set_commands({name: command.description for name, command in commands.items()})

    def submit(self) -> None:
        """Send the message and clear the field. A message that contains only spaces is ignored."""
        self._send_with(self.submitted, self.tr("Queued until this turn ends"))

    def submit_now(self) -> None:
        """Send the message at once. If a run is active, this interrupts its current reply."""
        self._send_with(self.submitted_now, self.tr("Sent now"))

    def _send_with(self, signal: SignalInstance, note: str) -> None:
        """Send the message, and announce `note` if a run is active."""
        message = self._input.stripped_text()
        if self._reason or not (message or self.attached.files()):
            return
        self._input.clear()
        self.flush_draft()
        if message.startswith("/") and (name := self._commands.get(message[1:])):
            self.command_submitted.emit(name)
        else:
            if self._running:
                announce(self, note)
            signal.emit(message)

    def pick_files(self) -> None:
        """Open the system's file dialog without blocking."""
        dialog = QFileDialog(self, self.tr("Attach files"))
        dialog.setObjectName("composer.files")
        dialog.setFileMode(QFileDialog.FileMode.ExistingFiles)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.filesSelected.connect(self.attached.add_paths)
        dialog.open()

    def _attach(self, data: QMimeData) -> None:
        """Attach pasted or dropped files and pictures."""
        if not self._reason:
            self.attached.add_mime_data(data)

    def flush_draft(self) -> None:
        """Emit `draft_changed` for a change that has not been emitted yet."""
        self._draft_wait.stop()
        if self._draft_pending:
            self._draft_pending = False
            self.draft_changed.emit(self._session, self._input.toPlainText())

    def focus_input(self) -> None:
        self._input.setFocus(Qt.FocusReason.OtherFocusReason)

    def restyle(self, look: Look) -> None:
        self._look = look
        self._input.apply_font(look.fonts.text)
        self.attached.restyle(look)
        self.queue.restyle(look)
        self.completion.restyle(look)
        self.model.restyle(look)
        self._note.setFont(look.fonts.second)
        self._mode.restyle(look)
        self._update_icons()

    def _build(self) -> None:
        fonts = self._look.fonts
        self._box = styled_frame("input")
        self._box.setObjectName("composer.box")
        self._input = MessageField(fonts.text, max_lines=LINES)
        self._input.setObjectName("composer.input")
        show_focus_on(self._box, self._input)
        self._input.setAccessibleName(self.tr("Message to the agent"))
        self.attached = AttachmentBar(self._look)
        self.queue = QueueCards(self._look)
        attach_tooltip = self.tr("Attach files (Ctrl+Shift+A), or paste or drop them here")
        self._attach_button = tool_button("composer.attach", self.tr("Attach files"), attach_tooltip)
        self._send = QToolButton()
        self._send.setObjectName("composer.send")
        self._send.setAccessibleName(self.tr("Send"))
        self._send.setProperty("tone", "framed")
        self._mode = ModeButton(self._look)
        self._mode.chosen.connect(self.mode_chosen)
        self.model = ModelButton(self._look)
        self._note = ElidedLabel("", fonts.second, "second", name="composer.note")
        self._note.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self._lay_out()
        self.set_model("")
        self._update_icons()

    def _lay_out(self) -> None:
        button_row = QHBoxLayout()
        button_row.setContentsMargins(0, 0, 0, 0)
        button_row.setSpacing(8)
        button_row.addWidget(self._mode)
        button_row.addWidget(self._attach_button)
        button_row.addWidget(self.model)
        button_row.addStretch(1)
        button_row.addWidget(self._note)
        button_row.addWidget(self._send)
        box_layout = QVBoxLayout(self._box)
        box_layout.setContentsMargins(12, 12, 8, 8)
        box_layout.setSpacing(8)
        box_layout.addWidget(self.attached)
        box_layout.addWidget(self._input)
        box_layout.addLayout(button_row)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(20, 8, 20, 12)
        layout.setSpacing(0)
        layout.addWidget(self.queue)
        layout.addWidget(self._box)

    def _update_state(self) -> None:
        enabled = not self._reason
        self._input.setEnabled(enabled)
        self._input.setPlaceholderText(self._reason or self._placeholder())
        self._input.setAccessibleDescription(self._reason)
        self._update_sendable()

    def _placeholder(self) -> str:
        if self._running:
            return self.tr("Add to this run… Enter queues the message, Ctrl+Enter sends it now")
        if self._session:
            return self.tr("Reply… Enter sends, Shift+Enter adds a line")
        return self.tr("What should the agent do? Enter starts, Shift+Enter adds a line")

    def _on_files_changed(self) -> None:
        self._update_sendable()
        self.attachments_changed.emit(self._session)

    def _on_text_changed(self) -> None:
        self._draft_pending = True
        self._draft_wait.start()
        self._update_sendable()

    def _update_sendable(self) -> None:
        sendable = bool(self._input.stripped_text() or self.attached.files()) and not self._reason
        self._attach_button.setEnabled(not self._reason)
        self._send.setEnabled(sendable)
        tip = (
            self.tr("Queue for this run (Enter), or send now (Ctrl+Enter)")
            if self._running
            else self.tr("Send (Enter)")
        )
        self._send.setToolTip(tip)
        queued = self.tr("queued until this turn ends") if sendable and self._running else ""
        # The placeholder, which shows the reason, is visible only while the field is empty.
        placeholder_hidden = bool(self._input.toPlainText())
        self._note.show_text(self._reason if self._reason and placeholder_hidden else queued)
        self._update_icons()

    def _update_icons(self) -> None:
        theme = self._look.theme
        color = theme.text if self._send.isEnabled() else theme.third
        button_size, icon_size = self._look.size(28), self._look.size(ICON)
        self._send.setFixedSize(button_size, button_size)
        self._send.setIconSize(QSize(icon_size, icon_size))
        self._attach_button.setFixedSize(button_size, button_size)
        self._attach_button.setIconSize(QSize(icon_size, icon_size))
        self._attach_button.setIcon(icon("paperclip", theme.second, icon_size))
        self._send.setIcon(icon("corner-down-left", color, icon_size))

    def sizeHint(self) -> QSize:
        return QSize(480, super().sizeHint().height())

    def hideEvent(self, event: QHideEvent) -> None:
        self.flush_draft()
        super().hideEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self.focus_input()
        event.accept()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.DevicePixelRatioChange:
            self._update_icons()
