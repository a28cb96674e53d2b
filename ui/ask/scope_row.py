"""The choice of an approval's scope (once, for the run, in the folder or always), and of the patterns it applies to."""

from collections.abc import Callable
from typing import Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QVBoxLayout, QWidget

from core.domain.permissions import PermissionOption, PermissionRequest, RuleScope, offered_scopes
from ui.ask.approval import Approval, OptionApproval, ScopeApproval
from ui.ask.full_text import one_line
from ui.ask.pending_permission import scope_consequence, scope_label
from ui.style.theme import Look, set_style_properties
from ui.widgets.announce import announce
from ui.widgets.button import Button
from ui.widgets.flow_layout import GAP, WrappingRow
from ui.widgets.labels import allow_breaks, hide_unless, label
from ui.widgets.radio_group import radio_group
from ui.widgets.tooltip import tooltip_text

MAX_PATTERN_CHARS: Final = 48


class ScopeRow(QWidget):
    """The row with the scopes, of which Once is selected at first.

    It is hidden if the approval can only be given once.
    """

    changed = Signal()

    def __init__(
        self, look: Look, request: PermissionRequest, *, name_width: int, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._request = request
        self._options = {option.id: option for option in request.options}
        scopes = () if self._options else offered_scopes(request)
        self._scopes: dict[str, RuleScope] = {scope: scope for scope in scopes}
        self._chips = self._create_choice_chips(look)
        self._patterns = {
            pattern: self._create_pattern_chip(look, number, pattern)
            for number, pattern in enumerate(request.patterns, 1)
        }
        self._labels: list[QLabel] = []
        self._consequence = label("", look.fonts.second, "second", name="consent.scope.consequence", wrap=True)
        self._collapsed = False
        self._lay_out(look, name_width)
        radio_group(self, list(self._chips.values()))
        for chip_id, chip in self._chips.items():
            chip.toggled.connect(self._toggle_handler(chip_id))  # assistive technology toggles choices without a click
        hide_unless(self, self.offers_choice())
        self.select(self._default_choice())

    def _create_choice_chips(self, look: Look) -> dict[str, Button]:
        """Create a chip for each scope, or for each answer of an external agent."""
        chips: dict[str, Button] = {}
        for option in self._options.values():
            chips[option.id] = self._create_chip(look, one_line(option.name), f"consent.option.{option.id}")
        for scope in self._scopes.values():
            chips[scope] = self._create_chip(look, scope_label(scope), f"consent.scope.{scope}")
            consequence = scope_consequence(self._request, scope)
            chips[scope].setToolTip(tooltip_text(consequence))
            chips[scope].setAccessibleDescription(consequence)
        return chips

    def _create_pattern_chip(self, look: Look, number: int, pattern: str) -> Button:
        chip = self._create_chip(look, _shortened(pattern), f"consent.pattern.{number}")
        chip.setChecked(True)
        chip.setToolTip(tooltip_text(one_line(pattern)))
        chip.setAccessibleName(self.tr("Apply to {}").format(one_line(pattern)))
        chip.toggled.connect(self._on_pattern_toggled)
        return chip

    def _lay_out(self, look: Look, name_width: int) -> None:
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(GAP)
        title = self.tr("Answer") if self._options else self.tr("Allow")
        layout.addWidget(self._build_row(look, title, list(self._chips.values()), name_width))
        self._pattern_row = self._build_row(look, self.tr("Applies to"), list(self._patterns.values()), name_width)
        layout.addWidget(self._pattern_row)
        consequence_row = QHBoxLayout()
        consequence_row.addSpacing(name_width + GAP)
        consequence_row.addWidget(self._consequence, 1)
        layout.addLayout(consequence_row)

    def _default_choice(self) -> str:
        """Return the first answer of an external agent that allows the call once, else its first answer, else once."""
        for option in self._options.values():
            if option.allows and not option.persistent:
                return option.id
        return next(iter(self._options), "once")

    def offers_choice(self) -> bool:
        return len(self._chips) > 1 or bool(self._options)

    def selected_option(self) -> PermissionOption | None:
        """Return the selected one of the answers that an external agent offers; None if it offers none."""
        return self._options.get(self._selected)

    def selected_scope(self) -> RuleScope | None:
        """Return the selected scope; None if an external agent offers its own answers."""
        return self._scopes.get(self._selected)

    def approval(self) -> Approval:
        """Return what the user has chosen."""
        if option := self.selected_option():
            return OptionApproval(option)
        return ScopeApproval(self._scopes[self._selected], self._selected_patterns())

    def missing_choice(self) -> str:
        """Return what has to be selected before the choice can be submitted; "" if it is complete."""
        if self._needs_patterns() and not self._selected_patterns():
            return self.tr("Select at least one pattern.")
        return ""

    def _needs_patterns(self) -> bool:
        return self.selected_scope() not in ("once", None)

    def select(self, chip_id: str) -> None:
        """Select a scope, or an answer of an external agent by its ID."""
        self._selected = chip_id
        for other, chip in self._chips.items():
            chip.setChecked(other == chip_id)
        self._pattern_row.setVisible(self._needs_patterns())
        self._show_consequence()
        self.changed.emit()

    def _on_pattern_toggled(self, _on: bool) -> None:
        self._show_consequence()
        self.changed.emit()

    def _show_consequence(self) -> None:
        """Explain the selected scope or, if it still needs a pattern, say so."""
        scope = self.selected_scope()
        missing = self.missing_choice()
        if scope:
            self._consequence.setText(allow_breaks(missing or scope_consequence(self._request, scope)))
        set_style_properties(self._consequence, tone="waiting" if missing else "second")
        explains_scope = scope is not None and not self._collapsed
        self._consequence.setVisible(explains_scope or bool(missing))

    def _selected_patterns(self) -> tuple[str, ...]:
        if self.selected_scope() == "once":
            return ()
        return tuple(pattern for pattern, chip in self._patterns.items() if chip.isChecked())

    def set_collapsed(self, collapsed: bool) -> None:
        """Set whether the explanation of the selected scope is hidden, because space is short.

        Tooltips still show it.
        """
        self._collapsed = collapsed
        self._show_consequence()

    def select_number(self, number: int) -> bool:
        """Select a choice by its number, counted from 1. Return whether there are several choices and this is one.

        The choice is announced, because the focus does not move to it.
        """
        chip_ids = list(self._chips)
        if len(chip_ids) == 1 or not 1 <= number <= len(chip_ids):
            return False
        self.select(chip_ids[number - 1])
        scope = self.selected_scope()
        announcement = self._chips[self._selected].accessibleName()
        if scope:
            announcement += f". {scope_consequence(self._request, scope)}"
        announce(self, announcement)
        return True

    def restyle(self, look: Look) -> None:
        for chip in (*self._chips.values(), *self._patterns.values()):
            chip.restyle(look)
        for text_label in (*self._labels, self._consequence):
            text_label.setFont(look.fonts.second)

    def _create_chip(self, look: Look, text: str, name: str) -> Button:
        chip = Button(look, text, name=name)
        chip.setCheckable(True)
        return chip

    def _toggle_handler(self, chip_id: str) -> Callable[[bool], None]:
        """Return a handler that selects a choice when its button is checked."""

        def on_toggled(checked: bool) -> None:
            if checked and chip_id != self._selected:
                self.select(chip_id)

        return on_toggled

    def _build_row(self, look: Look, title: str, chips: list[Button], title_width: int) -> QWidget:
        row_widget = QWidget()
        row = QHBoxLayout(row_widget)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(GAP)
        title_label = label(title, look.fonts.second, "second")
        title_label.setMinimumWidth(title_width)
        self._labels.append(title_label)
        row.addWidget(title_label, 0, Qt.AlignmentFlag.AlignVCenter)
        row.addWidget(WrappingRow(*chips), 1)
        return row_widget


def _shortened(pattern: str) -> str:
    line = one_line(pattern)
    return line if len(line) <= MAX_PATTERN_CHARS else f"{line[: MAX_PATTERN_CHARS - 1]}…"
