"""The status bar of the skill editor: findings, sizes, cursor position and save state."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QWidget

from core.domain.skill import DESCRIPTION_LIMIT, NAME_LIMIT
from ui.skills.source_editor import FindingMark
from ui.style.theme import Look, set_style_properties
from ui.widgets.button import Button
from ui.widgets.elided import ElidedLabel
from ui.widgets.labels import label

BODY_LIMIT: Final = 5_000  # tokens; the maximum that the Agent Skills format recommends


class SkillSizes(NamedTuple):
    """The sizes of a skill: name and description in characters, body in tokens."""

    name: int = 0
    description: int = 0
    tokens: int = 0


class EditorStatusBar(QWidget):
    """The status bar. The number of findings is a button that moves the cursor to the next finding."""

    next_finding_requested = Signal()

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self.setObjectName("skill.foot")
        self._findings_button = Button(look, "", name="skill.foot.findings", tone="quiet", icon="circle-check")
        self._findings_button.clicked.connect(lambda: self.next_finding_requested.emit())
        self._parts = ElidedLabel("", look.fonts.second, "second", name="skill.foot.measures")
        self._cursor_label = label("", look.fonts.second, "second", name="skill.foot.place")
        self._kept = label("", look.fonts.second, "second", name="skill.foot.saved")
        row = QHBoxLayout(self)
        row.setContentsMargins(8, 2, 16, 2)
        row.setSpacing(16)
        row.addWidget(self._findings_button)
        row.addWidget(self._parts, 1)
        row.addWidget(self._cursor_label)
        row.addWidget(self._kept)

    def show_findings(self, marks: Sequence[FindingMark], sizes: SkillSizes | None) -> None:
        """Show the number of findings, and the sizes of the skill; `sizes` is None for a file other than SKILL.md."""
        errors = sum(mark.level == "error" for mark in marks)
        warnings = len(marks) - errors
        parts = [
            (self.tr("1 error") if errors == 1 else self.tr("{} errors").format(errors)) if errors else "",
            (self.tr("1 warning") if warnings == 1 else self.tr("{} warnings").format(warnings)) if warnings else "",
        ]
        text = " · ".join(part for part in parts if part) or self.tr("Valid skill")
        self._findings_button.setVisible(sizes is not None)
        self._findings_button.setText(text)
        self._findings_button.set_icon_name("circle-x" if errors else "triangle-alert" if warnings else "circle-check")
        self._findings_button.setAccessibleName(text)
        self._findings_button.setToolTip(
            "\n".join(mark.text for mark in marks[:12]) or self.tr("The skill has no errors or warnings.")
        )
        self._findings_button.setEnabled(bool(marks))
        self._parts.show_text(self._measured(sizes) if sizes else "")

    def show_cursor(self, line: int, column: int, selected: int) -> None:
        text = self.tr("Ln {}, Col {}").format(f"{line + 1:,}", column + 1)
        self._cursor_label.setText(text + (self.tr(" · {} selected").format(f"{selected:,}") if selected else ""))

    def show_save_state(self, text: str, tone: str = "second") -> None:
        self._kept.setText(text)
        set_style_properties(self._kept, tone=tone)

    def restyle(self, look: Look) -> None:
        self._look = look
        self._findings_button.restyle(look)
        for part in (self._parts, self._cursor_label, self._kept):
            part.setFont(look.fonts.second)

    def _measured(self, measures: SkillSizes) -> str:
        return " · ".join(
            (
                self.tr("name {}/{}").format(measures.name, NAME_LIMIT),
                self.tr("description {}/{}").format(f"{measures.description:,}", DESCRIPTION_LIMIT),
                self.tr("body {}/{} tokens").format(f"{measures.tokens:,}", f"{BODY_LIMIT:,}"),
            )
        )
