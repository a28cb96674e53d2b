"""A completion popup for keys in the front matter of a SKILL.md."""

from typing import Final, cast

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QFontMetrics, QKeyEvent, QTextCursor
from PySide6.QtWidgets import QListWidget, QListWidgetItem

from ui.skills.source_editor import SourceEditor
from ui.style.theme import Look
from ui.widgets.labels import ENTER_KEYS

WIDTH: Final = 440
KEY_ROLE: Final = Qt.ItemDataRole.UserRole
ACCEPT_KEYS: Final = ENTER_KEYS | {Qt.Key.Key_Tab}


class FrontMatterCompletion(QListWidget):
    """A popup below the cursor that appears while the user types a key, or on Ctrl+Space.

    The editor keeps the focus.
    """

    def __init__(self, look: Look, field: SourceEditor) -> None:
        super().__init__(field.viewport())
        self._look = look
        self._field = field
        self.setObjectName("skill.completion")
        self.setAccessibleName(self.tr("Front matter keys"))
        self.setProperty("surface", "popup")
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFont(look.fonts.second)
        self.itemClicked.connect(lambda _: self._insert_key())
        field.document().contentsChanged.connect(self._on_contents_changed)
        field.scrolled.connect(self.hide)
        field.cursor_moved.connect(self._on_cursor_moved)
        field.installEventFilter(self)
        self.hide()

    def restyle(self, look: Look) -> None:
        self._look = look
        self.setFont(look.fonts.second)

    def key_descriptions(self) -> dict[str, str]:
        """Return the keys defined by the Agent Skills format, with their descriptions."""
        return {
            "name": self.tr("lowercase letters, digits and hyphens; must match the folder name"),
            "description": self.tr("what it does and when to use it; the model selects skills by this text"),
            "license": self.tr("the license of the skill"),
            "compatibility": self.tr("what it requires, such as programs or network access"),
            "metadata": self.tr("your own keys, each with its value on a line below"),
            "allowed-tools": self.tr("tools it asks to use without approval"),
        }

    def show_matches(self, *, requested: bool = False) -> None:
        """Show the unused keys that begin with the typed text.

        `requested` is true if the user opened the popup with the keyboard: it then appears before anything is typed.
        """
        typed = self._partial_key()
        if typed is None or (not typed and not requested):
            self.hide()
            return
        used = self._used_keys()
        self.clear()
        for key, description in self.key_descriptions().items():
            if key.startswith(typed) and key not in used:
                item = QListWidgetItem(f"{key}   {description}")
                item.setData(KEY_ROLE, key)
                self.addItem(item)
        if not self.count() or not self._field.hasFocus():
            self.hide()
            return
        self.setCurrentRow(0)
        self._show_near_cursor()

    def _on_cursor_moved(self) -> None:
        if self.isVisible() and not self._partial_key():
            self.hide()

    def _on_contents_changed(self) -> None:
        if self._field.hasFocus():
            self.show_matches()

    def _partial_key(self) -> str | None:
        """Return the partial key before the cursor; None if the cursor is not at the end of a key."""
        cursor = self._field.textCursor()
        line = cursor.block().text()
        if self._field.highlighter.state_before(cursor.block()).region != "front":
            return None
        is_key = line != "---" and all(char.isalpha() or char == "-" for char in line)
        return line if is_key and cursor.positionInBlock() == len(line) else None

    def _used_keys(self) -> set[str]:
        """Return the keys in the front matter, except that in the line of the cursor."""
        block = self._field.document().firstBlock().next()
        used: set[str] = set()
        current = self._field.textCursor().block()
        while block.isValid() and block.text().rstrip() != "---":
            if block != current:
                used.add(block.text().partition(":")[0])
            block = block.next()
        return used

    def _insert_key(self) -> None:
        """Replace the partial key before the cursor by the selected key."""
        key, typed = str(self.currentItem().data(KEY_ROLE)), self._partial_key()
        self.hide()
        if typed is None:
            return
        cursor = self._field.textCursor()
        cursor.movePosition(QTextCursor.MoveOperation.StartOfBlock, QTextCursor.MoveMode.KeepAnchor)
        cursor.insertText(f"{key}:\n  " if key == "metadata" else f"{key}: ")
        self.hide()

    def _show_near_cursor(self) -> None:
        """Show the popup below the cursor, or above it if there is too little room below."""
        look, cursor = self._look, self._field.cursorRect()
        height = (QFontMetrics(look.fonts.second).height() + 12) * self.count() + 10
        viewport = self._field.viewport()
        width = min(look.size(WIDTH), viewport.width() - 16)
        left = min(cursor.left(), max(8, viewport.width() - width - 8))
        top = cursor.bottom() + 4
        if top + height > viewport.height():
            top = max(0, cursor.top() - height - 4)
        self.setGeometry(left, top, width, height)
        self.show()
        self.raise_()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is not self._field or event.type() not in (QEvent.Type.KeyPress, QEvent.Type.FocusOut):
            return False
        if event.type() == QEvent.Type.FocusOut:
            self.hide()
            return False
        return self._handle_key(cast(QKeyEvent, event))

    def _handle_key(self, event: QKeyEvent) -> bool:
        """Handle a key that was pressed in the editor; return whether it was one for the popup."""
        if event.key() == Qt.Key.Key_Space and event.modifiers() == Qt.KeyboardModifier.ControlModifier:
            self.show_matches(requested=True)
            return True
        if not self.isVisible():
            return False
        if event.key() in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            step = 1 if event.key() == Qt.Key.Key_Down else -1
            self.setCurrentRow((self.currentRow() + step) % self.count())
        elif event.key() in ACCEPT_KEYS and not event.modifiers():
            self._insert_key()
        elif event.key() == Qt.Key.Key_Escape:
            self.hide()
        else:
            return False
        return True
