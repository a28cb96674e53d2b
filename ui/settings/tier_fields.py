"""The control for the model tiers: for each tier a field with model names, and the rules that choose a tier."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import QFormLayout, QLineEdit, QVBoxLayout, QWidget

from core.domain.tiers import TierRule, Tiers
from ui.settings.text_setting import split_names, text_field
from ui.settings.tier_rules import TierRulesEditor
from ui.style.theme import Look
from ui.widgets.button import Button

FIELD_WIDTH: Final = 200


class TierFields(QWidget):
    """The fields for the models of each tier, in order of preference. They are collapsed while no tier is set."""

    accessible_role = QAccessible.Role.Grouping

    def __init__(self, look: Look, tiers: Tiers, on_change: Callable[[Tiers], None]) -> None:
        super().__init__()
        self._look = look
        self._tiers = tiers
        self._on_change = on_change
        self._fields = QWidget()
        self._toggle = Button(look, "", name="settings.tiers.toggle", tone="quiet")
        self._toggle.clicked.connect(lambda: self._show_fields(self._fields.isHidden()))
        self._small = self._field("small", _tr("Small"), tiers.small)
        self._mid = self._field("mid", _tr("Mid"), tiers.mid)
        self._frontier = self._field("frontier", _tr("Frontier"), tiers.frontier)
        form = QFormLayout(self._fields)
        form.setContentsMargins(0, 0, 0, 0)
        form.setHorizontalSpacing(12)
        for field in (self._small, self._mid, self._frontier):
            form.addRow(field.accessibleName(), field)
        form.addRow(TierRulesEditor(look, tiers.rules, self._report_rules))
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        column.addWidget(self._toggle, 0, Qt.AlignmentFlag.AlignLeft)
        column.addWidget(self._fields)
        self._show_fields(bool(tiers.small or tiers.mid or tiers.frontier))

    def _field(self, tier: str, title: str, models: tuple[str, ...]) -> QLineEdit:
        field = text_field(", ".join(models), self._report_models)
        field.setObjectName(f"settings.tiers.{tier}")
        field.setAccessibleName(title)
        field.setPlaceholderText(_tr("PROVIDER/MODEL, …"))
        field.setFont(self._look.fonts.text)
        field.setMinimumWidth(self._look.size(FIELD_WIDTH))
        return field

    def _show_fields(self, visible: bool) -> None:
        self._fields.setVisible(visible)
        self._toggle.setText(_tr("Hide tiers") if visible else _tr("Set tiers…"))
        self._toggle.setAccessibleName(self._toggle.text())
        self._toggle.set_icon_name("chevron-down" if visible else "chevron-right")

    def _report_models(self, _text: str) -> None:
        self._tiers = replace(
            self._tiers,
            small=split_names(self._small.text()),
            mid=split_names(self._mid.text()),
            frontier=split_names(self._frontier.text()),
        )
        self._on_change(self._tiers)

    def _report_rules(self, rules: tuple[TierRule, ...]) -> None:
        self._tiers = replace(self._tiers, rules=rules)
        self._on_change(self._tiers)


def _tr(text: str) -> str:
    return QCoreApplication.translate("settings", text)
