"""Before skills are taken in from a folder or a zip file: which they are, and what was found in each."""

from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QDialog, QScrollArea, QVBoxLayout, QWidget

from core.domain.skill import Imported
from ui.theme import Look
from ui.visible import visible
from ui.widgets.button import Button
from ui.widgets.dialog_parts import foot
from ui.widgets.tick import Tick
from ui.widgets.words import label, surface

MOST: Final = 5


class ImportDialog(QDialog):
    """`agreed` names those that are wanted."""

    agreed = Signal(object)

    def __init__(self, look: Look, place: str, found: Sequence[Imported], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self._ticks: dict[str, Tick] = {}
        self.setObjectName("skill.import")
        self.setWindowTitle(self.tr("Add skills"))
        self.setAccessibleName(self.windowTitle())
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        told = self.tr("1 skill in {}.") if len(found) == 1 else self.tr("{} skills in {{}}.").format(len(found))
        rest = self.tr("They are copied into your library. A skill tells an agent what to do: add only what you trust.")
        shown = QWidget()
        inner = QVBoxLayout(shown)
        inner.setContentsMargins(0, 0, 8, 0)
        inner.setSpacing(8)
        for each in found:
            inner.addWidget(self._card(each))
        inner.addStretch(1)
        scroll = QScrollArea()
        scroll.setWidgetResizable(True)
        scroll.setWidget(shown)
        cancel = Button(look, self.tr("Cancel"), name="skill.import.cancel")
        self._yes = Button(look, "", name="skill.import.yes", tone="primary")
        cancel.clicked.connect(self.reject)
        self._yes.clicked.connect(self._agree)
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 16, 20, 16)
        column.setSpacing(10)
        column.addWidget(label(self.windowTitle(), look.fonts.bold))
        column.addWidget(label(f"{told.format(visible(place))} {rest}", look.fonts.text, "second", wrap=True))
        column.addWidget(scroll, 1)
        column.addLayout(foot(cancel, self._yes))
        self.resize(look.size(600), look.size(min(560, 220 + 90 * len(found))))
        self._weigh()
        cancel.setFocus()

    def chosen(self) -> list[str]:
        return [key for key, tick in self._ticks.items() if tick.isChecked() and tick.isEnabled()]

    def _card(self, each: Imported) -> QWidget:
        card = surface("well")
        column = QVBoxLayout(card)
        column.setContentsMargins(12, 8, 12, 8)
        column.setSpacing(3)
        tick = Tick(self._look, visible(each.name), name=f"skill.import.{each.name}")
        tick.setChecked(not each.clash and not each.trouble)
        tick.setEnabled(not each.trouble and each.clash != "same")
        tick.toggled.connect(lambda _: self._weigh())
        self._ticks[each.key or each.name] = tick
        column.addWidget(tick)
        files = len(each.files)
        said = [self.tr("1 file") if files == 1 else self.tr("{} files").format(files)]
        column.addWidget(label(" · ".join(said), self._look.fonts.second, "second"))
        if told := visible(each.trouble) or self._clash(each):
            column.addWidget(label(told, self._look.fonts.second, "failed" if each.trouble else "waiting", wrap=True))
        for finding in each.findings[:MOST]:
            words = f"{self.tr('Line {}').format(finding.line)}: {visible(finding.what)} {visible(finding.do)}"
            tone = "failed" if finding.level == "error" else "waiting" if finding.level == "warning" else "second"
            column.addWidget(label(words.strip(), self._look.fonts.second, tone, wrap=True))
        if len(each.findings) > MOST:
            more = self.tr("and {} more findings").format(len(each.findings) - MOST)
            column.addWidget(label(more, self._look.fonts.second, "third"))
        return card

    def _clash(self, each: Imported) -> str:
        if each.clash == "same":
            return self.tr("It is in the library already, exactly so.")
        if each.clash == "other":
            return self.tr("Another skill has this name. This one would be called {}.").format(
                visible(each.key.rpartition("/")[2])
            )
        return ""

    def _weigh(self) -> None:
        count = len(self.chosen())
        self._yes.setText(self.tr("Add 1 skill") if count == 1 else self.tr("Add {} skills").format(count))
        self._yes.setEnabled(count > 0)

    def _agree(self) -> None:
        wanted = self.chosen()
        self.accept()
        self.agreed.emit(wanted)
