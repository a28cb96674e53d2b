"""Proposed changes to skills and memories. Each change of a proposal is committed with the event that records it."""

import json
import secrets
import sqlite3
from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from core.domain.clock import Clock, now
from core.domain.ids import ALPHABET
from core.domain.problems import Problem
from core.domain.proposal import (
    Proposal,
    ProposalCreated,
    ProposalKind,
    ProposalResult,
    ProposalState,
    ProposalStateChanged,
    parse_result,
)
from core.domain.text import Text
from core.store.data_file import DataFile
from core.store.database import Database
from core.store.journal import ExtraWrite, Journal
from core.store.row_keys import BITS, MASK

FIELD_NAMES = tuple(field.name for field in fields(Proposal))
COLUMNS = ", ".join(FIELD_NAMES)
LIST_FIELDS = ("steps", "untrusted_sources")
# Fields that are equal in proposals of the same change.
IDENTITY_FIELDS = ("state", "target_kind", "action", "target", "path", "text", "details", "base_version")
# The states that may precede each new state: only a pending proposal can be decided, and decisions can be undone.
ALLOWED_FROM: Mapping[ProposalState, tuple[ProposalState, ...]] = MappingProxyType(
    {"accepted": ("pending",), "rejected": ("pending",), "undone": ("accepted",), "pending": ("rejected", "undone")}
)


class ProposalStore:
    """Stores proposals, both open and decided ones."""

    def __init__(
        self, path: Path, database: Database | None, journal: Journal, *, frozen: bool = False, clock: Clock = now
    ) -> None:
        self._file = DataFile(path, database, frozen=frozen)
        self._journal = journal
        self._clock = clock

    def find(
        self,
        *,
        state: ProposalState | None = None,
        target_kind: ProposalKind | None = None,
        session: str = "",
        target: str = "",
    ) -> list[Proposal]:
        """Return the proposals that match every filter that is set, oldest first."""
        filters = {"state": state, "target_kind": target_kind, "session": session, "target": target}
        active_filters = {name: value for name, value in filters.items() if value}
        conditions = " AND ".join(f"{name} = ?" for name in active_filters) or "1"
        return self._read(
            f"SELECT {COLUMNS} FROM proposal WHERE {conditions} ORDER BY created_at, id", *active_filters.values()
        )

    def get(self, name: str) -> Proposal:
        """Return a proposal by its ID or an unambiguous start of its ID. Raise Problem if there is none."""
        query = f"SELECT {COLUMNS} FROM proposal WHERE id >= ? AND id < ? ORDER BY id LIMIT 2"
        proposals = self._read(query, name, name + "\U0010ffff")
        if len(proposals) != 1 or not name:
            cause = "More than one proposal id starts with it." if len(proposals) > 1 else ""
            raise Problem(f"There is no proposal {name!r}.", cause, "List the proposals with `journeyman proposals`.")
        return proposals[0]

    def is_rated_bad_since(self, proposal: Proposal) -> bool:
        """Return whether the run that a proposal comes from is rated as bad, and was rated after the proposal."""
        self._file.catch_up()
        rated = self._file.rows(
            "SELECT 1 FROM session WHERE id = ? AND coalesce(nullif(rating, ''), check_rating) = 'down' AND EXISTS"
            f" (SELECT 1 FROM event WHERE id BETWEEN session.number << {BITS} AND session.number << {BITS} | {MASK}"
            " AND kind = 'run_rated' AND at > ?)",
            proposal.session,
            proposal.created_at,
        )
        return bool(rated)

    async def create(self, draft: Proposal) -> Proposal:
        """Save a proposal as pending, with a new ID, and return it.

        If the same change is pending already, return that proposal.
        """
        proposal = replace(
            draft, id=_new_id(), created_at=self._clock(), state="pending", resolved_at=0, resolved_by="", result=None
        )
        condition = " AND ".join(f"{name} = ?" for name in IDENTITY_FIELDS)
        identity = [getattr(proposal, name) for name in IDENTITY_FIELDS]
        query = f"SELECT {COLUMNS} FROM proposal WHERE {condition} ORDER BY created_at LIMIT 1"
        if existing := self._read(query, *identity):
            return existing[0]
        event = ProposalCreated(
            proposal_id=proposal.id,
            target_kind=proposal.target_kind,
            action=proposal.action,
            target=proposal.target,
            text=Text(proposal.text),
            reason=proposal.reason,
            base_version=proposal.base_version,
            path=proposal.path,
            details=proposal.details,
            steps=proposal.steps,
            untrusted_sources=proposal.untrusted_sources,
            author=proposal.author,
        )
        await self._write(proposal.session, event, lambda db: _insert(db, proposal))
        return proposal

    async def resolve(
        self,
        name: str,
        state: ProposalState,
        *,
        by: str = "user",
        result: ProposalResult | None = None,
        text: str | None = None,
    ) -> Proposal:
        """Change the state of a proposal. `text` is the text that was accepted, if the user edited it first.

        Raise Problem if the current state does not allow it, for example because the proposal was decided before.
        """
        before = self.get(name)
        after = replace(
            before,
            state=state,
            resolved_at=self._clock(),
            resolved_by=by,
            result=result,
            text=before.text if text is None else text,
        )
        event = ProposalStateChanged(before.id, state, by, _result_text(result), Text(text or ""))
        await self._write(before.session, event, lambda db: _update_state(db, after))
        return after

    async def _write(self, session: str, event: ProposalCreated | ProposalStateChanged, work: ExtraWrite) -> None:
        """Run `work` in a transaction. If the session of the proposal still exists, also append the event to it."""
        writer = self._file.writer
        if session and self._session_exists(session):
            await self._journal.append_with(session, event, work)
        else:
            await writer.run(work)

    def _session_exists(self, session: str) -> bool:
        return bool(self._file.rows("SELECT 1 FROM session WHERE id = ?", session))

    def _read(self, query: str, *values: object) -> list[Proposal]:
        return [_proposal(row) for row in self._file.rows(query, *values)]


def _new_id() -> str:
    return "".join(secrets.choice(ALPHABET) for _ in range(8))


def _insert(db: sqlite3.Connection, proposal: Proposal) -> None:
    lists = {name: json.dumps(getattr(proposal, name)) for name in LIST_FIELDS}
    values = asdict(proposal) | lists | {"result": _result_text(proposal.result)}
    marks = ", ".join("?" for _ in FIELD_NAMES)
    db.execute(f"INSERT INTO proposal ({COLUMNS}) VALUES ({marks})", tuple(values[name] for name in FIELD_NAMES))


def _update_state(db: sqlite3.Connection, after: Proposal) -> None:
    """Write a proposal's new state on the writing thread.

    Raise Problem if it was decided differently in the meantime.
    """
    (state,) = db.execute("SELECT state FROM proposal WHERE id = ?", (after.id,)).fetchone()
    if state not in ALLOWED_FROM[after.state]:
        fix = ""
        if state in ALLOWED_FROM["pending"]:
            fix = "Reopen it first."
        elif state == "accepted":
            fix = "Undo it first."
        raise Problem(f"The proposal {after.id} cannot be {after.state} now.", f"It is {state}.", fix)
    db.execute(
        "UPDATE proposal SET state = ?, resolved_at = ?, resolved_by = ?, result = ?, text = ? WHERE id = ?",
        (after.state, after.resolved_at, after.resolved_by, _result_text(after.result), after.text, after.id),
    )


def _proposal(row: tuple[Any, ...]) -> Proposal:
    values = dict(zip(FIELD_NAMES, row, strict=True))
    lists = {name: tuple(json.loads(values[name])) for name in LIST_FIELDS}
    return Proposal(**values | lists | {"result": parse_result(values["target_kind"], values["result"])})


def _result_text(result: ProposalResult | None) -> str:
    return "" if result is None else str(result)
