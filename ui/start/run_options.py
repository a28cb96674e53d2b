"""The options of the run of a new session, and the dialog in which the user sets them."""

from typing import Final, NamedTuple

from PySide6.QtCore import QCoreApplication, Qt, Signal
from PySide6.QtWidgets import QDialog, QFormLayout, QLineEdit, QVBoxLayout, QWidget

from core.domain.question import Autonomy, UnansweredPolicy
from ui.style.number_formats import amount, money
from ui.style.theme import Look
from ui.text.visible import visible
from ui.widgets.button import Button
from ui.widgets.dialog_parts import button_row, click_on_ctrl_enter, resize_in_screen, show_form_error
from ui.widgets.drop_down import DropDown
from ui.widgets.fitting_scroll_area import FittingScrollArea
from ui.widgets.labels import TextField, framed_field, label
from ui.widgets.number_field import NumberField

SIZE: Final = (480, 700)
MAX_VALUE: Final = 10**9
CHECK_LINES: Final = 2
QUESTIONS: Final[dict[Autonomy, str]] = {
    "decisive": "At most 1 question",
    "balanced": "At most 3 questions",
    "cautious": "At most 5 questions",
}
UNANSWERED: Final[dict[UnansweredPolicy, str]] = {
    "pause": "The run pauses",
    "default": "It goes on with the agent's default",
}


class RunOptions(NamedTuple):
    """How a run proceeds. A number of 0 means no limit, and a temperature of None that of the model.

    The run pauses at `turns`, `minutes`, `tokens` or a `cost` in US dollars. `output_tokens` limits each reply.
    `autonomy` says how many questions the agent may ask; after `answer_minutes`, `unanswered` says what happens to a
    question that nobody has answered. `checks` are commands that must succeed, and `sealed` patterns of
    files that must be unchanged, before the run counts as done.
    """

    turns: int = 0
    minutes: float = 0.0
    tokens: int = 0
    cost: float = 0.0
    output_tokens: int = 0
    temperature: float | None = None
    autonomy: Autonomy = "balanced"
    answer_minutes: float = 0.0
    unanswered: UnansweredPolicy = "pause"
    checks: tuple[str, ...] = ()
    sealed: tuple[str, ...] = ()


class RunOptionsDialog(QDialog):
    """Lets the user set the options. `chosen` carries the RunOptions, or None to use those of the settings."""

    chosen = Signal(object)

    def __init__(self, look: Look, options: RunOptions, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self.setObjectName("options")
        self.setWindowTitle(_tr("Options of the run"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._numbers: dict[str, NumberField] = {}
        self._temperature = QLineEdit()
        self._questions = DropDown(name="options.autonomy", title=_tr("Questions"), font=look.fonts.text)
        self._unanswered = DropDown(name="options.unanswered", title=_tr("Without an answer"), font=look.fonts.text)
        self._checks = TextField(
            look.fonts.mono, min_lines=CHECK_LINES, max_lines=2 * CHECK_LINES, enter_breaks_line=True
        )
        self._sealed = QLineEdit(", ".join(options.sealed))
        self._error = label("", look.fonts.text, "failed", name="options.error", wrap=True)
        self._error.hide()
        self._lay_out(options)
        self._fill(options)
        self._numbers["answer_minutes"].valueChanged.connect(self._update_state)
        self._update_state()
        self._numbers["turns"].setFocus()

    def _lay_out(self, options: RunOptions) -> None:
        look = self._look
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 16, 20, 16)
        column.setSpacing(8)
        column.addWidget(label(_tr("Options of the run"), look.fonts.title))
        content = QWidget()
        form = QFormLayout(content)
        form.setContentsMargins(0, 0, 8, 0)
        form.setSpacing(8)
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        self._add_heading(form, _tr("The run pauses when it reaches one of these limits. 0 means no limit."))
        self._add_number(form, "turns", _tr("Turns"), options.turns)
        self._add_number(form, "minutes", _tr("Minutes"), options.minutes, decimals=2)
        self._add_number(form, "tokens", _tr("Tokens"), options.tokens)
        self._add_number(form, "cost", _tr("Cost in $"), options.cost, decimals=2)
        self._add_heading(form, _tr("Replies of the model. External agents ignore these options."))
        self._add_number(form, "output_tokens", _tr("Tokens of a reply"), options.output_tokens)
        self._add(form, "temperature", _tr("Temperature"), self._temperature)
        text = _tr("Questions of the agent and its sub-agents, in the whole run. With 0 minutes, they wait for you.")
        self._add_heading(form, text)
        self._add(form, "autonomy", _tr("Questions"), self._questions)
        self._add_number(form, "answer_minutes", _tr("Minutes to wait"), options.answer_minutes, decimals=2)
        self._add(form, "unanswered", _tr("Without an answer"), self._unanswered)
        self._add_conditions(form, options)
        column.addWidget(FittingScrollArea(content), 1)
        column.addWidget(self._error)
        usual = Button(look, _tr("Use the settings"), name="options.usual", tone="quiet")
        cancel = Button(look, _tr("Cancel"), name="options.cancel")
        apply = Button(look, _tr("Apply"), name="options.apply", tone="primary")
        apply.setDefault(True)
        usual.clicked.connect(lambda: self._choose(None))
        cancel.clicked.connect(self.reject)
        apply.clicked.connect(self._apply)
        click_on_ctrl_enter(self, apply)
        column.addLayout(button_row(usual, cancel, apply))
        resize_in_screen(self, look.size(SIZE[0]), look.size(SIZE[1]))

    def _fill(self, options: RunOptions) -> None:
        self._temperature.setPlaceholderText(_tr("Default of the model"))
        self._temperature.setText("" if options.temperature is None else f"{options.temperature:g}")
        for level, text in QUESTIONS.items():
            self._questions.addItem(_tr(text), level)
        self._questions.setCurrentIndex(self._questions.findData(options.autonomy))
        for policy, text in UNANSWERED.items():
            self._unanswered.addItem(_tr(text), policy)
        self._unanswered.setCurrentIndex(self._unanswered.findData(options.unanswered))

    def _add_conditions(self, form: QFormLayout, options: RunOptions) -> None:
        """Add the fields for what must hold before the run counts as done."""
        text = _tr(
            "The run is done only if these commands succeed, one per line. If one fails, the agent reads its output "
            "and continues, at most twice. The result rates the run."
        )
        self._add_heading(form, text)
        self._checks.setPlaceholderText(_tr("Such as pytest -q"))
        self._checks.setToolTip(_tr("Shell commands, which run in the folder of the session, in this order"))
        self._checks.setPlainText("\n".join(options.checks))
        self._checks.setObjectName("options.checks")
        self._checks.setAccessibleName(_tr("Checks"))
        form.addRow(label(_tr("Checks"), self._look.fonts.text), framed_field(self._checks))
        text = _tr(
            "The run is done only if these files are as they were: paths, folders or patterns, with commas between."
        )
        self._add_heading(form, text)
        self._sealed.setPlaceholderText(_tr("Such as tests, **/test_*.py"))
        self._add(form, "sealed", _tr("Sealed files"), self._sealed)

    def _add_heading(self, form: QFormLayout, text: str) -> None:
        form.addRow(label(text, self._look.fonts.text, "second", wrap=True))

    def _add_number(self, form: QFormLayout, name: str, title: str, value: float, *, decimals: int = 0) -> None:
        field = self._numbers[name] = NumberField()
        field.setRange(0, MAX_VALUE)
        field.setDecimals(decimals)
        field.setValue(value)
        self._add(form, name, title, field)

    def _add(self, form: QFormLayout, name: str, title: str, field: QWidget) -> None:
        field.setObjectName(f"options.{name}")
        field.setAccessibleName(title)
        field.setFont(self._look.fonts.text)
        form.addRow(label(title, self._look.fonts.text), field)

    def _update_state(self) -> None:
        """Without a waiting time, a question waits until it is answered."""
        self._unanswered.setEnabled(bool(self._numbers["answer_minutes"].value()))

    def _apply(self) -> None:
        try:
            temperature = _temperature(self._temperature.text())
        except ValueError:
            error = _tr("The temperature is a number from 0, such as 0.2. Leave it empty for the default of the model.")
            show_form_error(self, self._error, error)
            self._temperature.setFocus()
            return
        values = {name: field.value() for name, field in self._numbers.items()}
        self._choose(
            RunOptions(
                turns=int(values["turns"]),
                minutes=values["minutes"],
                tokens=int(values["tokens"]),
                cost=values["cost"],
                output_tokens=int(values["output_tokens"]),
                temperature=temperature,
                autonomy=self._questions.currentData(),
                answer_minutes=values["answer_minutes"],
                unanswered=self._unanswered.currentData(),
                checks=tuple(filter(None, map(str.strip, self._checks.toPlainText().splitlines()))),
                sealed=tuple(filter(None, map(str.strip, self._sealed.text().split(",")))),
            )
        )

    def _choose(self, options: RunOptions | None) -> None:
        self.accept()
        self.chosen.emit(options)


def _temperature(text: str) -> float | None:
    """Return the number in a text, or None if it is empty. Raise ValueError if it is not a finite number from 0."""
    if not text.strip():
        return None
    value = float(text.strip().replace(",", "."))
    if not 0 <= value <= MAX_VALUE:
        raise ValueError(text)
    return value


def options_text(options: RunOptions) -> str:
    """Return a line with the limits that are set, and the other options that are not the usual ones."""
    limits = [
        _tr("{} turns").format(options.turns) if options.turns else "",
        _tr("{} min").format(f"{options.minutes:g}") if options.minutes else "",
        _tr("{} tok").format(amount(options.tokens)) if options.tokens else "",
        money(options.cost) if options.cost else "",
    ]
    others = [
        _tr("{} tok a reply").format(amount(options.output_tokens)) if options.output_tokens else "",
        "" if options.temperature is None else _tr("temperature {}").format(f"{options.temperature:g}"),
        "" if options.autonomy == "balanced" else _tr(QUESTIONS[options.autonomy]).lower(),
        _tr("waits {} min").format(f"{options.answer_minutes:g}") if options.answer_minutes else "",
        _tr("checks {}").format(visible("; ".join(options.checks))) if options.checks else "",
        _tr("seals {}").format(visible(", ".join(options.sealed))) if options.sealed else "",
    ]
    return " · ".join(part for part in (*(limits if any(limits) else [_tr("No limits")]), *others) if part)


def _tr(text: str) -> str:
    return QCoreApplication.translate("start", text)
