"""Full-text search over messages, questions, tool calls and their results."""

import json
import re
import sqlite3
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

from core.domain.events import (
    BackgroundCommandEnded,
    CallRefused,
    ContextCompacted,
    FileChanged,
    HarnessMessage,
    QueueChanged,
    Replied,
    ReplyInterrupted,
    RequestRetried,
    RunEnded,
    RunPaused,
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
from core.store.blobs import read_blob
from core.store.codec import decode_event, load_texts
from core.store.row_keys import key_range, offset_of, row_key, session_of
from core.store.row_sampling import find_row

MAX_INDEXED = 262_144  # of a longer text, only this many characters are indexed
CONTEXT_BEFORE = 12  # characters of context before a match; the sidebar shows about 35 characters in all
MAX_EXCERPT = 160  # the longest excerpt, in characters
VOCABULARY = "temp.search_word"  # a table of the words in the index
MAX_CLAUSES = 1_000  # how many indexed clauses that contain a word of the query are searched for
_CJK_RANGES = "\u3040-\u30ff\u3400-\u9fff"
# Scripts without spaces, in which the index takes a whole clause as one word.
_CJK = re.compile(f"[{_CJK_RANGES}]")
_LETTER = rf"[^\W{_CJK_RANGES}]"  # a letter or digit of a script with spaces


@dataclass(frozen=True, slots=True)
class SearchHit:
    """An event that contains the searched words, with an excerpt in `text`."""

    session: str
    title: str
    seq: int
    kind: str
    at: int
    text: str = ""


def searchable_texts(event: SessionEvent) -> Iterator[str]:
    """Yield the texts of an event that the user may search for. Its long texts must be loaded from their blobs.

    A change of this function needs a migration that rebuilds the index, because an entry can only be removed with
    exactly the text that it was made of.
    """
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
        case RunEnded(reason=reason, summary=summary, error=error):
            yield from (reason, summary.head, str(error or ""))
        case RunPaused(error=error) | RequestRetried(error=error):
            yield str(error or "")
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
    """Add an event to the full-text index. Return the number of characters indexed."""
    text = indexed_text(event)
    index_text(db, key, text)
    return len(text)


def index_text(db: sqlite3.Connection, key: int, text: str) -> None:
    """Add the text of an event to the full-text index, unless it is empty."""
    if text:
        db.execute("INSERT INTO event_search (rowid, words) VALUES (?, ?)", (key, text))


def index_events(db: sqlite3.Connection, events: Iterable[tuple[int, SessionEvent]]) -> None:
    """Add (key, event) pairs to the full-text index. Long texts are loaded from their blobs."""
    texts = ((key, indexed_text(load_texts(event, partial(read_blob, db)))) for key, event in events)
    rows = [(key, text) for key, text in texts if text]
    db.executemany("INSERT INTO event_search (rowid, words) VALUES (?, ?)", rows)


def unindex_event(db: sqlite3.Connection, key: int, event: SessionEvent) -> None:
    """Remove an event from the full-text index.

    FTS5 needs the exact text that was indexed, because it does not store it.
    """
    if text := indexed_text(event):
        db.execute("INSERT INTO event_search (event_search, rowid, words) VALUES ('delete', ?, ?)", (key, text))


def indexed_text(event: SessionEvent) -> str:
    """Return the text under which an event is indexed; empty if it is not indexed."""
    return "\n".join(part[:MAX_INDEXED] for part in searchable_texts(event) if part)


def fts_query(db: sqlite3.Connection, text: str) -> str:
    """Convert the user's input to an FTS5 query. Every word must occur; the last one may be the beginning of a word."""
    words = re.findall(r"\w+", text)
    if not words:
        return ""
    _create_vocabulary(db)
    has_clauses = bool(_CJK.search(text)) or _has_clauses(db)
    parts = []
    for position, word in enumerate(words, 1):
        is_last = position == len(words)
        alternatives = [f'"{word}"*' if is_last and not _CJK.search(word) else f'"{word}"']
        if has_clauses:
            alternatives += [f'"{clause}"' for clause in _clauses_with(db, word, is_prefix=is_last)]
        parts.append(f"({' OR '.join(alternatives)})")
    return " AND ".join(parts)


def _create_vocabulary(db: sqlite3.Connection) -> None:
    """Create the temporary table of the words in the index."""
    (is_read_only,) = db.execute("PRAGMA query_only").fetchone()
    db.execute("PRAGMA query_only = 0")  # SQLite counts the creation of a temporary table as a write
    try:
        db.execute(f"CREATE VIRTUAL TABLE IF NOT EXISTS {VOCABULARY} USING fts5vocab (main, event_search, row)")
    finally:
        db.execute(f"PRAGMA query_only = {is_read_only}")


def _has_clauses(db: sqlite3.Connection) -> bool:
    """Return whether a word of the index begins with a character of a script without spaces."""
    row = db.execute(f"SELECT 1 FROM {VOCABULARY} WHERE term BETWEEN '\u3040' AND '\u9fff' LIMIT 1").fetchone()
    return row is not None


def _clauses_with(db: sqlite3.Connection, word: str, *, is_prefix: bool) -> Iterator[str]:
    """Yield the clauses of scripts without spaces that are words of the index and contain `word`."""
    pattern = re.compile(_word_pattern(word.lower(), is_prefix=is_prefix))
    found = db.execute(f"SELECT term FROM {VOCABULARY} WHERE instr(term, ?)", (word.lower(),))
    clauses = (term for (term,) in found if term != word and _CJK.search(term) and pattern.search(term))
    yield from islice(clauses, MAX_CLAUSES)


def _word_pattern(word: str, *, is_prefix: bool) -> str:
    """Return a pattern for a word, or for words that begin with it. In scripts without spaces it may be anywhere."""
    if _CJK.search(word):
        return word
    return rf"(?<!{_LETTER}){word}" + ("" if is_prefix else rf"(?!{_LETTER})")


def search_events(
    db: sqlite3.Connection,
    text: str,
    limit: int = 100,
    sessions: Collection[str] | None = None,
    kinds: Collection[str] = (),
) -> list[SearchHit]:
    """Return the newest events that contain every word of `text`, newest first.

    `sessions` limits the search to these sessions, and `kinds` to events of steps of these kinds. If `text` has no
    words, the last step of these kinds in each session is returned.
    """
    numbers = None if sessions is None else _session_numbers(db, sessions)
    query = fts_query(db, text)
    if not query:
        return _last_steps(db, numbers, kinds, limit) if kinds else []
    keys = db.execute("SELECT rowid FROM event_search WHERE event_search MATCH ? ORDER BY rowid DESC", (query,))
    hits: list[SearchHit] = []
    for (key,) in keys:
        if len(hits) >= limit:
            break
        if numbers is not None and session_of(key) not in numbers:
            continue
        row = db.execute(
            "SELECT s.id, s.title, e.kind, e.at, e.payload FROM event e JOIN session s ON s.number = ? WHERE e.id = ?",
            (session_of(key), key),
        ).fetchone()
        if row is None:
            continue
        session, title, kind, at, payload = row
        match = _locate_match(db, kind, payload, text)
        key = _call_start(db, key, match.call_id) if match.call_id else key
        if not kinds or _step_kind(db, key) in kinds:
            hits.append(SearchHit(session, title, seq=offset_of(key), kind=kind, at=at, text=match.excerpt))
    return hits


def _session_numbers(db: sqlite3.Connection, sessions: Collection[str]) -> frozenset[int]:
    rows = db.execute(
        "SELECT number FROM session WHERE id IN (SELECT value FROM json_each(?))", (json.dumps(list(sessions)),)
    )
    return frozenset(number for (number,) in rows)


def _step_kind(db: sqlite3.Connection, key: int) -> str:
    """Return the kind of the step that an event belongs to, or ""."""
    session = session_of(key)
    row = find_row(db, session, offset_of(key))
    if row is None:
        return ""
    step = db.execute("SELECT kind FROM step WHERE id = ?", (row_key(session, row),)).fetchone()
    return str(step[0]) if step else ""


def _last_steps(
    db: sqlite3.Connection, numbers: frozenset[int] | None, kinds: Collection[str], limit: int
) -> list[SearchHit]:
    """Return the last step of these kinds in each session. The most recently updated sessions come first."""
    hits: list[SearchHit] = []
    sessions = db.execute("SELECT number, id, title FROM session ORDER BY updated_at DESC").fetchall()
    for number, name, title in sessions:
        if len(hits) >= limit:
            break
        if numbers is not None and number not in numbers:
            continue
        row = db.execute(
            "SELECT first_seq, started_at, object FROM step WHERE id BETWEEN ? AND ?"
            " AND kind IN (SELECT value FROM json_each(?)) ORDER BY id DESC LIMIT 1",
            (*key_range(number), json.dumps(list(kinds))),
        ).fetchone()
        if row:
            seq, started_at, text = row
            (kind,) = db.execute("SELECT kind FROM event WHERE id = ?", (row_key(number, seq),)).fetchone()
            hits.append(SearchHit(name, title, seq=seq, kind=kind, at=started_at, text=text[:MAX_EXCERPT]))
    return hits


def search_session(db: sqlite3.Connection, session: int, text: str, limit: int) -> list[int]:
    """Return the sequence numbers of the session's events that contain every word of `text`, in order."""
    query = fts_query(db, text)
    if not query:
        return []
    rows = db.execute(
        "SELECT rowid FROM event_search WHERE event_search MATCH ? AND rowid BETWEEN ? AND ? ORDER BY rowid LIMIT ?",
        (query, *key_range(session), limit),
    )
    return [offset_of(row[0]) for row in rows]


def match_pattern(text: str) -> re.Pattern[str]:
    """Return a pattern that finds what `fts_query` finds: whole words, the last one also as the beginning of a word."""
    *whole_words, last_word = re.findall(r"\w+", text) or [""]
    last = _word_pattern(last_word, is_prefix=True) + ("" if _CJK.search(last_word) else f"{_LETTER}*")
    whole = (_word_pattern(word, is_prefix=False) for word in whole_words)
    return re.compile("|".join((last, *whole)), re.IGNORECASE)


class _Match(NamedTuple):
    """An excerpt around the first match in an event, and the ID of the tool call that has the match, or ""."""

    excerpt: str
    call_id: str = ""


def _locate_match(db: sqlite3.Connection, kind: str, payload: str, text: str) -> _Match:
    """Return the first match in an event, or the beginning of its first text if the words are not found."""
    pattern = match_pattern(text)
    try:
        event = decode_event(kind, payload)
        first = ""
        for candidate in (event, load_texts(event, partial(read_blob, db))):  # try without reading blobs first
            calls = candidate.calls if isinstance(candidate, Replied) else ()
            owners = {call.arguments.head: call.id for call in calls}
            for part in searchable_texts(candidate):
                content = " ".join((_argument_values(part) if part in owners else part).split())
                if match := pattern.search(content):
                    return _Match(_excerpt(content, match.start()), owners.get(part, ""))
                first = first or content
    except (ValueError, KeyError):  # a damaged event is listed without an excerpt
        return _Match("")
    return _Match(_excerpt(first, 0))


def _call_start(db: sqlite3.Connection, key: int, call: str) -> int:
    """Return the key of the event that started a tool call of the reply `key`.

    If the call never started, return `key`.
    """
    _, end = key_range(session_of(key))
    rows = db.execute(
        "SELECT id, payload FROM event WHERE id > ? AND id <= ? AND kind = 'call_started' ORDER BY id LIMIT 50",
        (key, end),
    )
    return next((start for start, payload in rows if json.loads(payload).get("call_id") == call), key)


def find_excerpt(content: str, text: str) -> str:
    """Return an excerpt around the first match in `content`, or "" unless `content` has every word of `text`.

    A word of `text` may be the beginning of a longer word.
    """
    words = re.findall(r"\w+", text)
    patterns = [_word_pattern(word, is_prefix=True) for word in words]
    if not words or not all(re.search(pattern, content, re.IGNORECASE) for pattern in patterns):
        return ""
    content = " ".join(content.split())
    match = match_pattern(text).search(content)
    return _excerpt(content, match.start() if match else 0)


def _excerpt(content: str, position: int) -> str:
    start = max(0, position - CONTEXT_BEFORE)
    if start:
        start = max(start, content.find(" ", start, position) + 1)
    return ("…" if start else "") + content[start : start + MAX_EXCERPT]


def _argument_values(arguments: str) -> str:
    """Return the values in the JSON arguments of a tool call as plain text."""
    try:
        return " ".join(_strings(json.loads(arguments)))
    except ValueError:
        return arguments


def _strings(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case list():
            for item in value:
                yield from _strings(item)
        case dict():
            for item in value.values():
                yield from _strings(item)
        case _:
            pass
