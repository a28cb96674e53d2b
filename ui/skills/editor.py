"""The editor of a skill: source, preview, find bar and status bar."""

from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QSplitter, QVBoxLayout, QWidget

from core.timeline.text_diff import diff_texts
from ui.skills.editor_status import EditorStatusBar, SkillSizes
from ui.skills.find_bar import FindBar
from ui.skills.key_completion import FrontMatterCompletion
from ui.skills.skill_preview import SkillPreview
from ui.skills.source_editor import FindingMark, SourceEditor
from ui.style.theme import Look
from ui.widgets.labels import hairline
from ui.widgets.local_shortcuts import LocalShortcuts

TYPING_PAUSE_MS: Final = 250
DRAFT_INTERVAL_MS: Final = 300
MAX_COMPARED_LINES: Final = 4_000  # lines; in a longer text, the lines with unsaved changes are not marked


class SkillEditor(LocalShortcuts):
    """The source of a skill beside its preview.

    `typing_paused` is emitted after a pause in typing. `save_draft_requested` is emitted at short intervals while the
    user types, so that a crash loses little.
    """

    typing_paused = Signal()
    save_draft_requested = Signal()
    changed = Signal()
    link_clicked = Signal(str)

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("skill.editor")
        self._saved_text = ""
        self._marks: Sequence[FindingMark] = ()
        self._opening = False
        self.source = SourceEditor(look)
        self.preview = SkillPreview(look)
        self.completion = FrontMatterCompletion(look, self.source)
        self.find_bar = FindBar(look, self.source)
        self.status_bar = EditorStatusBar(look)
        self._pause_timer = QTimer(self, singleShot=True, interval=TYPING_PAUSE_MS)
        self._draft_timer = QTimer(self, singleShot=True, interval=DRAFT_INTERVAL_MS)
        self.halves = QSplitter(Qt.Orientation.Horizontal)
        self._lay_out()
        self._pause_timer.timeout.connect(self._on_typing_paused)
        self._draft_timer.timeout.connect(self.save_draft_requested)
        self.source.document().contentsChange.connect(self._on_contents_change)
        self.source.cursor_moved.connect(self._on_cursor_moved)
        self.preview.link_clicked.connect(self.link_clicked)
        self.status_bar.next_finding_requested.connect(self.go_to_next_finding)
        self.source.set_wrap(True)
        self.local_shortcuts = {
            "Ctrl+F": self.find_bar.open,
            "Ctrl+H": self.find_bar.open,
            "F3": lambda: self.find_bar.step(1),
            "Shift+F3": lambda: self.find_bar.step(-1),
            "F8": self.go_to_next_finding,
            "Alt+Z": self._toggle_wrap,
        }

    def open(self, text: str, name: str, *, saved: str | None = None, read_only: bool = False) -> None:
        """Open a text with an empty undo history. If `text` has unsaved changes, `saved` is the saved text."""
        self._opening = True
        self._saved_text = text if saved is None else saved
        self._marks = ()
        self.source.setReadOnly(read_only)
        self.source.open(text, name)
        self._opening = False
        self._pause_timer.stop()
        self.preview.show_new_text(text)
        self.status_bar.show_findings((), None)
        self._on_cursor_moved(0)
        self._mark_unsaved_lines()

    def text(self) -> str:
        return self.source.toPlainText()

    def mark_saved(self, text: str) -> None:
        """Record that `text` was saved, without clearing the undo history."""
        self._saved_text = text
        self._mark_unsaved_lines()

    def show_findings(self, marks: Sequence[FindingMark], sizes: SkillSizes | None) -> None:
        """Show the findings and the sizes of the skill; `sizes` is None for a file other than SKILL.md."""
        self._marks = marks
        self.source.show_marks(marks)
        self.status_bar.show_findings(marks, sizes)

    def go_to_next_finding(self) -> None:
        """Go to the next line with a finding, wrapping around at the end."""
        lines = sorted({max(0, mark.line - 1) for mark in self._marks})
        if not lines:
            return
        current = self.source.textCursor().blockNumber()
        self.source.go_to_line(next((line for line in lines if line > current), lines[0]))
        self.source.setFocus()

    def show_preview(self, visible: bool) -> None:
        self.preview.setVisible(visible)

    def set_wrap(self, on: bool) -> None:
        self.source.set_wrap(on)

    def restyle(self, look: Look) -> None:
        for part in (self.source, self.preview, self.completion, self.find_bar, self.status_bar):
            part.restyle(look)

    def _on_contents_change(self, _position: int, removed: int, added: int) -> None:
        if self._opening or not (removed or added):
            return
        self._pause_timer.start()
        if not self._draft_timer.isActive():
            self._draft_timer.start()
        self.changed.emit()

    def _on_typing_paused(self) -> None:
        self.preview.show_text(self.text(), self.source.textCursor().blockNumber())
        self._mark_unsaved_lines()
        self.typing_paused.emit()

    def _mark_unsaved_lines(self) -> None:
        """Mark the lines with unsaved changes, unless the text is too long to be compared quickly."""
        text = self.text()
        line_count = max(text.count("\n"), self._saved_text.count("\n"))
        lines: set[int] = set()
        if text != self._saved_text and line_count <= MAX_COMPARED_LINES:
            for block in diff_texts(self._saved_text, text).blocks:
                lines.update(range(block.new, max(block.new_end, block.new + 1)))
        self.source.show_changed(frozenset(lines))

    def _on_cursor_moved(self, line: int) -> None:
        cursor = self.source.textCursor()
        selected = cursor.selectionEnd() - cursor.selectionStart()
        self.status_bar.show_cursor(line, cursor.positionInBlock(), selected)
        self.preview.follow_cursor(line)

    def _lay_out(self) -> None:
        self.halves.addWidget(self.source)
        self.halves.addWidget(self.preview)
        self.halves.setChildrenCollapsible(False)
        self.halves.setHandleWidth(1)
        self.halves.setSizes([500, 500])
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.halves, 1)
        column.addWidget(hairline())
        column.addWidget(self.find_bar)
        column.addWidget(self.status_bar)

    def _toggle_wrap(self) -> None:
        self.set_wrap(self.source.lineWrapMode() == self.source.LineWrapMode.NoWrap)
