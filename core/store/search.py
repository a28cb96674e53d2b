"""Full-text search over everything that was said, asked, called and returned."""

import json
import re
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from core.domain.events import (
    CallRefused,
    CommandEnded,
    ContextCompacted,
    FileChanged,
    Nudged,
    PersonSpoke,
    QueueChanged,
    Replied,
    ReplyCut,
    RunEnded,
    RunEvent,
    SessionOpened,
    ToolReturned,
    VerdictGiven,
)
from core.domain.filing import SessionRenamed
from core.domain.question import QuestionAnswered, QuestionAsked, spoken
from core.domain.recalled import MemoryRecalled
from core.domain.rewinding import FilesRewound
from core.store.keys import place, session_of, span

CAP = 262_144  # characters of one text that are indexed
AROUND = 40  # characters shown before a match


@dataclass(frozen=True, slots=True)
class Hit:
    """A place where the words were found."""

    session: str
    title: str
    seq: int
    kind: str
    at: int
    text: str = ""


def words(event: RunEvent) -> Iterator[str]:
    """What a person may search for, whole."""
    match event:
        case SessionOpened(workspace=workspace, title=title):
            yield from (workspace, title)
        case PersonSpoke(text=text) | QueueChanged(did="edited", text=text) | ReplyCut(text=text):
            yield text.head
        case Replied(text=text, reasoning=reasoning, calls=calls):
            yield from (text.head, reasoning.head)
            yield from (call.arguments.head for call in calls)
        case CallRefused(reason=reason):
            yield reason.head
        case FileChanged(path=path):
            yield path
        case ToolReturned(output=output) | CommandEnded(output=output):
            yield output.head
        case QuestionAsked(question=question):
            yield from (question.text, question.why)
            for part in question.forms():
                yield from (part.text, *(option.label for option in part.options))
        case QuestionAnswered(answer=answer):
            yield spoken(answer)
        case Nudged(text=text):
            yield text.head
        case ContextCompacted(summary=summary):
            yield summary.head
        case RunEnded(reason=reason, summary=summary):
            yield from (reason, summary.head)
        case FilesRewound(files=files):
            yield from (file.path for file in files)
        case SessionRenamed(title=title):
            yield title
        case MemoryRecalled(told=told):
            yield told.head
        case VerdictGiven(note=note, tags=tags):
            yield from (note.head, *tags)
        case _:
            pass


def index(db: sqlite3.Connection, key: int, event: RunEvent) -> int:
    """Make an event findable; how many characters there were."""
    if text := _indexed(event):
        db.execute("INSERT INTO search (rowid, words) VALUES (?, ?)", (key, text))
    return len(text)


def unindex(db: sqlite3.Connection, key: int, event: RunEvent) -> None:
    """Take it out again: an index without contents must be told the very words it was given."""
    if text := _indexed(event):
        db.execute("INSERT INTO search (search, rowid, words) VALUES ('delete', ?, ?)", (key, text))


def _indexed(event: RunEvent) -> str:
    return "\n".join(part[:CAP] for part in words(event) if part)


def query(text: str) -> str:
    """What a person typed, as FTS5 reads it: every word must be there, the last may still be growing."""
    found = re.findall(r"\w+", text)
    return " ".join(f'"{word}"' for word in found) + "*" if found else ""


def find(db: sqlite3.Connection, text: str, limit: int = 100) -> list[Hit]:
    """The newest entries that hold all the words."""
    asked = query(text)
    if not asked:
        return []
    keys = db.execute("SELECT rowid FROM search WHERE search MATCH ? ORDER BY rowid DESC LIMIT ?", (asked, limit))
    hits: list[Hit] = []
    for (key,) in keys.fetchall():
        row = db.execute(
            "SELECT s.id, s.title, e.kind, e.at, e.payload FROM entry e JOIN session s ON s.number = ? WHERE e.id = ?",
            (session_of(key), key),
        ).fetchone()
        if row:
            hits.append(Hit(row[0], row[1], place(key), row[2], row[3], _around(row[4], text)))
    return hits


def find_in(db: sqlite3.Connection, session: int, text: str, limit: int) -> list[int]:
    """The lines of one session that hold all the words, in order."""
    asked = query(text)
    if not asked:
        return []
    rows = db.execute(
        "SELECT rowid FROM search WHERE search MATCH ? AND rowid BETWEEN ? AND ? ORDER BY rowid LIMIT ?",
        (asked, *span(session), limit),
    )
    return [place(row[0]) for row in rows]


def _around(payload: str, text: str) -> str:
    """The words around the first match; the start of the text where the match is in a part kept apart."""
    said = " ".join(" ".join(_strings(json.loads(payload))).split())
    asked = re.findall(r"\w+", text.casefold())
    found = [place for place in (said.casefold().find(word) for word in asked) if place >= 0]
    start = max(0, min(found, default=0) - AROUND)
    return ("…" if start else "") + said[start : start + 3 * AROUND]


def _strings(plain: Any) -> Iterator[str]:
    match plain:
        case str():
            yield plain
        case list():
            for item in plain:
                yield from _strings(item)
        case dict():
            for name, item in plain.items():
                if name not in {"blob", "id", "call_id", "question_id", "session_id", "before", "after"}:
                    yield from _strings(item)
        case _:
            pass
