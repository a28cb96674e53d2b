"""The notice above a skill. It says that the skill is not trusted, cannot be used, or has unsaved changes."""

from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from core.domain.skill import SKILL_FILE, SkillFile, SkillFinding, SkillRow
from ui.skills.skill_menu import MenuEntry, SkillAction
from ui.style.theme import Look
from ui.text.visible import visible
from ui.widgets.accent_frame import AccentFrame
from ui.widgets.button import Button
from ui.widgets.fitting_scroll_area import FittingScrollArea
from ui.widgets.labels import allow_breaks, label
from ui.widgets.stacking_row import StackingRow, plain_row

MAX_LISTED: Final = 6  # scripts listed by name at most; the same limit applies to findings
TEXT_WIDTH: Final = 200  # pixels; if less is left for the text beside the buttons, the buttons move below it


class SkillNotice(AccentFrame):
    """A title, a text and up to two buttons."""

    action_requested = Signal(str)  # a `SkillAction`

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        theme = look.theme
        super().__init__(fill=theme.panel, line=theme.strong_line, edge=theme.waiting, parent=parent)
        self._look = look
        self._dismissal: SkillAction | None = None
        self._confirmation: SkillAction | None = None
        self.setObjectName("skill.card")
        self._title = label("", look.fonts.strong, name="skill.card.title", wrap=True)
        self._text = label("", look.fonts.second, "second", name="skill.card.text", wrap=True)
        self._dismiss_button = Button(look, "", name="skill.card.no")
        self._confirm_button = Button(look, "", name="skill.card.yes")
        self._dismiss_button.clicked.connect(lambda: self.action_requested.emit(self._dismissal))
        self._confirm_button.clicked.connect(lambda: self.action_requested.emit(self._confirmation))
        content = QWidget()
        texts = QVBoxLayout(content)
        texts.setContentsMargins(0, 0, 0, 0)
        texts.setSpacing(3)
        texts.addWidget(self._title)
        texts.addWidget(self._text)
        self._texts = FittingScrollArea(content)
        self._texts.setObjectName("skill.card.scroll")
        self._texts.setAccessibleName(self.tr("Notice"))
        self._texts.setFocusPolicy(Qt.FocusPolicy.TabFocus)  # so that the arrow keys can scroll the text
        buttons = plain_row(self._dismiss_button, self._confirm_button)
        column = QVBoxLayout(self)
        column.setContentsMargins(16, 10, 12, 10)
        center = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight
        column.addWidget(StackingRow(self._texts, buttons, alignment=center))
        self.restyle(look)
        self.hide()

    def show_notice(
        self, title: str, text: str, *, dismiss: MenuEntry | None = None, confirm: MenuEntry | None = None
    ) -> None:
        """Show the notice with a button for each action that is given with its label."""
        self._title.setText(title)
        self._text.setText(allow_breaks(text))
        self._dismissal = dismiss.action if dismiss else None
        self._confirmation = confirm.action if confirm else None
        for button, entry in ((self._dismiss_button, dismiss), (self._confirm_button, confirm)):
            button_text = entry.label if entry else ""
            button.setText(button_text)
            button.setAccessibleName(button_text)
            button.setVisible(bool(button_text))
        self.setAccessibleName(f"{title} {text}")
        self.show()

    def show_untrusted(self, row: SkillRow, files: Sequence[SkillFile], findings: Sequence[SkillFinding]) -> None:
        """Explain that the skill cannot be used until the user trusts it, and list its scripts and findings."""
        if row.state == "changed":
            title = self.tr("This skill has changed since you trusted it. It cannot be used until you trust it again.")
        else:
            title = self.tr(
                "You have not trusted this skill yet. Until you do, no model sees it and none of its scripts run."
            )
        location = [self.tr("Location: {}.").format(visible(row.path))] if row.path else []
        advice = self.tr("Read its text below and its files on the Files tab before you trust it.")
        text = " ".join([*location, *self._describe_files(files), *self._describe_findings(findings), advice])
        self.show_notice(title, text, confirm=MenuEntry(SkillAction.TRUST, self.tr("Trust this skill")))

    def _describe_files(self, files: Sequence[SkillFile]) -> list[str]:
        """Return a sentence that lists the scripts, and one with the number of other files."""
        sentences = []
        scripts = [visible(file.path) for file in files if file.executable or file.path.startswith("scripts/")]
        if scripts:
            unlisted = len(scripts) - MAX_LISTED
            more = self.tr(" and {} more").format(unlisted) if unlisted > 0 else ""
            sentences.append(self.tr("Scripts: {}{}.").format(", ".join(scripts[:MAX_LISTED]), more))
        others = sum(file.path != SKILL_FILE for file in files) - len(scripts)
        if others == 1:
            sentences.append(self.tr("1 other file."))
        elif others > 1:
            sentences.append(self.tr("{} other files.").format(others))
        return sentences

    def _describe_findings(self, findings: Sequence[SkillFinding]) -> list[str]:
        """Return the first findings that are more than a note, and the number of the remaining ones."""
        serious = [finding for finding in findings if finding.level != "note"]
        line_text = self.tr("Line {}: {}")
        sentences = [line_text.format(finding.line, visible(finding.message)) for finding in serious[:MAX_LISTED]]
        unlisted = len(serious) - MAX_LISTED
        if unlisted == 1:
            sentences.append(self.tr("And 1 more finding."))
        elif unlisted > 1:
            sentences.append(self.tr("And {} more findings.").format(unlisted))
        return sentences

    def restyle(self, look: Look) -> None:
        theme = look.theme
        self.set_colors(fill=theme.panel, line=theme.strong_line, edge=theme.waiting)
        self._title.setFont(look.fonts.strong)
        self._text.setFont(look.fonts.second)
        for button in (self._dismiss_button, self._confirm_button):
            button.restyle(look)
        self._texts.setMinimumWidth(look.size(TEXT_WIDTH))
