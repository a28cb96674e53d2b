"""Offers the keys of the front matter while one is typed."""

from typing import Final, cast

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QFontMetrics, QKeyEvent, QTextCursor
from PySide6.QtWidgets import QListWidget, QListWidgetItem

from ui.skills.source import SourceField
from ui.theme import Look
from ui.widgets.words import ENTER_KEYS

WIDTH: Final = 440
VALUE: Final = Qt.ItemDataRole.UserRole
TAKING: Final = ENTER_KEYS | {Qt.Key.Key_Tab}


class KeyCompletion(QListWidget):
    """Lies over the text, under the word; the field keeps the keyboard. Ctrl+Space opens it."""

    def __init__(self, look: Look, field: SourceField) -> None:
        super().__init__(field.viewport())
        self._look, self._field = look, field
        self._left = False
        self.setObjectName("skill.completion")
        self.setAccessibleName(self.tr("Keys of the front matter"))
        self.setProperty("surface", "popup")
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFont(look.fonts.second)
        self.itemClicked.connect(lambda _: self._take())
        field.document().contentsChanged.connect(self._follow)
        field.seen.connect(self.hide)
        field.moved.connect(lambda _: self.hide() if self.isVisible() and not self._typed() else None)
        field.installEventFilter(self)
        self.hide()

    def restyle(self, look: Look) -> None:
        self._look = look
        self.setFont(look.fonts.second)

    def known(self) -> dict[str, str]:
        """The keys of the open format, and what each is for."""
        return {
            "name": self.tr("small letters, digits and hyphens; as the folder is called"),
            "description": self.tr("what it does and when to use it; the model chooses by it"),
            "license": self.tr("under which it may be used"),
            "compatibility": self.tr("what it needs to work"),
            "metadata": self.tr("more of your own: a name and a value on each line below"),
            "allowed-tools": self.tr("tools it would like to use without asking"),
        }

    def offer(self, *, asked: bool = False) -> None:
        """The keys that begin with what is typed, and are not there yet."""
        typed = self._typed()
        if typed is None or (not typed and not asked):
            self.hide()
            return
        there = self._there()
        found = [(key, said) for key, said in self.known().items() if key.startswith(typed) and key not in there]
        self.clear()
        for key, said in found:
            item = QListWidgetItem(f"{key}   {said}")
            item.setData(VALUE, key)
            self.addItem(item)
        if not found or not self._field.hasFocus():
            self.hide()
            return
        self.setCurrentRow(0)
        self._place()

    def _follow(self) -> None:
        self._left = False
        if self._field.hasFocus():
            self.offer()

    def _typed(self) -> str | None:
        """What stands before the cursor on a line of the front matter that has no key yet."""
        cursor = self._field.textCursor()
        line, at = cursor.block().text(), cursor.positionInBlock()
        front = self._field.colouring.state_of(cursor.block()).where == "front"
        if not front or at != len(line) or not all(sign.isalpha() or sign == "-" for sign in line) or line == "---":
            return None
        return line

    def _there(self) -> set[str]:
        block = self._field.document().firstBlock().next()
        found: set[str] = set()
        here = self._field.textCursor().block()
        while block.isValid() and block.text().rstrip() != "---":
            if block != here:
                found.add(block.text().partition(":")[0])
            block = block.next()
        return found

    def _take(self) -> None:
        item, typed = self.currentItem(), self._typed()
        self.hide()
        if typed is None:
            return
        cursor = self._field.textCursor()
        cursor.movePosition(QTextCursor.MoveOperation.StartOfBlock, QTextCursor.MoveMode.KeepAnchor)
        key = str(item.data(VALUE))
        cursor.insertText(f"{key}:\n  " if key == "metadata" else f"{key}: ")
        self.hide()

    def _place(self) -> None:
        look, cursor = self._look, self._field.cursorRect()
        height = (QFontMetrics(look.fonts.second).height() + 12) * self.count() + 10
        room = self._field.viewport()
        width = min(look.size(WIDTH), room.width() - 16)
        top = cursor.bottom() + 4
        if top + height > room.height():
            top = max(0, cursor.top() - height - 4)
        self.setGeometry(min(cursor.left(), max(8, room.width() - width - 8)), top, width, height)
        self.show()
        self.raise_()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is not self._field or event.type() not in (QEvent.Type.KeyPress, QEvent.Type.FocusOut):
            return False
        if event.type() == QEvent.Type.FocusOut:
            self.hide()
            return False
        return self._key(cast(QKeyEvent, event))

    def _key(self, event: QKeyEvent) -> bool:
        if event.key() == Qt.Key.Key_Space and event.modifiers() == Qt.KeyboardModifier.ControlModifier:
            self.offer(asked=True)
            return True
        if not self.isVisible():
            return False
        if event.key() in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            step = 1 if event.key() == Qt.Key.Key_Down else -1
            self.setCurrentRow((self.currentRow() + step) % self.count())
        elif event.key() in TAKING and not event.modifiers():
            self._take()
        elif event.key() == Qt.Key.Key_Escape:
            self.hide()
        else:
            return False
        return True
