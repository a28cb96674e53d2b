"""The panel of the Changes tab: the changed files, the diff of the selected one, comments, and buttons to revert."""

from collections.abc import Callable
from functools import partial
from typing import Final, Protocol

from PySide6.QtCore import QModelIndex, QPoint, Qt, Signal
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QStackedWidget, QVBoxLayout, QWidget

from core.domain.sessions import SessionRow
from core.domain.steps import Step
from core.domain.untrusted_file import UntrustedFile, source_texts
from core.store.untrusted_files import absolute_path
from core.timeline.session_activity import ChangedFile, FileEdit, SessionActivity
from core.timeline.text_diff import diff_texts
from ui.changes.change_texts import (
    StepLookup,
    changing_steps,
    diff_obstacle,
    file_obstacle,
    hunk_obstacle,
    origin,
    revert_obstacle,
    send_obstacle,
    step_name,
    step_of,
    unreviewed_row,
)
from ui.changes.diff_header import DiffHeader
from ui.changes.entry_menu import EntryMenu
from ui.changes.file_column import HUNK_KEYS, LIST_WIDTH, FileColumn
from ui.changes.review import Review
from ui.changes.review_bar import ReviewBar
from ui.changes.shown_diff import FileContents, ShownDiff
from ui.diff.diff_view import DiffView
from ui.style.theme import Look
from ui.text.visible import visible
from ui.widgets.confirm_dialog import ConfirmDialog
from ui.widgets.empty_note import empty_note, update_note
from ui.widgets.image_view import ImageListView, TitledImage, is_image
from ui.widgets.labels import ENTER_KEYS, label
from ui.widgets.replaceable_content import show_in_stack
from ui.widgets.splitter import horizontal_splitter

MIN_SIDE: Final = 165  # pixels; minimum width of each side of a side-by-side diff, enough for the signs and a few words
MAX_STEPS: Final = 30  # steps in the menu of states to revert to


class ChangesSource(StepLookup, Protocol):
    """The data source of the panel; implemented by the store's reader."""

    def find_blob(self, blob: str) -> bytes | None: ...

    def untrusted_files(self, folder: str) -> list[UntrustedFile]: ...


class ChangesPanel(QWidget):
    revert_file_requested = Signal(str)
    revert_hunk_requested = Signal(str, str, str)
    """The path, the id of the contents it should have now, and the text to write."""
    revert_to_requested = Signal(int, str)
    """The sequence number of the event to revert all files to, and the name of its step for the user."""
    undo_revert_requested = Signal()
    review_requested = Signal(object)
    """The files that the user has looked at: their paths, with the hash of the contents shown; None for all files."""
    row_requested = Signal(int)
    steps_requested = Signal()
    commit_requested = Signal()
    refused = Signal(str)
    """Why what the user wants to do is not possible now, such as to revert a hunk."""
    open_requested = Signal(str, int)
    """The path of a file to open in the editor, and the line; 0 for none."""

    def __init__(self, look: Look, contents: ChangesSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look, self._contents = look, contents
        self._session = SessionRow("")
        self._file: ChangedFile | None = None
        self._change: FileEdit | None = None
        self._side_by_side = False  # the user's choice, which applies only if the panel is wide enough
        self._pending_path = ""
        self._missing_folder = ""
        self._shown_diff: ShownDiff | None = None  # so that an unchanged diff is not built again
        self._unreviewed: dict[str, UntrustedFile] = {}
        # The folder of the session with symbolic links resolved, as in the keys of `_unreviewed`.
        self._folder_path = ""
        self.setObjectName("changes")
        self._column = FileColumn(look)
        self._header = DiffHeader(look)
        self._diff_view = DiffView(look)
        self._images = ImageListView(look)
        self._message = label("", look.fonts.text, "second", name="changes.plain", wrap=True)
        self._message.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        self._message.setContentsMargins(20, 16, 20, 16)
        self.bar = ReviewBar(look)
        self.review = Review(look, self._diff_view, self.bar, self)
        self._lay_out()
        self._connect()
        self._show_nothing(reading=False)

    def _lay_out(self) -> None:
        self._contents_stack = QStackedWidget()
        for contents in (self._diff_view, self._message, self._images):
            self._contents_stack.addWidget(contents)
        diff_column = QWidget()
        column = QVBoxLayout(diff_column)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self._header)
        column.addWidget(self._contents_stack, 1)
        column.addWidget(self.bar)
        self._empty = empty_note(self._look, "", name="changes.empty")
        self._stack = QStackedWidget()
        self._files_view = horizontal_splitter(
            self._column, diff_column, left_width=self._look.size(LIST_WIDTH), right_width=600
        )
        self._stack.addWidget(self._files_view)
        self._stack.addWidget(self._empty)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._stack)
        self.setFocusProxy(self._column)

    def _connect(self) -> None:
        column, review = self._column, self.review
        column.chosen.connect(self._choose)
        column.files.activated.connect(self._focus_diff)
        column.revert_file_button.clicked.connect(self._revert_file)
        column.review_button.clicked.connect(lambda: self._open_menu(column.review_button, self._review_menu()))
        column.revert_to_button.clicked.connect(
            lambda: self._open_menu(column.revert_to_button, self._revert_to_menu())
        )
        column.undo_revert_button.clicked.connect(self.undo_revert_requested)
        self._header.scope.clicked.connect(lambda: self._open_menu(self._header.scope, self._change_menu()))
        self._header.side_by_side.clicked.connect(self._toggle_side_by_side)
        self._files_view.splitterMoved.connect(self._fit_sides)
        self._header.keep.clicked.connect(review.keep_file)
        self._diff_view.revert_requested.connect(self._revert_hunk)
        self._diff_view.revert_blocked.connect(self._refuse_revert)
        self._diff_view.refused.connect(self.refused)
        self._header.hunk_requested.connect(self._go_to_hunk)
        self._header.commit.clicked.connect(self.commit_requested)
        self._header.open.clicked.connect(self._diff_view.open_current_line)
        self._diff_view.open_requested.connect(self._open_file)
        self._diff_view.file_requested.connect(self.go_to_file)
        column.rows.show_review(review.is_kept, review.comment_count)
        review.changed.connect(self._show_kept)
        review.comment_shown.connect(self._show_comment)
        self.bar.send_requested.connect(self.send_comments)
        self.bar.steps_requested.connect(self.steps_requested)

    def show_past(self, session: SessionRow, activity: SessionActivity, *, loading: bool) -> None:
        """Show the changed files of a session. `loading` is true while its events are still being read."""
        other_session = session.id != self._session.id
        self._session = session
        files = activity.changed_files()
        self._column.show_session(session, can_undo=bool(activity.open_rewinds.last()))
        self.review.show_session(session.id, send_obstacle(self._session))
        self._enable_revert()
        if not files:
            self._file = None
            self._column.rows.show([])
            self._show_nothing(reading=loading)
            return
        show_in_stack(self, self._stack, self._files_view, self._column)
        if other_session or files != self._column.rows.items:
            self.refresh_unreviewed()
        selected_path = self._file.path if self._file and not other_session else ""
        changed = self._column.rows.show(files)
        self._column.show_totals(len(files), activity.line_totals())
        if changed or other_session:
            self._choose_path(self._pending_path or selected_path)
            self._pending_path = ""
        else:
            self._update_file()

    def mark_folder(self, folder: str, *, missing: bool) -> None:
        """Set whether a folder is missing. Files of a session whose folder is missing cannot be reverted."""
        self._missing_folder = folder if missing else ""
        self._enable_revert()
        self._update_file()

    def show_repository(self, in_repository: bool) -> None:
        """Show the Commit button if the session's folder is in a git repository."""
        self._header.commit.setVisible(in_repository and not self._session.imported_from)

    def refresh_unreviewed(self) -> None:
        """Read again which files the user has not reviewed yet."""
        rows = self._contents.untrusted_files(self._session.folder) if self._session.folder else []
        self._unreviewed = {row.path: row for row in reversed(rows)}
        self._folder_path = absolute_path(self._session.folder, "") if rows else ""
        self._column.rows.show_unreviewed(lambda path: self._unreviewed_row(path) is not None)
        self._show_unreviewed()

    def show_file(self, path: str) -> None:
        """Select a file now or, if it is not listed yet, as soon as it is."""
        if self._column.rows.index_of(path).isValid():
            self._choose_path(path)
        else:
            self._pending_path = path

    def restyle(self, look: Look) -> None:
        self._look = self.review.look = look
        for part in (self._column, self._header, self._diff_view, self._images, self.bar):
            part.restyle(look)
        for text in (self._message, self._empty):
            text.setFont(look.fonts.text)

    def send_comments(self) -> None:
        """Send all comments that have not been sent yet, in a single message."""
        self.review.send(self._column.rows.items, self._contents.find_blob)

    def open_revert_menu(self) -> None:
        """Open the menu of states to which the files can be reverted, or report why they cannot be reverted."""
        if obstacle := self._revert_obstacle() or ("" if self._file else self._empty.text()):
            self.refused.emit(obstacle)
        else:
            self._column.revert_to_button.click()

    def go_to_file(self, by: int, to_hunk: bool) -> None:
        """Go to the next (1) or previous (-1) file.

        With `to_hunk`, select the hunk in it that comes next in this direction.
        """
        if not self._file:
            return
        row = self._column.rows.index_of(self._file.path).row() + by
        if not self._column.rows.item_at(row):
            return
        self._column.select(row)
        if self._contents_stack.currentWidget() is self._diff_view:
            self._diff_view.setFocus()
            if to_hunk:
                self._diff_view.select_edge_hunk(by)

    def _go_to_hunk(self, by: int) -> None:
        """Go to the next (1) or previous (-1) hunk or, if the file shown has no other one, to the next file."""
        if self._contents_stack.currentWidget() is self._diff_view:
            self._diff_view.go_to_hunk(by)
        else:
            self.go_to_file(by, True)

    def _focus_diff(self) -> None:
        if self._diff_view.isVisible():
            self._diff_view.setFocus()

    def _open_file(self, line: int) -> None:
        if self._file:
            self.open_requested.emit(self._file.path, line)

    def _show_comment(self, path: str, name: str) -> None:
        self.show_file(path)
        self._diff_view.select_comment(name)
        self._diff_view.setFocus()

    def _show_kept(self) -> None:
        self._column.rows.refresh_review()
        kept = self._file is not None and self.review.is_kept(self._file)
        self._header.show_kept(kept)

    def _revert_obstacle(self) -> str:
        """Return why no file of this session can be reverted now; "" if files can be reverted."""
        return revert_obstacle(self._session, self._missing_folder)

    def _enable_revert(self) -> None:
        self._column.enable_reverts(self._revert_obstacle())

    def _show_nothing(self, *, reading: bool) -> None:
        text = self.tr("No files changed yet.\nFiles that the agent creates or edits appear here.")
        update_note(self._empty, self.tr("Reading…") if reading else text)
        show_in_stack(self, self._stack, self._empty)

    def _choose_path(self, path: str) -> None:
        row = max(0, self._column.rows.index_of(path).row())
        if not self._column.select(row):
            self._choose(self._column.rows.index(row))

    def _choose(self, index: QModelIndex) -> None:
        file = self._column.file_at(index)
        if file is None:
            return
        if self._file is None or file.path != self._file.path or self._change not in file.changes:
            self._change = None
        self._file = file
        self._update_file()

    def _update_file(self) -> None:
        """Show the selected file and the chosen change as they are now."""
        file = self._file
        if file is None:
            return
        change = self._change
        scope = step_name(self._step_of(change), change) if change else self.tr("all changes")
        has_room = self._has_room_for_sides()
        self._header.show_file(file.path, scope, side_by_side=self._side_by_side, has_room=has_room)
        self._show_unreviewed()
        self._column.show_revert_file(not file_obstacle(file) and not self._session.imported_from)
        shown = ShownDiff(
            session=self._session.id,
            path=file.path,
            contents=self._shown_contents(file),
            side_by_side=self._side_by_side and has_room,
            can_revert_hunks=not self._hunk_obstacle(file),
        )
        if shown != self._shown_diff:
            in_place = self._shown_diff is not None and shown.is_same_file(self._shown_diff)
            self._shown_diff = shown
            self._show_comparison(file, shown, in_place=in_place)
        self._header.open.setEnabled(not file.deleted and not self._missing_folder)
        self._header.keep.setVisible(self._contents_stack.currentWidget() is self._diff_view)
        self._show_kept()

    def _shown_contents(self, file: ChangedFile) -> FileContents:
        """Return the contents before and after the changes that are shown: a single one, or all of them."""
        if self._change:
            return FileContents(self._change.before, self._change.after)
        return FileContents(file.changes[0].before, file.changes[-1].after)

    def _hunk_obstacle(self, file: ChangedFile) -> str:
        """Return why no hunk of the diff shown can be reverted now; "" if hunks can be reverted."""
        return self._revert_obstacle() or hunk_obstacle(file, *self._shown_contents(file))

    def _show_comparison(self, file: ChangedFile, shown: ShownDiff, *, in_place: bool) -> None:
        """Show the diff or, if there is none, the images or a message in its place."""
        if not file.has_contents:
            self._show_message(self.tr("Only the line counts of this file were recorded, not its contents."))
            return
        old, new = (self._contents.find_blob(name) if name else b"" for name in shown.contents)
        if old is None or new is None:
            self._show_message(self.tr("The contents of this version were not stored."))
        elif is_image(old) or is_image(new):
            self._show_images(old, new)
        elif obstacle := diff_obstacle(old, new, shown.contents):
            self._show_message(obstacle)
        else:
            diff = diff_texts(old.decode("utf-8", "replace"), new.decode("utf-8", "replace"))
            self.review.show_diff(
                file,
                diff,
                side_by_side=shown.side_by_side,
                can_revert=shown.can_revert_hunks,
                in_place=in_place,
            )
            self._show_contents(self._diff_view)

    def _show_contents(self, contents: QWidget) -> None:
        """Show the diff or a widget in its place. If the focused diff is hidden, the list of files gets the focus."""
        focused: QWidget | None = self.window().focusWidget()
        self._contents_stack.setCurrentWidget(contents)
        if focused is not None and self._diff_view in (focused, focused.parentWidget()) and self._diff_view.isHidden():
            self._column.setFocus()

    def _show_images(self, old: bytes, new: bytes) -> None:
        """Show the old picture above the new one; a version without contents is left out."""
        versions = (TitledImage(self.tr("Before"), old), TitledImage(self.tr("After"), new))
        self._images.show_images([version for version in versions if version.body])
        self._show_contents(self._images)

    def _show_message(self, text: str) -> None:
        self._message.setText(text)
        self._show_contents(self._message)

    def _unreviewed_row(self, path: str) -> UntrustedFile | None:
        return unreviewed_row(self._unreviewed, self._folder_path, path)

    def _show_unreviewed(self) -> None:
        if not self._file:
            return
        row = self._unreviewed_row(self._file.path)
        text = self.tr("Written after reading untrusted content: {}. A run that reads it is restricted too.")
        warning = text.format(visible(", ".join(source_texts(row.sources)))) if row else ""
        self._column.show_note(origin(self._contents, self._session.id, self._file), warning)

    def _review_menu(self) -> EntryMenu:
        menu = EntryMenu("changes.review.menu", self.tr("Mark as reviewed"), self)
        row = self._unreviewed_row(self._file.path) if self._file else None
        if row and self._file:
            content_hash = self._file.changes[-1].after if not row.path.endswith("/") else ""
            name = self._file.path if not row.path.endswith("/") else row.path.rstrip("/")
            text = self.tr("This file") if content_hash else self.tr("All files in {}").format(visible(row.path))
            menu.add_entry(text).triggered.connect(lambda: self.review_requested.emit({name: content_hash}))
        menu.add_entry(self.tr("All files in this folder")).triggered.connect(lambda: self.review_requested.emit(None))
        return menu

    def _step_of(self, change: FileEdit) -> Step | None:
        return step_of(self._contents, self._session.id, change)

    def _revert_file(self) -> None:
        """Request to revert the file, or report why there is nothing to revert."""
        if not self._file:
            return
        if obstacle := self._revert_obstacle() or file_obstacle(self._file):
            self.refused.emit(obstacle)
        else:
            self.revert_file_requested.emit(self._file.path)

    def _revert_hunk(self, hunk: int, ask: bool) -> None:
        """Revert a hunk; if `ask` is true, only after the user has confirmed it."""
        file = self._file
        if file and not all(self._shown_contents(file)):
            self._revert_file()  # a new or deleted file has only one hunk, which is the whole file
        elif file:
            text = self._diff_view.rows.diff.without_hunk(hunk)
            revert = partial(self.revert_hunk_requested.emit, file.path, file.changes[-1].after, text)
            if ask:
                self._confirm_revert(hunk, revert)
            else:
                revert()

    def _confirm_revert(self, hunk: int, revert: Callable[[], None]) -> None:
        title = self.tr("Revert this hunk, {}?").format(self._diff_view.rows.hunk_figures(hunk))
        text = self.tr("You can undo this with “Undo the last revert” in the Changes tab.")
        ConfirmDialog(self._look, title, text, self.tr("Revert"), revert, self.window(), tone="primary").open()

    def _refuse_revert(self) -> None:
        if self._file:
            is_kept = self._diff_view.rows.is_kept(self._diff_view.current_hunk())
            kept = self.tr("You have kept this hunk. Show it again (K) to revert it.")
            unselected = self.tr("Select a hunk to revert it.")
            self.refused.emit(self._hunk_obstacle(self._file) or (kept if is_kept else unselected))

    def _toggle_side_by_side(self) -> None:
        """Switch between side-by-side and unified diffs. If the panel is too narrow, say why nothing changes."""
        self.show_side_by_side(not self._side_by_side)
        if self._side_by_side and not self._has_room_for_sides():
            self.refused.emit(self.tr("There is too little width to show the diff side by side."))

    def show_side_by_side(self, side_by_side: bool) -> None:
        """Set whether diffs are shown side by side, which is done only if the panel is wide enough."""
        self._side_by_side = side_by_side
        self._update_file()

    def _has_room_for_sides(self) -> bool:
        return self._contents_stack.width() >= 2 * self._look.size(MIN_SIDE)

    def _fit_sides(self) -> None:
        """Switch between side-by-side and unified if the width of the panel now requires or allows it."""
        if self._side_by_side:
            self._update_file()

    def _show_change(self, change: FileEdit | None) -> None:
        self._change = change
        self._update_file()

    def _open_menu(self, button: QWidget, menu: EntryMenu) -> None:
        menu.popup(button.mapToGlobal(QPoint(0, button.height() + 2)))

    def _change_menu(self) -> EntryMenu:
        menu = EntryMenu("changes.which.menu", self.tr("Which changes"), self)
        menu.add_entry(self.tr("All changes")).triggered.connect(lambda: self._show_change(None))
        for change in self._file.changes[-40:] if self._file else ():
            figures = f"  +{change.added} −{change.removed}" if change.added or change.removed else ""
            action = menu.add_entry(step_name(self._step_of(change), change) + figures)
            action.triggered.connect(lambda _=False, change=change: self._show_change(change))
        if self._change and (step := self._step_of(self._change)):
            menu.addSeparator()
            entry = menu.add_entry(self.tr("Show this step in the timeline"))
            entry.triggered.connect(lambda: self.row_requested.emit(step.row))
        return menu

    def _revert_to_menu(self) -> EntryMenu:
        """Return the menu of states to revert to: before the first change, and after each step that changed files."""
        menu = EntryMenu("changes.back.menu", self.tr("Revert to"), self)
        menu.add_entry(self.tr("Before all changes")).triggered.connect(
            lambda: self.revert_to_requested.emit(0, self.tr("before all changes"))
        )
        for step in changing_steps(self._contents, self._session.id, self._column.rows.items)[-MAX_STEPS:]:
            text = self.tr("After step {}: {}").format(step.number, visible(step.object)[:60])
            name = self.tr("after step {}").format(step.number)
            menu.add_entry(text).triggered.connect(
                lambda _=False, seq=step.last_seq, name=name: self.revert_to_requested.emit(seq, name)
            )
        return menu

    # Overridden Qt methods

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, modifiers = event.key(), event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        if key in ENTER_KEYS and modifiers == Qt.KeyboardModifier.ControlModifier:
            self.send_comments()
        elif key == Qt.Key.Key_K and not modifiers & ~Qt.KeyboardModifier.ShiftModifier:
            # With Shift, K keeps the whole file; without it, the diff view keeps the current hunk.
            self.review.keep_file()
        elif key == Qt.Key.Key_S and not modifiers:
            self._toggle_side_by_side()
        elif key == Qt.Key.Key_U and not modifiers:
            self._revert_file()  # the diff view itself reverts the current hunk
        elif (by := HUNK_KEYS.get(Qt.Key(key))) and not modifiers:
            self._go_to_hunk(by)
            self._focus_diff()
        elif by and modifiers == Qt.KeyboardModifier.ShiftModifier:
            self.go_to_file(by, False)
        else:
            super().keyPressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_sides()
