"""Reads the messages that are queued for the next model request, from the end of the event log.

The window needs this module at startup, so it imports little.
"""

import json
import sqlite3
from collections.abc import Iterator
from typing import Any, NamedTuple

from core.store.row_keys import key_range, offset_of

KINDS = ("user_message", "queue_changed", "run_started")


class QueuedMessage(NamedTuple):
    """A queued message. `entry` is the sequence number of its event.

    `blob` is the hash of the full text if it is long.
    """

    entry: int
    text: str
    blob: str = ""
    files: tuple[str, ...] = ()


class _QueueEvent(NamedTuple):
    """An event that may change the queue, with its fields as stored."""

    seq: int
    kind: str
    fields: dict[str, Any]


def read_queued_messages(db: sqlite3.Connection, session: int, running: bool) -> list[QueuedMessage]:
    """Return the queued messages in the order in which they will be sent.

    If a run is in progress (`running`), messages from before its start are its task, so they are not queued.
    """
    events = list(_events_since_request(db, session))
    waiting: dict[int, QueuedMessage] = {}
    messages: dict[int, QueuedMessage] = {}
    for event in reversed(events):
        if event.kind == "user_message":
            waiting[event.seq] = messages[event.seq] = _message(event.seq, event.fields)
        elif event.kind == "queue_changed":
            target = int(event.fields["target_seq"])
            action = event.fields["action"]
            if action == "restored" and target not in messages:
                messages[target] = _read_message(db, session, target)
            if action in {"edited", "restored"} and target in messages:
                text = event.fields.get("text", {})
                messages[target] = messages[target]._replace(text=text.get("head", ""), blob=text.get("blob", ""))
            waiting = {seq: messages[seq] for seq in event.fields.get("order", ()) if seq in messages}
    run_start = max((event.seq for event in events if event.kind == "run_started"), default=0) if running else 0
    task = {event.seq for event in events if event.kind == "user_message" and event.seq < run_start}
    return [message for seq, message in waiting.items() if seq not in task]


def _events_since_request(db: sqlite3.Connection, session: int) -> Iterator[_QueueEvent]:
    """Yield the events after the last model request, newest first. That request sent everything queued before it."""
    rows = db.execute(
        "SELECT id, kind, payload FROM event WHERE id BETWEEN ? AND ? AND kind IN (?, ?, ?, 'request_sent')"
        " ORDER BY id DESC",
        (*key_range(session), *KINDS),
    )
    for key, kind, payload in rows:
        fields = json.loads(payload)
        if kind != "request_sent":
            yield _QueueEvent(offset_of(key), kind, fields)
        elif not fields.get("purpose"):
            return


def _read_message(db: sqlite3.Connection, session: int, seq: int) -> QueuedMessage:
    row = db.execute("SELECT payload FROM event WHERE id = ?", (key_range(session)[0] | seq,)).fetchone()
    return _message(seq, json.loads(row[0]) if row else {})


def _message(seq: int, fields: dict[str, Any]) -> QueuedMessage:
    text = fields.get("text", {})
    files = tuple(str(attachment["name"]) for attachment in fields.get("attachments", ()))
    return QueuedMessage(entry=seq, text=text.get("head", ""), blob=text.get("blob", ""), files=files)
