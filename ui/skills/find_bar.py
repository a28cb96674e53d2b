"""The bar for find and replace below an editor."""

from itertools import pairwise
from typing import Final

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QGridLayout, QLineEdit, QTextEdit, QToolButton, QWidget

from ui.skills.source_editor import SourceEditor
from ui.skills.text_search import MAX_MATCHES, TextMatch, TextQuery, TextSearch, select_match
from ui.style.icons import set_icon
from ui.style.theme import Look, blend, set_style_properties
from ui.widgets.button import Button
from ui.widgets.labels import ENTER_KEYS, label
from ui.widgets.tool_button import tool_button

MIN_FIELD_WIDTH: Final = 160
MAX_HIGHLIGHTED: Final = 500  # only the matches nearest to the cursor are highlighted, at most this many


class FindBar(QWidget):
    """A find bar. Enter goes to the next match, Shift+Enter to the previous match, and Escape closes the bar."""

    def __init__(self, look: Look, field: SourceEditor, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self._field = field
        self._search = TextSearch(field)
        self._search_start = 0  # position of the cursor when the bar was opened, where searching for typed text starts
        self.setObjectName("skill.find")
        self._find_field = self._line("skill.find.text", self.tr("Find"))
        self._replace_field = self._line("skill.find.replacement", self.tr("Replace with"))
        self._case_toggle = self._toggle("skill.find.case", "Aa", self.tr("Match case (Alt+C)"), "Alt+C")
        self._words_toggle = self._toggle("skill.find.whole", "ab|", self.tr("Match whole words (Alt+W)"), "Alt+W")
        self._regex_toggle = self._toggle(
            "skill.find.pattern", ".*", self.tr("Use regular expression (Alt+X)"), "Alt+X"
        )
        self._count_label = label("", look.fonts.second, "second", name="skill.find.count")
        self._previous_button = self._tool("skill.find.previous", "chevron-up", self.tr("Previous (Shift+Enter)"))
        self._next_button = self._tool("skill.find.next", "chevron-down", self.tr("Next (Enter)"))
        self._close_button = self._tool("skill.find.close", "x", self.tr("Close (Esc)"))
        self._replace_button = Button(look, self.tr("Replace"), name="skill.find.replace")
        self._replace_all_button = Button(look, self.tr("Replace all"), name="skill.find.replace_all")
        self._replace_button.setToolTip(self.tr("Replace this match and go to the next one (Enter)"))
        self._lay_out()
        self._find_field.textChanged.connect(lambda _: self._find())
        for toggle in (self._case_toggle, self._words_toggle, self._regex_toggle):
            toggle.toggled.connect(lambda _: self._find())
        self._previous_button.clicked.connect(lambda: self.step(-1))
        self._next_button.clicked.connect(lambda: self.step(1))
        self._close_button.clicked.connect(self.close_bar)
        self._replace_button.clicked.connect(self.replace)
        self._replace_all_button.clicked.connect(self.replace_all)
        self._search.changed.connect(self._update_count)
        self.hide()

    def open(self) -> None:
        """Show and focus the bar, and search for the text that is selected in the editor, if any."""
        chosen = self._field.textCursor().selectedText()
        self._search_start = self._field.textCursor().selectionStart()
        self.show()
        if chosen and "\u2029" not in chosen:
            self._find_field.setText(chosen)
        self._find_field.setFocus()
        self._find_field.selectAll()
        self._find()

    def close_bar(self) -> None:
        self._search.stop()
        self._field.highlight_matches([])
        self.hide()
        self._field.setFocus()

    def step(self, direction: int) -> None:
        """Go to the next (1) or previous (-1) match, wrapping around at the ends."""
        matches, cursor = self._search.matches, self._field.textCursor()
        if not matches:
            return
        index = self._search.index_at(cursor.selectionStart())
        is_at_match = index < len(matches) and matches[index].position == cursor.selectionStart()
        if direction < 0:
            index -= 1
        elif is_at_match and cursor.hasSelection():
            index += 1
        select_match(self._field, matches[index % len(matches)])
        self._update_count()

    def replace(self) -> None:
        """Replace the selected match, and go to the next one."""
        match = self._selected_match()
        if match is not None and not self._field.isReadOnly():
            self._field.textCursor().insertText(self._search.replacement(match, self._replace_field.text()))
            self._search.start(self._query())
        self.step(1)

    def replace_all(self) -> None:
        """Replace all matches in one step of the undo history."""
        count = len(self._search.matches)
        if count and not self._field.isReadOnly():
            self._field.replace_text(self._search.replace_in_text(self._replace_field.text()))
            many = self.tr("{} matches replaced").format(f"{count:,}")
            self._count_label.setText(self.tr("1 match replaced") if count == 1 else many)

    def restyle(self, look: Look) -> None:
        self._look = look
        for button in (self._replace_button, self._replace_all_button):
            button.restyle(look)
        for tool, name in (
            (self._previous_button, "chevron-up"),
            (self._next_button, "chevron-down"),
            (self._close_button, "x"),
        ):
            set_icon(tool, name, look.theme.second, look.size(16))
        for field in (self._find_field, self._replace_field):
            field.setMinimumWidth(look.size(MIN_FIELD_WIDTH))
        for part in (
            self._find_field,
            self._replace_field,
            self._case_toggle,
            self._words_toggle,
            self._regex_toggle,
        ):
            part.setFont(look.fonts.mono)
        self._count_label.setFont(look.fonts.second)
        self._update_count()

    def _query(self) -> TextQuery:
        return TextQuery(
            text=self._find_field.text(),
            is_regex=self._regex_toggle.isChecked(),
            match_case=self._case_toggle.isChecked(),
            whole_words=self._words_toggle.isChecked(),
        )

    def _find(self) -> None:
        self._search.start(self._query())
        matches = self._search.matches
        if matches and not self._selected_match():
            index = self._search.index_at(self._search_start)
            select_match(self._field, matches[index % len(matches)])
        self._update_count()

    def _selected_match(self) -> TextMatch | None:
        cursor, matches = self._field.textCursor(), self._search.matches
        start, length = cursor.selectionStart(), cursor.selectionEnd() - cursor.selectionStart()
        index = self._search.index_at(start)
        if index < len(matches) and (matches[index].position, matches[index].length) == (start, length):
            return matches[index]
        return None

    def _update_count(self) -> None:
        matches, search = self._search.matches, self._search
        chosen = self._selected_match()
        count = f"{len(matches):,}" + ("+" if len(matches) >= MAX_MATCHES or not search.done else "")
        if search.error:
            text = search.error
        elif not self._find_field.text():
            text = ""
        elif not matches:
            text = self.tr("No matches") if search.done else self.tr("Searching…")
        elif chosen:
            text = self.tr("{} of {}").format(search.index_at(chosen.position) + 1, count)
        else:
            text = self.tr("{} found").format(count)
        self._count_label.setText(text)
        set_style_properties(self._count_label, tone="failed" if search.error else "second")
        for part in (self._previous_button, self._next_button, self._replace_button, self._replace_all_button):
            part.setEnabled(bool(matches))
        self._highlight_matches()

    def _highlight_matches(self) -> None:
        """Highlight the MAX_HIGHLIGHTED matches nearest to the cursor."""
        index = self._search.index_at(self._field.textCursor().position())
        highlighted = self._search.matches[max(0, index - MAX_HIGHLIGHTED // 2) : index + MAX_HIGHLIGHTED // 2]
        theme = self._look.theme
        selections = []
        for match in highlighted:
            selection = QTextEdit.ExtraSelection()
            selection.cursor = self._field.textCursor()
            selection.cursor.setPosition(match.position)
            selection.cursor.setPosition(match.position + match.length, selection.cursor.MoveMode.KeepAnchor)
            selection.format.setBackground(blend(theme.waiting, theme.background, 0.28))
            selections.append(selection)
        self._field.highlight_matches(selections)

    def _lay_out(self) -> None:
        grid = QGridLayout(self)
        grid.setContentsMargins(12, 8, 8, 8)
        grid.setHorizontalSpacing(4)
        grid.setVerticalSpacing(6)
        first = (
            self._find_field,
            self._case_toggle,
            self._words_toggle,
            self._regex_toggle,
            self._previous_button,
            self._next_button,
            self._count_label,
        )
        for column, part in enumerate(first):
            grid.addWidget(part, 0, column)
        grid.addWidget(self._close_button, 0, 8)
        grid.addWidget(self._replace_field, 1, 0)
        grid.addWidget(self._replace_button, 1, 1, 1, 3)
        grid.addWidget(self._replace_all_button, 1, 4, 1, 3, Qt.AlignmentFlag.AlignLeft)
        grid.setColumnStretch(0, 3)
        grid.setColumnStretch(7, 1)
        order = (
            self._find_field,
            self._replace_field,
            self._case_toggle,
            self._words_toggle,
            self._regex_toggle,
            self._previous_button,
            self._next_button,
        )
        chain = (*order, self._replace_button, self._replace_all_button, self._close_button)
        for previous, following in pairwise(chain):
            QWidget.setTabOrder(previous, following)

    def _line(self, name: str, title: str) -> QLineEdit:
        field = QLineEdit()
        field.setObjectName(name)
        field.setPlaceholderText(title)
        field.setAccessibleName(title)
        field.setFont(self._look.fonts.mono)
        field.setMinimumWidth(self._look.size(MIN_FIELD_WIDTH))
        field.installEventFilter(self)
        return field

    def _tool(self, name: str, icon_name: str, title: str) -> QToolButton:
        button = tool_button(name, title)
        set_icon(button, icon_name, self._look.theme.second, self._look.size(16))
        return button

    def _toggle(self, name: str, text: str, title: str, keys: str) -> QToolButton:
        button = tool_button(name, title)
        button.setText(text)
        button.setCheckable(True)
        button.setFont(self._look.fonts.mono)
        button.setShortcut(keys)
        return button

    # Overridden Qt methods

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress and event.key() in ENTER_KEYS:
            if watched is self._replace_field:
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
