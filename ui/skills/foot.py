"""The line under the text of a skill: whether it is valid, how long its parts are, and where the cursor stands."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QWidget

from core.domain.skill import DESCRIPTION_LIMIT, NAME_LIMIT
from ui.skills.source import Mark
from ui.theme import Look, wear
from ui.widgets.button import Button
from ui.widgets.words import label

BODY_LIMIT: Final = 5_000  # tokens: the open format's advice


class Measures(NamedTuple):
    """How long the parts are: signs of name and description, tokens of the body."""

    name: int = 0
    description: int = 0
    tokens: int = 0


class EditorFoot(QWidget):
    """What was found is a button: it goes to the next finding."""

    next_wanted = Signal()

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self.setObjectName("skill.foot")
        self._found = Button(look, "", name="skill.foot.findings", tone="quiet", icon="circle-check")
        self._found.clicked.connect(lambda: self.next_wanted.emit())
        self._parts = label("", look.fonts.second, "second", name="skill.foot.measures")
        self._place = label("", look.fonts.second, "second", name="skill.foot.place")
        self._kept = label("", look.fonts.second, "second", name="skill.foot.saved")
        row = QHBoxLayout(self)
        row.setContentsMargins(8, 2, 16, 2)
        row.setSpacing(16)
        row.addWidget(self._found)
        row.addWidget(self._parts, 1)
        row.addWidget(self._place)
        row.addWidget(self._kept)

    def show_found(self, marks: Sequence[Mark], measures: Measures | None) -> None:
        """What is to be known of the text; without measures it is no skill but a file beside one."""
        errors = sum(mark.level == "error" for mark in marks)
        others = len(marks) - errors
        parts = [
            (self.tr("1 error") if errors == 1 else self.tr("{} errors").format(errors)) if errors else "",
            (self.tr("1 warning") if others == 1 else self.tr("{} warnings").format(others)) if others else "",
        ]
        said = " · ".join(part for part in parts if part) or self.tr("Valid skill")
        self._found.setVisible(measures is not None)
        self._found.setText(said)
        self._found.wear_icon("circle-x" if errors else "triangle-alert" if others else "circle-check")
        self._found.setAccessibleName(said)
        self._found.setToolTip("\n".join(mark.text for mark in marks[:12]) or self.tr("Nothing is wrong with it."))
        self._found.setEnabled(bool(marks))
        self._parts.setText(self._measured(measures) if measures else "")

    def show_place(self, line: int, column: int, chosen: int) -> None:
        said = self.tr("Ln {}, Col {}").format(f"{line + 1:,}", column + 1)
        self._place.setText(said + (self.tr(" · {} chosen").format(f"{chosen:,}") if chosen else ""))

    def show_saved(self, said: str, tone: str = "second") -> None:
        self._kept.setText(said)
        wear(self._kept, tone=tone)

    def restyle(self, look: Look) -> None:
        self._look = look
        self._found.restyle(look)
        for part in (self._parts, self._place, self._kept):
            part.setFont(look.fonts.second)

    def _measured(self, measures: Measures) -> str:
        return "     ".join(
            (
                self.tr("name {}/{}").format(measures.name, NAME_LIMIT),
                self.tr("description {}/{}").format(f"{measures.description:,}", DESCRIPTION_LIMIT),
                self.tr("body {} tokens of {}").format(f"{measures.tokens:,}", f"{BODY_LIMIT:,}"),
            )
        )
