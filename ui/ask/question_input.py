"""The controls for one question of a form: its options and a field for free text."""

from collections.abc import Callable

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QWidget

from core.domain.question import SubAnswer, SubQuestion
from ui.ask.option_row import OptionRow
from ui.style.theme import Look
from ui.widgets.labels import TextField, label, styled_frame


class QuestionInput(QObject):
    """The controls for one question. `number` is its position in a form, 0 if it is the only question.

    Nothing is selected at first.
    """

    changed = Signal()
    option_selected = Signal(object)
    entered = Signal()

    def __init__(
        self, look: Look, part: SubQuestion, number: int, *, dialog: bool, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self.question = part
        self.rows = [OptionRow(look, option, n, stacked=dialog) for n, option in enumerate(part.options, 1)]
        roomy = dialog and not number
        self.text_field = TextField(look.fonts.text, max_lines=6 if roomy else 3, min_lines=2 if roomy else 1)
        self._hint = label(str(len(self.rows) + 1) if self.rows else "", look.fonts.second, "third")
        self.field_frame = self._well()
        self._set_object_names(number)
        for row in self.rows:
            row.clicked.connect(self._click(row))
        self.text_field.textChanged.connect(self.update_placeholder)
        self.text_field.textChanged.connect(self.changed)
        self.text_field.entered.connect(self.entered)
        self.update_placeholder()

    def current_answer(self) -> SubAnswer:
        """Return the answer as it is filled in now."""
        options = tuple(row.label() for row in self.rows if row.isChecked())
        return SubAnswer(
            self.question.text, options, self.text_field.stripped_text() if self.question.free_text else ""
        )

    def is_answered(self) -> bool:
        answer = self.current_answer()
        return self.question.optional or bool(answer.options or answer.text)

    def fill(self, options: tuple[str, ...], text: str) -> None:
        """Restore selected options and typed text."""
        for row in self.rows:
            row.setChecked(row.label() in options)
        self.text_field.setPlainText(text)
        self.update_placeholder()

    def select_number(self, number: int) -> bool:
        """Select the option with this number, or focus the text field for the number after the last option.

        Return False if there is no such option or field.
        """
        if 1 <= number <= len(self.rows):
            row = self.rows[number - 1]
            self._select(row, not row.isChecked() if self.question.multi_select else True)
            row.setFocus(Qt.FocusReason.ShortcutFocusReason)
            return True
        if number == len(self.rows) + 1 and self.question.free_text:
            self.text_field.setFocus(Qt.FocusReason.ShortcutFocusReason)
            return True
        return False

    def focus_first(self) -> None:
        first: QWidget = self.rows[0] if self.rows else self.text_field
        first.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def contains(self, widget: QWidget | None) -> bool:
        return widget is self.text_field or any(row is widget for row in self.rows)

    def set_collapsed(self, folded: bool) -> None:
        for row in self.rows:
            row.set_collapsed(folded)

    def restyle(self, look: Look) -> None:
        for row in self.rows:
            row.restyle(look)
        self.text_field.apply_font(look.fonts.text)
        self._hint.setFont(look.fonts.second)

    def update_placeholder(self) -> None:
        """Set the placeholder: text is a comment if an option is selected, and the answer itself if none is."""
        if any(row.isChecked() for row in self.rows):
            invitation = self.tr("Add a comment…")
        elif self.rows:
            invitation = self.tr("Something else…")
        else:
            invitation = self.tr("Your answer…")
        self.text_field.setPlaceholderText(invitation)
        self.text_field.setAccessibleName(invitation)

    def _select(self, row: OptionRow, on: bool) -> None:
        for other in self.rows:
            if other is row:
                other.setChecked(on)
            elif not self.question.multi_select:
                other.setChecked(False)
        self.update_placeholder()
        self.changed.emit()
        # A collapsed option expands when it is selected, so that users can read what they send.
        self.option_selected.emit(row)

    def _click(self, row: OptionRow) -> Callable[[], None]:
        def clicked() -> None:
            if row.isChecked():
                self._select(row, True)
            else:
                self.update_placeholder()
                self.changed.emit()

        return clicked

    def _well(self) -> QWidget:
        well = styled_frame("well")
        inside = QHBoxLayout(well)
        inside.setContentsMargins(10, 5, 10, 4)
        inside.setSpacing(14)
        top = Qt.AlignmentFlag.AlignTop
        inside.addWidget(self._hint, 0, top)
        inside.addWidget(self.text_field, 1, top)
        self._hint.setVisible(bool(self.rows))
        well.setVisible(self.question.free_text)
        return well

    def _set_object_names(self, number: int) -> None:
        start = f"question.{number}" if number else "question"
        self.text_field.setObjectName(f"{start}.words")
        self.field_frame.setObjectName(f"{start}.field")
        for place, row in enumerate(self.rows, 1):
            row.setObjectName(f"{start}.option.{place}")
