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

MAX_LISTED: Final = 12  # findings in the tooltip
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
        self._sizes_label = ElidedLabel("", look.fonts.second, "second", name="skill.foot.measures")
        self._cursor_label = label("", look.fonts.second, "second", name="skill.foot.place")
        self._save_state_label = label("", look.fonts.second, "second", name="skill.foot.saved")
        row = QHBoxLayout(self)
        row.setContentsMargins(8, 2, 16, 2)
        row.setSpacing(16)
        row.addWidget(self._findings_button)
        row.addWidget(self._sizes_label, 1)
        row.addWidget(self._cursor_label)
        row.addWidget(self._save_state_label)

    def show_findings(self, marks: Sequence[FindingMark], sizes: SkillSizes | None) -> None:
        """Show the number of findings, and the sizes of the skill; `sizes` is None for a file other than SKILL.md."""
        errors = sum(mark.level == "error" for mark in marks)
        warnings = len(marks) - errors
        counts, icon = [], "circle-check"
        if warnings:
            counts.append(self.tr("1 warning") if warnings == 1 else self.tr("{} warnings").format(warnings))
            icon = "triangle-alert"
        if errors:
            counts.insert(0, self.tr("1 error") if errors == 1 else self.tr("{} errors").format(errors))
            icon = "circle-x"
        text = " · ".join(counts) or self.tr("Valid skill")
        tooltip = "\n".join(mark.text for mark in marks[:MAX_LISTED])
        self._findings_button.setVisible(sizes is not None)
        self._findings_button.setText(text)
        self._findings_button.set_icon_name(icon)
        self._findings_button.setAccessibleName(text)
        self._findings_button.setToolTip(tooltip or self.tr("The skill has no errors or warnings."))
        self._findings_button.setEnabled(bool(marks))
        self._sizes_label.show_text(self._sizes_text(sizes) if sizes else "")

    def show_cursor(self, line: int, column: int, selected: int) -> None:
        text = self.tr("Ln {}, Col {}").format(f"{line + 1:,}", column + 1)
        if selected:
            text += self.tr(" · {} selected").format(f"{selected:,}")
        self._cursor_label.setText(text)

    def show_save_state(self, text: str, tone: str = "second") -> None:
        self._save_state_label.setText(text)
        set_style_properties(self._save_state_label, tone=tone)

    def restyle(self, look: Look) -> None:
        self._look = look
        self._findings_button.restyle(look)
        for part in (self._sizes_label, self._cursor_label, self._save_state_label):
            part.setFont(look.fonts.second)

    def _sizes_text(self, sizes: SkillSizes) -> str:
        name = self.tr("name {}/{}").format(sizes.name, NAME_LIMIT)
        description = self.tr("description {}/{}").format(f"{sizes.description:,}", DESCRIPTION_LIMIT)
        body = self.tr("body {}/{} tokens").format(f"{sizes.tokens:,}", f"{BODY_LIMIT:,}")
        return f"{name} · {description} · {body}"
