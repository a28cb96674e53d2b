"""The sessions whose run ended while the user was not looking. The list is kept across restarts."""

from collections.abc import Collection, Iterable

from PySide6.QtCore import QObject, Signal

from ui.base.window_state import WindowState

MAX_UNSEEN = 200


class UnseenSessions(QObject):
    """The IDs of sessions whose last run has ended without being seen, oldest first."""

    changed = Signal(list)
    """The IDs after a change."""

    def __init__(self, state: WindowState) -> None:
        super().__init__()
        self._state = state
        self._ids = state.text("unseen").split()

    @property
    def ids(self) -> Collection[str]:
        return self._ids

    def add(self, sessions: Iterable[str]) -> None:
        self._store([*self._ids, *(session for session in sessions if session not in self._ids)])

    def remove(self, sessions: Iterable[str]) -> None:
        """Mark sessions as seen."""
        seen = set(sessions)
        if not seen.isdisjoint(self._ids):
            self._store([session for session in self._ids if session not in seen])

    def _store(self, ids: list[str]) -> None:
        self._ids = ids[-MAX_UNSEEN:]
        self._state.set_text("unseen", " ".join(self._ids))
        self.changed.emit(self._ids)
