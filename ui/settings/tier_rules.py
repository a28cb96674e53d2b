"""The rules that choose a tier for each step of a session with the model “auto”. The first matching rule applies."""

from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from typing import Any, Final

from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QVBoxLayout, QWidget

from core.domain.tiers import DEFAULT_RULES, Tier, TierCondition, TierRule
from ui.style.theme import Look
from ui.widgets.button import Button
from ui.widgets.drop_down import DropDown
from ui.widgets.labels import label
from ui.widgets.replaceable_content import ReplaceableContent

CONDITIONS: Final[Mapping[TierCondition, str]] = {
    "first_step": "First step of a run",
    "after_failure": "After a failed step",
    "vision": "With images",
    "summary": "Context summary",
    "review": "Review of a session",
}
TIERS: Final[Mapping[Tier, str]] = {"small": "Small", "mid": "Mid", "frontier": "Frontier"}
DEFAULT_LAST_RULE: Final = TierRule("any", "mid")


class TierRulesEditor(QWidget):
    """The rules as rows that the user can edit, move and remove.

    The last rule applies to all other steps and cannot be removed. `on_change` is called with the new rules after each
    change.
    """

    def __init__(
        self, look: Look, rules: Sequence[TierRule], on_change: Callable[[tuple[TierRule, ...]], None]
    ) -> None:
        super().__init__()
        self._look = look
        self._on_change = on_change
        self.setObjectName("settings.tiers.rules")
        self._rules = list(takewhile(lambda rule: rule.when != "any", rules))
        self._last_rule = next((rule for rule in rules if rule.when == "any"), DEFAULT_LAST_RULE)
        self._rows = ReplaceableContent()
        self._add = Button(look, _tr("Add rule"), name="settings.tiers.rules.add")
        self._reset = Button(look, _tr("Use the default rules"), name="settings.tiers.rules.reset", tone="quiet")
        self._add.clicked.connect(self._add_rule)
        self._reset.clicked.connect(self._use_default_rules)
        buttons = QHBoxLayout()
        buttons.setSpacing(8)
        buttons.addWidget(self._add)
        buttons.addWidget(self._reset)
        buttons.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 4, 0, 0)
        column.setSpacing(6)
        about = _tr("Rules for the model “auto”. The first one that fits a step chooses its tier.")
        column.addWidget(label(about, look.fonts.second, "second", wrap=True))
        column.addWidget(self._rows)
        column.addLayout(buttons)
        self._fill()

    @property
    def rules(self) -> tuple[TierRule, ...]:
        return (*self._rules, self._last_rule)

    def _fill(self) -> None:
        content = QWidget()
        grid = QGridLayout(content)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(6)
        grid.setVerticalSpacing(6)
        grid.setColumnStretch(0, 1)
        for index, rule in enumerate(self._rules):
            self._add_rule_row(grid, index, rule)
        self._add_last_row(grid)
        self._rows.replace_content(content)
        self._add.setEnabled(bool(self._unused_conditions()))
        self._reset.setEnabled(self.rules != DEFAULT_RULES)

    def _add_rule_row(self, grid: QGridLayout, index: int, rule: TierRule) -> None:
        name = f"settings.tiers.rule.{index}"
        when = self._choice(f"{name}.when", _tr("When"), CONDITIONS, rule.when)
        tier = self._choice(f"{name}.tier", _tr("Tier"), TIERS, rule.tier)
        when.activated.connect(lambda _: self._change(index, TierRule(when.currentData(), rule.tier)))
        tier.activated.connect(lambda _: self._change(index, TierRule(rule.when, tier.currentData())))
        condition = _tr(CONDITIONS[rule.when])
        up = self._button(f"{name}.up", "arrow-up", _tr("Move up: {}").format(condition))
        up.setEnabled(index > 0)
        up.clicked.connect(lambda: self._move_up(index))
        remove = self._button(f"{name}.remove", "x", _tr("Remove: {}").format(condition))
        remove.clicked.connect(lambda: self._remove(index))
        for column, widget in enumerate((when, tier, up, remove)):
            grid.addWidget(widget, index, column)

    def _add_last_row(self, grid: QGridLayout) -> None:
        """Add the row of the last rule, of which only the tier can be chosen."""
        row = len(self._rules)
        title = _tr("All other steps")
        tier = self._choice("settings.tiers.rule.any.tier", title, TIERS, self._last_rule.tier)
        tier.activated.connect(lambda _: self._change_last(TierRule("any", tier.currentData())))
        grid.addWidget(label(title, self._look.fonts.text), row, 0)
        grid.addWidget(tier, row, 1)

    def _unused_conditions(self) -> list[TierCondition]:
        used = {rule.when for rule in self._rules}
        return [condition for condition in CONDITIONS if condition not in used]

    def _change(self, index: int, rule: TierRule) -> None:
        is_changed = rule != self._rules[index]
        self._rules[index] = rule
        self._update(report=is_changed)

    def _change_last(self, rule: TierRule) -> None:
        is_changed = rule != self._last_rule
        self._last_rule = rule
        self._update(report=is_changed)

    def _move_up(self, index: int) -> None:
        self._rules.insert(index - 1, self._rules.pop(index))
        self._update()

    def _remove(self, index: int) -> None:
        del self._rules[index]
        self._update()

    def _add_rule(self) -> None:
        self._rules.append(TierRule(self._unused_conditions()[0], "frontier"))
        self._update()

    def _use_default_rules(self) -> None:
        *self._rules, self._last_rule = DEFAULT_RULES
        self._update()

    def _update(self, *, report: bool = True) -> None:
        """Show the rules as they are now, and report them."""
        self._fill()
        if report:
            self._on_change(self.rules)

    def _choice(self, name: str, title: str, options: Mapping[Any, str], value: str) -> DropDown:
        field = DropDown(name=name, title=title, font=self._look.fonts.text)
        for key, text in options.items():
            field.addItem(_tr(text), key)
        field.setCurrentIndex(field.findData(value))
        return field

    def _button(self, name: str, icon: str, title: str) -> Button:
        button = Button(self._look, "", name=name, icon=icon, tone="quiet")
        button.setAccessibleName(title)
        button.setToolTip(title)
        return button


def _tr(text: str) -> str:
    return QCoreApplication.translate("settings", text)
