"""What agents want to be kept, in the data file. Each change is one transaction with the fact that tells of it."""

import json
import secrets
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import asdict, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from core.domain.clock import Clock, now
from core.domain.ids import ALPHABET
from core.domain.problems import Problem
from core.domain.proposal import Of, Proposal, ProposalMade, ProposalSettled, ProposalState
from core.domain.text import Text
from core.store.database import Database
from core.store.journal import Also, Journal

NAMES = tuple(field.name for field in fields(Proposal))
COLUMNS = ", ".join(f'"{name}"' for name in NAMES)
LISTS = ("steps", "taint")
WANTS = ("state", "of", "what", "target", "path", "text", "about", "base")  # what two that want the same agree in
# From which states one may come: nothing is decided twice, and every word may be taken back.
BEFORE: Mapping[ProposalState, tuple[ProposalState, ...]] = MappingProxyType(
    {"kept": ("open",), "rejected": ("open",), "undone": ("kept",), "open": ("rejected", "undone")}
)


class Proposals:
    """Reads beside the writer."""

    def __init__(
        self, path: Path, database: Database | None, journal: Journal, *, frozen: bool = False, clock: Clock = now
    ) -> None:
        self._path = path
        self._database = database
        self._journal = journal
        self._flags = "immutable=1" if frozen else "mode=ro"
        self._clock = clock

    def find(
        self, *, state: ProposalState | None = None, of: Of | None = None, session: str = "", target: str = ""
    ) -> list[Proposal]:
        """Those that fit, the oldest first."""
        wanted = {"state": state, "of": of, "session": session, "target": target}
        named = {name: value for name, value in wanted.items() if value}
        where = " AND ".join(f'"{name}" = ?' for name in named) or "1"
        return self._read(f"SELECT {COLUMNS} FROM proposal WHERE {where} ORDER BY made, id", *named.values())

    def one(self, name: str) -> Proposal:
        """By its id, or by enough of its start."""
        beginning = f"SELECT {COLUMNS} FROM proposal WHERE id >= ? AND id < ? ORDER BY id LIMIT 2"
        found = self._read(beginning, name, name + "\U0010ffff")
        if len(found) != 1 or not name:
            why = "More than one begins so." if len(found) > 1 else ""
            raise Problem(f"There is no proposal {name!r}.", why, "List them with `journeyman proposals list`.")
        return found[0]

    async def make(self, wanted: Proposal) -> Proposal:
        """Keep a proposal, as open, under a new id; one that wants the same and is open already is given back."""
        made = replace(wanted, id=_new_id(), made=self._clock(), state="open", settled=0, settled_by="", result="")
        same = " AND ".join(f'"{name}" = ?' for name in WANTS)
        wants = [getattr(made, name) for name in WANTS]
        if alike := self._read(f"SELECT {COLUMNS} FROM proposal WHERE {same} ORDER BY made LIMIT 1", *wants):
            return alike[0]
        fact = ProposalMade(
            made.id, made.of, made.what, made.target, Text(made.text), made.reason, made.base, made.path, made.about,
            made.steps, made.taint, made.by,
        )  # fmt: skip
        await self._write(made.session, fact, lambda db: _insert(db, made))
        return made

    async def settle(
        self, name: str, state: ProposalState, *, by: str = "person", result: str = "", text: str | None = None
    ) -> Proposal:
        """Say what became of it. `text` is what was kept, where it was edited first. Problem where it is decided."""
        before = self.one(name)
        edited = before.text if text is None else text
        after = replace(before, state=state, settled=self._clock(), settled_by=by, result=result, text=edited)
        fact = ProposalSettled(before.id, state, by, result, Text("" if text is None else text))
        await self._write(before.session, fact, lambda db: _settle(db, after))
        return after

    async def _write(self, session: str, fact: ProposalMade | ProposalSettled, work: Also) -> None:
        """With its fact in the session it comes from; without where there is no such session any more."""
        writer = self._writer()
        if session and self._is_there(session):
            await self._journal.append_with(session, fact, work)
        else:
            await writer.do(work)

    def _is_there(self, session: str) -> bool:
        with closing(self._connect()) as db:
            return db.execute("SELECT 1 FROM session WHERE id = ?", (session,)).fetchone() is not None

    def _read(self, query: str, *values: object) -> list[Proposal]:
        with closing(self._connect()) as db:
            return [_proposal(row) for row in db.execute(query, values)]

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(f"{self._path.absolute().as_uri()}?{self._flags}", uri=True, isolation_level=None)

    def _writer(self) -> Database:
        if self._database is None:
            raise Problem("The data folder cannot be written.", "It was opened to look at.", "")
        return self._database


def _new_id() -> str:
    return "".join(secrets.choice(ALPHABET) for _ in range(8))


def _insert(db: sqlite3.Connection, made: Proposal) -> None:
    plain = asdict(made) | {name: json.dumps(getattr(made, name)) for name in LISTS}
    marks = ", ".join("?" for _ in NAMES)
    db.execute(f"INSERT INTO proposal ({COLUMNS}) VALUES ({marks})", tuple(plain[name] for name in NAMES))


def _settle(db: sqlite3.Connection, after: Proposal) -> None:
    """On the writing thread: whoever came first has decided."""
    (state,) = db.execute("SELECT state FROM proposal WHERE id = ?", (after.id,)).fetchone()
    if state not in BEFORE[after.state]:
        do = "Open it again first." if state in BEFORE["open"] else "Undo it first." if state == "kept" else ""
        raise Problem(f"The proposal {after.id} cannot be {after.state} now.", f"It is {state}.", do)
    db.execute(
        "UPDATE proposal SET state = ?, settled = ?, settled_by = ?, result = ?, text = ? WHERE id = ?",
        (after.state, after.settled, after.settled_by, after.result, after.text, after.id),
    )


def _proposal(row: tuple[Any, ...]) -> Proposal:
    plain = dict(zip(NAMES, row, strict=True))
    return Proposal(**plain | {name: tuple(json.loads(plain[name])) for name in LISTS})
