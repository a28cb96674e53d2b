"""Memories as rows of the file: written by their changes, and made again from them."""

import json
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from core.domain.memory import Author, Change, Kind, Memory, Reach, Said, Standing, Uses, fold

COLUMNS = (
    "m.id, m.kind, m.text, m.around, m.parts, m.confidence, m.author, m.session, m.seq, m.made, m.changed, m.version,"
    " m.evidence, m.pinned, m.standing, m.links, m.recalled, m.used, m.good, m.bad, m.last, p.reach, p.place"
)
FROM = "FROM memory m JOIN memory_place p ON p.number = m.key >> 32"
VERSION = "memory, number, at, did, by, said, session, seq, why, other, back"
_ADD_VERSION = f"INSERT INTO memory_version ({VERSION}) VALUES ({', '.join('?' * 11)})"
_INSERT = f"INSERT INTO memory VALUES ({', '.join('?' * 25)})"
_WRITER = json.JSONEncoder(ensure_ascii=False)  # made once: there is one for each of many rows
_COUNT = "UPDATE memory_place SET memories = memories + ?, words = words + ?, around = around + ? WHERE number = ?"


@dataclass(frozen=True, slots=True)
class Indexed:
    """The words of a memory as they are indexed, and what is the same for sentences of the same words."""

    words: str
    around: str
    print: str


@dataclass(frozen=True, slots=True)
class Place:
    """One range of the index: how many memories it holds, with how many words."""

    number: int
    reach: Reach
    place: str
    memories: int
    words: int
    around: int


@dataclass(frozen=True, slots=True)
class Use:
    """A memory that a run was told."""

    session: str
    run: int
    memory: str
    version: int
    at: int
    score: float
    used: int = 0
    went: str = ""


class MemoryRows:
    """On one connection, in whatever transaction it is in. `index` says what is indexed of a memory."""

    def __init__(self, db: sqlite3.Connection, index: Callable[[Said], Indexed]) -> None:
        self._db = db
        self._index = index

    def memory(self, name: str) -> Memory | None:
        row = self._db.execute(f"SELECT {COLUMNS} {FROM} WHERE m.id = ?", (name,)).fetchone()
        return _memory(row) if row else None

    def named(self, start: str) -> list[str]:
        """The ids that begin so."""
        rows = self._db.execute("SELECT id FROM memory WHERE id >= ? AND id < ? LIMIT 9", (start, start + "\U0010ffff"))
        return [row[0] for row in rows]

    def listed(
        self, *, standing: Standing | None = "active", kind: Kind | None = None, session: str = "", reach: str = "",
        place: str = "", limit: int = -1,
    ) -> list[Memory]:  # fmt: skip
        """The newest first."""
        wanted = {"m.standing": standing, "m.kind": kind, "m.session": session, "p.reach": reach, "p.place": place}
        chosen = {name: value for name, value in wanted.items() if value}
        where = " AND ".join(f"{name} = ?" for name in chosen) or "1"
        query = f"SELECT {COLUMNS} {FROM} WHERE {where} ORDER BY m.made DESC, m.key DESC LIMIT ?"
        return [_memory(row) for row in self._db.execute(query, (*chosen.values(), limit))]

    def must(self, places: Iterable[int], limit: int) -> list[Memory]:
        """What is told whatever is asked: preferences, and what a person pinned."""
        numbers = ", ".join(str(int(number)) for number in places) or "0"
        query = (
            f"SELECT {COLUMNS} {FROM} WHERE (m.kind = 'preference' OR m.pinned = 1) AND m.standing = 'active'"
            f" AND m.key >> 32 IN ({numbers}) ORDER BY m.pinned DESC, m.author = 'person' DESC, m.made DESC LIMIT ?"
        )
        return [_memory(row) for row in self._db.execute(query, (limit,))]

    def by_keys(self, keys: Sequence[int]) -> list[Memory]:
        """In the order of the keys."""
        marks = ", ".join("?" for _ in keys)
        rows = self._db.execute(f"SELECT m.key, {COLUMNS} {FROM} WHERE m.key IN ({marks})", keys)
        found = {row[0]: _memory(row[1:]) for row in rows}
        return [found[key] for key in keys if key in found]

    def same(self, place: int, kind: Kind, print: str) -> str:
        """An active memory of the same words; empty where there is none."""
        row = self._db.execute(
            "SELECT id FROM memory WHERE print = ? AND kind = ? AND key >> 32 = ? AND standing = 'active'",
            (print, kind, place),
        ).fetchone()
        return str(row[0]) if row else ""

    def changes(self, name: str) -> list[Change]:
        rows = self._db.execute(f"SELECT {VERSION} FROM memory_version WHERE memory = ? ORDER BY number", (name,))
        return [_change(row) for row in rows]

    def places(self, wanted: Iterable[tuple[str, str]]) -> list[Place]:
        """Those of these reaches and places that hold anything."""
        found = []
        for reach, place in wanted:
            row = self._db.execute(
                "SELECT number, reach, place, memories, words, around FROM memory_place"
                " WHERE reach = ? AND place = ? AND memories > 0",
                (reach, place),
            ).fetchone()
            if row:
                found.append(Place(*row))
        return found

    def every_place(self) -> list[Place]:
        rows = self._db.execute("SELECT number, reach, place, memories, words, around FROM memory_place")
        return [Place(*row) for row in rows]

    def any(self) -> bool:
        """Is there a memory at all?"""
        return self._db.execute("SELECT 1 FROM memory LIMIT 1").fetchone() is not None

    def number(self, reach: Reach, place: str) -> int:
        """Of a place, made where it is new."""
        found = self._db.execute(
            "SELECT number FROM memory_place WHERE reach = ? AND place = ?", (reach, place)
        ).fetchone()
        if found:
            return int(found[0])
        made = self._db.execute("INSERT INTO memory_place VALUES (NULL, ?, ?, 0, 0, 0)", (reach, place))
        assert made.lastrowid is not None
        return made.lastrowid

    def write(self, change: Change) -> Memory | None:
        """Add a change whose number is the next, and make the memory anew; None where nothing of it is left."""
        before = self.changes(change.memory)
        self._db.execute(_ADD_VERSION, _values(change))
        return self.remake(change.memory, [*before, change])

    def remake(self, name: str, changes: Sequence[Change]) -> Memory | None:
        """Write the row that its changes fold to. It keeps its key while it stays in its place."""
        memory = fold(changes)
        if memory is None:
            self._take_out(name)
            return None
        indexed = self._index(memory.said)
        key = self._take_out(name, indexed if memory.standing == "active" else None)
        place = self.number(memory.said.reach, memory.said.place)
        if key >> 32 != place:
            self._unmean(key)
            key = self._next_key(place)
        self._put_in(key, memory, indexed)
        return memory

    def add_all(self, changes: Sequence[Change]) -> int:
        """Many new memories at once, each with its first change; how many."""
        numbers: dict[tuple[Reach, str], int] = {}
        keys: dict[int, int] = {}
        counts: dict[int, list[int]] = {}
        rows, texts = [], []
        for change in changes:
            memory = fold([change])
            assert memory is not None
            where = (memory.said.reach, memory.said.place)
            place = numbers[where] if where in numbers else numbers.setdefault(where, self.number(*where))
            keys[place] = keys[place] + 1 if place in keys else self._next_key(place)
            indexed = self._index(memory.said)
            rows.append(_row(keys[place], memory, indexed, (0, 0, 0, 0, 0)))
            texts.append((keys[place], indexed.words, indexed.around))
            sums = counts.setdefault(place, [0, 0, 0])
            for at, more in enumerate((1, _size(indexed.words), _size(indexed.around))):
                sums[at] += more
        self._db.executemany(_INSERT, rows)
        self._db.executemany("INSERT INTO search_memory (rowid, words, around) VALUES (?, ?, ?)", texts)
        self._db.executemany(_COUNT, [(*sums, place) for place, sums in counts.items()])
        self._db.executemany(_ADD_VERSION, map(_values, changes))
        return len(rows)

    def mend(self) -> int:
        """Make the rows anew that changes tell of and that are not there, as after a salvage; how many."""
        lost = self._db.execute(
            "SELECT DISTINCT memory FROM memory_version WHERE memory NOT IN (SELECT id FROM memory)"
        )
        made = [self.remake(name, self.changes(name)) for (name,) in lost.fetchall()]
        return sum(one is not None for one in made)

    def erase(self, name: str) -> None:
        """For good: its words, its changes and its uses."""
        self._take_out(name)
        self._db.execute("DELETE FROM memory_version WHERE memory = ?", (name,))
        self._db.execute("DELETE FROM memory_use WHERE memory = ?", (name,))

    def _next_key(self, place: int) -> int:
        row = self._db.execute(
            "SELECT max(key) FROM memory WHERE key BETWEEN ? AND ?", (place << 32, (place + 1 << 32) - 1)
        ).fetchone()
        return (row[0] or place << 32) + 1

    def _take_out(self, name: str, after: Indexed | None = None) -> int:
        """Out of the table and the index, which must be told the very words it was given; the key it had.

        What it means stays where `after`, what is indexed next, is the same.
        """
        query = "SELECT key, standing, words, around_words, print FROM memory WHERE id = ?"
        row = self._db.execute(query, (name,)).fetchone()
        if row is None:
            return 0
        key, standing, words, around, _ = row
        if after != Indexed(*row[2:]):
            self._unmean(key)
        if standing == "active":
            self._db.execute(
                "INSERT INTO search_memory (search_memory, rowid, words, around) VALUES ('delete', ?, ?, ?)",
                (key, words, around),
            )
            self._count(key >> 32, -1, words, around)
        self._db.execute("DELETE FROM memory WHERE key = ?", (key,))
        return int(key)

    def _unmean(self, key: int) -> None:
        self._db.execute("DELETE FROM memory_vector WHERE key = ?", (key,))

    def _put_in(self, key: int, memory: Memory, indexed: Indexed) -> None:
        uses = self._uses(memory.id)
        self._db.execute(_INSERT, _row(key, memory, indexed, uses))
        if memory.standing == "active":
            self._db.execute(
                "INSERT INTO search_memory (rowid, words, around) VALUES (?, ?, ?)",
                (key, indexed.words, indexed.around),
            )
            self._count(key >> 32, 1, indexed.words, indexed.around)

    def _count(self, place: int, sign: int, words: str, around: str) -> None:
        self._db.execute(_COUNT, (sign, sign * _size(words), sign * _size(around), place))

    def _uses(self, name: str) -> tuple[int, ...]:
        """Counted anew; a helpful run is one that used it and went well."""
        row = self._db.execute(
            "SELECT count(*), total(used), total(used AND went = 'good'), total(used AND went = 'bad'),"
            " coalesce(max(at), 0) FROM memory_use WHERE memory = ?",
            (name,),
        ).fetchone()
        return tuple(map(int, row))

    def use(self, uses: Iterable[Use]) -> None:
        """Note what a run was told, and whether it used it; a later word replaces the earlier one."""
        for use in uses:
            self._db.execute(
                "INSERT INTO memory_use VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (session, run, memory) DO UPDATE"
                " SET used = max(used, excluded.used), went = excluded.went",
                (use.session, use.run, use.memory, use.version, use.at, use.score, use.used, use.went),
            )
            self._recount(use.memory)

    def judge(self, session: str, run: int, went: str) -> int:
        """How a run went, for all it was told; how many memories that concerns."""
        self._db.execute("UPDATE memory_use SET went = ? WHERE session = ? AND run = ?", (went, session, run))
        told = self.uses(session, run)
        for use in told:
            self._recount(use.memory)
        return len(told)

    def uses(self, session: str = "", run: int = 0, memory: str = "") -> list[Use]:
        """Of a run, or of a memory, the newest first."""
        where, values = ("memory = ?", (memory,)) if memory else ("session = ? AND run = ?", (session, run))
        rows = self._db.execute(
            f"SELECT session, run, memory, version, at, score, used, went FROM memory_use WHERE {where}"
            " ORDER BY at DESC",
            values,
        )
        return [Use(*row) for row in rows]

    def _recount(self, name: str) -> None:
        self._db.execute(
            "UPDATE memory SET recalled = ?, used = ?, good = ?, bad = ?, last = ? WHERE id = ?",
            (*self._uses(name), name),
        )

    def postings(self, term: str, place: int, most: int) -> list[int]:
        """The newest memories of a place in which a word stands, or around which it stands; at most so many."""
        rows = self._db.execute(
            "SELECT rowid FROM search_memory WHERE search_memory MATCH ? AND rowid BETWEEN ? AND ?"
            " ORDER BY rowid DESC LIMIT ?",
            (f'"{term}"', place << 32, (place + 1 << 32) - 1, most),
        )
        return [row[0] for row in rows]

    def all_of(self, terms: Sequence[str], place: int, most: int) -> list[int]:
        """The newest in or around which all the words stand."""
        return self.postings('" AND "'.join(terms), place, most)

    def indexed(self, keys: Sequence[int]) -> list[tuple[int, str, str]]:
        """The key of each, its words, and those around it."""
        marks = ", ".join("?" for _ in keys)
        return self._db.execute(f"SELECT key, words, around_words FROM memory WHERE key IN ({marks})", keys).fetchall()


def _size(words: str) -> int:
    return words.count(" ") + 1 if words else 0


def _row(key: int, memory: Memory, indexed: Indexed, uses: tuple[int, ...]) -> tuple[Any, ...]:
    said = memory.said
    return (
        key, memory.id, said.kind, said.text, said.around, _json(dict(said.parts)), said.confidence, memory.author,
        memory.session, memory.seq, memory.made, memory.changed, memory.version, memory.evidence, int(memory.pinned),
        memory.standing, _json(memory.links), indexed.words, indexed.around, indexed.print, *uses,
    )  # fmt: skip


def _json(value: Any) -> str:
    return _WRITER.encode(value) if value else ""


def _memory(row: tuple[Any, ...]) -> Memory:
    (
        name, kind, text, around, parts, confidence, author, session, seq, made, changed, version, evidence, pinned,
        standing, links, recalled, used, good, bad, last, reach, place,
    ) = row  # fmt: skip
    said = Said(kind, text, reach, place, around, confidence, json.loads(parts) if parts else {})
    uses = Uses(recalled, used, good, bad, last)
    return Memory(
        name, said, author, made, changed, version, session, seq, evidence, bool(pinned), standing,
        tuple(json.loads(links)) if links else (), uses,
    )  # fmt: skip


def _values(change: Change) -> tuple[Any, ...]:
    said = change.said
    plain = "" if said is None else _WRITER.encode(
        [said.kind, said.text, said.reach, said.place, said.around, said.confidence, dict(said.parts)]
    )  # fmt: skip
    return (
        change.memory, change.number, change.at, change.did, change.by, plain, change.session, change.seq, change.why,
        change.other, change.back,
    )  # fmt: skip


def _change(row: tuple[Any, ...]) -> Change:
    memory, number, at, did, by, said, session, seq, why, other, back = row
    author: Author = by
    return Change(
        memory, number, at, did, author, Said(*json.loads(said)) if said else None, session, seq, why, other, back
    )
