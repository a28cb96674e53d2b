"""Two saved at once: the other text and yours are shown beside each other, and where they clash you choose."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QDialog, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from core.domain.skill import Moved, Part
from ui.theme import Look
from ui.visible import visible
from ui.widgets.button import Button
from ui.widgets.segments import Segments
from ui.widgets.words import label, surface

LINES = 12


class MovedDialog(QDialog):
    """`agreed` tells the text that has both; nothing is saved before the person saves it."""

    agreed = Signal(str)

    def __init__(self, look: Look, moved: Moved, mine: str, by: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look, self._moved, self._mine = look, moved, mine
        self._choices: dict[int, Segments] = {}
        self.setObjectName("skill.moved")
        self.setWindowTitle(self.tr("Somebody else saved it meanwhile"))
        self.setAccessibleName(self.windowTitle())
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        clashes = [number for number, part in enumerate(moved.parts) if part.kind == "clash"]
        told = self.tr("Version {} was saved by {} after you began. Nothing of it is lost, and nothing of yours.")
        ways = self._ways(len(clashes))
        shown = QWidget()
        inner = QVBoxLayout(shown)
        inner.setContentsMargins(0, 0, 8, 0)
        inner.setSpacing(10)
        for number in clashes:
            inner.addWidget(self._clash(number, moved.parts[number]))
        inner.addStretch(1)
        scroll = QScrollArea()
        scroll.setObjectName("skill.moved.clashes")
        scroll.setWidgetResizable(True)
        scroll.setWidget(shown)
        scroll.setVisible(bool(clashes))
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 16, 20, 16)
        column.setSpacing(10)
        column.addWidget(label(self.windowTitle(), look.fonts.bold, wrap=True))
        column.addWidget(label(told.format(moved.head.number, by), look.fonts.text, "second", wrap=True))
        column.addWidget(label(ways, look.fonts.text, name="skill.moved.told", wrap=True))
        column.addWidget(scroll, 1)
        column.addLayout(self._buttons())
        self.setMinimumWidth(look.size(560))
        if clashes:
            self.resize(look.size(680), look.size(560))

    def text(self) -> str:
        """Your lines with theirs in them; of a clash what was chosen."""
        if self._moved.merged is not None:
            return self._moved.merged
        return "".join("".join(self._lines(number, part)) for number, part in enumerate(self._moved.parts))

    def _lines(self, number: int, part: Part) -> Sequence[str]:
        match part.kind:
            case "same":
                return part.base
            case "yours" | "both":
                return part.yours
            case "theirs":
                return part.theirs
            case "clash":
                chosen = self._choices[number].choice
                both = (*part.theirs, *part.yours)
                return {"theirs": part.theirs, "yours": part.yours}.get(chosen, both)

    def _ways(self, clashes: int) -> str:
        if not clashes:
            return self.tr("The changes do not touch each other. Take both, look at the text, and save.")
        if clashes == 1:
            return self.tr("In one place both changed the same lines. Choose what stands there.")
        return self.tr("In {} places both changed the same lines. Choose what stands there.").format(clashes)

    def _clash(self, number: int, part: Part) -> QWidget:
        card = surface("well")
        choice = Segments(
            self._look,
            self.tr("What stands here"),
            [("yours", self.tr("Yours")), ("theirs", self.tr("Theirs")), ("both", self.tr("Both"))],
            name=f"skill.moved.choice.{number}",
        )
        choice.choose("both")
        self._choices[number] = choice
        column = QVBoxLayout(card)
        column.setContentsMargins(12, 10, 12, 10)
        column.setSpacing(6)
        for said, lines, token in (
            (self.tr("− as it was"), part.base, "third"),
            (self.tr("+ theirs"), part.theirs, "done"),
            (self.tr("+ yours"), part.yours, "accent"),
        ):
            column.addWidget(label(said, self._look.fonts.label, token))
            cut = "".join(lines[:LINES]).rstrip("\n") + ("\n…" if len(lines) > LINES else "")
            column.addWidget(label(visible(cut) or "–", self._look.fonts.mono, wrap=True))
        column.addWidget(choice)
        return card

    def _buttons(self) -> QHBoxLayout:
        row = QHBoxLayout()
        later = Button(self._look, self.tr("Later"), name="skill.moved.later")
        mine = Button(self._look, self.tr("Only mine"), name="skill.moved.mine")
        theirs = Button(self._look, self.tr("Only theirs"), name="skill.moved.theirs")
        both = Button(self._look, self.tr("Take both"), name="skill.moved.both", tone="primary")
        mine.setToolTip(self.tr("Theirs stays a version that can be restored"))
        theirs.setToolTip(self.tr("Undo in the text brings yours back"))
        later.clicked.connect(self.reject)
        mine.clicked.connect(lambda: self._agree(self._mine))
        theirs.clicked.connect(lambda: self._agree(self._moved.theirs))
        both.clicked.connect(lambda: self._agree(self.text()))
        row.addWidget(later)
        row.addStretch(1)
        for button in (mine, theirs, both):
            row.addWidget(button)
        return row

    def _agree(self, text: str) -> None:
        self.accept()
        self.agreed.emit(text)
