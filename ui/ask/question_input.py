"""The controls for one question of a form: its options and a field for free text."""

from collections.abc import Callable
from typing import Final

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QWidget

from core.domain.question import SubAnswer, SubQuestion
from ui.ask.option_row import OptionRow
from ui.style.theme import Look
from ui.widgets.labels import TextField, hide_unless, label, show_focus_on, styled_frame
from ui.widgets.radio_group import radio_group

MIN_FIELD_WIDTH: Final = 100  # pixels; the buttons of a card move below the text field if they leave it less


class QuestionInput(QObject):
    """The controls for one question, with nothing selected at first.

    `number` is the position of the question in the form; 0 if it is the only one.
    """

    changed = Signal()
    selection_changed = Signal()
    scroll_requested = Signal(object)
    """The widget that the user has just selected, and that the form should scroll to."""
    entered = Signal()

    def __init__(
        self, look: Look, question: SubQuestion, number: int, *, dialog: bool, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self.question = question
        self.rows = [
            OptionRow(look, option, option_number, stacked=dialog)
            for option_number, option in enumerate(question.options, 1)
        ]
        if dialog and number == 0:
            self.text_field = TextField(look.fonts.text, min_lines=2, max_lines=6)
        else:
            self.text_field = TextField(look.fonts.text, max_lines=3)
        shortcut = str(len(self.rows) + 1) if self.rows else ""  # the digit that focuses the text field
        self._shortcut_label = label(shortcut, look.fonts.second, "third")
        self.field_frame = self._build_field_frame()
        self.field_frame.setMinimumWidth(look.size(MIN_FIELD_WIDTH))
        self._set_object_names(number)
        if not question.multi_select:
            radio_group(self, self.rows, optional=True)
        self._selecting = False  # true while the program, not the user, checks options
        for row in self.rows:
            row.toggled.connect(self._toggle_handler(row))  # assistive technology toggles options without a click
        self.text_field.textChanged.connect(self.update_placeholder)
        self.text_field.textChanged.connect(self.changed)
        self.text_field.entered.connect(self.entered)
        self.update_placeholder()

    def current_answer(self) -> SubAnswer:
        """Return the answer as filled in so far."""
        options = tuple(row.label() for row in self.rows if row.isChecked())
        text = self.text_field.stripped_text() if self.question.free_text else ""
        return SubAnswer(self.question.text, options, text)

    def is_answered(self) -> bool:
        answer = self.current_answer()
        return self.question.optional or bool(answer.options or answer.text)

    def fill(self, options: tuple[str, ...], text: str) -> None:
        """Fill in the selected options and the text of an earlier answer."""
        self._selecting = True
        for row in self.rows:
            row.setChecked(row.label() in options)
        self._selecting = False
        self.text_field.setPlainText(text)
        self.update_placeholder()

    def select_number(self, number: int) -> bool:
        """Select the option with this number, or focus the text field for the number after the last option.

        Return False if there is no such option or field.
        """
        option_count = len(self.rows)
        if 1 <= number <= option_count:
            row = self.rows[number - 1]
            self._set_selected(row, not (self.question.multi_select and row.isChecked()))
            row.setFocus(Qt.FocusReason.ShortcutFocusReason)
            return True
        if number == option_count + 1 and self.question.free_text:
            self.text_field.setFocus(Qt.FocusReason.ShortcutFocusReason)
            self.scroll_requested.emit(self.field_frame)
            return True
        return False

    def focus_first(self) -> None:
        first_widget: QWidget = self.rows[0] if self.rows else self.text_field
        first_widget.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def contains(self, widget: QWidget | None) -> bool:
        return widget is self.text_field or any(row is widget for row in self.rows)

    def set_collapsed(self, collapsed: bool) -> None:
        for row in self.rows:
            row.set_collapsed(collapsed)

    def restyle(self, look: Look) -> None:
        for row in self.rows:
            row.restyle(look)
        self.text_field.apply_font(look.fonts.text)
        self._shortcut_label.setFont(look.fonts.second)
        self.field_frame.setMinimumWidth(look.size(MIN_FIELD_WIDTH))

    def update_placeholder(self) -> None:
        """Set the placeholder: the text is a comment if an option is selected, and otherwise the answer itself."""
        if any(row.isChecked() for row in self.rows):
            placeholder = self.tr("Add a comment…")
        elif self.rows:
            placeholder = self.tr("Something else…")
        else:
            placeholder = self.tr("Your answer…")
        self.text_field.setPlaceholderText(placeholder)
        self.text_field.setAccessibleName(placeholder)

    def _set_selected(self, row: OptionRow, selected: bool) -> None:
        self._selecting = True
        for other in self.rows:
            if other is row:
                other.setChecked(selected)
            elif not self.question.multi_select:
                other.setChecked(False)
        self._selecting = False
        self.update_placeholder()
        self.changed.emit()
        self.selection_changed.emit()
        if selected:  # lets the form expand the option, so that users can read what they send
            self.scroll_requested.emit(row)

    def _toggle_handler(self, row: OptionRow) -> Callable[[bool], None]:
        def on_toggled(checked: bool) -> None:
            if not self._selecting:
                self._set_selected(row, checked)

        return on_toggled

    def _build_field_frame(self) -> QWidget:
        frame = styled_frame("well")
        show_focus_on(frame, self.text_field)
        layout = QHBoxLayout(frame)
        layout.setContentsMargins(10, 5, 10, 4)
        layout.setSpacing(14)
        layout.addWidget(self._shortcut_label, 0, Qt.AlignmentFlag.AlignTop)
        layout.addWidget(self.text_field, 1, Qt.AlignmentFlag.AlignTop)
        self._shortcut_label.setVisible(bool(self.rows))
        hide_unless(frame, self.question.free_text)
        return frame

    def _set_object_names(self, number: int) -> None:
        prefix = f"question.{number}" if number else "question"
        self.text_field.setObjectName(f"{prefix}.words")
        self.field_frame.setObjectName(f"{prefix}.field")
        for option_number, row in enumerate(self.rows, 1):
            row.setObjectName(f"{prefix}.option.{option_number}")
