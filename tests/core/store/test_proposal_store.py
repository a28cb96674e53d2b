"""Proposals: decided once, every decision can be undone, and the events match the rows."""

import asyncio
import dataclasses
import sqlite3
from pathlib import Path

import pytest

from core.domain.problems import Problem
from core.domain.proposal import (
    MemoryChangeRef,
    MemoryResult,
    Proposal,
    ProposalCreated,
    ProposalKind,
    ProposalResult,
    ProposalStateChanged,
    SkillResult,
)
from core.store.codec import decode_event
from core.store.journal import Journal
from core.store.proposal_store import ProposalStore
from core.store.reader import Reader
from tests.core.store.made import clock, journal_at
from tests.sessions import create_session

WANTED = Proposal("", "skill", "create", "library/notes", "text " * 2000, "It came up twice.", steps=(3, 4))


def facts(reader: Reader, session: str) -> list[ProposalCreated | ProposalStateChanged]:
    found = [decode_event(kind, payload) for _, _, _, kind, payload in reader.raw_events(session)]
    return [fact for fact in found if isinstance(fact, ProposalCreated | ProposalStateChanged)]


def test_a_proposal_is_created_accepted_undone_and_reopened_with_an_event_each(tmp_path: Path) -> None:
    with journal_at(tmp_path / "journeyman.db") as (journal, reader, database):
        book = ProposalStore(tmp_path / "journeyman.db", database, journal, clock=clock())

        async def work() -> None:
            session = await create_session(journal, "/tmp", "x")
            before = reader.sessions()[0].updated_at
            made = await book.create(dataclasses.replace(WANTED, session=session))
            assert (
                made.state == "pending" and made.id and book.get(made.id[:4]) == made == book.find(state="pending")[0]
            )
            assert (
                await book.create(dataclasses.replace(WANTED, session=session)) == made
            )  # The same proposal exists only once.
            for state, result in (
                ("accepted", SkillResult("library/notes", 4)),
                ("undone", None),
                ("pending", None),
                ("rejected", None),
            ):
                settled = await book.resolve(made.id, state, result=result)  # type: ignore[arg-type]
                assert (settled.state, settled.result, settled.text) == (state, result, WANTED.text)
                assert book.get(made.id) == settled
            first, *rest = facts(reader, session)
            assert isinstance(first, ProposalCreated) and first.proposal_id == made.id and first.text.size == 10_000
            assert [fact.state for fact in rest if isinstance(fact, ProposalStateChanged)] == [
                "accepted", "undone", "pending", "rejected",
            ]  # fmt: skip
            assert reader.sessions()[0].updated_at >= before

        asyncio.run(work())


@pytest.mark.parametrize("session", [True, False])
def test_concurrent_decisions_decide_once(tmp_path: Path, session: bool) -> None:
    with journal_at(tmp_path / "journeyman.db") as (journal, reader, database):
        book = ProposalStore(tmp_path / "journeyman.db", database, journal)

        async def work() -> None:
            name = await create_session(journal, "/tmp", "x") if session else ""
            made = await book.create(dataclasses.replace(WANTED, session=name))
            ends = await asyncio.gather(
                *(book.resolve(made.id, "accepted" if n % 2 else "rejected") for n in range(6)), return_exceptions=True
            )
            assert sum(isinstance(end, Problem) for end in ends) == 5
            (won,) = [end for end in ends if isinstance(end, Proposal)]
            assert book.get(made.id).state == won.state
            if session:  # The decision that came too late left no event behind.
                assert [type(fact) for fact in facts(reader, name)] == [ProposalCreated, ProposalStateChanged]

        asyncio.run(work())


def test_a_missing_proposal_is_reported(tmp_path: Path) -> None:
    with journal_at(tmp_path / "journeyman.db") as (journal, _, database):
        book = ProposalStore(tmp_path / "journeyman.db", database, journal)
        for name in ("", "nothing", "%"):
            with pytest.raises(Problem):
                book.get(name)
        with pytest.raises(Problem, match="not writable"):
            asyncio.run(
                ProposalStore(tmp_path / "journeyman.db", None, Journal(None, Reader.__new__(Reader))).create(WANTED)
            )


@pytest.mark.parametrize(
    ("kind", "stored", "result"),
    [
        ("skill", "library/notes 4", SkillResult("library/notes", 4)),
        ("skill", "library/notes", SkillResult("library/notes")),
        (
            "skill",
            "home:/home/Ada Lovelace/.agents/skills/notes 12",
            SkillResult("home:/home/Ada Lovelace/.agents/skills/notes", 12),
        ),
        ("memory", "ab12:1 cd34:7", MemoryResult((MemoryChangeRef("ab12", 1), MemoryChangeRef("cd34", 7)))),
        ("memory", "ab12", MemoryResult(())),
        ("memory", "", None),
    ],
)
def test_the_result_in_a_row_of_an_earlier_version_is_read(
    tmp_path: Path, kind: ProposalKind, stored: str, result: ProposalResult | None
) -> None:
    with journal_at(tmp_path / "journeyman.db") as (journal, _, database):
        book = ProposalStore(tmp_path / "journeyman.db", database, journal)
        made = asyncio.run(book.create(dataclasses.replace(WANTED, target_kind=kind)))
        row = ("UPDATE proposal SET state = 'accepted', result = ? WHERE id = ?", (stored, made.id))
        asyncio.run(database.run(lambda db: db.execute(*row)))
        assert book.get(made.id).result == result
        if result not in (None, MemoryResult(())):
            asyncio.run(book.resolve(made.id, "undone", result=result))
            with sqlite3.connect(tmp_path / "journeyman.db") as db:
                assert db.execute("SELECT result FROM proposal").fetchall() == [(stored,)], "the format is the same"
