"""The user's review of the changes of one session: comments on lines, and hunks to keep."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Protocol

from PySide6.QtCore import QObject, QTimer, Signal

from core.timeline.session_activity import ChangedFile
from core.timeline.text_diff import TextDiff, diff_texts
from ui.changes.comment_card import CommentCard
from ui.changes.review_bar import ReviewBar
from ui.changes.review_state import ReviewComment, ReviewState, review_message
from ui.diff.comment_widget import CommentWidget
from ui.diff.diff_rows import NO_COMMENTS, DiffLine, changed_lines_text
from ui.diff.diff_view import DiffView
from ui.style.theme import Look
from ui.text.visible import visible
from ui.widgets.announce import announce

FindBlob = Callable[[str], bytes | None]


class ReviewStore(Protocol):
    """Stores the review of each session as text; implemented by the window state."""

    def review(self, session: str) -> str: ...

    def set_review(self, session: str, text: str) -> None: ...


class Review(QObject):
    """Keeps the diff view and the comment bar in sync with the stored review of the session shown."""

    changed = Signal()
    """Other hunks are kept, or other files have comments."""
    send_requested = Signal(str)
    """The text of the message with all comments that are not sent."""
    comment_shown = Signal(str, str)
    """The path and the ID of a comment to go to."""
    comments_removed = Signal(str, object)
    """The user removed comments: a message about it, and a function that restores them."""

    def __init__(self, look: Look, view: DiffView, bar: ReviewBar, parent: QObject) -> None:
        super().__init__(parent)
        self.look = look
        self._view = view
        self._bar = bar
        self._store: ReviewStore | None = None
        self._session = ""
        self._path = ""  # the file shown
        self._after = ""  # the ID of its contents after the changes
        self._obstacle = ""  # why comments cannot be sent
        self._state = ReviewState()
        self._sending: list[str] = []
        view.set_comment_source(self._make_card)
        view.comment_requested.connect(self.begin_comment)
        view.comment_removed.connect(self.remove)
        view.keep_requested.connect(self.toggle_kept)
        view.next_comment_requested.connect(self.go_to_comment)
        bar.comment_requested.connect(self.go_to_comment)
        bar.discard_requested.connect(self.discard)

    @property
    def state(self) -> ReviewState:
        return self._state

    def set_store(self, store: ReviewStore) -> None:
        self._store = store

    def show_session(self, session: str, obstacle: str) -> None:
        """Load the review of a session. `obstacle` says why comments cannot be sent now; "" if they can."""
        if session != self._session:
            self._session, self._path = session, ""
            self._state = ReviewState.load(self._store.review(session) if self._store else "")
        self._obstacle = obstacle
        self._show_drafts()

    def show_diff(
        self, file: ChangedFile, diff: TextDiff, *, side_by_side: bool, can_revert: bool, in_place: bool
    ) -> None:
        """Show the diff of a file with its comments and kept hunks.

        `in_place` means that the same file was shown before, so that the view keeps its position. Another file is
        announced if the view has the focus, because the focus does not move.
        """
        self._view.setAccessibleName(self.tr("Changed lines of {}").format(visible(file.path)))
        if not in_place and self._view.hasFocus():
            counts = changed_lines_text(file.added, file.removed)
            announce(self._view, ", ".join(filter(None, (self._view.accessibleName(), counts))))
        self._path, self._after = file.path, file.changes[-1].after
        self._view.show_diff(
            diff,
            side_by_side=side_by_side,
            can_revert=can_revert,
            can_keep=True,
            file_name=file.path,
            kept=self._state.kept.get(file.path, ()),
            comments=self._state.comments_by_line(file.path, diff) or NO_COMMENTS,
            in_place=in_place,
        )

    def is_kept(self, file: ChangedFile) -> bool:
        """Return whether the user has kept all hunks of a file, and the file has not changed since."""
        return bool(file.changes[-1].after) and self._state.kept_files.get(file.path) == file.changes[-1].after

    def comment_count(self, path: str) -> int:
        return sum(comment.path == path for comment in self._state.drafts)

    def begin_comment(self, first: DiffLine, last: DiffLine) -> None:
        """Add a comment on a range of lines, or edit the unsent comment that is there."""
        comment = self._state.add(self._path, first, last, self._view.rows.diff)
        self._refresh()
        self._view.select_comment(comment.id)
        if (card := self._view.comment_widget(comment.id)) is not None:
            card.edit()

    def remove(self, name: str) -> None:
        """Delete the comment with this ID."""
        if comment := self._state.find(name):
            self._remove([comment])

    def discard(self) -> None:
        """Delete all comments that have not been sent."""
        self._remove(self._state.drafts)

    def remove_sent(self) -> None:
        """Delete the comments that were sent. Called when the user closes the reply to them."""
        for comment in [comment for comment in self._state.comments if comment.sent]:
            self._state.remove(comment.id)
        self._save()
        self._refresh()

    def toggle_kept(self, hunk: int) -> None:
        """Keep a hunk and go to the next one; a hunk that is already kept is shown again."""
        keep = not self._view.rows.is_kept(hunk)
        self._state.toggle_kept(self._path, self._view.rows.hunk_keys[hunk])
        self._note_kept_file()
        self._save()
        self._refresh()
        if keep:
            self._view.go_to_hunk(1)

    def keep_file(self) -> None:
        """Keep all hunks of the file; if all are already kept, show them again."""
        keys = set(self._view.rows.hunk_keys)
        kept = self._state.kept.get(self._path, set())
        self._state.kept[self._path] = kept - keys if keys <= kept else kept | keys
        self._note_kept_file()
        self._save()
        self._refresh()

    def go_to_comment(self, by: int) -> None:
        """Go to the next (1) or previous (-1) unsent comment, in the order of files and lines."""
        drafts = sorted(self._state.drafts, key=lambda comment: (comment.path, comment.first))
        if not drafts:
            return
        names = [comment.id for comment in drafts]
        current = self._view.current_comment()
        if current in names:
            comment = drafts[(names.index(current) + by) % len(drafts)]
        else:
            comment = drafts[0] if by > 0 else drafts[-1]
        is_other_file = comment.path != self._path
        self.comment_shown.emit(comment.path, comment.id)
        if is_other_file and (card := self._view.comment_widget(comment.id)) is not None:
            announce(self._view, card.description())

    def send(self, files: Iterable[ChangedFile], find_blob: FindBlob) -> None:
        """Request to send all unsent comments as one message, with the current numbers of their lines."""
        drafts = self._state.drafts
        if not drafts or self._obstacle:
            return
        files_by_path = {file.path: file for file in files}
        numbers: dict[str, int] = {}
        for comment in drafts:
            file = files_by_path.get(comment.path)
            if file and (number := comment.find(_current_lines(file, comment, find_blob))):
                numbers[comment.id] = number
        self._sending = [comment.id for comment in drafts]
        self._state.mark_sent(self._sending)
        self._save()
        self._refresh()
        self.send_requested.emit(review_message(drafts, numbers))
        sent = self.tr("Sent 1 comment") if len(drafts) == 1 else self.tr("Sent {} comments").format(len(drafts))
        announce(self._view, sent)

    def restore_unsent(self, session: str) -> None:
        """Mark the comments of a session as unsent again, because sending them has failed."""
        self._change_state(session, lambda state: state.mark_sent(self._sending, sent=False))

    def _remove(self, comments: Sequence[ReviewComment]) -> None:
        """Delete comments. If they have a text, the user can restore them."""
        for comment in comments:
            self._state.remove(comment.id)
        self._save()
        self._refresh()
        if written := [comment for comment in comments if comment.text.strip()]:
            text = self.tr("Removed {} comments.").format(len(written))
            if len(written) == 1:
                text = self.tr("Removed the comment.")
            self.comments_removed.emit(text, partial(self._restore, self._session, written))

    def _restore(self, session: str, comments: Sequence[ReviewComment]) -> None:
        """Add removed comments again, and select the first one if its file is shown."""
        self._change_state(session, lambda state: state.comments.extend(comments))
        self._view.select_comment(comments[0].id)

    def _change_state(self, session: str, change: Callable[[ReviewState], None]) -> None:
        """Change the review of a session, which need not be the one shown."""
        if session == self._session:
            change(self._state)
            self._save()
            self._refresh()
        elif self._store:
            stored = ReviewState.load(self._store.review(session))
            change(stored)
            self._store.set_review(session, stored.dump())

    def _note_kept_file(self) -> None:
        """Update whether all hunks of the file shown are kept."""
        keys = self._view.rows.hunk_keys
        if keys and set(keys) <= self._state.kept.get(self._path, set()):
            self._state.kept_files[self._path] = self._after
        else:
            self._state.kept_files.pop(self._path, None)
        if not self._state.kept.get(self._path):
            self._state.kept.pop(self._path, None)

    def _make_card(self, name: str) -> CommentWidget:
        comment = self._state.find(name)
        assert comment is not None
        diff = self._view.rows.diff
        card = CommentCard(self.look, comment, comment.find(diff.new if comment.side == "new" else diff.old))
        card.edited.connect(self._edit)
        card.removed.connect(self.remove)
        card.abandoned.connect(self._leave_empty)
        card.left.connect(lambda: self._leave(name))
        card.height_changed.connect(lambda: self._view.fit_comment(card))
        return card

    def _leave(self, name: str) -> None:
        """Move the focus from a comment to the diff, and announce how many comments are to be sent."""
        self._view.setFocus()
        if (comment := self._state.find(name)) and comment.text.strip():
            announce(self._view, self._bar.drafts_text)

    def _leave_empty(self, name: str) -> None:
        """Remove a comment without text. This is delayed until the click that took its focus has been handled."""
        if not self._view.rebuilding:
            QTimer.singleShot(0, self, lambda: self._remove_if_empty(name))

    def _remove_if_empty(self, name: str) -> None:
        comment, card = self._state.find(name), self._view.comment_widget(name)
        if comment and not comment.text.strip() and (card is None or card.cursor_position() < 0):
            self.remove(name)

    def _edit(self, name: str, text: str) -> None:
        self._state.set_text(name, text)
        self._save()

    def _refresh(self) -> None:
        """Show the comments and kept hunks as they are now."""
        diff = self._view.rows.diff
        if self._path:
            comments = self._state.comments_by_line(self._path, diff) or NO_COMMENTS
            self._view.update_review(self._state.kept.get(self._path, ()), comments)
        self._show_drafts()

    def _show_drafts(self) -> None:
        self._bar.show_drafts(len(self._state.drafts), self._obstacle)
        self.changed.emit()

    def _save(self) -> None:
        if self._store:
            self._store.set_review(self._session, self._state.dump())
        self._show_drafts()


def _current_lines(file: ChangedFile, comment: ReviewComment, find_blob: FindBlob) -> tuple[str, ...]:
    """Return the current lines of the text, old or new, on which a comment was made."""
    blob = file.changes[-1].after if comment.side == "new" else file.changes[0].before
    body = (find_blob(blob) if blob else b"") or b""
    return diff_texts("", body.decode("utf-8", "replace")).new
