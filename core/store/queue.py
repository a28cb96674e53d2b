"""Messages that wait for a request, read from the end of a journal: what the window shows of them. Light."""

import json
import sqlite3
from collections.abc import Iterable
from typing import Any, NamedTuple

from core.store.keys import place, span

KINDS = ("person_spoke", "queue_changed", "run_started")


class QueuedLine(NamedTuple):
    """A message that waits; `entry` is its place in the journal. `blob` names the whole of a text that is long."""

    entry: int
    text: str
    blob: str = ""
    files: tuple[str, ...] = ()


def queued(db: sqlite3.Connection, session: int, goes_on: bool) -> list[QueuedLine]:
    """In the order in which they will be sent. While a run goes on, the words it began with are its task."""
    lines = list(_since_request(db, session))
    begun = max((seq for seq, kind, _ in lines if kind == "run_started"), default=0) if goes_on else 0
    waiting: dict[int, QueuedLine] = {}
    known: dict[int, QueuedLine] = {}
    for seq, kind, said in reversed(lines):
        if kind == "person_spoke":
            waiting[seq] = known[seq] = _line(seq, said)
        elif kind == "queue_changed":
            target, text = int(said["target"]), said.get("text", {})
            if said["did"] == "put back" and target not in known:
                known[target] = _looked_up(db, session, target)
            if target in known and said["did"] in {"edited", "put back"}:
                known[target] = known[target]._replace(text=text.get("head", ""), blob=text.get("blob", ""))
            waiting = {entry: known[entry] for entry in said.get("order", ()) if entry in known}
    task = {seq for seq, kind, _ in lines if kind == "person_spoke" and seq < begun}
    return [one for entry, one in waiting.items() if entry not in task]


def _since_request(db: sqlite3.Connection, session: int) -> Iterable[tuple[int, str, dict[str, Any]]]:
    """Lines from the last one back to the last request, which took along all that waited then."""
    rows = db.execute(
        "SELECT id, kind, payload FROM entry WHERE id BETWEEN ? AND ? AND kind IN (?, ?, ?, 'request_sent')"
        " ORDER BY id DESC",
        (*span(session), *KINDS),
    )
    for number, kind, payload in rows:
        said = json.loads(payload)
        if kind == "request_sent":
            if not said.get("role"):
                return
            continue
        yield place(number), kind, said


def _looked_up(db: sqlite3.Connection, session: int, seq: int) -> QueuedLine:
    row = db.execute("SELECT payload FROM entry WHERE id = ?", (span(session)[0] | seq,)).fetchone()
    return _line(seq, json.loads(row[0]) if row else {})


def _line(seq: int, said: dict[str, Any]) -> QueuedLine:
    text = said.get("text", {})
    files = tuple(str(one["name"]) for one in said.get("attachments", ()))
    return QueuedLine(seq, text.get("head", ""), text.get("blob", ""), files)
