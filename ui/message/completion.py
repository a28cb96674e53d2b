"""Completion in the message field: files of the folder after `@`, and commands after a `/` at the beginning."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, cast

from PySide6.QtCore import QEvent, QObject, QPoint, Qt, Signal
from PySide6.QtGui import QFontMetrics, QKeyEvent, QTextCursor
from PySide6.QtWidgets import QListWidget, QListWidgetItem

from ui.style.theme import Look
from ui.text.visible import visible
from ui.widgets.labels import ENTER_KEYS, TextField

VISIBLE_ROWS: Final = 8
MAX_ROWS: Final = 4 * VISIBLE_ROWS
WIDTH: Final = 460
INSERTED_TEXT: Final = Qt.ItemDataRole.UserRole
ACCEPTING_KEYS: Final = ENTER_KEYS | {Qt.Key.Key_Tab}


class Suggestion(NamedTuple):
    """The text that replaces the typed word, and the text that is shown in the list."""

    inserted: str
    shown: str


class Completion(QListWidget):
    """A list of suggestions above the message field, which keeps the keyboard focus."""

    files_requested = Signal()

    def __init__(self, look: Look, field: TextField) -> None:
        super().__init__(field)
        self._look = look
        self._field = field
        self._files: Sequence[str] = ()
        # Descriptions of commands by name; the same applies to `_engine_commands`.
        self._window_commands: Mapping[str, str] = {}
        self._engine_commands: Mapping[str, str] = {}
        self._has_requested_files = False  # whether files were requested since the user began to type the current word
        self._is_dismissed = False  # whether the user has closed the list; valid until the text changes
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
        """Set the slash commands of the window, with their descriptions."""
        self._window_commands = commands

    def set_results(self, files: Sequence[str], commands: Mapping[str, str]) -> None:
        """Set the results that `files_requested` asked for: files, and the engine's slash commands by name."""
        self._files, self._engine_commands = files, commands
        if self._has_requested_files:
            self._update_list()

    def forget_files(self) -> None:
        """Discard the list of files, for example because another folder is shown."""
        self._files = ()
        self._engine_commands = {}
        self._has_requested_files = False

    def restyle(self, look: Look) -> None:
        self._look = look
        self.setFont(look.fonts.text)

    def _on_text_changed(self) -> None:
        self._is_dismissed = False
        self._update_list()

    def _update_list(self) -> None:
        """Show the suggestions for the word before the cursor; if there are none, hide the list."""
        typed = self._typed_word()
        self._request_files(typed)
        suggestions = [] if self._is_dismissed else self._suggestions(typed)
        self.clear()
        for suggestion in suggestions:
            item = QListWidgetItem(suggestion.shown)
            item.setData(INSERTED_TEXT, suggestion.inserted)
            self.addItem(item)
        if suggestions and self._field.hasFocus():
            self.setCurrentRow(0)
            self._show_above_field()
        else:
            self.hide()

    def _request_files(self, typed: str) -> None:
        """Request the files once for each typed word, because the agent may have created some in the meantime."""
        is_new_word = bool(typed) and not self._has_requested_files
        self._has_requested_files = bool(typed)
        if is_new_word:
            self.files_requested.emit()

    def _suggestions(self, typed: str) -> list[Suggestion]:
        prefix = typed[1:].casefold()
        if typed.startswith("/"):
            commands = {**self._engine_commands, **self._window_commands}
            names = [name for name in commands if name.startswith(prefix)][:MAX_ROWS]
            return [Suggestion(f"/{name}", visible(f"/{name}  {commands[name]}")) for name in names]
        if typed.startswith("@"):
            return [Suggestion(f"@{path} ", visible(path)) for path in best_matches(self._files, prefix, MAX_ROWS)]
        return []

    def _typed_word(self) -> str:
        """Return the word before the cursor if it can be completed; otherwise ""."""
        cursor = self._field.textCursor()
        line_start = cursor.block().text()[: cursor.positionInBlock()]
        word = line_start.rsplit(" ", 1)[-1]
        at_message_start = cursor.blockNumber() == 0 and word == line_start
        return word if word.startswith("@") or (word.startswith("/") and at_message_start) else ""

    def _accept(self) -> None:
        """Replace the typed word by the selected suggestion."""
        item, typed = self.currentItem(), self._typed_word()
        if typed:
            cursor = self._field.textCursor()
            cursor.movePosition(QTextCursor.MoveOperation.Left, QTextCursor.MoveMode.KeepAnchor, len(typed))
            cursor.insertText(str(item.data(INSERTED_TEXT)))
            self._is_dismissed = True
        self.hide()

    def _show_above_field(self) -> None:
        window = self._field.window()
        self.setParent(window)
        height = (QFontMetrics(self._look.fonts.text).height() + 12) * min(self.count(), VISIBLE_ROWS) + 10
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
        elif event.key() in ACCEPTING_KEYS and not event.modifiers():
            if self._typed_word() == str(self.currentItem().data(INSERTED_TEXT)):
                self.hide()
                return False  # the word is already complete, so Enter sends the message
            self._accept()
        elif event.key() == Qt.Key.Key_Escape:
            self._is_dismissed = True
            self.hide()
        else:
            return False
        return True


def best_matches(names: Sequence[str], part: str, limit: int) -> list[str]:
    """Return at most `limit` paths that contain `part`, first those whose file name begins with it.

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
