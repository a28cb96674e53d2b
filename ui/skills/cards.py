"""A card over a skill: one that nobody trusts yet is shown for what it is, and text that is not saved is explained."""

from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from core.domain.skill import Finding, SkillFile, SkillRow
from ui.theme import Look
from ui.visible import visible
from ui.widgets.button import Button
from ui.widgets.edge import EdgeFrame
from ui.widgets.words import breakable, label

MOST: Final = 6


class Card(EdgeFrame):
    """A title, a few plain lines, and two buttons; `done` names the one that was pressed."""

    done = Signal(str)

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        theme = look.theme
        super().__init__(fill=theme.panel, line=theme.strong_line, edge=theme.waiting, parent=parent)
        self._look = look
        self._deeds = ("", "")
        self.setObjectName("skill.card")
        self._title = label("", look.fonts.strong, name="skill.card.title", wrap=True)
        self._text = label("", look.fonts.second, "second", name="skill.card.text", wrap=True)
        self._no = Button(look, "", name="skill.card.no")
        self._yes = Button(look, "", name="skill.card.yes")
        self._no.clicked.connect(lambda: self.done.emit(self._deeds[0]))
        self._yes.clicked.connect(lambda: self.done.emit(self._deeds[1]))
        words = QVBoxLayout()
        words.setSpacing(3)
        words.addWidget(self._title)
        words.addWidget(self._text)
        row = QHBoxLayout(self)
        row.setContentsMargins(16, 10, 12, 10)
        row.setSpacing(8)
        row.addLayout(words, 1)
        row.addWidget(self._no)
        row.addWidget(self._yes)
        self.hide()

    def show_words(self, title: str, text: str, no: tuple[str, str], yes: tuple[str, str]) -> None:
        """Each button is a deed and what stands on it; one without words is not shown."""
        self._title.setText(title)
        self._text.setText(breakable(text))
        self._deeds = (no[0], yes[0])
        for button, (_, said) in ((self._no, no), (self._yes, yes)):
            button.setText(said)
            button.setAccessibleName(said)
            button.setVisible(bool(said))
        self.setAccessibleName(f"{title} {text}")
        self.show()

    def show_untrusted(self, row: SkillRow, files: Sequence[SkillFile], findings: Sequence[Finding]) -> None:
        """What it is, what it brings, what is strange about it; nothing of it runs before it is trusted."""
        changed = row.state == "changed"
        title = (
            self.tr("This skill changed since you trusted it. It is off until you trust it again.")
            if changed
            else self.tr("Nobody has trusted this skill yet. It is off: no model sees it and nothing of it runs.")
        )
        parts = [self.tr("It lies in {}.").format(visible(row.place)) if row.place else ""]
        runs = [visible(file.path) for file in files if file.executable or file.path.startswith("scripts/")]
        others = len(files) - len(runs) - 1
        if runs:
            more = self.tr(" and {} more").format(len(runs) - MOST) if len(runs) > MOST else ""
            parts.append(self.tr("It brings scripts: {}{}.").format(", ".join(runs[:MOST]), more))
        if others > 0:
            parts.append(self.tr("And 1 other file.") if others == 1 else self.tr("And {} other files.").format(others))
        grave = [finding for finding in findings if finding.level != "note"]
        parts += [self.tr("Line {}: {}").format(finding.line, visible(finding.what)) for finding in grave[:MOST]]
        parts.append(self.tr("Read it below and under Files before you trust it."))
        self.show_words(
            title, " ".join(part for part in parts if part), ("disable", ""), ("trust", self.tr("Trust this skill"))
        )

    def restyle(self, look: Look) -> None:
        theme = look.theme
        self.recolour(fill=theme.panel, line=theme.strong_line, edge=theme.waiting)
        self._title.setFont(look.fonts.strong)
        self._text.setFont(look.fonts.second)
        for button in (self._no, self._yes):
            button.restyle(look)
