"""Completion in the message field: `@` for files of the folder, `/` at the start for commands."""

from collections.abc import Mapping, Sequence
from typing import Final, cast

from PySide6.QtCore import QEvent, QObject, QPoint, Qt, Signal
from PySide6.QtGui import QFontMetrics, QKeyEvent, QTextCursor
from PySide6.QtWidgets import QListWidget, QListWidgetItem

from ui.style.theme import Look
from ui.text.visible import visible
from ui.widgets.labels import ENTER_KEYS, TextField

ROWS: Final = 8
WIDTH: Final = 460
VALUE: Final = Qt.ItemDataRole.UserRole
ACCEPTING: Final = ENTER_KEYS | {Qt.Key.Key_Tab}


class Completion(QListWidget):
    """A popup list above the field, which keeps the keyboard focus."""

    files_requested = Signal()

    def __init__(self, look: Look, field: TextField) -> None:
        super().__init__(field)
        self._look = look
        self._field = field
        self._files: Sequence[str] = ()
        self._commands: Mapping[str, str] = {}
        self._engine_commands: Mapping[str, str] = {}
        self._requested = False
        self._dismissed = False
        self.setObjectName("composer.completion")
        self.setAccessibleName(self.tr("Completions"))
        self.setProperty("surface", "popup")
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFont(look.fonts.text)
        self.itemClicked.connect(lambda _: self._accept())
        field.textChanged.connect(self._on_text_changed)
        field.focus_changed.connect(lambda on: None if on else self.hide())
        field.installEventFilter(self)
        self.hide()

    def set_commands(self, commands: Mapping[str, str]) -> None:
        self._commands = commands

    def set_results(self, files: Sequence[str], commands: Mapping[str, str]) -> None:
        """Set what `files_requested` asked for: files, and the engine's slash commands with their descriptions."""
        self._files, self._engine_commands = files, commands
        if self._requested:
            self._update_list()

    def forget_files(self) -> None:
        """Drop the list of files, for example because another folder is shown."""
        self._files = ()
        self._engine_commands = {}
        self._requested = False

    def restyle(self, look: Look) -> None:
        self._look = look
        self.setFont(look.fonts.text)

    def _on_text_changed(self) -> None:
        self._dismissed = False
        self._update_list()

    def _update_list(self) -> None:
        typed = self._typed_word()
        if not typed:
            self._requested = False  # list the files again for the next word, because the agent may have created some
        elif not self._requested:
            self._requested = True
            self.files_requested.emit()
        matches = [] if self._dismissed else self._matches(typed)
        self.clear()
        for value, text in matches[: ROWS * 4]:
            item = QListWidgetItem(text)
            item.setData(VALUE, value)
            self.addItem(item)
        if not matches or not self._field.hasFocus():
            self.hide()
            return
        self.setCurrentRow(0)
        self._show_above_field()

    def _matches(self, typed: str) -> list[tuple[str, str]]:
        prefix = typed[1:].casefold()
        if typed.startswith("/"):
            commands = {**self._engine_commands, **self._commands}
            matching = {word: text for word, text in commands.items() if word.startswith(prefix)}
            return [(f"/{word}", visible(f"/{word}  {text}")) for word, text in matching.items()]
        if typed.startswith("@"):
            return [(f"@{name} ", visible(name)) for name in best_matches(self._files, prefix, ROWS * 4)]
        return []

    def _typed_word(self) -> str:
        """Return the word before the cursor if it can be completed, else an empty string."""
        cursor = self._field.textCursor()
        line_start = cursor.block().text()[: cursor.positionInBlock()]
        word = line_start.rsplit(" ", 1)[-1]
        at_message_start = cursor.blockNumber() == 0 and word == line_start
        return word if word.startswith("@") or (word.startswith("/") and at_message_start) else ""

    def _accept(self) -> None:
        item, typed = self.currentItem(), self._typed_word()
        self.hide()
        if not typed:
            return
        cursor = self._field.textCursor()
        cursor.movePosition(QTextCursor.MoveOperation.Left, QTextCursor.MoveMode.KeepAnchor, len(typed))
        cursor.insertText(str(item.data(VALUE)))
        self._dismissed = True
        self.hide()

    def _show_above_field(self) -> None:
        window = self._field.window()
        self.setParent(window)
        height = (QFontMetrics(self._look.fonts.text).height() + 12) * min(self.count(), ROWS) + 10
        width = min(self._look.size(WIDTH), window.width() - 24)
        corner = self._field.mapTo(window, QPoint(0, 0))
        self.setGeometry(max(8, corner.x() - 8), max(8, corner.y() - height - 12), width, height)
        self.show()
        self.raise_()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        pressed = isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress
        return watched is self._field and pressed and self.isVisible() and self._handle_key(cast(QKeyEvent, event))

    def _handle_key(self, event: QKeyEvent) -> bool:
        if event.key() in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            step = 1 if event.key() == Qt.Key.Key_Down else -1
            self.setCurrentRow((self.currentRow() + step) % self.count())
        elif event.key() in ACCEPTING and not event.modifiers():
            if self._typed_word() == str(self.currentItem().data(VALUE)):
                self.hide()
                return False  # the word is complete already: let Enter send the message
            self._accept()
        elif event.key() == Qt.Key.Key_Escape:
            self._dismissed = True
            self.hide()
        else:
            return False
        return True


def best_matches(names: Sequence[str], part: str, limit: int) -> list[str]:
    """Return up to `limit` paths that contain `part`; paths whose file name starts with it come first.

    `part` must be casefolded.
    """
    if not part:
        return list(names[:limit])
    starting, containing = [], []
    for name in names:
        lowercase = name.casefold()
        if lowercase.rsplit("/", 1)[-1].startswith(part):
            starting.append(name)
        elif part in lowercase:
            containing.append(name)
        if len(starting) >= limit:
            break
    return [*starting, *containing][:limit]
