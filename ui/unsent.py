"""Words and files that were not sent: each session's stand in the composer again, also after a restart."""

from collections.abc import Callable, Sequence
from pathlib import Path

from core.domain.problems import Trouble
from ui.composer.panel import ComposerPanel
from ui.draft_files import DraftFiles, File
from ui.window_state import WindowState


class Unsent:
    """Keeps what the composer tells, and gives it back; `tell` is told what cannot be kept."""

    def __init__(
        self, composer: ComposerPanel, state: WindowState, folder: Path, tell: Callable[[Trouble], None]
    ) -> None:
        self._composer, self._state, self._tell = composer, state, tell
        self._files = DraftFiles(folder)
        composer.draft_changed.connect(state.keep_draft)
        composer.files_changed.connect(lambda session: self._keep_files(session, composer.attached.files()))

    def show(self, session: str) -> None:
        """What was not sent to this session."""
        self._composer.set_session(session, self._state.draft(session), lambda: self._files.files(session))

    def drop(self, session: str) -> None:
        """The session is gone for good."""
        self._state.keep_draft(session, "")
        self._keep_files(session, ())

    def give_back(self, session: str, words: str, shown: str) -> None:
        """What could not be sent stands in the composer again."""
        if shown == session and not self._composer.draft():
            self._composer.set_session(session, words)
        elif not self._state.draft(session):
            self._state.keep_draft(session, words)

    def _keep_files(self, session: str, files: Sequence[File]) -> None:
        try:
            self._files.keep(session, files)
        except OSError as error:
            what = "What is attached would not be there after a restart."
            self._tell(Trouble(what, f"{error.strerror or error}.", "Send it, or make room on the disk."))
