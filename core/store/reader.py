"""Read the file beside the writer: rows to paint, entries to look into, words to find. Light, for the first paint."""

import json
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from core.domain.consent import ConsentOption, ConsentRequest, OpenConsent
from core.domain.question import Option, Part, Question
from core.domain.sessions import SessionRow
from core.domain.steps import Step
from core.store.blobs import kept
from core.store.keys import key, place, span
from core.store.marks import Mark, last_line, lines, row_of, sample, stretch
from core.store.queue import QueuedLine, queued
from core.store.rows import SESSION_COLUMNS, STEP_COLUMNS, read_session, read_step
from core.store.search import Hit, find, find_in

PAGE = 200
CHARACTER = 4  # bytes of one, at most
Unreadable = sqlite3.Error  # what a read raises where the file is damaged or of another form


class Reader:
    """A connection of one thread that can only read. `frozen` reads a file in a folder nobody may write to."""

    def __init__(self, path: Path, *, frozen: bool = False) -> None:
        self.path = path
        self._place = (path, frozen)
        # The last to let go of the file takes its log away, and may do that only where it may write.
        flags = "immutable=1" if frozen else "mode=rw"
        self._db = sqlite3.connect(f"{path.absolute().as_uri()}?{flags}", uri=True, isolation_level=None)
        self._db.execute("PRAGMA query_only = 1")
        self._numbers: dict[str, int] = {}

    def close(self) -> None:
        self._db.close()

    def again(self) -> "Reader":
        """Another one on the same file, for another thread."""
        path, frozen = self._place
        return Reader(path, frozen=frozen)

    def sessions(self) -> list[SessionRow]:
        """Every session, the newest first."""
        rows = self._db.execute(f"SELECT {SESSION_COLUMNS} FROM session ORDER BY updated DESC")
        return [read_session(row) for row in rows]

    def session(self, name: str) -> SessionRow | None:
        row = self._db.execute(f"SELECT {SESSION_COLUMNS} FROM session WHERE id = ?", (name,)).fetchone()
        return read_session(row) if row else None

    def children(self, parent: str) -> list[SessionRow]:
        """The sessions that a session began, in order."""
        rows = self._db.execute(f"SELECT {SESSION_COLUMNS} FROM session WHERE parent = ? ORDER BY number", (parent,))
        return [read_session(row) for row in rows]

    def imported(self, source: str) -> SessionRow | None:
        """The session that was read from there; of several the newest."""
        row = self._db.execute(
            f"SELECT {SESSION_COLUMNS} FROM session WHERE source = ? AND source <> '' ORDER BY number DESC LIMIT 1",
            (source,),
        ).fetchone()
        return read_session(row) if row else None

    def named(self, start: str) -> list[SessionRow]:
        """The sessions whose id starts so: what a person types may be short."""
        rows = self._db.execute(
            f"SELECT {SESSION_COLUMNS} FROM session WHERE substr(id, 1, ?) = ?", (len(start), start)
        )
        return [read_session(row) for row in rows]

    def steps(self, session: str, first: int, count: int) -> list[Step]:
        """Rows `first` to `first + count`, in order."""
        number = self._number(session)
        rows = self._db.execute(
            f"SELECT {STEP_COLUMNS} FROM step WHERE id BETWEEN ? AND ? ORDER BY id",
            (key(number, first), key(number, first + count - 1)),
        )
        return [read_step(row) for row in rows]

    def sample(self, session: str, count: int, most: int) -> list[Mark]:
        """At most `most` rows, spread over the whole session."""
        return sample(self._db, self._number(session), count, most)

    def stretch(self, session: str, first: int, count: int) -> list[Mark]:
        """Rows `first` to `first + count`, as much of them as a small picture needs."""
        return stretch(self._db, self._number(session), first, count)

    def lines(
        self, session: str, kinds: Iterable[str], after: int, until: int, most: int = 1_000
    ) -> list[dict[str, Any]]:
        """The first lines of these kinds after one place of a journal, up to another."""
        return lines(self._db, self._number(session), kinds, after, until, most)

    def last_line(self, session: str, kind: str) -> dict[str, Any] | None:
        """The last line of this kind."""
        return last_line(self._db, self._number(session), kind)

    def queued(self, session: str, goes_on: bool) -> list[QueuedLine]:
        """The messages that wait for a request."""
        waiting = queued(self._db, self._number(session), goes_on)
        return [
            one._replace(text=self.blob(one.blob).decode("utf-8", "replace")) if one.blob else one for one in waiting
        ]

    def row_of(self, session: str, seq: int) -> int | None:
        """The row that shows this line of a journal."""
        return row_of(self._db, self._number(session), seq)

    def find_in(self, session: str, text: str, limit: int = 1000) -> list[int]:
        """The lines of one session that hold all the words, in order."""
        return find_in(self._db, self._number(session), text, limit)

    def numbered(self, session: str, number: int) -> Step | None:
        """The step a person calls so."""
        row = self._db.execute(
            f"SELECT {STEP_COLUMNS} FROM step WHERE id BETWEEN ? AND ? AND number = ? LIMIT 1",
            (*span(self._number(session)), number or -1),
        ).fetchone()
        return read_step(row) if row else None

    def raw(self, session: str, after: int = 0, until: int = 0) -> Iterator[tuple[int, int, int, str, str]]:
        """Lines of a journal as stored: seq, run, at, kind, payload. In pages, so that no read holds the file long."""
        number = self._number(session)
        last = key(number, until) if until else span(number)[1]
        start = key(number, after)
        while True:
            rows = self._db.execute(
                "SELECT id, run, at, kind, payload FROM entry WHERE id > ? AND id <= ? ORDER BY id LIMIT ?",
                (start, last, PAGE),
            ).fetchall()
            for row in rows:
                yield (place(row[0]), *row[1:])
            if len(rows) < PAGE:
                return
            start = rows[-1][0]

    def entry(self, session: str, seq: int) -> dict[str, Any]:
        """One line as plain JSON, long texts still as heads; empty where there is none."""
        for number, run, at, kind, payload in self.raw(session, seq - 1, seq):
            return {"session": session, "seq": number, "run": run, "at": at, "kind": kind, **json.loads(payload)}
        return {}

    def words(self, session: str, seq: int, field: str = "text", limit: int | None = None) -> str:
        """The whole of a text of an entry, or its first `limit` characters."""
        text = self.entry(session, seq).get(field) or {}
        head: str = text.get("head", "")
        if not text.get("blob") or (limit is not None and limit <= len(head)):
            return head[:limit]
        body = kept(self._db, text["blob"], CHARACTER * limit if limit else 0) or b""
        return body.decode("utf-8", "replace")[:limit]

    def blob(self, name: str) -> bytes:
        """Contents that were kept apart."""
        return self.kept(name) or b""

    def kept(self, name: str) -> bytes | None:
        """The same; None where they are gone."""
        return kept(self._db, name)

    def questions(self) -> list[tuple[str, Question]]:
        """The open questions with their sessions, the oldest first."""
        rows = self._waiting("question_asked")
        return [(name, _question(json.loads(payload)["question"], at)) for name, at, payload in rows]

    def proposed(self, of: str) -> int:
        """How many proposals of this kind wait for a word."""
        row = self._db.execute("SELECT count(*) FROM proposal WHERE state = 'open' AND of = ?", (of,)).fetchone()
        return int(row[0])

    def proposed_by(self, session: str) -> dict[str, int]:
        """How many proposals that come from a session wait for a word, by their kind."""
        query = "SELECT of, count(*) FROM proposal WHERE state = 'open' AND session = ? GROUP BY of"
        return dict(self._db.execute(query, (session,)).fetchall())

    def consents(self) -> list[OpenConsent]:
        """The open requests whether a call may happen, the oldest first."""
        return [self._consent(*row) for row in self._waiting("consent_asked")]

    def consent(self, request: str) -> OpenConsent | None:
        """An open request by its id."""
        rows = self._waiting("consent_asked", request)
        return self._consent(*rows[0]) if rows else None

    def asked(self, question: str) -> tuple[str, str] | None:
        """The session and the call of an open question."""
        row = self._db.execute(
            "SELECT s.id, e.payload FROM question q JOIN session s ON s.number = q.session"
            " JOIN entry e ON e.id = q.session << 32 | q.seq WHERE q.id = ? AND e.kind = 'question_asked'",
            (question,),
        ).fetchone()
        return (row[0], json.loads(row[1])["call_id"]) if row else None

    def find(self, text: str, limit: int = 100) -> list[Hit]:
        """The newest entries that hold all the words."""
        return find(self._db, text, limit)

    def unsearched(self) -> int:
        """How many facts cannot be found by their words yet: they were imported a moment ago."""
        return int(self._db.execute("SELECT coalesce(sum(last - first + 1), 0) FROM unsearched").fetchone()[0])

    def _waiting(self, kind: str, name: str = "") -> list[tuple[str, int, str]]:
        """What waits for a person, of one kind: the session, when it was asked, and what."""
        return self._db.execute(
            "SELECT s.id, e.at, e.payload FROM question q JOIN session s ON s.number = q.session"
            " JOIN entry e ON e.id = q.session << 32 | q.seq WHERE e.kind = ? AND (? = '' OR q.id = ?)"
            " ORDER BY e.at, e.id",
            (kind, name, name),
        ).fetchall()

    def _consent(self, session: str, asked: int, payload: str) -> OpenConsent:
        plain = json.loads(payload)
        request = plain["request"]
        lists = {name: tuple(request.get(name, ())) for name in ("taint", "patterns")}
        arguments = plain.get("arguments", {})
        whole = self.blob(arguments["blob"]).decode("utf-8", "replace") if arguments.get("blob") else ""
        options = tuple(ConsentOption(**one) for one in request.get("options", ()))
        made = ConsentRequest(**{**request, **lists, "options": options})
        return OpenConsent(session, made, whole or arguments.get("head", ""), asked)

    def _number(self, session: str) -> int:
        if session not in self._numbers:
            row = self._db.execute("SELECT number FROM session WHERE id = ?", (session,)).fetchone()
            if row is None:
                return 0
            self._numbers[session] = row[0]
        return self._numbers[session]


def _question(plain: dict[str, Any], asked: int) -> Question:
    parts = tuple(Part(**{**part, "options": _options(part)}) for part in plain.get("parts", ()))
    return Question(**{**plain, "options": _options(plain), "parts": parts, "asked": asked})


def _options(plain: dict[str, Any]) -> tuple[Option, ...]:
    return tuple(Option(**option) for option in plain.get("options", ()))
