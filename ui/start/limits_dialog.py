"""The dialog in which the user sets limits for the run of a new session."""

from typing import Final, NamedTuple

from PySide6.QtCore import QCoreApplication, Qt, Signal
from PySide6.QtWidgets import QDialog, QFormLayout, QVBoxLayout, QWidget

from ui.style.number_formats import amount, money
from ui.style.theme import Look
from ui.widgets.button import Button
from ui.widgets.dialog_parts import button_row
from ui.widgets.labels import label
from ui.widgets.number_field import NumberField

MAX_VALUE: Final = 10**9


class RunLimits(NamedTuple):
    """The limits after which a run pauses; 0 means no limit. The cost is in US dollars."""

    turns: int = 0
    minutes: float = 0.0
    tokens: int = 0
    cost: float = 0.0


class LimitsDialog(QDialog):
    """Lets the user set limits. `chosen` carries the RunLimits, or None to use those of the settings."""

    chosen = Signal(object)

    def __init__(self, look: Look, limits: RunLimits, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("limits")
        self.setWindowTitle(_tr("Limits of the run"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 16, 20, 16)
        column.setSpacing(8)
        column.addWidget(label(_tr("Limits of the run"), look.fonts.title))
        text = _tr("The run pauses when it reaches one of them. 0 means no limit.")
        column.addWidget(label(text, look.fonts.text, "second", wrap=True))
        form = QFormLayout()
        form.setSpacing(8)
        self._fields: dict[str, NumberField] = {}
        titles = {"turns": _tr("Turns"), "minutes": _tr("Minutes"), "tokens": _tr("Tokens"), "cost": _tr("Cost in $")}
        for name, title in titles.items():
            field = self._fields[name] = NumberField()
            field.setObjectName(f"limits.{name}")
            field.setAccessibleName(title)
            field.setFont(look.fonts.text)
            field.setRange(0, MAX_VALUE)
            field.setDecimals(2 if name in ("minutes", "cost") else 0)
            field.setValue(getattr(limits, name))
            form.addRow(label(title, look.fonts.text), field)
        column.addLayout(form)
        usual = Button(look, _tr("Use the settings"), name="limits.usual", tone="quiet")
        cancel = Button(look, _tr("Cancel"), name="limits.cancel")
        apply = Button(look, _tr("Apply"), name="limits.apply", tone="primary")
        apply.setDefault(True)
        usual.clicked.connect(lambda: self._choose(None))
        cancel.clicked.connect(self.reject)
        apply.clicked.connect(lambda: self._choose(self._limits()))
        column.addLayout(button_row(usual, cancel, apply))
        self.setMinimumWidth(look.size(380))
        self._fields["turns"].setFocus()

    def _limits(self) -> RunLimits:
        values = {name: field.value() for name, field in self._fields.items()}
        return RunLimits(int(values["turns"]), values["minutes"], int(values["tokens"]), values["cost"])

    def _choose(self, limits: RunLimits | None) -> None:
        self.accept()
        self.chosen.emit(limits)


def limits_text(limits: RunLimits) -> str:
    """Return a line with the limits that are set."""
    parts = [
        _tr("{} turns").format(limits.turns) if limits.turns else "",
        _tr("{} min").format(f"{limits.minutes:g}") if limits.minutes else "",
        _tr("{} tok").format(amount(limits.tokens)) if limits.tokens else "",
        money(limits.cost) if limits.cost else "",
    ]
    return " · ".join(part for part in parts if part) or _tr("No limits")


def _tr(text: str) -> str:
    return QCoreApplication.translate("start", text)
