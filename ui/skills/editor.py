"""A skill's text being written: the source, its preview beside it, find and replace, and what was found in it."""

from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QSplitter, QVBoxLayout, QWidget

from core.timeline.difference import difference
from ui.skills.completing import KeyCompletion
from ui.skills.find_bar import FindBar
from ui.skills.foot import EditorFoot, Measures
from ui.skills.preview import Preview
from ui.skills.source import Mark, SourceField
from ui.theme import Look
from ui.widgets.own_keys import OwnKeys
from ui.widgets.words import hairline

CHECK_MS: Final = 250
KEEP_MS: Final = 300
COMPARED: Final = 4_000  # lines up to which those are marked that are not saved


class SkillEditor(OwnKeys):
    """`rested` when the keys rest after a change, `keep` often enough that little is lost when the program dies."""

    rested = Signal()
    keep = Signal()
    changed = Signal()
    link = Signal(str)

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("skill.editor")
        self._saved, self._marks = "", ()  # type: tuple[str, Sequence[Mark]]
        self._opening = False
        self.source = SourceField(look)
        self.preview = Preview(look)
        self.completion = KeyCompletion(look, self.source)
        self.finder = FindBar(look, self.source)
        self.foot = EditorFoot(look)
        self._rest = QTimer(self, singleShot=True, interval=CHECK_MS)
        self._keep = QTimer(self, singleShot=True, interval=KEEP_MS)
        self._halves = QSplitter(Qt.Orientation.Horizontal)
        self._lay_out()
        self._rest.timeout.connect(self._rested)
        self._keep.timeout.connect(self.keep)
        self.source.document().contentsChange.connect(self._change)
        self.source.moved.connect(self._moved)
        self.preview.link.connect(self.link)
        self.foot.next_wanted.connect(self.next_mark)
        self.source.set_wrap(True)
        self.own_keys = {
            "Ctrl+F": self.finder.open,
            "Ctrl+H": self.finder.open,
            "F3": lambda: self.finder.step(1),
            "Shift+F3": lambda: self.finder.step(-1),
            "F8": self.next_mark,
            "Alt+Z": self._turn_wrap,
        }

    def open(self, text: str, name: str, *, saved: str | None = None, read_only: bool = False) -> None:
        """Another text. `saved` is what it would be without the changes that are not saved."""
        self._opening = True
        self._saved = text if saved is None else saved
        self._marks = ()
        self.source.setReadOnly(read_only)
        self.source.open(text, name)
        self._opening = False
        self._rest.stop()
        self.preview.begin(text)
        self.foot.show_found((), None)
        self._moved(0)
        self._compare()

    def text(self) -> str:
        return self.source.toPlainText()

    def saved(self, text: str) -> None:
        """This text is kept now; what was done can still be undone."""
        self._saved = text
        self._compare()

    def show_found(self, marks: Sequence[Mark], measures: Measures | None) -> None:
        self._marks = marks
        self.source.show_marks(marks)
        self.foot.show_found(marks, measures)

    def next_mark(self) -> None:
        """To the next line with a finding; after the last comes the first."""
        lines = sorted({max(0, mark.line - 1) for mark in self._marks})
        if not lines:
            return
        here = self.source.textCursor().blockNumber()
        self.source.go_to_line(next((line for line in lines if line > here), lines[0]))
        self.source.setFocus()

    def show_preview(self, shown: bool) -> None:
        self.preview.setVisible(shown)

    def set_wrap(self, on: bool) -> None:
        self.source.set_wrap(on)

    def restyle(self, look: Look) -> None:
        for part in (self.source, self.preview, self.completion, self.finder, self.foot):
            part.restyle(look)

    def _change(self, _at: int, removed: int, added: int) -> None:
        if self._opening or not (removed or added):
            return
        self._rest.start()
        if not self._keep.isActive():
            self._keep.start()
        self.changed.emit()

    def _rested(self) -> None:
        self.preview.show_text(self.text(), self.source.textCursor().blockNumber())
        self._compare()
        self.rested.emit()

    def _compare(self) -> None:
        """Mark the lines that are not as they were saved, where telling them apart takes no time."""
        text = self.text()
        lines: set[int] = set()
        if text != self._saved and max(text.count("\n"), self._saved.count("\n")) <= COMPARED:
            for block in difference(self._saved, text).blocks:
                lines.update(range(block.new, max(block.new_end, block.new + 1)))
        self.source.show_changed(frozenset(lines))

    def _moved(self, line: int) -> None:
        cursor = self.source.textCursor()
        chosen = cursor.selectionEnd() - cursor.selectionStart()
        self.foot.show_place(line, cursor.positionInBlock(), chosen)
        self.preview.follow(line)

    def _lay_out(self) -> None:
        self._halves.addWidget(self.source)
        self._halves.addWidget(self.preview)
        self._halves.setChildrenCollapsible(False)
        self._halves.setHandleWidth(1)
        self._halves.setSizes([500, 500])
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self._halves, 1)
        column.addWidget(hairline())
        column.addWidget(self.finder)
        column.addWidget(self.foot)

    def _turn_wrap(self) -> None:
        self.set_wrap(self.source.lineWrapMode() == self.source.LineWrapMode.NoWrap)
