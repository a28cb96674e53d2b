"""The details of a permission request, such as its reason and warnings: each with its name on the left."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QLabel

from ui.ask.pending_permission import RequestDetail
from ui.style.theme import Look
from ui.widgets.labels import label

NAME_WIDTH: Final = 84  # pixels; width of the column with the names of the details
URGENT_COUNT: Final = 2  # number of details, from the first one, that are visible even if space is short


class _DetailLabels(NamedTuple):
    """The two labels of a detail."""

    name: QLabel
    value: QLabel


class DetailGrid(QGridLayout):
    """A grid with one row for each detail."""

    def __init__(self, look: Look, details: Sequence[RequestDetail]) -> None:
        super().__init__()
        self._rows: list[_DetailLabels] = []
        self.setHorizontalSpacing(0)
        self.setVerticalSpacing(4)
        self.setColumnMinimumWidth(0, look.size(NAME_WIDTH))
        self.setColumnStretch(1, 1)
        for row, detail in enumerate(details):
            name_label = label(detail.label, look.fonts.second, "second")
            value_label = label(detail.text, look.fonts.second, detail.tone, wrap=True, name="consent.fact")
            value_label.setAccessibleName(f"{detail.label}: {detail.text}")
            self.addWidget(name_label, row, 0, Qt.AlignmentFlag.AlignTop)
            self.addWidget(value_label, row, 1)
            self._rows.append(_DetailLabels(name_label, value_label))

    def set_collapsed(self, collapsed: bool) -> None:
        """Hide the less urgent details, because space is short; the first ones and all warnings stay visible."""
        for row in self._rows[URGENT_COUNT:]:
            is_warning = row.value.property("tone") in ("failed", "waiting")
            row.name.setVisible(is_warning or not collapsed)
            row.value.setVisible(is_warning or not collapsed)

    def restyle(self, look: Look) -> None:
        for row in self._rows:
            row.name.setFont(look.fonts.second)
            row.value.setFont(look.fonts.second)
