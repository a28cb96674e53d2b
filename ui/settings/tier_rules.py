"""The rules that choose a tier for each step of a session with the model “auto”. The first matching rule applies."""

from collections.abc import Callable, Sequence
from typing import Final

from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QVBoxLayout, QWidget

from core.domain.tiers import DEFAULT_RULES, Tier, TierCondition, TierRule
from ui.style.theme import Look
from ui.widgets.button import Button
from ui.widgets.drop_down import DropDown
from ui.widgets.labels import label
from ui.widgets.replaceable_content import ReplaceableContent

CONDITIONS: Final[tuple[tuple[TierCondition, str], ...]] = (
    ("first_step", "First step of a run"),
    ("after_failure", "After a failed step"),
    ("vision", "With images"),
    ("summary", "Context summary"),
    ("review", "Review of a session"),
)
TIERS: Final[tuple[tuple[Tier, str], ...]] = (("small", "Small"), ("mid", "Mid"), ("frontier", "Frontier"))
OTHERWISE: Final = TierRule("any", "mid")


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
        before_any = next((at for at, rule in enumerate(rules) if rule.when == "any"), len(rules))
        self._rules = list(rules[:before_any])
        self._otherwise = rules[before_any] if before_any < len(rules) else OTHERWISE
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
        return (*self._rules, self._otherwise)

    def _fill(self) -> None:
        content = QWidget()
        grid = QGridLayout(content)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(6)
        grid.setVerticalSpacing(6)
        grid.setColumnStretch(0, 1)
        for at, rule in enumerate(self._rules):
            name = f"settings.tiers.rule.{at}"
            when = self._choice(f"{name}.when", _tr("When"), CONDITIONS, rule.when)
            tier = self._choice(f"{name}.tier", _tr("Tier"), TIERS, rule.tier)
            when.activated.connect(lambda index, at=at: self._change(at, when=CONDITIONS[index][0]))
            tier.activated.connect(lambda index, at=at: self._change(at, tier=TIERS[index][0]))
            grid.addWidget(when, at, 0)
            grid.addWidget(tier, at, 1)
            condition = _tr(dict(CONDITIONS)[rule.when])
            up = self._button(f"{name}.up", "arrow-up", _tr("Move up: {}").format(condition))
            up.setEnabled(at > 0)
            up.clicked.connect(lambda _=False, at=at: self._move_up(at))
            remove = self._button(f"{name}.remove", "x", _tr("Remove: {}").format(condition))
            remove.clicked.connect(lambda _=False, at=at: self._remove(at))
            grid.addWidget(up, at, 2)
            grid.addWidget(remove, at, 3)
        last = len(self._rules)
        grid.addWidget(label(_tr("All other steps"), self._look.fonts.text), last, 0)
        otherwise = self._choice("settings.tiers.rule.any.tier", _tr("All other steps"), TIERS, self._otherwise.tier)
        otherwise.activated.connect(lambda index: self._change(-1, tier=TIERS[index][0]))
        grid.addWidget(otherwise, last, 1)
        self._rows.replace_content(content)
        self._add.setEnabled(bool(self._unused()))
        self._reset.setEnabled(self.rules != DEFAULT_RULES)

    def _unused(self) -> list[TierCondition]:
        used = {rule.when for rule in self._rules}
        return [condition for condition, _ in CONDITIONS if condition not in used]

    def _change(self, at: int, when: TierCondition | None = None, tier: Tier | None = None) -> None:
        rule = self._otherwise if at < 0 else self._rules[at]
        changed = TierRule(when or rule.when, tier or rule.tier)
        if at < 0:
            self._otherwise = changed
        else:
            self._rules[at] = changed
        self._report(changed != rule)

    def _move_up(self, at: int) -> None:
        self._rules[at - 1 : at + 1] = self._rules[at], self._rules[at - 1]
        self._report()

    def _remove(self, at: int) -> None:
        del self._rules[at]
        self._report()

    def _add_rule(self) -> None:
        self._rules.append(TierRule(self._unused()[0], "frontier"))
        self._report()

    def _use_default_rules(self) -> None:
        self._rules, self._otherwise = list(DEFAULT_RULES[:-1]), DEFAULT_RULES[-1]
        self._report()

    def _report(self, changed: bool = True) -> None:
        self._fill()
        if changed:
            self._on_change(self.rules)

    def _choice(self, name: str, title: str, options: Sequence[tuple[str, str]], value: str) -> DropDown:
        field = DropDown(name=name, title=title, font=self._look.fonts.text)
        for key, text in options:
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
