"""Proposals: decided once, every word may be taken back, and the facts tell the same story as the rows."""

import asyncio
import dataclasses
from pathlib import Path

import pytest

from core.domain.problems import Problem
from core.domain.proposal import Proposal, ProposalMade, ProposalSettled
from core.store.codec import decode
from core.store.journal import Journal
from core.store.proposals import Proposals
from core.store.reader import Reader
from tests.core.store.made import clock, journal_at

WANTED = Proposal("", "skill", "create", "library/notes", "text " * 2000, "It came up twice.", steps=(3, 4))


def facts(reader: Reader, session: str) -> list[ProposalMade | ProposalSettled]:
    found = [decode(kind, payload) for _, _, _, kind, payload in reader.raw(session)]
    return [fact for fact in found if isinstance(fact, ProposalMade | ProposalSettled)]


def test_a_proposal_is_made_kept_undone_and_opened_again_and_each_is_a_fact(tmp_path: Path) -> None:
    with journal_at(tmp_path / "journeyman.db") as (journal, reader, database):
        book = Proposals(tmp_path / "journeyman.db", database, journal, clock=clock())

        async def work() -> None:
            session = await journal.open("/tmp", "x")
            before = reader.sessions()[0].updated
            made = await book.make(dataclasses.replace(WANTED, session=session))
            assert made.state == "open" and made.id and book.one(made.id[:4]) == made == book.find(state="open")[0]
            assert await book.make(dataclasses.replace(WANTED, session=session)) == made  # the same is wanted once
            for state, result in (("kept", "4"), ("undone", ""), ("open", ""), ("rejected", "")):
                settled = await book.settle(made.id, state, result=result)  # type: ignore[arg-type]
                assert (settled.state, settled.result, settled.text) == (state, result, WANTED.text)
                assert book.one(made.id) == settled
            first, *rest = facts(reader, session)
            assert isinstance(first, ProposalMade) and first.proposal_id == made.id and first.text.size == 10_000
            assert [fact.state for fact in rest if isinstance(fact, ProposalSettled)] == [
                "kept", "undone", "open", "rejected",
            ]  # fmt: skip
            assert reader.sessions()[0].updated >= before

        asyncio.run(work())


@pytest.mark.parametrize("session", [True, False])
def test_two_who_decide_at_once_decide_once(tmp_path: Path, session: bool) -> None:
    with journal_at(tmp_path / "journeyman.db") as (journal, reader, database):
        book = Proposals(tmp_path / "journeyman.db", database, journal)

        async def work() -> None:
            name = await journal.open("/tmp", "x") if session else ""
            made = await book.make(dataclasses.replace(WANTED, session=name))
            ends = await asyncio.gather(
                *(book.settle(made.id, "kept" if n % 2 else "rejected") for n in range(6)), return_exceptions=True
            )
            assert sum(isinstance(end, Problem) for end in ends) == 5
            (won,) = [end for end in ends if isinstance(end, Proposal)]
            assert book.one(made.id).state == won.state
            if session:  # a decision that came too late left no fact behind
                assert [type(fact) for fact in facts(reader, name)] == [ProposalMade, ProposalSettled]

        asyncio.run(work())


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    with journal_at(tmp_path / "journeyman.db") as (journal, _, database):
        book = Proposals(tmp_path / "journeyman.db", database, journal)
        for name in ("", "nothing", "%"):
            with pytest.raises(Problem):
                book.one(name)
        with pytest.raises(Problem, match="cannot be written"):
            asyncio.run(Proposals(tmp_path / "journeyman.db", None, Journal(None, Reader.__new__(Reader))).make(WANTED))
