"""The dialog that merges the user's text with a version that was saved in the meantime."""

from collections.abc import Mapping, Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QDialog, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from core.domain.skill import MergeHunk, SkillSaveConflict
from ui.style.theme import Look
from ui.text.visible import visible
from ui.widgets.button import Button
from ui.widgets.dialog_parts import resize_in_screen
from ui.widgets.labels import hide_unless, label, styled_frame
from ui.widgets.segmented_control import SegmentedControl

MAX_LINES = 12  # lines shown of each side of a conflict


class SaveConflictDialog(QDialog):
    """Lets the user merge a text with a version that was saved in the meantime.

    `resolved` carries the merged text, which the user can edit further and must still save. `mine` is the user's text;
    `author` is who saved the version in `conflict`.
    """

    resolved = Signal(str)

    def __init__(
        self, look: Look, conflict: SkillSaveConflict, mine: str, author: str, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._look = look
        self._conflict = conflict
        self._own_text = mine
        # The index of each conflicting hunk, with the control that selects which side to keep.
        self._choices: dict[int, SegmentedControl] = {}
        self.setObjectName("skill.moved")
        self.setWindowTitle(self.tr("The skill was saved by someone else"))
        self.setAccessibleName(self.windowTitle())
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setMinimumWidth(look.size(560))
        intro = self.tr(
            "Version {} was saved by {} after you started editing. Neither that version nor your text is lost."
        ).format(conflict.latest.number, author)
        clashes = {index: hunk for index, hunk in enumerate(conflict.hunks) if hunk.kind == "clash"}
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 16, 20, 16)
        column.setSpacing(10)
        column.addWidget(label(self.windowTitle(), look.fonts.title, wrap=True))
        column.addWidget(label(intro, look.fonts.text, "second", wrap=True))
        column.addWidget(label(self._instructions(len(clashes)), look.fonts.text, name="skill.moved.told", wrap=True))
        column.addWidget(self._build_clashes(clashes), 1)
        column.addLayout(self._build_buttons())
        if clashes:
            resize_in_screen(self, look.size(680), look.size(560))

    def _build_clashes(self, clashes: Mapping[int, MergeHunk]) -> QWidget:
        content = QWidget()
        column = QVBoxLayout(content)
        column.setContentsMargins(0, 0, 8, 0)
        column.setSpacing(10)
        for index, hunk in clashes.items():
            column.addWidget(self._build_clash(index, hunk))
        column.addStretch(1)
        scroll = QScrollArea()
        scroll.setObjectName("skill.moved.clashes")
        scroll.setWidgetResizable(True)
        scroll.setWidget(content)
        hide_unless(scroll, bool(clashes))
        return scroll

    def merged_text(self) -> str:
        """Return the merged text, in which each conflict is replaced by the selected side."""
        if self._conflict.merged is not None:
            return self._conflict.merged
        hunks = enumerate(self._conflict.hunks)
        return "".join(line for index, hunk in hunks for line in self._merged_lines(index, hunk))

    def _merged_lines(self, index: int, hunk: MergeHunk) -> Sequence[str]:
        match hunk.kind:
            case "same":
                return hunk.base
            case "yours" | "both":
                return hunk.yours
            case "theirs":
                return hunk.theirs
            case "clash":
                chosen = self._choices[index].selected
                both = (*hunk.theirs, *hunk.yours)
                return {"theirs": hunk.theirs, "yours": hunk.yours}.get(chosen, both)

    def _instructions(self, clashes: int) -> str:
        if not clashes:
            return self.tr("The changes do not conflict. Keep both, review the text and save.")
        if clashes == 1:
            return self.tr("Both versions changed the same lines in one place. Choose which lines to keep.")
        return self.tr("Both versions changed the same lines in {} places. Choose which lines to keep.").format(clashes)

    def _build_clash(self, index: int, hunk: MergeHunk) -> QWidget:
        card = styled_frame("well")
        choice = SegmentedControl(
            self._look,
            self.tr("Lines to keep"),
            {"yours": self.tr("Yours"), "theirs": self.tr("Theirs"), "both": self.tr("Both")},
            name=f"skill.moved.choice.{index}",
        )
        choice.select("both")
        self._choices[index] = choice
        column = QVBoxLayout(card)
        column.setContentsMargins(12, 10, 12, 10)
        column.setSpacing(6)
        for title, lines, token in (
            (self.tr("Before"), hunk.base, "third"),
            (self.tr("Theirs"), hunk.theirs, "done"),
            (self.tr("Yours"), hunk.yours, "accent"),
        ):
            column.addWidget(label(title, self._look.fonts.label, token))
            column.addWidget(label(_first_lines(lines), self._look.fonts.mono, wrap=True))
        column.addWidget(choice)
        return card

    def _build_buttons(self) -> QHBoxLayout:
        row = QHBoxLayout()
        later = Button(self._look, self.tr("Cancel"), name="skill.moved.later")
        mine = Button(self._look, self.tr("Keep mine"), name="skill.moved.mine")
        theirs = Button(self._look, self.tr("Keep theirs"), name="skill.moved.theirs")
        both = Button(self._look, self.tr("Keep both"), name="skill.moved.both", tone="primary")
        mine.setToolTip(self.tr("Their version stays in the history and can be restored"))
        theirs.setToolTip(self.tr("Undo in the editor restores your text"))
        later.clicked.connect(self.reject)
        mine.clicked.connect(lambda: self._resolve(self._own_text))
        theirs.clicked.connect(lambda: self._resolve(self._conflict.theirs))
        both.clicked.connect(lambda: self._resolve(self.merged_text()))
        row.addWidget(later)
        row.addStretch(1)
        for button in (mine, theirs, both):
            row.addWidget(button)
        return row

    def _resolve(self, text: str) -> None:
        self.accept()
        self.resolved.emit(text)


def _first_lines(lines: Sequence[str]) -> str:
    """Return the first lines of one side of a conflict; a dash if it has none."""
    text = "".join(lines[:MAX_LINES]).rstrip("\n") + ("\n…" if len(lines) > MAX_LINES else "")
    return visible(text) or "–"
