"""Reads the messages that are queued for the next model request, from the end of the event log.

The window needs this module at startup, so it imports little.
"""

import json
import sqlite3
from collections.abc import Iterable
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


def read_queued_messages(db: sqlite3.Connection, session: int, running: bool) -> list[QueuedMessage]:
    """Return the queued messages in the order in which they will be sent.

    If a run is in progress (`running`), messages from before its start are its task, so they are not queued.
    """
    lines = list(_since_request(db, session))
    run_start = max((seq for seq, kind, _ in lines if kind == "run_started"), default=0) if running else 0
    waiting: dict[int, QueuedMessage] = {}
    messages: dict[int, QueuedMessage] = {}
    for seq, kind, values in reversed(lines):
        if kind == "user_message":
            waiting[seq] = messages[seq] = _message(seq, values)
        elif kind == "queue_changed":
            target, text = int(values["target_seq"]), values.get("text", {})
            if values["action"] == "restored" and target not in messages:
                messages[target] = _read_message(db, session, target)
            if target in messages and values["action"] in {"edited", "restored"}:
                messages[target] = messages[target]._replace(text=text.get("head", ""), blob=text.get("blob", ""))
            waiting = {entry: messages[entry] for entry in values.get("order", ()) if entry in messages}
    task = {seq for seq, kind, _ in lines if kind == "user_message" and seq < run_start}
    return [message for entry, message in waiting.items() if entry not in task]


def _since_request(db: sqlite3.Connection, session: int) -> Iterable[tuple[int, str, dict[str, Any]]]:
    """Yield the events after the last model request, newest first. That request sent everything queued before it."""
    rows = db.execute(
        "SELECT id, kind, payload FROM event WHERE id BETWEEN ? AND ? AND kind IN (?, ?, ?, 'request_sent')"
        " ORDER BY id DESC",
        (*key_range(session), *KINDS),
    )
    for number, kind, payload in rows:
        values = json.loads(payload)
        if kind == "request_sent":
            if not values.get("purpose"):
                return
            continue
        yield offset_of(number), kind, values


def _read_message(db: sqlite3.Connection, session: int, seq: int) -> QueuedMessage:
    row = db.execute("SELECT payload FROM event WHERE id = ?", (key_range(session)[0] | seq,)).fetchone()
    return _message(seq, json.loads(row[0]) if row else {})


def _message(seq: int, values: dict[str, Any]) -> QueuedMessage:
    text = values.get("text", {})
    files = tuple(str(attachment["name"]) for attachment in values.get("attachments", ()))
    return QueuedMessage(seq, text.get("head", ""), text.get("blob", ""), files)
