"""Rows of memories: the current state of each memory, which results from its changes, and the full-text index."""

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from core.domain.memory import (
    Memory,
    MemoryChange,
    MemoryContent,
    MemoryKind,
    MemoryScope,
    MemoryStatus,
    MemoryUsage,
    fold,
)

COLUMNS = (
    "m.id, m.kind, m.text, m.context, m.fields, m.confidence, m.author, m.session, m.seq,"
    " m.created_at, m.updated_at, m.version,"
    " m.evidence, m.pinned, m.status, m.conflicts, m.recall_count, m.use_count, m.good_runs,"
    " m.bad_runs, m.last_recalled,"
    " p.scope, p.scope_id"
)
COLUMN_NAMES = tuple(column.strip().partition(".")[2] for column in COLUMNS.split(","))
FROM = "FROM memory m JOIN memory_scope p ON p.number = m.key >> 32"
VERSION = "memory, number, at, action, author, content, session, seq, reason, related_memory, undoes"
_ADD_VERSION = f"INSERT INTO memory_version ({VERSION}) VALUES ({', '.join('?' * 11)})"
_INSERT = f"INSERT INTO memory VALUES ({', '.join('?' * 25)})"
NO_USES = MemoryUsage()
_WRITER = json.JSONEncoder(ensure_ascii=False)  # one encoder for all rows, because creating one is slow
_COUNT = (
    "UPDATE memory_scope SET memory_count = memory_count + ?, word_count = word_count + ?,"
    " context_word_count = context_word_count + ? WHERE number = ?"
)


@dataclass(frozen=True, slots=True)
class IndexTerms:
    """The words by which a memory is found: the terms of its text and of its context, each separated by spaces.

    `fingerprint` is the same for sentences that count as equal.
    """

    words: str
    context: str
    fingerprint: str


class IndexedWords(NamedTuple):
    """The terms under which the memory `key` is indexed, each separated by spaces."""

    key: int
    words: str
    context_words: str


@dataclass(frozen=True, slots=True)
class IndexedScope:
    """A scope (a folder, an agent or a session), and how many memories and terms its part of the index has."""

    number: int
    scope: MemoryScope
    scope_id: str
    memories: int
    words: int
    context_words: int


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """A memory that was added to the context of a run. `used` is 1 if the run used it, else 0."""

    session: str
    run: int
    memory: str
    version: int
    at: int
    score: float
    used: int = 0
    run_rating: str = ""


class MemoryRecords:
    """Reads and writes memories within the caller's transaction. `index` computes the index terms of a memory."""

    def __init__(self, db: sqlite3.Connection, index: Callable[[MemoryContent], IndexTerms]) -> None:
        self._db = db
        self._index = index

    def get(self, name: str) -> Memory | None:
        row = self._db.execute(f"SELECT {COLUMNS} {FROM} WHERE m.id = ?", (name,)).fetchone()
        return _memory(row) if row else None

    def ids_starting_with(self, start: str) -> list[str]:
        """Return at most nine IDs that start with `start`."""
        rows = self._db.execute("SELECT id FROM memory WHERE id >= ? AND id < ? LIMIT 9", (start, start + "\U0010ffff"))
        return [row[0] for row in rows]

    def find(
        self,
        *,
        status: MemoryStatus | None = "active",
        kind: MemoryKind | None = None,
        session: str = "",
        scope: str = "",
        scope_id: str = "",
        limit: int = -1,
    ) -> list[Memory]:
        """Return the memories that match every filter that is set, newest first. A negative `limit` means no limit."""
        filters = {"m.status": status, "m.kind": kind, "m.session": session, "p.scope": scope, "p.scope_id": scope_id}
        active_filters = {name: value for name, value in filters.items() if value}
        conditions = " AND ".join(f"{name} = ?" for name in active_filters) or "1"
        query = f"SELECT {COLUMNS} {FROM} WHERE {conditions} ORDER BY m.created_at DESC, m.key DESC LIMIT ?"
        return [_memory(row) for row in self._db.execute(query, (*active_filters.values(), limit))]

    def always_recalled(self, scope_numbers: Iterable[int]) -> Iterator[Memory]:
        """Yield the active memories that every message recalls: preferences and pinned memories."""
        numbers = ", ".join(str(int(number)) for number in scope_numbers) or "0"
        query = (
            f"SELECT {COLUMNS} {FROM} WHERE (m.kind = 'preference' OR m.pinned = 1) AND m.status = 'active'"
            f" AND m.key >> 32 IN ({numbers}) ORDER BY m.pinned DESC, m.author = 'user' DESC, m.created_at DESC"
        )
        return map(_memory, self._db.execute(query))

    def by_keys(self, keys: Sequence[int]) -> list[Memory]:
        """Return the memories with these keys, in the same order. Missing ones are left out."""
        marks = ", ".join("?" for _ in keys)
        rows = self._db.execute(f"SELECT m.key, {COLUMNS} {FROM} WHERE m.key IN ({marks})", keys)
        by_key = {row[0]: _memory(row[1:]) for row in rows}
        return [by_key[key] for key in keys if key in by_key]

    def find_same(self, scope_number: int, kind: MemoryKind, fingerprint: str) -> str:
        """Return the ID of an active memory in this scope with the same kind and fingerprint, or ""."""
        row = self._db.execute(
            "SELECT id FROM memory WHERE fingerprint = ? AND kind = ? AND key >> 32 = ? AND status = 'active'",
            (fingerprint, kind, scope_number),
        ).fetchone()
        return str(row[0]) if row else ""

    def changes(self, name: str) -> list[MemoryChange]:
        rows = self._db.execute(f"SELECT {VERSION} FROM memory_version WHERE memory = ? ORDER BY number", (name,))
        return [_change(row) for row in rows]

    def scopes(self, scopes: Iterable[tuple[str, str]]) -> list[IndexedScope]:
        """Return the scopes among `scopes` that have any memories."""
        indexed = []
        for scope, scope_id in scopes:
            row = self._db.execute(
                "SELECT number, scope, scope_id, memory_count, word_count, context_word_count FROM memory_scope"
                " WHERE scope = ? AND scope_id = ? AND memory_count > 0",
                (scope, scope_id),
            ).fetchone()
            if row:
                indexed.append(IndexedScope(*row))
        return indexed

    def all_scopes(self) -> list[IndexedScope]:
        rows = self._db.execute(
            "SELECT number, scope, scope_id, memory_count, word_count, context_word_count FROM memory_scope"
        )
        return [IndexedScope(*row) for row in rows]

    def has_any(self) -> bool:
        """Return whether any memory is stored."""
        return self._db.execute("SELECT 1 FROM memory LIMIT 1").fetchone() is not None

    def scope_number(self, scope: MemoryScope, scope_id: str) -> int:
        """Return the number under which a scope is stored. A new scope gets one."""
        row = self._db.execute(
            "SELECT number FROM memory_scope WHERE scope = ? AND scope_id = ?", (scope, scope_id)
        ).fetchone()
        if row:
            return int(row[0])
        inserted = self._db.execute("INSERT INTO memory_scope VALUES (NULL, ?, ?, 0, 0, 0)", (scope, scope_id))
        assert inserted.lastrowid is not None
        return inserted.lastrowid

    def write(self, change: MemoryChange) -> Memory | None:
        """Store a change, which must have the next number, and update the memory's row.

        Return the memory, or None if the change has removed it.
        """
        before = self.changes(change.memory)
        self._db.execute(_ADD_VERSION, _values(change))
        return self.rewrite(change.memory, [*before, change])

    def rewrite(self, name: str, changes: Sequence[MemoryChange]) -> Memory | None:
        """Write the row that results from all changes of a memory.

        It keeps its key unless the memory moved to another scope.
        """
        memory = fold(changes)
        if memory is None:
            self._remove(name)
            return None
        indexed = self._index(memory.content)
        key = self._remove(name, indexed if memory.status == "active" else None)
        scope_number = self.scope_number(memory.content.scope, memory.content.scope_id)
        if key >> 32 != scope_number:
            self._delete_embedding(key)
            key = self._next_key(scope_number)
        self._insert_row(key, memory, indexed)
        return memory

    def set_context(self, memory: Memory, context: str) -> None:
        """Replace the context in the last change of a memory.

        This makes no new version, as the context comes from messages.
        """
        *earlier, last = self.changes(memory.id)
        completed = replace(last, content=replace(memory.content, context=context))
        self._db.execute(
            "UPDATE memory_version SET content = ? WHERE memory = ? AND number = ?",
            (_content_json(completed.content), memory.id, last.number),
        )
        self.rewrite(memory.id, [*earlier, completed])

    def add_all(self, changes: Sequence[MemoryChange]) -> int:
        """Insert new memories, each given by its first change. Return how many were inserted."""
        numbers: dict[tuple[MemoryScope, str], int] = {}
        keys: dict[int, int] = {}  # the last key in each scope, by its number
        rows, texts, counts = [], [], []
        for change in changes:
            memory = fold([change])
            assert memory is not None
            scope = (memory.content.scope, memory.content.scope_id)
            if scope not in numbers:
                numbers[scope] = self.scope_number(*scope)
            scope_number = numbers[scope]
            key = keys[scope_number] + 1 if scope_number in keys else self._next_key(scope_number)
            keys[scope_number] = key
            indexed = self._index(memory.content)
            rows.append(_row(key, memory, indexed, NO_USES))
            texts.append((key, indexed.words, indexed.context))
            counts.append((1, _word_count(indexed.words), _word_count(indexed.context), scope_number))
        self._db.executemany(_INSERT, rows)
        self._db.executemany("INSERT INTO memory_search (rowid, words, context) VALUES (?, ?, ?)", texts)
        self._db.executemany(_COUNT, counts)
        self._db.executemany(_ADD_VERSION, map(_values, changes))
        return len(rows)

    def rebuild_missing(self) -> int:
        """Rebuild the missing rows of memories from their changes, for example after a salvage.

        Return how many were missing.
        """
        missing = self._db.execute(
            "SELECT DISTINCT memory FROM memory_version WHERE memory NOT IN (SELECT id FROM memory)"
        )
        rebuilt = [self.rewrite(name, self.changes(name)) for (name,) in missing.fetchall()]
        return sum(memory is not None for memory in rebuilt)

    def erase(self, name: str) -> None:
        """Permanently delete a memory with its changes, uses and embedding."""
        self._remove(name)
        self._db.execute("DELETE FROM memory_version WHERE memory = ?", (name,))
        self._db.execute("DELETE FROM memory_use WHERE memory = ?", (name,))

    def _next_key(self, scope_number: int) -> int:
        row = self._db.execute(
            "SELECT max(key) FROM memory WHERE key BETWEEN ? AND ?", (scope_number << 32, (scope_number + 1 << 32) - 1)
        ).fetchone()
        return (row[0] or scope_number << 32) + 1

    def _remove(self, name: str, new_terms: IndexTerms | None = None) -> int:
        """Remove a memory from its table and the index. Return its key, or 0 if there was no row.

        A contentless FTS5 index can only delete an entry given the exact text that was indexed. If `new_terms`, which
        are indexed next, equal the old terms, the embedding is kept.
        """
        query = "SELECT key, status, words, context_words, fingerprint FROM memory WHERE id = ?"
        row = self._db.execute(query, (name,)).fetchone()
        if row is None:
            return 0
        key, status, words, context, _ = row
        if new_terms != IndexTerms(*row[2:]):
            self._delete_embedding(key)
        if status == "active":
            self._db.execute(
                "INSERT INTO memory_search (memory_search, rowid, words, context) VALUES ('delete', ?, ?, ?)",
                (key, words, context),
            )
            self._resize_scope(key >> 32, -1, words, context)
        self._db.execute("DELETE FROM memory WHERE key = ?", (key,))
        return int(key)

    def _delete_embedding(self, key: int) -> None:
        self._db.execute("DELETE FROM memory_embedding WHERE key = ?", (key,))

    def _insert_row(self, key: int, memory: Memory, indexed: IndexTerms) -> None:
        self._db.execute(_INSERT, _row(key, memory, indexed, self._usage(memory.id)))
        if memory.status == "active":
            self._db.execute(
                "INSERT INTO memory_search (rowid, words, context) VALUES (?, ?, ?)",
                (key, indexed.words, indexed.context),
            )
            self._resize_scope(key >> 32, 1, indexed.words, indexed.context)

    def _resize_scope(self, scope_number: int, sign: int, terms: str, context_terms: str) -> None:
        self._db.execute(_COUNT, (sign, sign * _word_count(terms), sign * _word_count(context_terms), scope_number))

    def _usage(self, name: str) -> MemoryUsage:
        """Return how often a memory was used. The rating of a run counts only if the run used the memory."""
        row = self._db.execute(
            "SELECT count(*), total(used), total(used AND run_rating = 'good'), total(used AND run_rating = 'bad'),"
            " coalesce(max(at), 0) FROM memory_use WHERE memory = ?",
            (name,),
        ).fetchone()
        return MemoryUsage(*map(int, row))

    def record_uses(self, uses: Iterable[MemoryUse]) -> None:
        """Record that a run received memories, and whether it used them.

        If that is recorded again, the new rating replaces the old one.
        """
        for use in uses:
            self._db.execute(
                "INSERT INTO memory_use VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (session, run, memory) DO UPDATE"
                " SET used = max(used, excluded.used), run_rating = excluded.run_rating",
                (use.session, use.run, use.memory, use.version, use.at, use.score, use.used, use.run_rating),
            )
            self._update_totals(use.memory)

    def rate_run(self, session: str, run: int, rating: str) -> int:
        """Store the user's rating of a run with every memory that it received. Return the number of these memories."""
        self._db.execute("UPDATE memory_use SET run_rating = ? WHERE session = ? AND run = ?", (rating, session, run))
        received = self.uses(session, run)
        for use in received:
            self._update_totals(use.memory)
        return len(received)

    def uses(self, session: str = "", run: int = 0, memory: str = "") -> list[MemoryUse]:
        """Return the uses of memories in a run, or the uses of one memory, newest first."""
        condition, values = ("memory = ?", (memory,)) if memory else ("session = ? AND run = ?", (session, run))
        rows = self._db.execute(
            f"SELECT session, run, memory, version, at, score, used, run_rating FROM memory_use WHERE {condition}"
            " ORDER BY at DESC",
            values,
        )
        return [MemoryUse(*row) for row in rows]

    def _update_totals(self, name: str) -> None:
        self._db.execute(
            "UPDATE memory SET recall_count = ?, use_count = ?, good_runs = ?, bad_runs = ?,"
            " last_recalled = ? WHERE id = ?",
            (*_usage_values(self._usage(name)), name),
        )

    def postings(self, term: str, scope_number: int, limit: int) -> list[int]:
        """Return the keys of the newest memories in a scope whose text or context contains a term, at most `limit`."""
        rows = self._db.execute(
            "SELECT rowid FROM memory_search WHERE memory_search MATCH ? AND rowid BETWEEN ? AND ?"
            " ORDER BY rowid DESC LIMIT ?",
            (f'"{term}"', scope_number << 32, (scope_number + 1 << 32) - 1, limit),
        )
        return [row[0] for row in rows]

    def containing_all(self, terms: Sequence[str], scope_number: int, limit: int) -> list[int]:
        """Return the keys of the newest memories in a scope that contain all terms, at most `limit`."""
        return self.postings('" AND "'.join(terms), scope_number, limit)

    def index_terms(self, keys: Sequence[int]) -> list[IndexedWords]:
        """Return the indexed terms of these memories, in no particular order."""
        marks = ", ".join("?" for _ in keys)
        rows = self._db.execute(f"SELECT key, words, context_words FROM memory WHERE key IN ({marks})", keys)
        return [IndexedWords(*row) for row in rows]


def _word_count(terms: str) -> int:
    return terms.count(" ") + 1 if terms else 0


def _usage_values(usage: MemoryUsage) -> tuple[int, ...]:
    return usage.recall_count, usage.use_count, usage.good_runs, usage.bad_runs, usage.last_recalled


def _row(key: int, memory: Memory, indexed: IndexTerms, usage: MemoryUsage) -> tuple[Any, ...]:
    content = memory.content
    return (
        key,
        memory.id,
        content.kind,
        content.text,
        content.context,
        _json(dict(content.fields)),
        content.confidence,
        memory.author,
        memory.session,
        memory.seq,
        memory.created_at,
        memory.updated_at,
        memory.version,
        memory.evidence,
        int(memory.pinned),
        memory.status,
        _json(memory.conflicts),
        indexed.words,
        indexed.context,
        indexed.fingerprint,
        *_usage_values(usage),
    )


def _json(value: Any) -> str:
    return _WRITER.encode(value) if value else ""


def _memory(row: Sequence[Any]) -> Memory:
    """Return the memory in a row with COLUMNS."""
    columns = dict(zip(COLUMN_NAMES, row, strict=True))
    content = MemoryContent(
        kind=columns["kind"],
        text=columns["text"],
        scope=columns["scope"],
        scope_id=columns["scope_id"],
        context=columns["context"],
        confidence=columns["confidence"],
        fields=json.loads(columns["fields"] or "{}"),
    )
    usage = MemoryUsage(
        recall_count=columns["recall_count"],
        use_count=columns["use_count"],
        good_runs=columns["good_runs"],
        bad_runs=columns["bad_runs"],
        last_recalled=columns["last_recalled"],
    )
    return Memory(
        id=columns["id"],
        content=content,
        author=columns["author"],
        created_at=columns["created_at"],
        updated_at=columns["updated_at"],
        version=columns["version"],
        session=columns["session"],
        seq=columns["seq"],
        evidence=columns["evidence"],
        pinned=bool(columns["pinned"]),
        status=columns["status"],
        conflicts=tuple(json.loads(columns["conflicts"] or "[]")),
        usage=usage,
    )


def _content_json(content: MemoryContent | None) -> str:
    if content is None:
        return ""
    values = [
        content.kind,
        content.text,
        content.scope,
        content.scope_id,
        content.context,
        content.confidence,
        dict(content.fields),
    ]
    return _WRITER.encode(values)


def _values(change: MemoryChange) -> tuple[Any, ...]:
    return (
        change.memory,
        change.number,
        change.at,
        change.action,
        change.author,
        _content_json(change.content),
        change.session,
        change.seq,
        change.reason,
        change.related_memory,
        change.undoes,
    )


def _change(row: tuple[Any, ...]) -> MemoryChange:
    memory, number, at, action, author, content, session, seq, reason, related_memory, undoes = row
    return MemoryChange(
        memory=memory,
        number=number,
        at=at,
        action=action,
        author=author,
        content=MemoryContent(*json.loads(content)) if content else None,
        session=session,
        seq=seq,
        reason=reason,
        related_memory=related_memory,
        undoes=undoes,
    )
