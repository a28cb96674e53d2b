"""Reads how a run ended, what it did and how it was rated. Memories are updated from this after the run."""

import json
import sqlite3
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from core.domain.clock import SECOND
from core.store.row_keys import key_range

MAX_STEPS = 3_000  # only this many of a run's last steps are read
MAX_REPLIES = 60  # only this many of the last replies are searched for signs that a memory was used
MAX_MESSAGES = 200  # only this many of the last messages are searched for the source of a memory


@dataclass(frozen=True, slots=True)
class FinishedStep:
    """A step of a finished run."""

    kind: str
    object: str
    status: str


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """A run that has ended, with its steps in order.

    `seq` is the sequence number of the event that ended the run. `subagent` is the name under which a parent session
    started it, empty for a run that the user started.
    """

    session: str
    run: int
    seq: int
    folder: str
    subagent: str
    seconds: float
    steps: tuple[FinishedStep, ...]
    status: str
    reason: str


@dataclass(frozen=True, slots=True)
class SessionMessage:
    """A message of the user or the agent. `at` is in microseconds."""

    speaker: str
    text: str
    at: int


class StoredEvent(NamedTuple):
    """The stored kind of an event, and its fields as stored."""

    kind: str
    fields: dict[str, Any]


class CallPosition(NamedTuple):
    """Where a tool call is in its session: the number of its step and of its first event; 0 if it is not stored."""

    step: int = 0
    seq: int = 0


class RunReader:
    """Reads session data within the caller's transaction."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def finished_run(self, session: str, run: int, seq: int, status: str, reason: str) -> FinishedRun | None:
        """Return a run that has ended, with its steps; None if the session no longer exists."""
        row = self._db.execute("SELECT number, folder, subagent FROM session WHERE id = ?", (session,)).fetchone()
        if row is None:
            return None
        number, folder, subagent = row
        steps = self._db.execute(
            "SELECT kind, object, status, started_at, ended_at FROM step WHERE id BETWEEN ? AND ? AND run = ?"
            " ORDER BY id DESC LIMIT ?",
            (*key_range(number), run, MAX_STEPS),
        ).fetchall()
        started_at = min((start for *_, start, _ in steps), default=0)
        ended_at = max((end or start for *_, start, end in steps), default=0)
        return FinishedRun(
            session=session,
            run=run,
            seq=seq,
            folder=folder,
            subagent=subagent,
            seconds=(ended_at - started_at) / SECOND,
            steps=tuple(FinishedStep(kind, object, status) for kind, object, status, *_ in reversed(steps)),
            status=status,
            reason=reason,
        )

    def last_replies(self, session: str) -> str:
        """Return the agent's last replies, with reasoning and tool arguments, as one text."""
        rows = self._db.execute(
            "SELECT payload FROM event WHERE id BETWEEN ? AND ? AND kind = 'replied' ORDER BY id DESC LIMIT ?",
            (*self._span(session), MAX_REPLIES),
        )
        return "\n".join(text for (payload,) in rows for text in _texts(json.loads(payload)))

    def messages(self, session: str) -> list[SessionMessage]:
        """Return the last messages of the user and the agent that have text, in order."""
        return self._last_messages(*self._span(session))

    def messages_around(self, session: str, seq: int) -> list[SessionMessage]:
        """Return the messages before and after an event, in order."""
        first, last = self._span(session)
        return self._last_messages(first, first + seq) + self._messages(first + seq + 1, last, "ASC")

    def _last_messages(self, first: int, last: int) -> list[SessionMessage]:
        return self._messages(first, last, "DESC")[::-1]

    def _messages(self, first: int, last: int, order: Literal["ASC", "DESC"]) -> list[SessionMessage]:
        rows = self._db.execute(
            "SELECT kind, payload, at FROM event WHERE id BETWEEN ? AND ? AND kind IN ('user_message', 'replied')"
            f" ORDER BY id {order} LIMIT ?",
            (first, last, MAX_MESSAGES),
        )
        found = [
            SessionMessage(
                speaker="User" if kind == "user_message" else "Agent",
                text=json.loads(payload).get("text", {}).get("head", ""),
                at=at,
            )
            for kind, payload, at in rows
        ]
        return [message for message in found if message.text.strip()]

    def events(self, session: str, kinds: tuple[str, ...], before: int | None = None) -> list[StoredEvent]:
        """Return the events of these kinds, in order. With `before`, only those with a lower sequence number."""
        first, last = self._span(session)
        last = last if before is None else first + before - 1
        marks = ", ".join("?" for _ in kinds)
        rows = self._db.execute(
            f"SELECT kind, payload FROM event WHERE id BETWEEN ? AND ? AND kind IN ({marks}) ORDER BY id",
            (first, last, *kinds),
        )
        return [StoredEvent(kind, json.loads(payload)) for kind, payload in rows]

    def run_of(self, session: str, seq: int) -> int:
        """Return the run that an event belongs to; 0 if there is no such event."""
        row = self._db.execute("SELECT run FROM event WHERE id = ?", (self._span(session)[0] + seq,)).fetchone()
        return int(row[0]) if row else 0

    def rating(self, session: str, run: int) -> str:
        """Return "good", "bad" or "" for a run.

        The user's rating takes precedence over that of the task's own check.
        """
        ratings = {"user": "", "check": ""}
        for event in self.events(session, ("run_rated",)):
            if event.fields["run_number"] == run:
                ratings[event.fields.get("by", "user")] = event.fields["rating"]
        return {"up": "good", "down": "bad"}.get(ratings["user"] or ratings["check"], "")

    def outcome_memory(self, session: str, run: int) -> str:
        """Return the id of the memory that records the outcome of this run, or ""."""
        rows = self._db.execute("SELECT id, fields FROM memory WHERE session = ? AND kind = 'outcome'", (session,))
        return next((name for name, fields in rows if json.loads(fields or "{}").get("run") == str(run)), "")

    def find_step(self, session: str, call: str) -> CallPosition:
        """Return where the step of a tool call is, given the ID of the call."""
        row = self._db.execute(
            "SELECT number, first_seq FROM step WHERE id BETWEEN ? AND ? AND key = ? ORDER BY id DESC LIMIT 1",
            (*self._span(session), call),
        ).fetchone()
        return CallPosition(*row) if row else CallPosition()

    def _span(self, session: str) -> tuple[int, int]:
        row = self._db.execute("SELECT number FROM session WHERE id = ?", (session,)).fetchone()
        return key_range(row[0]) if row else (0, 0)


def _texts(reply: dict[str, Any]) -> list[str]:
    calls = [call.get("arguments", {}).get("head", "") for call in reply.get("calls", ())]
    return [reply.get("text", {}).get("head", ""), reply.get("reasoning", {}).get("head", ""), *calls]
