"""The window's cache of session rows and of the requests that wait for the user."""

from collections.abc import Collection, Iterable, Sequence

from core.domain.sessions import ACTIVE_STATUSES, FAILED_REQUEST, SessionRow, needs_decision
from ui.ask.ask_area import OpenRequest
from ui.ask.inbox import WaitingRequest
from ui.base.deferred_reader import DeferredReader
from ui.base.pausing import with_pausing
from ui.shell.pending_requests import PendingRequests
from ui.shell.update_batch import UpdateBatch


class SessionIndex:
    """Session rows by ID. It is empty until the event log is open; afterwards, engine updates are applied to it."""

    def __init__(self, reading: DeferredReader) -> None:
        self.reader = reading
        self.requests = PendingRequests(reading)
        self._rows: dict[str, SessionRow] = {}
        self._ended: list[SessionRow] = []
        self.pausing: set[str] = set()
        """The active sessions that pause after their current turn."""

    def read(self) -> list[SessionRow]:
        """Read all rows from the event log."""
        rows = self.reader.reader.sessions() if self.reader.reader else []
        self._rows = {row.id: row for row in rows}
        return rows

    def __contains__(self, session: str) -> bool:
        return session in self._rows

    def row(self, session: str) -> SessionRow:
        """Return the row of a session, or an empty row if the session is unknown."""
        return self._rows.get(session, SessionRow(session))

    def find(self, session: str) -> SessionRow | None:
        """Return the row of any session, including sub-agents, which are not in the list; None if it does not exist."""
        return self._rows.get(session) or (self.reader.session(session) if session else None)

    def newest(self) -> str:
        """Return the session updated last, or an empty string if there is none.

        Archived and deleted sessions and those of sub-agents, such as the review after a run, do not count.
        """
        listed = (row for row in self._rows.values() if not (row.parent or row.archived or row.trashed))
        row = max(listed, key=lambda row: row.updated_at, default=None)
        return row.id if row else ""

    def next_waiting(self, session: str) -> str:
        """Return the next session after `session` in which something waits for the user; "" if there is none.

        Sessions with a request come first, then those in which the user has to choose how to continue.
        """
        return self.requests.next_session(session, [row.id for row in self.undecided()])

    def undecided(self) -> list[SessionRow]:
        """Return the sessions without a request in which the user has to choose how to continue, oldest first.

        For example, a step was interrupted by a crash. Sub-agents are not included: their session asks for them.
        """
        asking = {pending.session for pending in self.requests.pending}
        rows = [row for row in self._rows.values() if needs_decision(row) and not row.parent and row.id not in asking]
        return sorted(rows, key=lambda row: (row.updated_at, row.id))

    def waiting_count(self) -> int:
        """Return the number of requests, and of sessions without a request, that wait for the user."""
        return len(self.requests.pending) + len(self.undecided())

    def apply_updates(self, batch: UpdateBatch) -> bool:
        """Apply a batch of updates; return whether what waits for the user may have changed.

        The rows of sessions that are about to pause are marked in the batch too.
        """
        self._mark_pausing(batch)
        waiting_changed = batch.requests_changed
        for session, row in batch.touched.items():
            known_row = self._rows.get(session)
            if known_row is None or needs_decision(known_row) != needs_decision(row):
                waiting_changed = True
            was_active = known_row is not None and known_row.status in ACTIVE_STATUSES
            if has_ended(row) and not row.parent and (was_active or session in batch.started):
                self._ended.append(row)
            self._rows[session] = row
        return waiting_changed

    def _mark_pausing(self, batch: UpdateBatch) -> None:
        """Apply the requests to pause in the batch, and mark the rows of all sessions in it that are about to pause."""
        paused = {name: row for name in batch.pausing if (row := self.find(name))}
        batch.touched = paused | batch.touched
        self.pausing.update(paused)  # the views share this set
        self.pausing.difference_update(name for name, row in batch.touched.items() if row.status not in ACTIVE_STATUSES)
        batch.touched |= {name: with_pausing(batch.touched[name]) for name in self.pausing & batch.touched.keys()}

    def all_rows(self) -> Collection[SessionRow]:
        return self._rows.values()

    def running(self) -> list[SessionRow]:
        """Return the sessions whose run is working now, except those of sub-agents."""
        return [row for row in self._rows.values() if row.status == "running" and not row.parent]

    def take_ended(self) -> list[SessionRow]:
        """Return the sessions whose run has ended or has paused because of an error since the last call."""
        ended, self._ended = self._ended, []
        return ended

    def remove(self, sessions: Iterable[str]) -> None:
        """Forget deleted sessions."""
        for session in sessions:
            self._rows.pop(session, None)

    def pending(self) -> list[WaitingRequest]:
        """Return the requests that wait for the user, each with its session, oldest first."""
        return [WaitingRequest(self.row(pending.session), pending.request) for pending in self.requests.pending]

    def pending_in(self, session: str) -> Sequence[OpenRequest]:
        return self.requests.of_session(session)

    def take_new(self) -> Collection[str]:
        """Return the sessions in which the last refresh found new requests; a second call returns none."""
        return self.requests.take_new()


def has_ended(row: SessionRow) -> bool:
    """Return whether the run of a session has ended, or has paused because a model request failed."""
    failed = row.status == "paused" and row.activity_kind == FAILED_REQUEST
    return failed or row.status in {"done", "failed", "limit"}
