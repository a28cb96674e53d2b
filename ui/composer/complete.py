"""Completes what is being typed: `@` names a file of the folder, `/` at the start a command."""

from collections.abc import Mapping, Sequence
from typing import Final, cast

from PySide6.QtCore import QEvent, QObject, QPoint, Qt, Signal
from PySide6.QtGui import QFontMetrics, QKeyEvent, QTextCursor
from PySide6.QtWidgets import QListWidget, QListWidgetItem

from ui.theme import Look
from ui.visible import visible
from ui.widgets.words import ENTER_KEYS, WordsField

ROWS: Final = 8
WIDTH: Final = 460
VALUE: Final = Qt.ItemDataRole.UserRole
TAKING: Final = ENTER_KEYS | {Qt.Key.Key_Tab}


class Completion(QListWidget):
    """Lies over the window above the field; the field keeps the keyboard."""

    files_wanted = Signal()

    def __init__(self, look: Look, field: WordsField) -> None:
        super().__init__(field)
        self._look, self._field = look, field
        self._files: Sequence[str] = ()
        self._commands: Mapping[str, str] = {}
        self._own: Mapping[str, str] = {}
        self._asked = self._left = False
        self.setObjectName("composer.completion")
        self.setAccessibleName(self.tr("Completions"))
        self.setProperty("surface", "popup")
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFont(look.fonts.text)
        self.itemClicked.connect(lambda _: self._take())
        field.textChanged.connect(self._follow)
        field.focus_changed.connect(lambda on: None if on else self.hide())
        field.installEventFilter(self)
        self.hide()

    def set_commands(self, commands: Mapping[str, str]) -> None:
        self._commands = commands

    def set_found(self, files: Sequence[str], own: Mapping[str, str]) -> None:
        """The answer to `files_wanted`, when it is there; `own` are commands that the engine knows."""
        self._files, self._own = files, own
        if self._asked:
            self._offer()

    def forget_files(self) -> None:
        """Another folder, or a later time."""
        self._files, self._own, self._asked = (), {}, False

    def restyle(self, look: Look) -> None:
        self._look = look
        self.setFont(look.fonts.text)

    def _follow(self) -> None:
        self._left = False
        self._offer()

    def _offer(self) -> None:
        typed = self._typed()
        if not typed:
            self._asked = False  # for the next word they are looked up anew: the agent makes files meanwhile
        elif not self._asked:
            self._asked = True
            self.files_wanted.emit()
        found = [] if self._left else self._found(typed)
        self.clear()
        for value, text in found[: ROWS * 4]:
            item = QListWidgetItem(text)
            item.setData(VALUE, value)
            self.addItem(item)
        if not found or not self._field.hasFocus():
            self.hide()
            return
        self.setCurrentRow(0)
        self._place()

    def _found(self, typed: str) -> list[tuple[str, str]]:
        part = typed[1:].casefold()
        if typed.startswith("/"):
            known = {**self._own, **self._commands}
            return [(f"/{word}", visible(f"/{word}  {text}")) for word, text in known.items() if word.startswith(part)]
        if typed.startswith("@"):
            return [(f"@{name} ", visible(name)) for name in best(self._files, part, ROWS * 4)]
        return []

    def _typed(self) -> str:
        """The word before the cursor, if it may be completed."""
        cursor = self._field.textCursor()
        before = cursor.block().text()[: cursor.positionInBlock()]
        word = before.rsplit(" ", 1)[-1]
        first = cursor.blockNumber() == 0 and word == before
        return word if word.startswith("@") or (word.startswith("/") and first) else ""

    def _take(self) -> None:
        item, typed = self.currentItem(), self._typed()
        self.hide()
        if not typed:
            return
        cursor = self._field.textCursor()
        cursor.movePosition(QTextCursor.MoveOperation.Left, QTextCursor.MoveMode.KeepAnchor, len(typed))
        cursor.insertText(str(item.data(VALUE)))
        self._left = True
        self.hide()

    def _place(self) -> None:
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
        return watched is self._field and pressed and self.isVisible() and self._key(cast(QKeyEvent, event))

    def _key(self, event: QKeyEvent) -> bool:
        if event.key() in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            step = 1 if event.key() == Qt.Key.Key_Down else -1
            self.setCurrentRow((self.currentRow() + step) % self.count())
        elif event.key() in TAKING and not event.modifiers():
            if self._typed() == str(self.currentItem().data(VALUE)):
                self.hide()
                return False  # it is all there already: Enter sends it
            self._take()
        elif event.key() == Qt.Key.Key_Escape:
            self._left = True
            self.hide()
        else:
            return False
        return True


def best(names: Sequence[str], part: str, limit: int) -> list[str]:
    """Names that hold the letters: those whose last part begins so first, then those that hold it anywhere."""
    if not part:
        return list(names[:limit])
    starts, inside = [], []
    for name in names:
        low = name.casefold()
        if low.rsplit("/", 1)[-1].startswith(part):
            starts.append(name)
        elif part in low:
            inside.append(name)
        if len(starts) >= limit:
            break
    return [*starts, *inside][:limit]
