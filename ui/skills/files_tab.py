"""The Files tab: the scripts, references and assets of a skill, to view, edit, add, rename and remove."""

from collections.abc import Callable
from functools import partial
from typing import Final

from PySide6.QtCore import QEvent, QMargins, QObject, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QFileDialog,
    QListWidget,
    QListWidgetItem,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from core.domain.skill import SKILL_FILE
from ui.skills.edited_skill import EditedSkill
from ui.skills.find_bar import FindBar
from ui.skills.name_dialog import NameDialog
from ui.skills.source_editor import SourceEditor
from ui.style.number_formats import size
from ui.style.theme import Look
from ui.text.visible import visible
from ui.widgets.button import Button
from ui.widgets.compact_row import CompactRow
from ui.widgets.labels import label
from ui.widgets.local_shortcuts import LocalShortcuts
from ui.widgets.splitter import horizontal_splitter
from ui.widgets.tooltip import tooltip_text

PATH_ROLE: Final = Qt.ItemDataRole.UserRole
CHANGE_INTERVAL_MS: Final = 300
TEXT_LIMIT: Final = 2_000_000  # characters; a longer file is not shown


class FilesTab(LocalShortcuts):
    """A list of the files, and an editor for the selected file.

    `file_requested` asks for the contents of a file. `removed` carries the path and contents of a removed file, so that
    the removal can be undone. `file_chosen` carries the path on disk of a file to add to the skill.
    """

    file_requested = Signal(str)
    changed = Signal()
    removed = Signal(str, object)
    file_chosen = Signal(str)

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self._edit = EditedSkill("", 0, "")
        self._path = ""
        self._read_only = False
        self._opening = False
        self.setObjectName("skill.files")
        self._list = QListWidget()
        self._list.setObjectName("skill.files.list")
        self._list.setAccessibleName(self.tr("Skill files"))
        self._list.setFont(look.fonts.mono)
        self._list.installEventFilter(self)
        self.source = SourceEditor(look)
        self.source.setObjectName("skill.files.source")
        self.source.setAccessibleName(self.tr("File contents"))
        self.source.set_wrap(False)
        self.find_bar = FindBar(look, self.source)
        self._note = label("", look.fonts.text, "second", name="skill.files.note", wrap=True)
        self._note.setAlignment(Qt.AlignmentFlag.AlignTop)
        self._note.setContentsMargins(20, 20, 20, 20)
        self._add = Button(look, self.tr("New file…"), name="skill.files.add", icon="file-plus")
        self._add_from_disk = Button(look, self.tr("Add from disk…"), name="skill.files.take", icon="download")
        self._rename = Button(look, self.tr("Rename"), name="skill.files.rename", icon="pencil", hint="F2")
        self._remove = Button(look, self.tr("Remove"), name="skill.files.remove", icon="trash-2", hint="Del")
        self._change_timer = QTimer(self, singleShot=True, interval=CHANGE_INTERVAL_MS)
        self._change_timer.timeout.connect(self.changed)
        self._lay_out()
        self.local_shortcuts = {
            "Ctrl+F": self.find_bar.open,
            "Ctrl+H": self.find_bar.open,
            "F3": partial(self.find_bar.step, 1),
            "Shift+F3": partial(self.find_bar.step, -1),
        }
        self._list.currentItemChanged.connect(lambda *_: self._show_current_file())
        self.source.document().contentsChange.connect(self._on_contents_change)
        self._add.clicked.connect(self.ask_file_name)
        self._add_from_disk.clicked.connect(self.choose_file)
        self._rename.clicked.connect(self.ask_new_name)
        self._remove.clicked.connect(self.remove)

    def show_edit(self, edit: EditedSkill, *, read_only: bool) -> None:
        """Show the files of a skill. Called when the skill was opened or saved."""
        if edit is not self._edit:
            self._path = ""
        self._edit = edit
        self._read_only = read_only
        self._update_list()
        for part in (self._add, self._add_from_disk):
            part.setVisible(not read_only)

    def show_file(self, path: str) -> None:
        """Show a file. Called when the contents that `file_requested` asked for have been loaded."""
        if path == self._path:
            self._open_file(path)

    def add(self, path: str, body: str | bytes) -> None:
        self._edit.write(path, body)
        self._path = path
        self._update_list()
        self.changed.emit()

    def remove(self) -> None:
        """Remove the selected file; `restore` undoes the removal."""
        path = self._path
        if path and not self._read_only:
            contents = self._edit.remove(path)
            self._path = ""
            self._update_list()
            self.changed.emit()
            self.removed.emit(path, contents)

    def restore(self, path: str, body: object) -> None:
        self._edit.restore(path, body if isinstance(body, (str, bytes)) else None)
        self._path = path
        self._update_list()
        self.changed.emit()

    def ask_file_name(self) -> None:
        self._open_name_dialog(self.tr("New file"), self.tr("Add"), "scripts/", lambda name, _: self.add(name, ""))

    def ask_new_name(self) -> None:
        if self._path and not self._read_only and self._edit.contents(self._path) is not None:
            self._open_name_dialog(
                self.tr("Rename file"), self.tr("Rename"), self._path, lambda name, _: self._rename_file(name)
            )

    def choose_file(self) -> None:
        dialog = QFileDialog(self, self.tr("Add file from disk"))
        dialog.setObjectName("skill.files.dialog")
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(self.file_chosen)
        dialog.open()

    def count(self) -> int:
        """Return the number of files other than SKILL.md."""
        return len(self._edit.paths()) - 1

    def restyle(self, look: Look) -> None:
        self._look = look
        self.source.restyle(look)
        self.find_bar.restyle(look)
        self._list.setFont(look.fonts.mono)
        self._note.setFont(look.fonts.text)
        for button in (self._add, self._add_from_disk, self._rename, self._remove):
            button.restyle(look)

    def _open_name_dialog(self, title: str, button: str, name: str, on_submit: Callable[[str, str], None]) -> None:
        hint = self.tr("A path in the skill, such as scripts/check.py, references/law.md or assets/letter.txt.")
        dialog = NameDialog(
            self._look, title=title, hint=hint, button=button, find_error=self._path_error, name=name, parent=self
        )
        dialog.submitted.connect(on_submit)
        dialog.open()

    def _path_error(self, name: str) -> str:
        """Return why a file cannot have this path in the skill; "" if it can."""
        has_invalid_part = any(part in {"", ".", ".."} for part in name.split("/"))
        if has_invalid_part or "\\" in name or "\0" in name:
            return self.tr("Use a relative path inside the skill, without empty parts, “.”, “..” or backslashes.")
        if name in self._edit.paths() and name != self._path:
            return self.tr("A file with this name already exists.")
        if name.casefold() == SKILL_FILE.casefold():
            return self.tr("This name is reserved for the text of the skill.")
        return ""

    def _rename_file(self, name: str) -> None:
        self._edit.rename(self._path, name)
        self._path = name
        self._update_list()
        self.changed.emit()

    def _update_list(self) -> None:
        self._opening = True
        self._list.clear()
        for path in self._edit.paths()[1:]:
            item = QListWidgetItem(visible(path) + (" •" if path in self._edit.unsaved_changes() else ""))
            item.setData(PATH_ROLE, path)
            file = self._edit.file(path)
            details = [
                path,
                size(file.size) if file else self.tr("new"),
                self.tr("executable") if file and file.executable else "",
            ]
            accessible_text = visible(" · ".join(part for part in details if part))
            item.setToolTip(tooltip_text(accessible_text))
            item.setData(Qt.ItemDataRole.AccessibleTextRole, accessible_text)
            self._list.addItem(item)
            if path == self._path:
                self._list.setCurrentItem(item)
        self._opening = False
        if self._list.currentRow() < 0 and self._list.count():
            self._list.setCurrentRow(0)
        else:
            self._show_current_file()

    def _show_current_file(self) -> None:
        if self._opening:
            return
        self._path = str(self._list.currentItem().data(PATH_ROLE)) if self._list.currentRow() >= 0 else ""
        for part in (self._rename, self._remove):
            part.setVisible(bool(self._path) and not self._read_only)
        if not self._path and self._read_only:
            self._show_note(self.tr("This skill has no files other than its text."))
        elif not self._path:
            self._show_note(
                self.tr(
                    "There are no files yet. Add the scripts that the skill runs and the documents that it refers to."
                )
            )
        elif self._edit.contents(self._path) is None:
            self._show_note(self.tr("Loading…"))
            self.file_requested.emit(self._path)
        else:
            self._open_file(self._path)

    def _open_file(self, path: str) -> None:
        body = self._edit.contents(path)
        if not isinstance(body, str) or len(body) > TEXT_LIMIT:
            text = self.tr("This file cannot be shown because it is binary or too large: {}.")
            self._show_note(text.format(size(len(body) if body is not None else 0)))
            return
        self._opening = True
        self.source.setReadOnly(self._read_only)
        self.source.open(body, path)
        self._opening = False
        self._stack.setCurrentWidget(self.source)

    def _on_contents_change(self, _position: int, removed: int, added: int) -> None:
        if not self._opening and self._path and (removed or added):
            self._edit.write(self._path, self.source.toPlainText())
            if not self._change_timer.isActive():
                self._change_timer.start()

    def _show_note(self, text: str) -> None:
        self._note.setText(text)
        self._stack.setCurrentWidget(self._note)

    def _lay_out(self) -> None:
        buttons = CompactRow(QMargins(12, 8, 12, 8))
        for part in (self._add, self._add_from_disk, self._rename, self._remove):
            buttons.row.addWidget(part)
        buttons.row.addStretch(1)
        self._stack = QStackedWidget()
        self._stack.addWidget(self.source)
        self._stack.addWidget(self._note)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(buttons)
        self.splitter = horizontal_splitter(self._list, self._stack, left_width=self._look.size(220), right_width=600)
        column.addWidget(self.splitter, 1)
        column.addWidget(self.find_bar)

    # Overridden Qt methods

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._list and isinstance(event, QKeyEvent) and not event.modifiers():
            handlers = {Qt.Key.Key_F2: self.ask_new_name, Qt.Key.Key_Delete: self.remove}
            handler = handlers.get(Qt.Key(event.key()))
            if handler and event.type() == QEvent.Type.ShortcutOverride:
                event.accept()
                return True
            if handler and event.type() == QEvent.Type.KeyPress:
                handler()
                return True
        return super().eventFilter(watched, event)
