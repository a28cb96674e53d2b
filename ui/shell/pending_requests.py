"""The questions and permission requests of all sessions that wait for the user."""

from collections.abc import Collection, Sequence
from typing import Final

from core.domain.events import RunEnded, RunStarted
from core.domain.permissions import PermissionDecided, PermissionRequested
from core.domain.proposal import ProposalCreated, ProposalStateChanged
from core.domain.question import QuestionAnswered, QuestionAsked
from ui.ask.ask_area import OpenRequest
from ui.ask.pending_permission import PendingPermission
from ui.base.deferred_reader import DeferredReader

REQUEST_EVENTS: Final = (
    QuestionAsked,
    QuestionAnswered,
    PermissionRequested,
    PermissionDecided,
    ProposalCreated,
    ProposalStateChanged,
    RunEnded,
    RunStarted,
)


class PendingRequests:
    """Open questions and permission requests with their sessions, oldest first."""

    def __init__(self, reading: DeferredReader) -> None:
        self._reading = reading
        self.pending: list[tuple[str, OpenRequest]] = []
        self._fresh: Collection[str] = ()

    def refresh(self) -> None:
        """Read the open requests from the event log."""
        known_ids = {request.id for _, request in self.pending}
        self.pending = self._read()
        self._fresh = {name for name, request in self.pending if request.id not in known_ids}

    def _read(self) -> list[tuple[str, OpenRequest]]:
        reader = self._reading.reader
        if reader is None:
            return []
        pending: list[tuple[str, OpenRequest]] = list(reader.questions())
        pending += [
            (permission.session, PendingPermission(permission.request, permission.arguments, permission.requested_at))
            for permission in reader.permission_requests()
        ]
        return sorted(pending, key=lambda pair: pair[1].asked_at)

    def of_session(self, session: str) -> list[OpenRequest]:
        return [request for name, request in self.pending if name == session]

    def take_new(self) -> Collection[str]:
        """Return the sessions in which the last refresh found new requests. A second call returns none."""
        fresh, self._fresh = self._fresh, ()
        return fresh

    def next_session(self, session: str, undecided: Sequence[str]) -> str:
        """Return the next session after `session` in which something waits for the user; "" if there is none.

        The search wraps around. Sessions with a request come first, then the `undecided` ones, in which the user has
        to choose how to continue.
        """
        sessions = list(dict.fromkeys([*(name for name, _ in self.pending), *undecided]))
        if not sessions:
            return ""
        index = sessions.index(session) + 1 if session in sessions else 0
        return sessions[index % len(sessions)]
