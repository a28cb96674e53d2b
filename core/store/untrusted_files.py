"""Keeps a list of the files that runs wrote after reading untrusted content, until the user has reviewed them.

A row is written in the transaction of the event that reports the change, so that a crash cannot separate the two.
"""

import json
import os
import posixpath
import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from core.domain.events import (
    BackgroundCommandEnded,
    FileChanged,
    RunInterrupted,
    RunStarted,
    SessionEvent,
    ToolReturned,
    UntrustedContentRead,
)
from core.domain.untrusted_file import UntrustedFile, root_sources
from core.store.row_keys import key_range

if TYPE_CHECKING:  # the window only reads untrusted files, so it does not need this import
    from core.store.write_state import WriteState

MAX_ROWS = 5_000  # rows for the folder of a session; if there are more, one row stands for a whole subfolder
MAX_HASHES = 20_000  # rows that only recognize copies; the oldest beyond this number are deleted
# Prefixes of the path in a row that only recognizes copies by their contents. No file has such a path.
MERGED = "in:"  # another row represents the folder of the file
EARLIER = "old:"  # the contents are an earlier version, which the user has not seen, of a reviewed file
MIN_COPY_BYTES = 32  # smaller contents occur too often to be recognized as a copy
MAX_AGE = 30 * 24 * 60 * 60 * 1_000_000  # microseconds after which a missing file is removed from the list
COLUMNS = "path, hash, earlier, sources, session, created_at"


class FileContent(NamedTuple):
    """A file to compare with the untrusted ones: its absolute path, and the hash and size of its contents.

    The hash is empty if it is unknown.
    """

    path: str
    digest: str = ""
    size: int = 0


def note_untrusted_files(db: sqlite3.Connection, state: "WriteState", events: Iterable[SessionEvent], at: int) -> None:
    """Add the files that the events of a session report as changed, if the session has read untrusted content.

    A copy of an untrusted file is added in any session. Called in the transaction that appends the events.
    """
    inserted = 0
    for event in events:
        match event:
            case RunStarted(untrusted_sources=inherited) if state.untrusted is not None:
                state.untrusted.update(dict.fromkeys(inherited))
            case UntrustedContentRead(source=source) if state.untrusted is not None:
                state.untrusted[source] = None
            case FileChanged(after=after) if after:
                inserted += _note_change(db, state, event, at)
            case RunInterrupted(call_ids=calls) if calls and (sources := _sources(db, state)):
                folder = f"{os.path.realpath(state.row.folder)}/"  # it is unknown what the interrupted calls changed
                _insert(db, UntrustedFile(folder, "", "", sources, state.row.id, at))
                inserted += 1
            case (
                ToolReturned(unrestorable=names, changed_history=repositories)
                | BackgroundCommandEnded(unrestorable=names, changed_history=repositories)
            ) if (names or repositories) and (sources := _sources(db, state)):
                paths = [_unrecorded(state.row.folder, name) for name in names]
                paths += [f"{absolute_path(state.row.folder, name)}/" for name in repositories]
                for path in paths:
                    _insert(db, UntrustedFile(path, "", "", sources, state.row.id, at))
                inserted += len(paths)
            case _:
                continue
    if inserted:
        _limit_rows(db, os.path.realpath(state.row.folder))


def _note_change(db: sqlite3.Connection, state: "WriteState", event: FileChanged, at: int) -> bool:
    """Add a changed file if it counts as untrusted. Return whether it does."""
    path = absolute_path(state.row.folder, event.path)
    sources = _sources(db, state)
    if not sources:
        size = db.execute("SELECT size FROM blob WHERE hash = ?", (event.after,)).fetchone()
        copies = _copies(db, event.after) if size and size[0] >= MIN_COPY_BYTES else []
        if not copies or any(copy.path == path for copy in copies):
            return False
        sources = copies[0].sources
    row = db.execute("SELECT earlier FROM untrusted_file WHERE path = ? LIMIT 1", (path,)).fetchone()
    earlier = row[0] if row else event.before
    _insert(db, UntrustedFile(path, event.after, earlier, sources, state.row.id, at))
    return True


def _sources(db: sqlite3.Connection, state: "WriteState") -> tuple[str, ...]:
    """Return the untrusted sources of a session. They are read from its events once, then kept in `state`."""
    if state.untrusted is None:
        state.untrusted = read_untrusted_sources(db, state.number)
    return root_sources(state.untrusted)


def read_untrusted_sources(db: sqlite3.Connection, number: int) -> dict[str, None]:
    """Return the untrusted sources that a session has read or inherited with its tasks, in order, as keys."""
    found: dict[str, None] = {}
    events = db.execute(
        "SELECT kind, payload FROM event WHERE id BETWEEN ? AND ?"
        " AND kind IN ('run_started', 'untrusted_content_read') ORDER BY id",
        key_range(number),
    )
    for kind, payload in events:
        fields = json.loads(payload)
        sources = fields.get("untrusted_sources", ()) if kind == "run_started" else (fields["source"],)
        found.update(dict.fromkeys(sources))
    return found


def _insert(db: sqlite3.Connection, file: UntrustedFile) -> None:
    db.execute(
        f"INSERT OR REPLACE INTO untrusted_file ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)",
        (file.path, file.hash, file.earlier, json.dumps(file.sources), file.session, file.created_at),
    )


def _limit_rows(db: sqlite3.Connection, folder: str) -> None:
    """Replace rows of a folder by one for its largest subfolder or the folder, until there are at most MAX_ROWS."""
    while _count_rows(db, folder) > MAX_ROWS:
        rows = [row for row in untrusted_files_in(db, folder) if row.path.startswith(f"{folder}/")]
        counts = Counter(row.path[len(folder) + 1 :].partition("/")[0] + "/" for row in rows)
        subfolder, count = counts.most_common(1)[0]
        covered = f"{folder}/{subfolder}" if count > 1 else f"{folder}/"
        merged = [row for row in rows if row.path.startswith(covered)]
        db.executemany("DELETE FROM untrusted_file WHERE path = ?", [(row.path,) for row in merged])
        for row in merged:
            _keep_hash(db, row, MERGED)
        sources = root_sources(source for row in merged for source in row.sources)
        _insert(db, UntrustedFile(covered, "", "", sources, merged[-1].session, merged[-1].created_at))


def _count_rows(db: sqlite3.Connection, folder: str) -> int:
    """Return how many rows there are for files in a folder and for the folder itself."""
    query = "SELECT count(*) FROM untrusted_file WHERE path >= ? AND path < ?"
    return int(db.execute(query, (f"{folder}/", f"{folder}0")).fetchone()[0])


def _keep_hash(db: sqlite3.Connection, row: UntrustedFile, prefix: str) -> None:
    """Keep the hash of a row that was deleted, so that copies of the file are still recognized."""
    if row.hash:
        _insert(db, replace(row, path=f"{prefix}{row.path}"))


def absolute_path(folder: str, path: str) -> str:
    """Return the absolute path of a file, whose path in an event may be relative to the folder of the session."""
    return posixpath.normpath(posixpath.join(os.path.realpath(folder), path.replace(os.sep, "/")))


def _unrecorded(folder: str, name: str) -> str:
    """Return the path for a file whose changed contents are unknown. If `name` is not exact, it is the whole folder."""
    is_exact = not name.startswith("and ") and name.isprintable() and "\\" not in name
    if not is_exact:
        return f"{absolute_path(folder, '')}/"
    path = absolute_path(folder, name)
    return f"{path}/" if name.endswith("/") else path


def has_untrusted_files(db: sqlite3.Connection) -> bool:
    return db.execute("SELECT 1 FROM untrusted_file LIMIT 1").fetchone() is not None


def untrusted_files_in(db: sqlite3.Connection, folder: str) -> list[UntrustedFile]:
    """Return the untrusted files in a folder by path, preceded by the rows that stand for a folder around them."""
    root = os.path.realpath(folder)
    rows_inside = db.execute(
        f"SELECT {COLUMNS} FROM untrusted_file WHERE path > ? AND path < ? ORDER BY path, created_at DESC, id DESC",
        (f"{root}/", f"{root}0"),
    )
    return [*(row for row in _rows(db, root) if row.path.endswith("/")), *map(_file, rows_inside)]


def read_untrusted_files(path: Path, folder: str) -> list[UntrustedFile]:
    """Return the untrusted files in a folder. Any thread may call this, because it opens its own connection."""
    # Imports the code that checks and migrates the data file, which is slow.
    from core.store.health import open_read_only

    with closing(open_read_only(path)) as db:
        return untrusted_files_in(db, folder)


def match_untrusted_files(db: sqlite3.Connection, files: Sequence[FileContent]) -> dict[str, UntrustedFile]:
    """Return which of the files are untrusted, because of their path or as a copy, each with the row that says so."""
    matches: dict[str, UntrustedFile] = {}
    for file in files:
        rows = [row for row in _rows(db, file.path) if row.covers(file.path, file.digest)]
        if file.digest and file.size >= MIN_COPY_BYTES:
            rows += _copies(db, file.digest)
        if rows:
            matches[file.path] = rows[0]
    return matches


def mark_reviewed(db: sqlite3.Connection, folder: str, reviewed: Mapping[str, str] | None) -> int:
    """Remove files from the list, because the user has reviewed them. Return how many were removed.

    `reviewed` maps paths to the hash of the contents that the user saw, or to "" if that is unknown. None means all
    files in the folder. A file that has changed since stays in the list. Copies of a reviewed file are reviewed too.
    Its earlier versions are not: git may bring them back.
    """
    reviewed_hashes = None
    if reviewed is not None:
        reviewed_hashes = {absolute_path(folder, path): digest for path, digest in reviewed.items()}
    files: dict[str, list[UntrustedFile]] = {}
    for row in untrusted_files_in(db, folder):
        files.setdefault(row.path, []).append(row)
    count = 0
    for path, rows in files.items():
        newest = rows[0]
        if reviewed_hashes is not None:
            if path.rstrip("/") not in reviewed_hashes:
                continue
            reviewed_hash = reviewed_hashes.get(path)
            if reviewed_hash and newest.hash and reviewed_hash != newest.hash:
                continue
        db.execute("DELETE FROM untrusted_file WHERE path = ?", (path,))
        if path.endswith("/"):
            merged = f"{MERGED}{path}"
            db.execute("DELETE FROM untrusted_file WHERE path > ? AND path < ?", (merged, f"{merged[:-1]}0"))
        if newest.hash:
            db.execute("DELETE FROM untrusted_file WHERE hash = ?", (newest.hash,))
        for row in rows[1:]:
            _keep_hash(db, row, EARLIER)
        count += 1
    return count


def find_missing_files(path: Path, at: int) -> list[str]:
    """Return the untrusted files that do not exist and were written longer ago than MAX_AGE.

    Newer ones stay in the list, because git may bring them back. Call this in a thread and outside of transactions,
    because a network folder may not respond.
    """
    from core.store.health import open_read_only

    with closing(open_read_only(path)) as db:
        old_paths = db.execute("SELECT DISTINCT path FROM untrusted_file WHERE created_at < ?", (at - MAX_AGE,))
        names = [name for (name,) in old_paths]
    return [name for name in names if not os.path.lexists(name)]


def forget_files(db: sqlite3.Connection, missing: Sequence[str], at: int) -> None:
    """Delete rows of missing files that are older than MAX_AGE, and the oldest rows for copies beyond MAX_HASHES."""
    rows = [(path, at - MAX_AGE) for path in missing]
    db.executemany("DELETE FROM untrusted_file WHERE path = ? AND created_at < ?", rows)
    db.execute(
        "DELETE FROM untrusted_file WHERE id IN (SELECT id FROM untrusted_file"
        " WHERE path LIKE 'in:%' OR path LIKE 'old:%' ORDER BY created_at DESC LIMIT -1 OFFSET ?)",
        (MAX_HASHES,),
    )


def _rows(db: sqlite3.Connection, path: str) -> list[UntrustedFile]:
    """Return the rows for a path and for the folders that contain it, newest first."""
    names = (path, *_folders(path))
    query = f"SELECT {COLUMNS} FROM untrusted_file WHERE path IN ({', '.join('?' * len(names))})"
    return [_file(row) for row in db.execute(f"{query} ORDER BY created_at DESC, id DESC", names)]


def _folders(path: str) -> list[str]:
    parts = path.rstrip("/").split("/")
    return ["/".join(parts[:count]) + "/" for count in range(1, len(parts) + 1)]


def _copies(db: sqlite3.Connection, digest: str) -> list[UntrustedFile]:
    return [_file(row) for row in db.execute(f"SELECT {COLUMNS} FROM untrusted_file WHERE hash = ?", (digest,))]


def _file(row: tuple[str, str, str, str, str, int]) -> UntrustedFile:
    path, digest, earlier, sources, session, created_at = row
    return UntrustedFile(
        path=path,
        hash=digest,
        earlier=earlier,
        sources=tuple(json.loads(sources)),
        session=session,
        created_at=created_at,
    )
