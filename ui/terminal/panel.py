"""The panel of the Terminal tab: the commands of a session, and the output of the selected one, even while it is
running.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, Protocol

from PySide6.QtCore import QMargins, QModelIndex, QTimer, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QHBoxLayout, QListView, QSizePolicy, QStackedWidget, QVBoxLayout, QWidget

from core.domain.sessions import ACTIVE_STATUSES, SessionRow
from core.domain.steps import Step
from ui.base.step_presentation import badges, status_style, translate
from ui.style.number_formats import duration, size
from ui.style.theme import Look
from ui.terminal.command_list import MAX_COMMANDS, CommandDelegate, CommandsModel
from ui.terminal.terminal_view import TerminalView
from ui.widgets.button import Button
from ui.widgets.compact_row import CompactRow
from ui.widgets.elided import ElidedLabel
from ui.widgets.empty_note import empty_note
from ui.widgets.labels import hairline, label
from ui.widgets.replaceable_content import show_in_stack
from ui.widgets.splitter import horizontal_splitter

LIST_WIDTH: Final = 300
ROWS_PER_QUERY: Final = 5_000  # rows of the session in which each query searches commands
PAUSE_MS: Final = 8
MAX_CHARACTERS: Final = 1_000_000  # characters of an output that are shown
PIECE: Final = 32 * 1024  # characters that are laid out at a time, so that the window stays responsive
FIELDS: Final = {"tool_returned": "output", "background_command_ended": "output", "call_refused": "reason"}

OutputSince = Callable[[str, str, int], tuple[int, bytes]]


class StoredOutput(NamedTuple):
    """The output of a command that has ended, and a note about it, such as that it was cut."""

    text: str = ""
    note: str = ""


class CommandsSource(Protocol):
    """The data source of the panel; implemented by the store's reader."""

    def commands_before(self, session: str, row: int, count: int) -> list[Step]: ...

    def event(self, session: str, seq: int) -> dict[str, Any]: ...

    def full_text(self, session: str, seq: int, field: str = "text", limit: int | None = None) -> str: ...


class _ShownCommand(NamedTuple):
    """The row of the command whose output is shown (-1 for none), and whether it was running at that time."""

    row: int = -1
    running: bool = False


class TerminalPanel(QWidget):
    row_requested = Signal(int)
    command_requested = Signal(str)
    """The ID of a window command: to stop the run, or to open a terminal in the folder of the session."""

    def __init__(self, look: Look, source: CommandsSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self._source = source
        self._output_since: OutputSince = lambda session, call, position: (0, b"")
        self._session = SessionRow("")
        # Number of rows at the beginning of the session in which commands have not been searched yet.
        self._unread_rows = 0
        self._shown = _ShownCommand()
        self._position = 0  # number of bytes of a running command's output that are already shown
        self._rest = ""
        self.setObjectName("terminal")
        self._commands = CommandsModel(self)
        self._list = QListView()
        self._list.setObjectName("terminal.commands")
        self._list.setAccessibleName(self.tr("Commands of the session"))
        self._list.setUniformItemSizes(True)
        self._painter = CommandDelegate(look, self._list)
        self._list.setItemDelegate(self._painter)
        self._list.setModel(self._commands)
        self._build()
        self._lay_out()
        self._connect()

    def _build(self) -> None:
        look = self._look
        self._count = label("", look.fonts.label, "second", name="terminal.count")
        self._open = Button(look, self.tr("Open a terminal here"), name="terminal.open", tone="quiet", icon="terminal")
        self._open.setToolTip(self.tr("Open the terminal of your system in the folder of the session"))
        self._command = ElidedLabel("", look.fonts.mono, name="terminal.command")
        self._result = ElidedLabel("", look.fonts.second, "second", name="terminal.result")
        self._result.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self._copy = Button(look, self.tr("Copy output"), name="terminal.copy", tone="quiet", icon="copy")
        self._show = Button(look, self.tr("Show step"), name="terminal.show", tone="quiet", icon="footprints")
        self._stop = Button(look, self.tr("Stop run"), name="terminal.stop", tone="stop", icon="square")
        self._stop.setToolTip(self.tr("Stop this run with its commands (Ctrl+.)"))
        self._text = TerminalView(look)
        self._note = label("", look.fonts.second, "second", name="terminal.note", wrap=True)
        self._note.setContentsMargins(14, 6, 14, 8)
        text = self.tr("No commands yet.\nThe commands that the agent runs appear here with their output.")
        self._empty = empty_note(look, text, name="terminal.empty")

    def _lay_out(self) -> None:
        left = QWidget()
        left_column = QVBoxLayout(left)
        left_column.setContentsMargins(0, 0, 0, 0)
        left_column.setSpacing(0)
        self._count.setContentsMargins(14, 12, 14, 6)
        left_column.addWidget(self._count)
        left_column.addWidget(self._list, 1)
        actions = QHBoxLayout()
        actions.setContentsMargins(8, 8, 8, 10)
        actions.addWidget(self._open)
        actions.addStretch(1)
        left_column.addLayout(actions)
        header = CompactRow(QMargins(14, 7, 12, 7))
        header.row.addWidget(self._command, 1)
        for widget in (self._result, self._copy, self._show, self._stop):
            header.row.addWidget(widget)
        right = QWidget()
        right_column = QVBoxLayout(right)
        right_column.setContentsMargins(0, 0, 0, 0)
        right_column.setSpacing(0)
        right_column.addWidget(header)
        right_column.addWidget(hairline())
        right_column.addWidget(self._text, 1)
        right_column.addWidget(self._note)
        self.splitter = horizontal_splitter(left, right, left_width=LIST_WIDTH, right_width=700)
        self._stack = QStackedWidget()
        self._stack.addWidget(self.splitter)
        self._stack.addWidget(self._empty)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._stack)
        self.setFocusProxy(self._list)

    def _connect(self) -> None:
        self._older = QTimer(self, singleShot=True, interval=PAUSE_MS)
        self._older.timeout.connect(self._read_older)
        self._pieces = QTimer(self, singleShot=True, interval=0)
        self._pieces.timeout.connect(self._add_piece)
        self._list.selectionModel().currentChanged.connect(self._show_current)
        self._list.activated.connect(lambda _: self._show_step())
        self._copy.clicked.connect(self._copy_output)
        self._show.clicked.connect(self._show_step)
        self._stop.clicked.connect(lambda: self.command_requested.emit("run.stop"))
        self._open.clicked.connect(lambda: self.command_requested.emit("session.terminal"))

    def set_output_source(self, output_since: OutputSince) -> None:
        """Set the function that returns the output of a running call; see `LiveOutput.output_since`."""
        self._output_since = output_since

    def show_session(self, session: SessionRow) -> None:
        """List the commands of a session. If the session is already shown, only its status is updated."""
        other, self._session = session.id != self._session.id, session
        self._stop.setVisible(session.status in ACTIVE_STATUSES)
        self._open.setVisible(not session.imported_from)
        if other:
            self._unread_rows = session.rows
            self._commands.show(())
            self._show_current(QModelIndex())
            self._older.start()
        self._update_empty()

    def apply(self, session: str, changes: Sequence[Step]) -> None:
        """Show commands that have started or ended, if the panel has shown this session."""
        if session != self._session.id:
            return
        for step in changes:
            if step.kind != "command":
                continue
            follows = self._list.currentIndex().row() == self._commands.rowCount() - 1
            self._commands.update(step)
            if follows:
                self._list.setCurrentIndex(self._commands.index(self._commands.rowCount() - 1))
            if step.row == self._shown.row:
                self._show_current(self._list.currentIndex())
        self._update_empty()

    def follow_output(self) -> None:
        """Append what the selected command has printed since the last call."""
        step = self._current()
        if step is None or not step.key or self._rest:
            return
        end, output = self._output_since(self._session.id, step.key, self._position)
        if end > self._position:
            self._text.append_output(output.decode("utf-8", "replace"))
            self._position = end
            self._copy.setEnabled(True)

    @property
    def is_reading(self) -> bool:
        """Whether older commands of the session are still being searched."""
        return self._older.isActive()

    def stop_reading(self) -> None:
        """Stop reading. Called before the event log is closed."""
        self._older.stop()

    def restyle(self, look: Look) -> None:
        self._look = self._painter.look = look
        for button in (self._open, self._copy, self._show, self._stop):
            button.restyle(look)
        self._text.restyle(look)
        self._count.setFont(look.fonts.label)
        self._command.setFont(look.fonts.mono)
        self._result.setFont(look.fonts.second)
        self._note.setFont(look.fonts.second)
        self._empty.setFont(look.fonts.text)
        self._shown = _ShownCommand()  # so that the output is shown again, with the colors of the theme
        self._show_current(self._list.currentIndex())
        self._list.viewport().update()

    def _current(self) -> Step | None:
        return self._commands.item(self._list.currentIndex())

    def _read_older(self) -> None:
        """Search commands in the rows before those already searched."""
        self._commands.prepend(self._source.commands_before(self._session.id, self._unread_rows, ROWS_PER_QUERY))
        self._unread_rows = max(0, self._unread_rows - ROWS_PER_QUERY)
        if self._unread_rows and self._commands.rowCount() < MAX_COMMANDS:
            self._older.start()
        if self._commands.rowCount() and not self._list.currentIndex().isValid():
            self._list.setCurrentIndex(self._commands.index(self._commands.rowCount() - 1))
        self._update_empty()

    def _update_empty(self) -> None:
        count = self._commands.rowCount()
        if count or self.is_reading:
            show_in_stack(self, self._stack, self.splitter, self._list)
        else:
            show_in_stack(self, self._stack, self._empty)
        if count >= MAX_COMMANDS:
            text = self.tr("The last {} commands")
        elif self.is_reading:
            text = self.tr("Reading…")
        else:
            text = self.tr("{} command") if count == 1 else self.tr("{} commands")
        self._count.setText(text.format(count))

    def _show_current(self, index: QModelIndex) -> None:
        """Show the selected command. Its output is read again only if the command has ended in the meantime."""
        step = self._commands.item(index)
        shown = _ShownCommand(step.row, running=not step.ended_at) if step else _ShownCommand()
        if step is not None:
            self._command.show_text(self._full_command(step))
            self._result.show_text(" · ".join(_result(step)))
        if shown != self._shown:
            same = shown.row == self._shown.row
            self._shown = shown
            self._position = 0
            self._show_output(step, keep_offset=same)

    def _show_output(self, step: Step | None, *, keep_offset: bool) -> None:
        bar = self._text.verticalScrollBar()
        self._offset = bar.value() if keep_offset and bar.value() < bar.maximum() else -1
        self._pieces.stop()
        self._text.clear_output()
        stored = self._stored_output(step) if step is not None else StoredOutput()
        self._rest = stored.text
        self._note.setText(stored.note)
        self._note.setVisible(bool(stored.note))
        self._copy.setEnabled(bool(self._rest))
        self._add_piece()

    def _stored_output(self, step: Step) -> StoredOutput:
        """Return the output of a command that has ended; nothing while it runs."""
        if not step.ended_at:
            return StoredOutput()
        event = self._source.event(self._session.id, step.last_seq)
        field = FIELDS.get(str(event.get("kind")), "")
        text = self._source.full_text(self._session.id, step.last_seq, field, MAX_CHARACTERS) if field else ""
        if len(text) < MAX_CHARACTERS:
            return StoredOutput(text, "" if text.strip() else self.tr("The command printed nothing."))
        stored_size = size(int((event.get(field) or {}).get("size", 0)))
        note = self.tr("Only the beginning of {} is shown. The step shows everything.").format(stored_size)
        return StoredOutput(text, note)

    def _add_piece(self) -> None:
        """Append the next piece of a stored output. Between the pieces, the window stays responsive."""
        piece, self._rest = self._rest[:PIECE], self._rest[PIECE:]
        if piece:
            self._text.append_output(piece)
        if self._rest:
            self._pieces.start()
            return
        if self._offset >= 0:
            self._text.verticalScrollBar().setValue(self._offset)
        self.follow_output()

    def _full_command(self, step: Step) -> str:
        """Return the complete command, of which the list shows only the first line."""
        event = self._source.event(self._session.id, step.first_seq)
        return str(event.get("object") or event.get("command") or step.object)

    def _copy_output(self) -> None:
        """Copy the selected text, or else the whole output."""
        cursor = self._text.textCursor()
        text = cursor.selectedText().replace("\u2029", "\n") if cursor.hasSelection() else self._text.toPlainText()
        QGuiApplication.clipboard().setText(text)

    def _show_step(self) -> None:
        if step := self._current():
            self.row_requested.emit(step.row)


def _result(step: Step) -> list[str]:
    """Return texts that say how a command ended and how long it took."""
    status = translate(status_style(step.status).label).lower()
    took = duration(step.ended_at - step.started_at) if step.ended_at else ""
    return [part for part in (status, *(badge.text for badge in badges(step)), took) if part]
