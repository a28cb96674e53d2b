"""What memory notes of runs: how each ended, what it was told and used, how it went. On the thread that writes."""

import json
import sqlite3
from dataclasses import dataclass
from typing import Any

from core.domain.clock import SECOND
from core.store.keys import span

ROWS = 3_000  # steps of a run that are looked at
REPLIES = 60  # last replies in which a use is looked for


@dataclass(frozen=True, slots=True)
class Row:
    """A step as it is listed."""

    kind: str
    object: str
    status: str


@dataclass(frozen=True, slots=True)
class Ended:
    """A run that has ended: where, its steps in order, how it was judged; `called` names a sub-agent."""

    session: str
    run: int
    seq: int
    folder: str
    called: str
    seconds: float
    rows: tuple[Row, ...]
    status: str
    reason: str


class RunFacts:
    """Reads on one connection, in whatever transaction it is in."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def ended(self, session: str, run: int, seq: int, status: str, reason: str) -> Ended | None:
        """What the steps of a run say of it; None where the session is gone."""
        found = self._db.execute("SELECT number, folder, called FROM session WHERE id = ?", (session,)).fetchone()
        if found is None:
            return None
        steps = self._db.execute(
            "SELECT kind, object, status, began, ended FROM step WHERE id BETWEEN ? AND ? AND run = ?"
            " ORDER BY id DESC LIMIT ?",
            (*span(found[0]), run, ROWS),
        ).fetchall()
        began = min((step[3] for step in steps), default=0)
        last = max((step[4] or step[3] for step in steps), default=0)
        rows = tuple(Row(*step[:3]) for step in reversed(steps))
        return Ended(session, run, seq, found[1], found[2], (last - began) / SECOND, rows, status, reason)

    def last_words(self, session: str) -> str:
        """What the agent said and asked for in its last replies, as one text."""
        rows = self._db.execute(
            "SELECT payload FROM entry WHERE id BETWEEN ? AND ? AND kind = 'replied' ORDER BY id DESC LIMIT ?",
            (*self._span(session), REPLIES),
        )
        return "\n".join(word for (payload,) in rows for word in _words(json.loads(payload)))

    def facts(self, session: str, kinds: tuple[str, ...]) -> list[tuple[str, dict[str, Any]]]:
        """The facts of these kinds, in order, as plain values."""
        marks = ", ".join("?" for _ in kinds)
        rows = self._db.execute(
            f"SELECT kind, payload FROM entry WHERE id BETWEEN ? AND ? AND kind IN ({marks}) ORDER BY id",
            (*self._span(session), *kinds),
        )
        return [(kind, json.loads(payload)) for kind, payload in rows]

    def verdict(self, session: str, run: int) -> str:
        """How a run went: the person's last word on it before that of its own check; empty where nobody said."""
        words = {"person": "", "check": ""}
        for _, said in self.facts(session, ("verdict_given",)):
            if said["number"] == run:
                words[said.get("by", "person")] = said["verdict"]
        return {"up": "good", "down": "bad"}.get(words["person"] or words["check"], "")

    def outcome(self, session: str, run: int) -> str:
        """The memory that holds how this run ended; empty where there is none."""
        rows = self._db.execute("SELECT id, parts FROM memory WHERE session = ? AND kind = 'outcome'", (session,))
        return next((name for name, parts in rows if json.loads(parts or "{}").get("run") == str(run)), "")

    def step_of(self, session: str, call: str) -> tuple[int, int]:
        """The number of the row of a call, and its first entry; 0 where there is none."""
        row = self._db.execute(
            "SELECT number, first FROM step WHERE id BETWEEN ? AND ? AND key = ? ORDER BY id DESC LIMIT 1",
            (*self._span(session), call),
        ).fetchone()
        return (row[0], row[1]) if row else (0, 0)

    def _span(self, session: str) -> tuple[int, int]:
        found = self._db.execute("SELECT number FROM session WHERE id = ?", (session,)).fetchone()
        return span(found[0]) if found else (0, 0)


def _words(reply: dict[str, Any]) -> list[str]:
    calls = [call.get("arguments", {}).get("head", "") for call in reply.get("calls", ())]
    return [reply.get("text", {}).get("head", ""), reply.get("reasoning", {}).get("head", ""), *calls]
