"""Find and replace under the text of a skill: words or a pattern, one by one or all at once."""

from itertools import pairwise
from typing import Final

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QGridLayout, QLineEdit, QTextEdit, QToolButton, QWidget

from ui.icons import icon
from ui.skills.search import MOST, Hit, Search, Wish, select
from ui.skills.source import SourceField
from ui.theme import Look, blend, wear
from ui.widgets.button import Button
from ui.widgets.words import ENTER_KEYS, label

SHOWN: Final = 500  # hits that are marked at a time


class FindBar(QWidget):
    """Enter goes to the next hit, Shift+Enter to the one before, Escape closes."""

    def __init__(self, look: Look, field: SourceField, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look, self._field = look, field
        self._search = Search(field)
        self._begun = 0
        self.setObjectName("skill.find")
        self._words = self._line("skill.find.words", self.tr("Find"))
        self._with = self._line("skill.find.with", self.tr("Replace with"))
        self._case = self._toggle("skill.find.case", "Aa", self.tr("Capital letters matter (Alt+C)"), "Alt+C")
        self._whole = self._toggle("skill.find.whole", "ab|", self.tr("Whole words (Alt+W)"), "Alt+W")
        self._pattern = self._toggle(
            "skill.find.pattern", ".*", self.tr("A pattern, a regular expression (Alt+X)"), "Alt+X"
        )
        self._said = label("", look.fonts.second, "second", name="skill.find.said")
        self._previous = self._tool("skill.find.previous", "chevron-up", self.tr("Previous (Shift+Enter)"))
        self._next = self._tool("skill.find.next", "chevron-down", self.tr("Next (Enter)"))
        self._close = self._tool("skill.find.close", "x", self.tr("Close (Esc)"))
        self._one = Button(look, self.tr("Replace"), name="skill.find.one")
        self._all = Button(look, self.tr("Replace all"), name="skill.find.all")
        self._one.setToolTip(self.tr("Replace this one and go to the next (Enter)"))
        self._lay_out()
        self._words.textChanged.connect(lambda _: self._look_for())
        for toggle in (self._case, self._whole, self._pattern):
            toggle.toggled.connect(lambda _: self._look_for())
        self._previous.clicked.connect(lambda: self.step(-1))
        self._next.clicked.connect(lambda: self.step(1))
        self._close.clicked.connect(self.close_bar)
        self._one.clicked.connect(self.replace)
        self._all.clicked.connect(self.replace_all)
        self._search.changed.connect(self._say)
        self.hide()

    def open(self) -> None:
        """Bring the keyboard here; what is chosen in the text is looked for."""
        chosen = self._field.textCursor().selectedText()
        self._begun = self._field.textCursor().selectionStart()
        self.show()
        if chosen and "\u2029" not in chosen:
            self._words.setText(chosen)
        self._words.setFocus()
        self._words.selectAll()
        self._look_for()

    def close_bar(self) -> None:
        self._search.stop()
        self._field.show_hits([])
        self.hide()
        self._field.setFocus()

    def step(self, by: int) -> None:
        """To the next hit, or the one before; after the last comes the first."""
        hits, cursor = self._search.hits, self._field.textCursor()
        if not hits:
            return
        place = self._search.at(cursor.selectionStart())
        here = place < len(hits) and hits[place].at == cursor.selectionStart() and cursor.hasSelection()
        number = place - 1 if by < 0 else place + (1 if here else 0)
        select(self._field, hits[number % len(hits)])
        self._say()

    def replace(self) -> None:
        """The hit that is chosen; then the next one is."""
        hit = self._chosen()
        if hit is not None and not self._field.isReadOnly():
            self._field.textCursor().insertText(self._search.instead(hit, self._with.text()))
            self._search.look_for(self._wish())
        self.step(1)

    def replace_all(self) -> None:
        """Every hit, as one change that undo takes back."""
        count = len(self._search.hits)
        if count and not self._field.isReadOnly():
            self._field.replace_all(self._search.replaced(self._with.text()))
            self._said.setText(self.tr("1 replaced") if count == 1 else self.tr("{} replaced").format(f"{count:,}"))

    def restyle(self, look: Look) -> None:
        self._look = look
        for button in (self._one, self._all):
            button.restyle(look)
        for tool, name in ((self._previous, "chevron-up"), (self._next, "chevron-down"), (self._close, "x")):
            tool.setIcon(icon(name, look.theme.second))
        for part in (self._words, self._with, self._case, self._whole, self._pattern):
            part.setFont(look.fonts.mono)
        self._said.setFont(look.fonts.second)
        self._say()

    def _wish(self) -> Wish:
        return Wish(self._words.text(), self._pattern.isChecked(), self._case.isChecked(), self._whole.isChecked())

    def _look_for(self) -> None:
        self._search.look_for(self._wish())
        hits = self._search.hits
        if hits and not self._chosen():
            place = self._search.at(self._begun)
            select(self._field, hits[place % len(hits)])
        self._say()

    def _chosen(self) -> Hit | None:
        cursor, hits = self._field.textCursor(), self._search.hits
        place = self._search.at(cursor.selectionStart())
        if place < len(hits) and (hits[place].at, hits[place].length) == (
            cursor.selectionStart(), cursor.selectionEnd() - cursor.selectionStart()
        ):  # fmt: skip
            return hits[place]
        return None

    def _say(self) -> None:
        hits, search = self._search.hits, self._search
        chosen = self._chosen()
        count = f"{len(hits):,}" + ("+" if len(hits) >= MOST or not search.done else "")
        if search.trouble:
            said = search.trouble
        elif not self._words.text():
            said = ""
        elif not hits:
            said = self.tr("Nothing found") if search.done else self.tr("Looking …")
        elif chosen:
            said = self.tr("{} of {}").format(search.at(chosen.at) + 1, count)
        else:
            said = self.tr("{} found").format(count)
        self._said.setText(said)
        wear(self._said, tone="failed" if search.trouble else "second")
        for part in (self._previous, self._next, self._one, self._all):
            part.setEnabled(bool(hits))
        self._mark()

    def _mark(self) -> None:
        """The hits around the cursor: those far away are marked when they are gone to."""
        place = self._search.at(self._field.textCursor().position())
        near = self._search.hits[max(0, place - SHOWN // 2) : place + SHOWN // 2]
        theme = self._look.theme
        marked = []
        for hit in near:
            made = QTextEdit.ExtraSelection()
            made.cursor = self._field.textCursor()
            made.cursor.setPosition(hit.at)
            made.cursor.setPosition(hit.at + hit.length, made.cursor.MoveMode.KeepAnchor)
            made.format.setBackground(blend(theme.waiting, theme.background, 0.28))
            marked.append(made)
        self._field.show_hits(marked)

    def _lay_out(self) -> None:
        grid = QGridLayout(self)
        grid.setContentsMargins(12, 8, 8, 8)
        grid.setHorizontalSpacing(4)
        grid.setVerticalSpacing(6)
        first = (self._words, self._case, self._whole, self._pattern, self._previous, self._next, self._said)
        for column, part in enumerate(first):
            grid.addWidget(part, 0, column)
        grid.addWidget(self._close, 0, 8)
        grid.addWidget(self._with, 1, 0)
        grid.addWidget(self._one, 1, 1, 1, 3)
        grid.addWidget(self._all, 1, 4, 1, 3, Qt.AlignmentFlag.AlignLeft)
        grid.setColumnStretch(0, 3)
        grid.setColumnStretch(7, 1)
        order = (self._words, self._with, self._case, self._whole, self._pattern, self._previous, self._next)
        chain = (*order, self._one, self._all, self._close)
        for one, other in pairwise(chain):
            QWidget.setTabOrder(one, other)

    def _line(self, name: str, said: str) -> QLineEdit:
        made = QLineEdit()
        made.setObjectName(name)
        made.setPlaceholderText(said)
        made.setAccessibleName(said)
        made.setFont(self._look.fonts.mono)
        made.setMinimumWidth(self._look.size(160))
        made.installEventFilter(self)
        return made

    def _tool(self, name: str, picture: str, said: str) -> QToolButton:
        made = QToolButton()
        made.setObjectName(name)
        made.setIcon(icon(picture, self._look.theme.second))
        made.setToolTip(said)
        made.setAccessibleName(said)
        return made

    def _toggle(self, name: str, text: str, said: str, keys: str) -> QToolButton:
        made = QToolButton()
        made.setObjectName(name)
        made.setText(text)
        made.setCheckable(True)
        made.setFont(self._look.fonts.mono)
        made.setToolTip(said)
        made.setAccessibleName(said)
        made.setShortcut(keys)
        return made

    # Qt

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress and event.key() in ENTER_KEYS:
            if watched is self._with:
                self.replace()
            else:
                self.step(-1 if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 1)
            return True
        return super().eventFilter(watched, event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.close_bar()
        else:
            super().keyPressEvent(event)
