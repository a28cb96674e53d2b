"""Where the person writes to the agent: text, a draft for each session, and a button that sends."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

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

from core.store.queue import QueuedLine
from ui.composer.attached import AttachedFiles
from ui.composer.complete import Completion
from ui.composer.field import MessageField
from ui.composer.mode import ModeButton
from ui.composer.model import ModelButton
from ui.composer.queue import QueueCards
from ui.draft_files import File
from ui.icons import icon
from ui.theme import Look, wear
from ui.widgets.elided import ElidedLabel
from ui.widgets.words import surface

LINES: Final = 8
DRAFT_DELAY_MS: Final = 400
ICON: Final = 16


class ComposerPanel(QFrame):
    """Hands over what was said, and keeps what was not: `draft_changed` follows the typing at a short distance."""

    said = Signal(str)
    said_now = Signal(str)
    commanded = Signal(str)
    files_wanted = Signal()
    draft_changed = Signal(str, str)
    files_changed = Signal(str)  # what is attached in this session
    mode_wanted = Signal(str)

    def __init__(self, look: Look, *, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self._session = ""
        self._running = False
        self._reason = ""
        self._untold = False
        self._commands: dict[str, str] = {}
        self._aside: dict[str, tuple[File, ...]] = {}  # attached to messages of other sessions
        self.setObjectName("composer")
        self.setAccessibleName(self.tr("Message"))
        self.setProperty("surface", "background")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._build()
        self._draft_wait = QTimer(self, singleShot=True, interval=DRAFT_DELAY_MS)
        self._draft_wait.timeout.connect(self.keep_draft)
        self._input.textChanged.connect(self._follow)
        self._input.entered.connect(self.say)
        self._input.entered_now.connect(self.say_now)
        self._input.given.connect(self._take)
        self.completion = Completion(self._look, self._input)
        self.completion.files_wanted.connect(self.files_wanted)
        self.attached.changed.connect(self._follow_files)
        self._clip.clicked.connect(self.choose_files)
        self._input.focus_changed.connect(self._show_focus)
        self._send.clicked.connect(self.say)
        self._tell_state()

    def set_session(self, session_id: str, draft: str, kept: Callable[[], Sequence[File]] = tuple) -> None:
        """Turn to another session: its draft appears, the former one's is kept. `kept` are its files on the disk."""
        self.keep_draft()
        if session_id != self._session:
            self._keep_card()
            self.attached.blockSignals(True)
            self._aside[self._session] = self.attached.take()
            mine = self._aside.pop(session_id, None)
            self.attached.put_back(kept() if mine is None else mine)
            self.attached.blockSignals(False)
            self.completion.forget_files()
        self._session = session_id
        self._input.blockSignals(True)
        self._input.setPlainText(draft)
        self._input.blockSignals(False)
        self._input.fit()
        self._input.moveCursor(self._input.textCursor().MoveOperation.End)
        self._tell_state()

    def _keep_card(self) -> None:
        """Words that were being written into a queued message stay with the draft."""
        if words := self.queue.turn_away():
            self.draft_changed.emit(self._session, "\n\n".join(filter(None, (self._input.words(), words))))

    def set_running(self, running: bool) -> None:
        """While a run goes on, words are queued for it."""
        self._running = running
        self._tell_state()

    def set_closed(self, reason: str) -> None:
        """Say why this session takes no words; an empty reason opens it again."""
        self._reason = reason
        self._tell_state()

    def set_model(self, name: str) -> None:
        self.model.show_model(name)

    def show_queue(self, lines: Sequence[QueuedLine], *, going: bool) -> None:
        """The messages that wait for the run."""
        self.queue.show_queue(lines, going=going)

    def set_mode(self, mode: str) -> None:
        """How much the session asks; without a session there is nothing to say."""
        self._mode.show_mode(mode)

    @property
    def menu_of_modes(self) -> QMenu:
        return self._mode.menu_of_modes

    def has_keyboard(self) -> bool:
        return self._input.hasFocus()

    def draft(self) -> str:
        return self._input.toPlainText()

    def set_commands(self, commands: Mapping[str, tuple[str, str]]) -> None:
        """What may follow a slash: word → id and what it does."""
        self._commands = {word: name for word, (name, _) in commands.items()}
        self.completion.set_commands({word: text for word, (_, text) in commands.items()})

    def say(self) -> None:
        """Hand the words over and start afresh; nothing but blanks is not a message."""
        self._hand_over(self.said)

    def say_now(self) -> None:
        """The same; a run in progress hears it at once."""
        self._hand_over(self.said_now)

    def _hand_over(self, how: SignalInstance) -> None:
        words = self._input.words()
        if self._reason or not (words or self.attached.files()):
            return
        self._input.clear()
        self.keep_draft()
        if words.startswith("/") and (name := self._commands.get(words[1:])):
            self.commanded.emit(name)
        else:
            how.emit(words)

    def choose_files(self) -> None:
        """A dialog of the system; it holds up nothing."""
        dialog = QFileDialog(self, self.tr("Attach files"))
        dialog.setObjectName("composer.files")
        dialog.setFileMode(QFileDialog.FileMode.ExistingFiles)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.filesSelected.connect(self.attached.add_paths)
        dialog.open()

    def _take(self, data: QMimeData) -> None:
        """Pasted or dropped: files and pictures are attached."""
        if not self._reason:
            self.attached.add_given(data)

    def keep_draft(self) -> None:
        """Tell a draft that has not been told yet."""
        self._draft_wait.stop()
        if self._untold:
            self._untold = False
            self.draft_changed.emit(self._session, self._input.toPlainText())

    def focus_input(self) -> None:
        self._input.setFocus(Qt.FocusReason.OtherFocusReason)

    def restyle(self, look: Look) -> None:
        self._look = look
        self._input.set_font(look.fonts.text)
        self.attached.restyle(look)
        self.queue.restyle(look)
        self.completion.restyle(look)
        self.model.restyle(look)
        self._note.setFont(look.fonts.second)
        self._mode.restyle(look)
        self._tint()

    def _build(self) -> None:
        fonts = self._look.fonts
        self._box = surface("input")
        self._box.setObjectName("composer.box")
        self._input = MessageField(fonts.text, lines=LINES)
        self._input.setObjectName("composer.input")
        self._input.setAccessibleName(self.tr("Message to the agent"))
        self.attached = AttachedFiles(self._look)
        self.queue = QueueCards(self._look)
        self._clip = QToolButton()
        self._clip.setObjectName("composer.attach")
        self._clip.setAccessibleName(self.tr("Attach files"))
        self._clip.setToolTip(self.tr("Attach files (Ctrl+Shift+A); or paste, or drop them here"))
        self._send = QToolButton()
        self._send.setObjectName("composer.send")
        self._send.setAccessibleName(self.tr("Send"))
        self._send.setProperty("tone", "framed")
        self._mode = ModeButton(self._look)
        self._mode.chosen.connect(self.mode_wanted)
        self.model = ModelButton(self._look)
        self._note = ElidedLabel("", fonts.second, "second", name="composer.note")
        self._note.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self._lay_out()
        self.set_model("")
        self._tint()

    def _lay_out(self) -> None:
        foot = QHBoxLayout()
        foot.setContentsMargins(0, 0, 0, 0)
        foot.setSpacing(8)
        foot.addWidget(self._mode)
        foot.addWidget(self._clip)
        foot.addWidget(self.model)
        foot.addStretch(1)
        foot.addWidget(self._note)
        foot.addWidget(self._send)
        inside = QVBoxLayout(self._box)
        inside.setContentsMargins(12, 12, 8, 8)
        inside.setSpacing(8)
        inside.addWidget(self.attached)
        inside.addWidget(self._input)
        inside.addLayout(foot)
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 8, 20, 12)
        column.setSpacing(0)
        column.addWidget(self.queue)
        column.addWidget(self._box)

    def _tell_state(self) -> None:
        open_ = not self._reason
        self._input.setEnabled(open_)
        self._input.setPlaceholderText(self._reason or self._invitation())
        self._input.setAccessibleDescription(self._reason)
        self._tell_sendable()

    def _invitation(self) -> str:
        if self._running:
            return self.tr("Add to this run… Enter queues, Ctrl+Enter sends now")
        if self._session:
            return self.tr("Go on… Enter sends, Shift+Enter adds a line")
        return self.tr("What should the agent do? Enter starts, Shift+Enter adds a line")

    def _follow_files(self) -> None:
        self._tell_sendable()
        self.files_changed.emit(self._session)

    def _follow(self) -> None:
        self._untold = True
        self._draft_wait.start()
        self._tell_sendable()

    def _tell_sendable(self) -> None:
        words = bool(self._input.words() or self.attached.files()) and not self._reason
        self._clip.setEnabled(not self._reason)
        self._send.setEnabled(words)
        tip = (
            self.tr("Queue for this run (Enter), or send now (Ctrl+Enter)")
            if self._running
            else self.tr("Send (Enter)")
        )
        self._send.setToolTip(tip)
        queued = self.tr("queued after this round") if words and self._running else ""
        covered = bool(self._input.toPlainText())  # then the reason in the empty field cannot be seen
        self._note.show_text(self._reason if self._reason and covered else queued)
        self._tint()

    def _tint(self) -> None:
        theme = self._look.theme
        colour = theme.text if self._send.isEnabled() else theme.third
        side, glyph = self._look.size(28), self._look.size(ICON)
        self._send.setFixedSize(side, side)
        self._send.setIconSize(QSize(glyph, glyph))
        self._clip.setFixedSize(side, side)
        self._clip.setIconSize(QSize(glyph, glyph))
        self._clip.setIcon(icon("paperclip", theme.second, glyph))
        self._send.setIcon(icon("corner-down-left", colour, glyph))

    def _show_focus(self, on: bool) -> None:
        wear(self._box, focused=on)

    def sizeHint(self) -> QSize:
        return QSize(480, super().sizeHint().height())

    def hideEvent(self, event: QHideEvent) -> None:
        self.keep_draft()
        super().hideEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self.focus_input()
        event.accept()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.DevicePixelRatioChange:
            self._tint()
