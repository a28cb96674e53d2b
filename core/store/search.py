"""Full-text search over messages, questions, tool calls and their results."""

import json
import re
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from core.domain.events import (
    BackgroundCommandEnded,
    CallRefused,
    ContextCompacted,
    FileChanged,
    HarnessMessage,
    QueueChanged,
    Replied,
    ReplyInterrupted,
    RunEnded,
    RunRated,
    SessionCreated,
    SessionEvent,
    ToolReturned,
    UserMessage,
)
from core.domain.question import QuestionAnswered, QuestionAsked, answer_text
from core.domain.recall_events import MemoriesRecalled
from core.domain.rewind_events import FilesRewound
from core.domain.session_metadata import SessionRenamed
from core.store.row_keys import key_range, offset_of, session_of

MAX_INDEXED = 262_144  # characters of each text that are indexed
CONTEXT_BEFORE = 40  # characters of context shown before a match


@dataclass(frozen=True, slots=True)
class SearchHit:
    """An event that contains the search words, with an excerpt."""

    session: str
    title: str
    seq: int
    kind: str
    at: int
    text: str = ""


def searchable_texts(event: SessionEvent) -> Iterator[str]:
    """Yield the texts of an event that the user may search for. Long texts must have been loaded from their blobs."""
    match event:
        case SessionCreated(folder=folder, title=title):
            yield from (folder, title)
        case UserMessage(text=text) | QueueChanged(action="edited", text=text) | ReplyInterrupted(text=text):
            yield text.head
        case Replied(text=text, reasoning=reasoning, calls=calls):
            yield from (text.head, reasoning.head)
            yield from (call.arguments.head for call in calls)
        case CallRefused(reason=reason):
            yield reason.head
        case FileChanged(path=path):
            yield path
        case ToolReturned(output=output) | BackgroundCommandEnded(output=output):
            yield output.head
        case QuestionAsked(question=question):
            yield from (question.text, question.reason)
            for part in question.all_questions():
                yield from (part.text, *(option.label for option in part.options))
        case QuestionAnswered(answer=answer):
            yield answer_text(answer)
        case HarnessMessage(text=text):
            yield text.head
        case ContextCompacted(summary=summary):
            yield summary.head
        case RunEnded(reason=reason, summary=summary):
            yield from (reason, summary.head)
        case FilesRewound(files=files):
            yield from (file.path for file in files)
        case SessionRenamed(title=title):
            yield title
        case MemoriesRecalled(text=text):
            yield text.head
        case RunRated(note=note, tags=tags):
            yield from (note.head, *tags)
        case _:
            pass


def index_event(db: sqlite3.Connection, key: int, event: SessionEvent) -> int:
    """Add an event to the full-text index and return the number of characters indexed."""
    if text := _indexed_text(event):
        db.execute("INSERT INTO event_search (rowid, words) VALUES (?, ?)", (key, text))
    return len(text)


def unindex_event(db: sqlite3.Connection, key: int, event: SessionEvent) -> None:
    """Remove an event from the index. A contentless FTS5 index needs the exact text that was indexed."""
    if text := _indexed_text(event):
        db.execute("INSERT INTO event_search (event_search, rowid, words) VALUES ('delete', ?, ?)", (key, text))


def _indexed_text(event: SessionEvent) -> str:
    return "\n".join(part[:MAX_INDEXED] for part in searchable_texts(event) if part)


def fts_query(text: str) -> str:
    """Convert user input to an FTS5 query: every word must occur, and the last one matches as a prefix."""
    words = re.findall(r"\w+", text)
    return " ".join(f'"{word}"' for word in words) + "*" if words else ""


def search_events(db: sqlite3.Connection, text: str, limit: int = 100) -> list[SearchHit]:
    """Return the newest events that contain every word of `text`, newest first."""
    query = fts_query(text)
    if not query:
        return []
    keys = db.execute(
        "SELECT rowid FROM event_search WHERE event_search MATCH ? ORDER BY rowid DESC LIMIT ?", (query, limit)
    )
    hits: list[SearchHit] = []
    for (key,) in keys.fetchall():
        row = db.execute(
            "SELECT s.id, s.title, e.kind, e.at, e.payload FROM event e JOIN session s ON s.number = ? WHERE e.id = ?",
            (session_of(key), key),
        ).fetchone()
        if row:
            hits.append(SearchHit(row[0], row[1], offset_of(key), row[2], row[3], _excerpt(row[4], text)))
    return hits


def search_session(db: sqlite3.Connection, session: int, text: str, limit: int) -> list[int]:
    """Return the sequence numbers, ascending, of the session's events that contain every word of `text`."""
    query = fts_query(text)
    if not query:
        return []
    rows = db.execute(
        "SELECT rowid FROM event_search WHERE event_search MATCH ? AND rowid BETWEEN ? AND ? ORDER BY rowid LIMIT ?",
        (query, *key_range(session), limit),
    )
    return [offset_of(row[0]) for row in rows]


def _excerpt(payload: str, text: str) -> str:
    """Return an excerpt around the first match, or the start of the text if the match is in a blob."""
    content = " ".join(" ".join(_strings(json.loads(payload))).split())
    words = re.findall(r"\w+", text.casefold())
    positions = [position for position in (content.casefold().find(word) for word in words) if position >= 0]
    start = max(0, min(positions, default=0) - CONTEXT_BEFORE)
    return ("…" if start else "") + content[start : start + 3 * CONTEXT_BEFORE]


def _strings(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case list():
            for item in value:
                yield from _strings(item)
        case dict():
            for name, item in value.items():
                if name not in {"blob", "id", "call_id", "question_id", "session_id", "before", "after"}:
                    yield from _strings(item)
        case _:
            pass
