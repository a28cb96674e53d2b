"""The questions and permission requests of all sessions that wait for the user."""

from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

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


class SessionRequest(NamedTuple):
    """An open request, and the ID of its session."""

    session: str
    request: OpenRequest


class PendingRequests:
    """Open questions and permission requests with their sessions, oldest first."""

    def __init__(self, reading: DeferredReader) -> None:
        self._reading = reading
        self.pending: list[SessionRequest] = []
        self._sessions_with_new: Collection[str] = ()

    def refresh(self) -> None:
        """Read the open requests from the event log."""
        known_ids = {pending.request.id for pending in self.pending}
        self.pending = self._read()
        self._sessions_with_new = {pending.session for pending in self.pending if pending.request.id not in known_ids}

    def _read(self) -> list[SessionRequest]:
        reader = self._reading.reader
        if reader is None:
            return []
        questions = [SessionRequest(asked.session, asked.question) for asked in reader.questions()]
        permissions = [
            SessionRequest(stored.session, PendingPermission(stored.request, stored.arguments, stored.requested_at))
            for stored in reader.permission_requests()
        ]
        return sorted([*questions, *permissions], key=lambda pending: pending.request.asked_at)

    def of_session(self, session: str) -> list[OpenRequest]:
        return [pending.request for pending in self.pending if pending.session == session]

    def take_new(self) -> Collection[str]:
        """Return the sessions in which the last refresh found new requests. A second call returns none."""
        sessions, self._sessions_with_new = self._sessions_with_new, ()
        return sessions

    def next_session(self, session: str, undecided: Sequence[str]) -> str:
        """Return the next session after `session` in which something waits for the user; "" if there is none.

        The search wraps around. Sessions with a request come first, then the `undecided` ones, in which the user has
        to choose how to continue.
        """
        asking = [pending.session for pending in self.pending]
        sessions = list(dict.fromkeys([*asking, *undecided]))
        if not sessions:
            return ""
        next_index = sessions.index(session) + 1 if session in sessions else 0
        return sessions[next_index % len(sessions)]
