"""The notice above a skill: why it is not trusted or cannot be used, or that it has unsaved changes."""

from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from core.domain.skill import SkillFile, SkillFinding, SkillRow
from ui.style.theme import Look
from ui.text.visible import visible
from ui.widgets.accent_frame import AccentFrame
from ui.widgets.button import Button
from ui.widgets.labels import allow_breaks, label

MAX_LISTED: Final = 6  # scripts and findings that are listed


class SkillNotice(AccentFrame):
    """A title, a text and two buttons; `action_requested` carries the action of the button that was clicked."""

    action_requested = Signal(str)

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        theme = look.theme
        super().__init__(fill=theme.panel, line=theme.strong_line, edge=theme.waiting, parent=parent)
        self._look = look
        self._actions = ("", "")
        self.setObjectName("skill.card")
        self._title = label("", look.fonts.strong, name="skill.card.title", wrap=True)
        self._text = label("", look.fonts.second, "second", name="skill.card.text", wrap=True)
        self._no = Button(look, "", name="skill.card.no")
        self._yes = Button(look, "", name="skill.card.yes")
        self._no.clicked.connect(lambda: self.action_requested.emit(self._actions[0]))
        self._yes.clicked.connect(lambda: self.action_requested.emit(self._actions[1]))
        texts = QVBoxLayout()
        texts.setSpacing(3)
        texts.addWidget(self._title)
        texts.addWidget(self._text)
        row = QHBoxLayout(self)
        row.setContentsMargins(16, 10, 12, 10)
        row.setSpacing(8)
        row.addLayout(texts, 1)
        row.addWidget(self._no)
        row.addWidget(self._yes)
        self.hide()

    def show_notice(self, title: str, text: str, no: tuple[str, str], yes: tuple[str, str]) -> None:
        """Show the notice with two buttons, given as pairs of action and label; a button without a label is hidden."""
        self._title.setText(title)
        self._text.setText(allow_breaks(text))
        self._actions = (no[0], yes[0])
        for button, (_, button_text) in ((self._no, no), (self._yes, yes)):
            button.setText(button_text)
            button.setAccessibleName(button_text)
            button.setVisible(bool(button_text))
        self.setAccessibleName(f"{title} {text}")
        self.show()

    def show_untrusted(self, row: SkillRow, files: Sequence[SkillFile], findings: Sequence[SkillFinding]) -> None:
        """Explain that the skill is unusable until the user trusts it, and list its scripts and findings."""
        changed = row.state == "changed"
        title = (
            self.tr("This skill has changed since you trusted it. It cannot be used until you trust it again.")
            if changed
            else self.tr(
                "You have not trusted this skill yet. Until you do, no model sees it and none of its scripts run."
            )
        )
        parts = [self.tr("Location: {}.").format(visible(row.path)) if row.path else ""]
        runs = [visible(file.path) for file in files if file.executable or file.path.startswith("scripts/")]
        other_files = len(files) - len(runs) - 1
        if runs:
            more = self.tr(" and {} more").format(len(runs) - MAX_LISTED) if len(runs) > MAX_LISTED else ""
            parts.append(self.tr("Scripts: {}{}.").format(", ".join(runs[:MAX_LISTED]), more))
        if other_files > 0:
            parts.append(
                self.tr("1 other file.") if other_files == 1 else self.tr("{} other files.").format(other_files)
            )
        serious = [finding for finding in findings if finding.level != "note"]
        parts += [
            self.tr("Line {}: {}").format(finding.line, visible(finding.message)) for finding in serious[:MAX_LISTED]
        ]
        parts.append(self.tr("Read its text below and its files on the Files tab before you trust it."))
        self.show_notice(
            title, " ".join(part for part in parts if part), ("disable", ""), ("trust", self.tr("Trust this skill"))
        )

    def restyle(self, look: Look) -> None:
        theme = look.theme
        self.set_colors(fill=theme.panel, line=theme.strong_line, edge=theme.waiting)
        self._title.setFont(look.fonts.strong)
        self._text.setFont(look.fonts.second)
        for button in (self._no, self._yes):
            button.restyle(look)
