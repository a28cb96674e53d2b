"""Skills in the data file: the user's settings for each skill, its versions, and the runs that used it."""

import json
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from core.domain.problems import Problem
from core.domain.skill import SkillFile, SkillUse, SkillUsed, SkillVersion
from core.store.blobs import compress, decompress
from core.store.data_file import DataFile
from core.store.database import Database
from core.store.row_keys import BITS

VERSION_COLUMNS = "number, name, created_at, author, digest, reason, session, files"


class SkillRecord(NamedTuple):
    """The stored settings of a skill.

    `trusted_digest` identifies the files that the user trusts. `pinned`, `disabled` and `archived` are the times, in
    microseconds, at which the user set them; 0 if they are not set.
    """

    key: str
    name: str
    latest_version: int = 0
    trusted_digest: str = ""
    pinned: int = 0
    disabled: int = 0
    archived: int = 0


class UseCount(NamedTuple):
    """How often a skill was used, and the time of its last use in microseconds."""

    use_count: int = 0
    last_used: int = 0


class SkillStore:
    """Reads and writes the settings and versions of skills."""

    def __init__(self, path: Path, database: Database | None, *, frozen: bool = False) -> None:
        self._file = DataFile(path, database, frozen=frozen)

    @property
    def can_write(self) -> bool:
        return self._file.can_write

    def records(self) -> dict[str, SkillRecord]:
        """Return the settings of every stored skill by its key."""
        query = "SELECT key, name, latest_version, trusted_digest, pinned, disabled, archived FROM skill"
        return {row[0]: SkillRecord(*row) for row in self._file.rows(query)}

    def uses(self) -> dict[str, UseCount]:
        """Return how often each skill was used, by its key."""
        query = (
            "SELECT u.key, count(*), max(event.at) FROM skill_use AS u JOIN event ON event.id = u.event GROUP BY u.key"
        )
        return {key: UseCount(use_count, last_used) for key, use_count, last_used in self._file.rows(query)}

    def latest_versions(self) -> dict[str, SkillVersion]:
        """Return the latest version of each skill by its key."""
        rows = self._file.rows(
            "SELECT skill.key, v.number, v.name, v.created_at, v.author, v.digest, v.reason,"
            " v.session, v.files FROM skill"
            " JOIN skill_version AS v ON v.skill = skill.number AND v.number = skill.latest_version"
        )
        return {row[0]: _version(row[1:]) for row in rows}

    def versions(self, key: str) -> tuple[SkillVersion, ...]:
        """Return all versions of a skill, newest first."""
        query = (
            f"SELECT {VERSION_COLUMNS} FROM skill_version WHERE skill = (SELECT number FROM skill WHERE key = ?)"
            " ORDER BY number DESC"
        )
        return tuple(map(_version, self._file.rows(query, key)))

    def body(self, digest: str) -> bytes:
        """Return the contents of a file in a version. `digest` is their hash."""
        rows = self._file.rows("SELECT body FROM blob WHERE hash = ?", digest)
        if not rows:
            raise Problem(
                "A file of this skill is missing.", "Its content is not in the data file.", "Save the skill again."
            )
        return decompress(rows[0][0])

    def used_in(self, key: str, limit: int = 200) -> list[SkillUse]:
        """Return the runs that used a skill, most recent use first."""
        self._file.catch_up()
        rows = self._file.rows(
            "SELECT session.id, session.title, event.run, max(u.version), max(event.at), session.status,"
            " coalesce(nullif(session.rating, ''), session.check_rating), session.runs"
            " FROM skill_use AS u JOIN event ON event.id = u.event"
            f" JOIN session ON session.number = (event.id >> {BITS}) WHERE u.key = ?"
            " GROUP BY session.id, event.run ORDER BY max(event.at) DESC LIMIT ?",
            key,
            limit,
        )
        uses = []
        ratings: dict[str, dict[int, str]] = {}
        for name, title, run, version, at, status, rating, runs in rows:
            if run != runs and name not in ratings:
                ratings[name] = self._ratings(name)
            if run != runs:  # the status and the rating of the session are those of its last run
                status, rating = self._status_of_run(name, run), ratings[name].get(run, "")
            uses.append(SkillUse(name, title, run, version, at, status, rating))
        return uses

    def _status_of_run(self, session: str, run: int) -> str:
        """Return the status with which an earlier run of a session ended; "" if the run has no row."""
        rows = self._file.rows(
            f"SELECT step.status FROM step JOIN session ON session.number = (step.id >> {BITS})"
            " WHERE session.id = ? AND step.run = ? AND step.kind = 'run' LIMIT 1",
            session,
            run,
        )
        return str(rows[0][0]) if rows else ""

    def _ratings(self, session: str) -> dict[int, str]:
        """Return the ratings of a session's runs by run number.

        The user's rating takes precedence over the task's own check.
        """
        rows = self._file.rows(
            f"SELECT payload FROM event JOIN session ON session.number = (event.id >> {BITS})"
            " WHERE session.id = ? AND event.kind = 'run_rated' ORDER BY event.id",
            session,
        )
        by_author: dict[str, dict[int, str]] = {"check": {}, "user": {}}
        for (payload,) in rows:
            rated = json.loads(payload)
            by_author[rated.get("by", "user")][rated["run_number"]] = rated["rating"]
        return by_author["check"] | {run: rating for run, rating in by_author["user"].items() if rating}

    async def add(self, key: str, version: SkillVersion, base: int, bodies: Mapping[str, bytes], trust: bool) -> bool:
        """Save a new version that is based on version `base`.

        Return false, with nothing written, if `base` is no longer the latest version.
        """

        def write(db: sqlite3.Connection) -> bool:
            number, latest_version = _number_and_version(db, key, version.name)
            if latest_version != base:
                return False
            for name, body in bodies.items():
                db.execute("INSERT OR IGNORE INTO blob VALUES (?, ?, ?)", (name, len(body), compress(body)))
            files = json.dumps([asdict(file) for file in version.files])
            db.execute(
                f"INSERT INTO skill_version (skill, {VERSION_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    number,
                    version.number,
                    version.name,
                    version.created_at,
                    version.author,
                    version.digest,
                    version.reason,
                    version.session,
                    files,
                ),
            )
            db.execute(
                "UPDATE skill SET latest_version = ?, name = ?, trusted_digest = CASE WHEN ? THEN ? ELSE"
                " trusted_digest END WHERE number = ?",
                (version.number, version.name, trust, version.digest, number),
            )
            return True

        return await self._file.writer.run(write)

    async def set_flags(self, key: str, name: str, **changes: int | str) -> None:
        """Set some settings of a skill: `trusted_digest`, `pinned`, `disabled` or `archived`, as in SkillRecord."""
        assert changes.keys() <= set(SkillRecord._fields[3:])

        def write(db: sqlite3.Connection) -> None:
            number, _ = _number_and_version(db, key, name)
            for column, value in changes.items():
                db.execute(f"UPDATE skill SET {column} = ? WHERE number = ?", (value, number))

        await self._file.writer.run(write)

    async def rename(self, key: str, new_key: str) -> None:
        """Change the key of a skill. Its history is kept. Raise Problem if the new key is taken."""

        def write(db: sqlite3.Connection) -> None:
            if db.execute("SELECT 1 FROM skill WHERE key = ?", (new_key,)).fetchone():
                message = f"A skill named {new_key.partition('/')[2]!r} already exists."
                raise Problem(message, "Names must be unique, also among archived skills.", "Choose another name.")
            db.execute("UPDATE skill SET key = ? WHERE key = ?", (new_key, key))
            db.execute("UPDATE skill_use SET key = ? WHERE key = ?", (new_key, key))

        await self._file.writer.run(write)


def record_skill_use(db: sqlite3.Connection, entry: int, event: object) -> None:
    """Store the use of a skill if the event records one. `entry` is the key of the event."""
    if isinstance(event, SkillUsed):
        db.execute("INSERT OR REPLACE INTO skill_use VALUES (?, ?, ?)", (entry, event.key, event.version))


def _number_and_version(db: sqlite3.Connection, key: str, name: str) -> tuple[int, int]:
    """Return the row number of a skill and its latest version number. A new skill is inserted."""
    row = db.execute("SELECT number, latest_version FROM skill WHERE key = ?", (key,)).fetchone()
    if row is not None:
        return int(row[0]), int(row[1])
    inserted = db.execute("INSERT INTO skill VALUES (NULL, ?, ?, 0, '', 0, 0, 0)", (key, name))
    assert inserted.lastrowid is not None
    return inserted.lastrowid, 0


def _version(row: Iterable[Any]) -> SkillVersion:
    number, name, created_at, author, digest, reason, session, files = row
    skill_files = tuple(SkillFile(**file) for file in json.loads(files))
    return SkillVersion(
        number=number,
        name=name,
        created_at=created_at,
        author=author,
        digest=digest,
        reason=reason,
        session=session,
        files=skill_files,
    )
