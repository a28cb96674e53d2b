"""The questions and permission requests of all sessions that wait for the user."""

from collections.abc import Collection
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

    def refresh(self) -> int:
        """Read the open requests from the event log and return their number."""
        before = {asked.id for _, asked in self.pending}
        self.pending = self._read()
        self._fresh = {name for name, asked in self.pending if asked.id not in before}
        return len(self.pending)

    def _read(self) -> list[tuple[str, OpenRequest]]:
        reader = self._reading.reader
        if reader is None:
            return []
        found: list[tuple[str, OpenRequest]] = list(reader.questions())
        found += [
            (one.session, PendingPermission(one.request, one.arguments, one.requested_at))
            for one in reader.permission_requests()
        ]
        return sorted(found, key=lambda pair: pair[1].asked_at)

    def of_session(self, session: str) -> list[OpenRequest]:
        return [asked for name, asked in self.pending if name == session]

    def take_new(self) -> Collection[str]:
        """Return the sessions in which the last refresh found new requests. A second call returns none."""
        fresh, self._fresh = self._fresh, ()
        return fresh

    def next_session(self, session: str) -> str:
        """Return the next waiting session after `session`, wrapping around; an empty string if none waits."""
        names = list(dict.fromkeys(name for name, _ in self.pending))
        if not names:
            return ""
        place = names.index(session) + 1 if session in names else 0
        return names[place % len(names)]
