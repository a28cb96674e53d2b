"""One question of a form: its options, and a field for words of one's own."""

from collections.abc import Callable

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QWidget

from core.domain.question import Part, Said
from ui.ask.option import OptionRow
from ui.theme import Look
from ui.widgets.words import WordsField, label, surface


class Choice(QObject):
    """Nothing is chosen at first. `number` is its place in a form of several, 0 where it is the only one."""

    changed = Signal()
    chosen = Signal(object)
    entered = Signal()

    def __init__(self, look: Look, part: Part, number: int, *, dialog: bool, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.part = part
        self.rows = [OptionRow(look, option, n, stacked=dialog) for n, option in enumerate(part.options, 1)]
        roomy = dialog and not number
        self.words = WordsField(look.fonts.text, lines=6 if roomy else 3, least=2 if roomy else 1)
        self._hint = label(str(len(self.rows) + 1) if self.rows else "", look.fonts.second, "third")
        self.well = self._well()
        self._take_names(number)
        for row in self.rows:
            row.clicked.connect(self._click(row))
        self.words.textChanged.connect(self.tell_invitation)
        self.words.textChanged.connect(self.changed)
        self.words.entered.connect(self.entered)
        self.tell_invitation()

    def said(self) -> Said:
        """What would be said if it were handed over now."""
        options = tuple(row.label() for row in self.rows if row.isChecked())
        return Said(self.part.text, options, self.words.words() if self.part.free_text else "")

    def answered(self) -> bool:
        said = self.said()
        return self.part.optional or bool(said.options or said.text)

    def fill(self, options: tuple[str, ...], text: str) -> None:
        """Bring back what was chosen and typed."""
        for row in self.rows:
            row.setChecked(row.label() in options)
        self.words.setPlainText(text)
        self.tell_invitation()

    def choose(self, number: int) -> bool:
        """Choose the option of this number; the number after the last one goes to the words of one's own."""
        if 1 <= number <= len(self.rows):
            row = self.rows[number - 1]
            self._take(row, not row.isChecked() if self.part.several else True)
            row.setFocus(Qt.FocusReason.ShortcutFocusReason)
            return True
        if number == len(self.rows) + 1 and self.part.free_text:
            self.words.setFocus(Qt.FocusReason.ShortcutFocusReason)
            return True
        return False

    def take_keyboard(self) -> None:
        first: QWidget = self.rows[0] if self.rows else self.words
        first.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def holds(self, widget: QWidget | None) -> bool:
        return widget is self.words or any(row is widget for row in self.rows)

    def fold(self, folded: bool) -> None:
        for row in self.rows:
            row.fold(folded)

    def restyle(self, look: Look) -> None:
        for row in self.rows:
            row.restyle(look)
        self.words.set_font(look.fonts.text)
        self._hint.setFont(look.fonts.second)

    def tell_invitation(self) -> None:
        """With an option chosen the words go along with it, without one they are the answer: the field says which."""
        if any(row.isChecked() for row in self.rows):
            invitation = self.tr("Add a word to it…")
        elif self.rows:
            invitation = self.tr("Something else…")
        else:
            invitation = self.tr("Your answer…")
        self.words.setPlaceholderText(invitation)
        self.words.setAccessibleName(invitation)

    def _take(self, row: OptionRow, on: bool) -> None:
        for other in self.rows:
            if other is row:
                other.setChecked(on)
            elif not self.part.several:
                other.setChecked(False)
        self.tell_invitation()
        self.changed.emit()
        # A folded option opens when it is chosen, so that nobody answers with words they could not read.
        self.chosen.emit(row)

    def _click(self, row: OptionRow) -> Callable[[], None]:
        def clicked() -> None:
            if row.isChecked():
                self._take(row, True)
            else:
                self.tell_invitation()
                self.changed.emit()

        return clicked

    def _well(self) -> QWidget:
        well = surface("well")
        inside = QHBoxLayout(well)
        inside.setContentsMargins(10, 5, 10, 4)
        inside.setSpacing(14)
        top = Qt.AlignmentFlag.AlignTop
        inside.addWidget(self._hint, 0, top)
        inside.addWidget(self.words, 1, top)
        self._hint.setVisible(bool(self.rows))
        well.setVisible(self.part.free_text)
        return well

    def _take_names(self, number: int) -> None:
        start = f"question.{number}" if number else "question"
        self.words.setObjectName(f"{start}.words")
        self.well.setObjectName(f"{start}.field")
        for place, row in enumerate(self.rows, 1):
            row.setObjectName(f"{start}.option.{place}")
