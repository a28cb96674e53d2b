"""Full-text search over everything that was said, asked, called and returned."""

import re
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass

from core.domain.events import (
    CallRefused,
    FileChanged,
    PersonSpoke,
    QuestionAnswered,
    QuestionAsked,
    Replied,
    ReplyCut,
    RunEnded,
    RunEvent,
    SessionOpened,
    ToolReturned,
)
from core.domain.question import spoken
from core.store.keys import place, session_of

CAP = 262_144  # characters of one text that are indexed


@dataclass(frozen=True, slots=True)
class Hit:
    """A place where the words were found."""

    session: str
    title: str
    seq: int
    kind: str
    at: int


def words(event: RunEvent) -> Iterator[str]:
    """What a person may search for, whole."""
    match event:
        case SessionOpened(workspace=workspace, title=title):
            yield from (workspace, title)
        case PersonSpoke(text=text) | ReplyCut(text=text):
            yield text.head
        case Replied(text=text, reasoning=reasoning, calls=calls):
            yield from (text.head, reasoning.head)
            yield from (call.arguments.head for call in calls)
        case CallRefused(reason=reason):
            yield reason.head
        case FileChanged(path=path):
            yield path
        case ToolReturned(output=output):
            yield output.head
        case QuestionAsked(question=question):
            yield from (question.text, question.why, *(option.label for option in question.options))
        case QuestionAnswered(answer=answer):
            yield spoken(answer)
        case RunEnded(reason=reason):
            yield reason
        case _:
            pass


def index(db: sqlite3.Connection, key: int, event: RunEvent) -> None:
    """Make an event findable."""
    text = "\n".join(part[:CAP] for part in words(event) if part)
    if text:
        db.execute("INSERT INTO search (rowid, words) VALUES (?, ?)", (key, text))


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
            "SELECT s.id, s.title, e.kind, e.at FROM entry e JOIN session s ON s.number = ? WHERE e.id = ?",
            (session_of(key), key),
        ).fetchone()
        if row:
            hits.append(Hit(row[0], row[1], place(key), row[2], row[3]))
    return hits
