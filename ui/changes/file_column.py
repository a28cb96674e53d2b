"""The left column of the Changes tab: the list of changed files, and buttons for the selected file."""

from typing import Final

from PySide6.QtCore import QModelIndex, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QListView, QVBoxLayout, QWidget

from core.domain.sessions import SessionRow
from core.timeline.session_activity import ChangedFile
from core.timeline.text_diff import LineCounts
from ui.changes.changed_files import ChangedFileDelegate, ChangedFilesModel
from ui.style.theme import Look
from ui.widgets.button import Button
from ui.widgets.labels import allow_breaks, label

LIST_WIDTH: Final = 260
HUNK_KEYS: Final = {Qt.Key.Key_N: 1, Qt.Key.Key_P: -1}  # keys that go to the next and previous hunk
PANEL_KEYS: Final = (*HUNK_KEYS, Qt.Key.Key_K, Qt.Key.Key_S, Qt.Key.Key_U)


class FileList(QListView):
    """The list of files.

    It passes the panel's letter shortcuts on, because Qt would search the files for the letters.
    """

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in PANEL_KEYS:
            event.ignore()
        else:
            super().keyPressEvent(event)


class FileColumn(QWidget):
    """The list of files with the buttons below. The panel fills the list and connects the buttons."""

    chosen = Signal(QModelIndex)

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.count = label("", look.fonts.label, "second", name="changes.count")
        self.total = label("", look.fonts.caption, "second", name="changes.total")
        self.rows = ChangedFilesModel(self)
        self.files = FileList()
        self.files.setObjectName("changes.files")
        self.files.setAccessibleName(self.tr("Changed files"))
        self.files.setUniformItemSizes(True)
        self._painter = ChangedFileDelegate(self.rows, look, self.files)
        self.files.setItemDelegate(self._painter)
        self.files.setModel(self.rows)
        self.files.selectionModel().currentChanged.connect(self.chosen)
        self.note = label("", look.fonts.second, "second", name="changes.note", wrap=True)
        self.warning = label("", look.fonts.second, "waiting", name="changes.unreviewed", wrap=True)
        self.review_button = Button(
            look, self.tr("Mark as reviewed"), name="changes.review", icon="check", has_menu=True
        )
        self.revert_file_button = Button(look, self.tr("Revert this file"), name="changes.undo", icon="undo-2")
        self.revert_to_button = Button(
            look, self.tr("Revert to step…"), name="changes.back", tone="quiet", icon="history"
        )
        self.undo_revert_button = Button(
            look, self.tr("Undo the last revert"), name="changes.again", tone="quiet", icon="undo-2"
        )
        self._lay_out()
        self.setFocusProxy(self.files)

    def _lay_out(self) -> None:
        summary_row = QHBoxLayout()
        summary_row.setContentsMargins(14, 12, 14, 6)
        summary_row.addWidget(self.count, 1)
        summary_row.addWidget(self.total)
        actions = QVBoxLayout()
        actions.setContentsMargins(14, 10, 14, 12)
        actions.setSpacing(8)
        for widget in (self.note, self.warning, *self.buttons):
            actions.addWidget(widget)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(summary_row)
        column.addWidget(self.files, 1)
        column.addLayout(actions)

    @property
    def buttons(self) -> tuple[Button, ...]:
        return (self.review_button, self.revert_file_button, self.revert_to_button, self.undo_revert_button)

    def show_session(self, session: SessionRow, *, can_undo: bool) -> None:
        """Show the buttons that apply to a session; nothing of an imported session can be reverted."""
        self.revert_to_button.setVisible(not session.imported_from)
        self.undo_revert_button.setVisible(can_undo and not session.imported_from)

    def enable_reverts(self, obstacle: str) -> None:
        """Enable the buttons that revert files if `obstacle` is empty.

        Otherwise disable them and show it as the reason.
        """
        for button in (self.revert_file_button, self.revert_to_button, self.undo_revert_button):
            button.setEnabled(not obstacle)
            button.setToolTip(obstacle)

    def show_revert_file(self, visible: bool) -> None:
        """Show or hide the button that reverts the file. When it is hidden, its focus moves to the list of files."""
        if not visible and self.window().focusWidget() is self.revert_file_button:
            self.files.setFocus()
        self.revert_file_button.setVisible(visible)

    def show_totals(self, file_count: int, lines: LineCounts) -> None:
        """Show the number of files, and of the lines that were added and removed in all of them."""
        text = self.tr("{} file") if file_count == 1 else self.tr("{} files")
        self.count.setText(text.format(file_count))
        self.total.setText(f"+{lines.added} −{lines.removed}")

    def show_note(self, text: str, warning: str) -> None:
        """Show what changed the file, and a warning if it was written after reading untrusted content."""
        self.note.setText(text)
        self.warning.setText(allow_breaks(warning))
        for part in (self.warning, self.review_button):
            part.setVisible(bool(warning))

    def file_at(self, index: QModelIndex) -> ChangedFile | None:
        return self.rows.item(index)

    def select(self, row: int) -> bool:
        """Select the file in a row; return False if it was selected already."""
        index = self.rows.index(row)
        if self.files.currentIndex() == index:
            return False
        self.files.setCurrentIndex(index)
        return True

    def restyle(self, look: Look) -> None:
        self._painter.look = look
        for button in self.buttons:
            button.restyle(look)
        self.count.setFont(look.fonts.label)
        self.total.setFont(look.fonts.caption)
        self.note.setFont(look.fonts.second)
        self.warning.setFont(look.fonts.second)
        self.files.viewport().update()
