"""Stores and restores the unsent text and attachments of each session, also across restarts."""

from collections.abc import Sequence
from pathlib import Path

from core.domain.message_files import AttachedFile
from core.domain.problems import ErrorDetails
from ui.base.draft_files import DraftFiles
from ui.base.tasks import ErrorSource
from ui.base.window_state import WindowState
from ui.composer.panel import ComposerPanel
from ui.widgets.error_bar import ErrorBar


class UnsentDrafts:
    """Saves the drafts of a composer, with the attachments in `folder`.

    `notice` reports attachments that cannot be stored.
    """

    def __init__(self, composer: ComposerPanel, state: WindowState, folder: Path, notice: ErrorBar) -> None:
        self._composer = composer
        self._state = state
        self._notice = notice
        self._files = DraftFiles(folder)
        composer.draft_changed.connect(state.set_draft)
        composer.attachments_changed.connect(lambda session: self._save_files(session, composer.attached.files()))

    def load(self, session: str) -> None:
        """Load the draft of a session into the composer."""
        self._composer.set_session(session, self._state.draft(session), lambda: self._files.load(session))

    def delete(self, session: str) -> None:
        """Delete the draft of a deleted session."""
        self._state.set_draft(session, "")
        self._save_files(session, ())

    def restore(self, session: str, text: str, current_session: str) -> None:
        """Restore a message that could not be sent to the draft of its session, unless there is a new draft.

        `current_session` is the session that the composer shows now.
        """
        if current_session == session and not self._composer.draft():
            self._composer.set_session(session, text)
        if not self._state.draft(session):
            self._state.set_draft(session, text)

    def _save_files(self, session: str, files: Sequence[AttachedFile]) -> None:
        source = ErrorSource("store attachments", session)
        try:
            self._files.save(session, files)
            self._notice.resolve(source)
        except OSError as error:
            details = ErrorDetails(
                message="The attachments could not be stored and will be lost on restart.",
                cause=f"{error.strerror or error}.",
                fix="Send the message now, or free up disk space.",
            )
            self._notice.show_error(details, source)
