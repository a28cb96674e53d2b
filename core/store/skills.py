"""Skills in the data file: what is known of each, its versions, and the calls that used it. Plain rows in and out."""

import json
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from core.domain.problems import Problem
from core.domain.skill import SkillFile, SkillUse, SkillUsed, SkillVersion
from core.store.blobs import deflate, inflate
from core.store.database import Database
from core.store.keys import BITS

VERSION = "number, name, made, by, digest, why, session, files"


class Known(NamedTuple):
    """What is known of a skill. `trusted` is the digest that a person approved; the rest are times, 0 for not."""

    key: str
    name: str
    head: int = 0
    trusted: str = ""
    pinned: int = 0
    disabled: int = 0
    archived: int = 0


class SkillStore:
    """Reads beside the writer; every change is one transaction."""

    def __init__(self, path: Path, database: Database | None, *, frozen: bool = False) -> None:
        self._path = path
        self._database = database
        self._flags = "immutable=1" if frozen else "mode=ro"

    @property
    def can_write(self) -> bool:
        return self._database is not None

    def known(self) -> dict[str, Known]:
        """Every skill that is known, by its key."""
        query = "SELECT key, name, head, trusted, pinned, disabled, archived FROM skill"
        return {row[0]: Known(*row) for row in self._rows(query)}

    def uses(self) -> dict[str, tuple[int, int]]:
        """How often each was used, and when last."""
        query = (
            "SELECT u.key, count(*), max(entry.at) FROM skill_use AS u JOIN entry ON entry.id = u.entry GROUP BY u.key"
        )
        return {key: (count, last) for key, count, last in self._rows(query)}

    def heads(self) -> dict[str, SkillVersion]:
        """The newest version of each, by key."""
        rows = self._rows(
            "SELECT skill.key, v.number, v.name, v.made, v.by, v.digest, v.why, v.session, v.files FROM skill"
            " JOIN skill_version AS v ON v.skill = skill.number AND v.number = skill.head"
        )
        return {row[0]: _version(row[1:]) for row in rows}

    def versions(self, key: str) -> tuple[SkillVersion, ...]:
        """All of them, the newest first."""
        query = (
            f"SELECT {VERSION} FROM skill_version WHERE skill = (SELECT number FROM skill WHERE key = ?)"
            " ORDER BY number DESC"
        )
        return tuple(map(_version, self._rows(query, key)))

    def body(self, digest: str) -> bytes:
        """Contents that a version names."""
        found = self._rows("SELECT body FROM blob WHERE hash = ?", digest)
        if not found:
            raise Problem("A part of this skill is lost.", "Its contents are not in the data file.", "Save it again.")
        return inflate(found[0][0])

    def used_in(self, key: str, limit: int = 200) -> list[SkillUse]:
        """The runs that used it, the newest first, each once."""
        rows = self._rows(
            "SELECT session.id, session.title, entry.run, max(u.version), max(entry.at), session.status,"
            " session.verdict, session.runs FROM skill_use AS u JOIN entry ON entry.id = u.entry"
            f" JOIN session ON session.number = (entry.id >> {BITS}) WHERE u.key = ?"
            " GROUP BY session.id, entry.run ORDER BY max(entry.at) DESC LIMIT ?",
            key,
            limit,
        )
        found = []
        for name, title, run, version, at, status, verdict, runs in rows:
            ended = (status, verdict) if run == runs else (self._ended(name, run), "")
            found.append(SkillUse(name, title, run, version, at, *ended))
        return found

    def _ended(self, session: str, run: int) -> str:
        """How a run ended that is not the last of its session."""
        found = self._rows(
            f"SELECT step.status FROM step JOIN session ON session.number = (step.id >> {BITS})"
            " WHERE session.id = ? AND step.run = ? AND step.kind = 'run' LIMIT 1",
            session,
            run,
        )
        return str(found[0][0]) if found else ""

    async def add(self, key: str, version: SkillVersion, base: int, bodies: Mapping[str, bytes], trust: bool) -> bool:
        """A new version on top of `base`; False where somebody else was first, and nothing was written then."""

        def write(db: sqlite3.Connection) -> bool:
            number, head = _head(db, key, version.name)
            if head != base:
                return False
            for name, body in bodies.items():
                db.execute("INSERT OR IGNORE INTO blob VALUES (?, ?, ?)", (name, len(body), deflate(body)))
            files = json.dumps([asdict(file) for file in version.files])
            db.execute(
                f"INSERT INTO skill_version (skill, {VERSION}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (number, version.number, version.name, version.made, version.by, version.digest, version.why,
                 version.session, files),
            )  # fmt: skip
            db.execute(
                "UPDATE skill SET head = ?, name = ?, trusted = CASE WHEN ? THEN ? ELSE trusted END WHERE number = ?",
                (version.number, version.name, trust, version.digest, number),
            )
            return True

        return await self._writer().do(write)

    async def mark(self, key: str, name: str, **changes: int | str) -> None:
        """Set what is known of a skill: trusted, pinned, disabled, archived."""
        assert changes.keys() <= set(Known._fields[3:])

        def write(db: sqlite3.Connection) -> None:
            number, _ = _head(db, key, name)
            for column, value in changes.items():
                db.execute(f"UPDATE skill SET {column} = ? WHERE number = ?", (value, number))

        await self._writer().do(write)

    async def move(self, key: str, to: str) -> None:
        """Another key for the same skill, with its past. Problem where that one is taken."""

        def write(db: sqlite3.Connection) -> None:
            if db.execute("SELECT 1 FROM skill WHERE key = ?", (to,)).fetchone():
                what = f"There is a skill {to.partition('/')[2]!r} already."
                raise Problem(what, "Two cannot have one name.", "Choose another name; an archived one keeps its own.")
            db.execute("UPDATE skill SET key = ? WHERE key = ?", (to, key))
            db.execute("UPDATE skill_use SET key = ? WHERE key = ?", (to, key))

        await self._writer().do(write)

    def _rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        uri = f"{self._path.absolute().as_uri()}?{self._flags}"
        with closing(sqlite3.connect(uri, uri=True, isolation_level=None)) as db:
            return db.execute(query, values).fetchall()

    def _writer(self) -> Database:
        if self._database is None:
            raise Problem("The data folder cannot be written.", "It was opened to look at.", "")
        return self._database


def track_skill(db: sqlite3.Connection, entry: int, event: object) -> None:
    """Which fact says that which skill was used."""
    if isinstance(event, SkillUsed):
        db.execute("INSERT OR REPLACE INTO skill_use VALUES (?, ?, ?)", (entry, event.key, event.version))


def _head(db: sqlite3.Connection, key: str, name: str) -> tuple[int, int]:
    """The row of a skill and its newest version; made where there is none."""
    found = db.execute("SELECT number, head FROM skill WHERE key = ?", (key,)).fetchone()
    if found is not None:
        return int(found[0]), int(found[1])
    made = db.execute("INSERT INTO skill VALUES (NULL, ?, ?, 0, '', 0, 0, 0)", (key, name))
    assert made.lastrowid is not None
    return made.lastrowid, 0


def _version(row: Iterable[Any]) -> SkillVersion:
    number, name, made, by, digest, why, session, files = row
    kept = tuple(SkillFile(**file) for file in json.loads(files))
    return SkillVersion(number, name, made, by, digest, why, session, kept)
