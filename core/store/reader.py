"""Reads the data file while another connection writes it: sessions, steps, events and search results.

The window needs this module at startup, so it imports little.
"""

import json
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from core.domain.permissions import PendingPermissionRequest, PermissionOption, PermissionRequest
from core.domain.problems import Problem
from core.domain.question import PendingQuestion, Question, QuestionOption, SubQuestion
from core.domain.sessions import SessionRow
from core.domain.steps import Step
from core.domain.text import Text
from core.domain.untrusted_file import UntrustedFile
from core.store.blobs import read_blob
from core.store.queued_messages import QueuedMessage, read_queued_messages
from core.store.row_keys import key_range, offset_of, row_key
from core.store.row_mapping import SESSION_COLUMNS, STEP_COLUMNS, read_session, read_step
from core.store.row_sampling import RowSample, find_row, read_events, read_last_event, read_rows, sample_rows
from core.store.search import SearchHit, search_events, search_session
from core.store.untrusted_files import (
    FileContent,
    has_untrusted_files,
    match_untrusted_files,
    read_untrusted_sources,
    untrusted_files_in,
)

PAGE_SIZE = 200  # events
MAX_UTF8_BYTES = 4  # the most bytes that a character takes in UTF-8
ReadError = sqlite3.Error  # raised by each read if the file is damaged or has another schema


class RawEvent(NamedTuple):
    """An event as it is stored. `seq` is its sequence number in the session, and `at` its time in microseconds."""

    seq: int
    run: int
    at: int
    kind: str
    payload: str


class CallOrigin(NamedTuple):
    """The session and the ID of the tool call that a question belongs to."""

    session: str
    call_id: str


class RecallOutcome(NamedTuple):
    """Whether the agent used a memory that was recalled for a run, and how the run was rated: `good`, `bad` or ""."""

    was_used: bool
    run_rating: str


class _PendingRow(NamedTuple):
    """The event of an open question or permission request."""

    session: str
    asked_at: int
    payload: str


class Reader:
    """A read-only connection, to be used by one thread.

    `immutable` is for a file in a read-only folder, which no other process can change. `catch_up` is called before
    derived rows are read, and waits until they are up to date.
    """

    def __init__(self, path: Path, *, immutable: bool = False, catch_up: Callable[[], None] = lambda: None) -> None:
        self.path = path
        self.catch_up = catch_up
        self._immutable = immutable
        # Not read-only, since the last connection to close deletes the WAL, and a read-only connection cannot do that.
        flags = "immutable=1" if immutable else "mode=rw"
        self._db = sqlite3.connect(f"{path.absolute().as_uri()}?{flags}", uri=True, isolation_level=None)
        self._db.execute("PRAGMA query_only = 1")

    def close(self) -> None:
        self._db.close()

    def reopen(self) -> "Reader":
        """Open another reader on the same file, for another thread."""
        return Reader(self.path, immutable=self._immutable, catch_up=self.catch_up)

    @property
    def _derived(self) -> sqlite3.Connection:
        """The connection, after the derived rows were brought up to date."""
        self.catch_up()
        return self._db

    def sessions(self) -> list[SessionRow]:
        """Return every session, most recently updated first."""
        rows = self._derived.execute(f"SELECT {SESSION_COLUMNS} FROM session ORDER BY updated_at DESC")
        return [read_session(row) for row in rows]

    def session(self, session_id: str) -> SessionRow | None:
        row = self._derived.execute(f"SELECT {SESSION_COLUMNS} FROM session WHERE id = ?", (session_id,)).fetchone()
        return read_session(row) if row else None

    def require_session(self, session_id: str) -> SessionRow:
        """Return a session. Raise Problem if it does not exist."""
        row = self.session(session_id)
        if row is None:
            raise Problem(f"There is no session {session_id}.", "", "List them with `journeyman sessions`.")
        return row

    def children(self, parent: str) -> list[SessionRow]:
        """Return the sessions of the sub-agents that a session started, in order."""
        rows = self._derived.execute(
            f"SELECT {SESSION_COLUMNS} FROM session WHERE parent = ? ORDER BY number", (parent,)
        )
        return [read_session(row) for row in rows]

    def imported_session(self, source: str) -> SessionRow | None:
        """Return the newest session that was imported from `source`, or None."""
        row = self._derived.execute(
            f"SELECT {SESSION_COLUMNS} FROM session WHERE imported_from = ? AND imported_from <> ''"
            " ORDER BY number DESC LIMIT 1",
            (source,),
        ).fetchone()
        return read_session(row) if row else None

    def sessions_starting_with(self, start: str) -> list[SessionRow]:
        """Return the sessions whose ID starts with `start`. So the user may type a short form of an ID."""
        rows = self._derived.execute(
            f"SELECT {SESSION_COLUMNS} FROM session WHERE substr(id, 1, ?) = ?", (len(start), start)
        )
        return [read_session(row) for row in rows]

    def steps(self, session: str, first: int, count: int) -> list[Step]:
        """Return `count` rows of the timeline from the row `first` on."""
        number = self._number(session)
        rows = self._derived.execute(
            f"SELECT {STEP_COLUMNS} FROM step WHERE id BETWEEN ? AND ? ORDER BY id",
            (row_key(number, first), row_key(number, first + count - 1)),
        )
        return [read_step(row) for row in rows]

    def commands_before(self, session: str, row: int, count: int) -> list[Step]:
        """Return the commands among the `count` rows of the timeline before `row`, newest first."""
        number = self._number(session)
        rows = self._derived.execute(
            f"SELECT {STEP_COLUMNS} FROM step WHERE id >= ? AND id < ? AND kind = 'command' ORDER BY id DESC",
            (row_key(number, max(0, row - count)), row_key(number, row)),
        )
        return [read_step(found) for found in rows]

    def run_opening(self, session: str, run: int) -> list[Step]:
        """Return the timeline rows that open a run: its messages and its header."""
        rows = self._derived.execute(
            f"SELECT {STEP_COLUMNS} FROM step WHERE id BETWEEN ? AND ? AND run = ? AND kind IN ('user', 'run')"
            " ORDER BY id",
            (*key_range(self._number(session)), run),
        )
        return [read_step(row) for row in rows]

    def sample(self, session: str, count: int, limit: int) -> list[RowSample]:
        """Return at most `limit` rows out of the first `count` rows of the timeline, evenly spaced."""
        return sample_rows(self._derived, self._number(session), count, limit)

    def row_samples(self, session: str, first: int, count: int) -> list[RowSample]:
        """Return `count` rows from the row `first` on, with only the columns that the overview chart needs."""
        return read_rows(self._derived, self._number(session), first, count)

    def events_of(
        self, session: str, kinds: Iterable[str], after: int, until: int, limit: int = 1_000
    ) -> list[dict[str, Any]]:
        """Return at most `limit` events of these kinds with `after` < sequence number <= `until`, in order."""
        return read_events(self._db, self._number(session), kinds, after, until, limit)

    def last_event_of(self, session: str, kind: str) -> dict[str, Any] | None:
        """Return the last event of this kind in a session, or None."""
        return read_last_event(self._db, self._number(session), kind)

    def untrusted_sources(self, session: str) -> tuple[str, ...]:
        """Return the untrusted sources that a session has read, or had when it started."""
        return tuple(read_untrusted_sources(self._db, self._number(session)))

    def queued_messages(self, session: str, running: bool) -> list[QueuedMessage]:
        """Return the messages that are queued for the next model request."""
        waiting = read_queued_messages(self._db, self._number(session), running)
        return [
            message._replace(text=self.blob(message.blob).decode("utf-8", "replace")) if message.blob else message
            for message in waiting
        ]

    def row_of(self, session: str, seq: int) -> int | None:
        """Return the row that an event opened or closed, else the nearest row before it; None if there are no rows."""
        return find_row(self._derived, self._number(session), seq)

    def search_in_session(self, session: str, text: str, limit: int = 1000) -> list[int]:
        """Return the sequence numbers, ascending, of the session's events that contain every word of `text`."""
        return search_session(self._derived, self._number(session), text, limit)

    def has_untrusted_files(self) -> bool:
        return has_untrusted_files(self._db)

    def untrusted_files(self, folder: str) -> list[UntrustedFile]:
        """Return the unreviewed files in a folder that runs wrote after reading untrusted content.

        If there is no such file, this needs only a single query.
        """
        return untrusted_files_in(self._db, folder) if has_untrusted_files(self._db) else []

    def match_untrusted_files(self, files: Sequence[FileContent]) -> dict[str, UntrustedFile]:
        """Return which of the files are untrusted, by path; see `core.store.untrusted_files`."""
        return match_untrusted_files(self._db, files) if has_untrusted_files(self._db) else {}

    def step_by_number(self, session: str, number: int) -> Step | None:
        """Return the step with the number that the user sees, or None."""
        row = self._derived.execute(
            f"SELECT {STEP_COLUMNS} FROM step WHERE id BETWEEN ? AND ? AND number = ? LIMIT 1",
            (*key_range(self._number(session)), number or -1),  # 0 is not the number of a step
        ).fetchone()
        return read_step(row) if row else None

    def raw_events(self, session: str, after: int = 0, until: int = 0) -> Iterator[RawEvent]:
        """Yield the stored events after the sequence number `after` and up to `until`; 0 means up to the end.

        They are read in pages, because a read transaction must not last long.
        """
        number = self._number(session)
        last = row_key(number, until) if until else key_range(number)[1]
        start = row_key(number, after)
        while True:
            rows = self._db.execute(
                "SELECT id, run, at, kind, payload FROM event WHERE id > ? AND id <= ? ORDER BY id LIMIT ?",
                (start, last, PAGE_SIZE),
            ).fetchall()
            for row in rows:
                yield RawEvent(offset_of(row[0]), *row[1:])
            if len(rows) < PAGE_SIZE:
                return
            start = rows[-1][0]

    def event(self, session: str, seq: int) -> dict[str, Any]:
        """Return an event as a dictionary, empty if it does not exist. Long texts are truncated; see `full_text`."""
        for number, run, at, kind, payload in self.raw_events(session, seq - 1, seq):
            return {"session": session, "seq": number, "run": run, "at": at, "kind": kind, **json.loads(payload)}
        return {}

    def full_text(self, session: str, seq: int, field: str = "text", limit: int | None = None) -> str:
        """Return the full text in a field of an event, or its first `limit` characters."""
        text = self.event(session, seq).get(field) or {}
        head: str = text.get("head", "")
        if not text.get("blob") or (limit is not None and limit <= len(head)):
            return head[:limit]
        body = read_blob(self._db, text["blob"], MAX_UTF8_BYTES * limit if limit else 0) or b""
        return body.decode("utf-8", "replace")[:limit]

    def read_text(self, text: Text) -> str:
        """Return a text in full, whether it is stored in its event or in a blob."""
        return self.blob(text.blob).decode("utf-8", "replace") if text.blob else text.head

    def blob(self, name: str) -> bytes:
        """Return the content of a blob, or b"" if it is missing."""
        return self.find_blob(name) or b""

    def find_blob(self, name: str) -> bytes | None:
        """Return the content of a blob, or None if it is missing."""
        return read_blob(self._db, name)

    def questions(self) -> list[PendingQuestion]:
        """Return the open questions, oldest first."""
        rows = self._pending("question_asked")
        return [
            PendingQuestion(row.session, _question(json.loads(row.payload)["question"], row.asked_at)) for row in rows
        ]

    def open_proposal_count(self, target_kind: str) -> int:
        """Return the number of open proposals for skills or for memories."""
        row = self._db.execute(
            "SELECT count(*) FROM proposal WHERE state = 'pending' AND target_kind = ?", (target_kind,)
        ).fetchone()
        return int(row[0])

    def open_proposal_counts(self, session: str) -> dict[str, int]:
        """Return how many open proposals a session has made, by target kind (`skill` or `memory`)."""
        query = (
            "SELECT target_kind, count(*) FROM proposal WHERE state = 'pending' AND session = ? GROUP BY target_kind"
        )
        return dict(self._db.execute(query, (session,)).fetchall())

    def permission_requests(self) -> list[PendingPermissionRequest]:
        """Return the open permission requests, oldest first."""
        return [self._permission_request(row) for row in self._pending("permission_requested")]

    def permission_request(self, request: str) -> PendingPermissionRequest | None:
        """Return an open permission request by its id, or None."""
        rows = self._pending("permission_requested", request)
        return self._permission_request(rows[0]) if rows else None

    def question_origin(self, question: str) -> CallOrigin | None:
        """Return where an open question, given its ID, comes from; None if it is not open."""
        row = self._db.execute(
            "SELECT s.id, e.payload FROM pending_request q JOIN session s ON s.number = q.session"
            " JOIN event e ON e.id = q.session << 32 | q.seq WHERE q.id = ? AND e.kind = 'question_asked'",
            (question,),
        ).fetchone()
        return CallOrigin(row[0], json.loads(row[1])["call_id"]) if row else None

    def search(
        self, text: str, limit: int = 100, sessions: Collection[str] | None = None, kinds: Collection[str] = ()
    ) -> list[SearchHit]:
        """Return the newest events that contain every word of `text`, newest first; see `search_events`."""
        return search_events(self._derived, text, limit, sessions, kinds)

    def recall_outcomes(self, session: str, run: int) -> dict[str, RecallOutcome]:
        """Return the outcome of each memory that was recalled for a run, by the ID of the memory."""
        rows = self._db.execute(
            "SELECT memory, used, run_rating FROM memory_use WHERE session = ? AND run = ?", (session, run)
        )
        return {memory: RecallOutcome(bool(used), run_rating) for memory, used, run_rating in rows}

    def search_backlog(self) -> int:
        """Return how many events are not in the search index yet, for example after an import."""
        query = "SELECT coalesce(sum(last_event - first_event + 1), 0) FROM search_backlog"
        (count,) = self._db.execute(query).fetchone()
        return int(count)

    def _pending(self, kind: str, name: str = "") -> list[_PendingRow]:
        """Return the open questions or permission requests, oldest first; with `name`, only the one with this ID."""
        rows = self._db.execute(
            "SELECT s.id, e.at, e.payload FROM pending_request q JOIN session s ON s.number = q.session"
            " JOIN event e ON e.id = q.session << 32 | q.seq WHERE e.kind = ? AND (? = '' OR q.id = ?)"
            " ORDER BY e.at, e.id",
            (kind, name, name),
        )
        return [_PendingRow(*row) for row in rows]

    def _permission_request(self, row: _PendingRow) -> PendingPermissionRequest:
        fields = json.loads(row.payload)
        request = fields["request"]
        names = ("untrusted_sources", "patterns", "protected_paths", "hosts")
        lists = {name: tuple(request.get(name, ())) for name in names}
        arguments = fields.get("arguments", {})
        full_arguments = self.blob(arguments["blob"]).decode("utf-8", "replace") if arguments.get("blob") else ""
        options = tuple(PermissionOption(**option) for option in request.get("options", ()))
        parsed = PermissionRequest(**{**request, **lists, "options": options})
        return PendingPermissionRequest(row.session, parsed, full_arguments or arguments.get("head", ""), row.asked_at)

    def _number(self, session: str) -> int:
        """Return the number under which a session is stored.

        It is not cached: a session imported again gets another number.
        """
        row = self._db.execute("SELECT number FROM session WHERE id = ?", (session,)).fetchone()
        return row[0] if row else 0


def _question(fields: dict[str, Any], asked_at: int) -> Question:
    parts = tuple(SubQuestion(**{**part, "options": _options(part)}) for part in fields.get("sub_questions", ()))
    return Question(**{**fields, "options": _options(fields), "sub_questions": parts, "asked_at": asked_at})


def _options(fields: dict[str, Any]) -> tuple[QuestionOption, ...]:
    return tuple(QuestionOption(**option) for option in fields.get("options", ()))
