"""Memories for pictures: learnt in the sessions that are there, used, judged, and some that wait for a word."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from app import places
from core.domain.clock import now
from core.domain.memory import DAY, Author, Kind, Said
from core.domain.proposal import Proposal
from core.engine.memory import Listed, Memory, Shown
from core.memory.index import indexed
from core.memory.keep import Source
from core.memory.memory import Memories
from core.memory.portable import about
from core.store.database import Database
from core.store.journal import Journal
from core.store.memory_book import MemoryBook
from core.store.memory_rows import Use
from core.store.proposals import Proposals
from core.store.reader import Reader

LETTER: Final = "Letter about the mould"
FLAKY: Final = "Fix flaky checkout test"
AUDIT: Final = "Weekly dependency audit"
INVOICES: Final = "Rename invoices by date"
PUMPS: Final = "Compare three heat pumps"
SHOWN: Final = "Always attach dated evidence to formal letters."


class Made(NamedTuple):
    """`went` are its uses, the oldest first, one every few days: good, bad, or empty where nobody said."""

    text: str
    kind: Kind
    days: int
    by: Author
    session: str = ""
    seq: int = 0
    went: tuple[str, ...] = ()
    folder: str = ""
    confidence: float = 0.3
    parts: tuple[tuple[str, str], ...] = ()


MEMORIES: Final = (
    Made("Running the full test suite with -n 8 starves the test database.", "anti-pattern", 26, "review", FLAKY, 20,
         ("good", "bad", "good", "bad", "bad"), "src/shop"),
    Made("Receipts before 2019 are in the blue folder.", "knowledge", 210, "agent", INVOICES, 9),
    Made("Never push to main; open a pull request instead.", "preference", 21, "person", went=("good",) * 9),
    Made("Ask for the tone before writing a final letter.", "heuristic", 19, "review", went=("good",) * 3,
         parts=(("when", "a final letter is written"), ("do", "ask for the tone"))),
    Made("Dependency audit: the lock upgrade took six minutes and passed.", "outcome", 14, "run", AUDIT, 4, ("good",)),
    Made("The shop test database is reset every night at 02:00.", "knowledge", 11, "agent", FLAKY, 12,
         ("good", "good", "bad", "good"), "src/shop"),
    Made(SHOWN, "heuristic", 9, "review", LETTER, 31, ("good", "good", "", "good", "bad", "good"),
         parts=(("when", "writing to a landlord, shop or authority"), ("do", "attach dated evidence"))),
    Made("Invoices from Nordwerk carry the date as DD.MM.YYYY.", "knowledge", 1, "agent", INVOICES, 14,
         ("good", "bad")),
    Made("Do not call pandoc without checking that it is installed.", "anti-pattern", 0, "agent", LETTER, 20,
         ("good",), parts=(("what", "call pandoc without checking that it is installed"),
                           ("instead", "fall back to python-docx"))),
    Made("Write dates as 20 November 2026 in letters.", "preference", 0, "person", went=("good",) * 4),
)  # fmt: skip


async def make(database: Database, journal: Journal, reader: Reader) -> None:
    """Each at its own moment, and what became of it since."""
    clock = _Clock()
    memories = Memories(MemoryBook(database.path, database, indexed), clock)
    sessions = {row.title: row.id for row in reader.sessions()}
    for made in MEMORIES:
        clock.time = now() - made.days * DAY
        place = str(Path.home() / made.folder) if made.folder else ""
        said = Said(
            made.kind, made.text, "folder" if place else "everywhere", place, confidence=made.confidence,
            parts=dict(made.parts),
        )  # fmt: skip
        kept = await memories.keep(said, Source(made.by, sessions.get(made.session, ""), made.seq))
        await memories.use(_uses(kept.memory.id, made, clock.time, list(sessions.values())))
    await _change(memories, clock)
    await _propose(Proposals(database.path, database, journal), memories, sessions)


def looked(home: Path, reader: Reader) -> tuple[Sequence[Listed], dict[str, Shown], Sequence[Proposal]]:
    """What the page shows: the list, each memory as it opens, and what waits for a word."""
    path = places.database(home)
    waiting = Proposals(path, None, Journal(None, reader))
    memory = Memory(Memories(MemoryBook(path, None, indexed)), reader, waiting)
    with asyncio.Runner() as runner:
        listed = runner.run(memory.listed(standing=None))
        shown = {one.memory.said.text: runner.run(memory.show(one.memory.id)) for one in listed}
    return listed, shown, waiting.find(state="open", of="memory")


class _Clock:
    time = 0

    def __call__(self) -> int:
        return self.time


def _uses(name: str, made: Made, began: int, sessions: Sequence[str]) -> list[Use]:
    step = made.days * DAY // (len(made.went) + 1)
    return [
        Use(sessions[at % len(sessions)], at + 1, name, 1, began + (at + 1) * step, 1.0, 1, went)
        for at, went in enumerate(made.went)
    ]


async def _change(memories: Memories, clock: _Clock) -> None:
    """One was written anew, one is pinned, one went to the archive."""
    by_text = {one.said.text: one for one in memories.listed()}
    clock.time = now() - 2 * DAY
    letters = by_text[SHOWN]
    parts = dict(letters.said.parts)
    before = Said("heuristic", "Attach evidence to letters.", parts=parts, confidence=letters.said.confidence)
    await memories.edit(letters.id, before, by=Source("review"))
    await memories.edit(letters.id, letters.said)
    await memories.pin(by_text["Never push to main; open a pull request instead."].id)


async def _propose(proposals: Proposals, memories: Memories, sessions: dict[str, str]) -> None:
    lesson = Said("heuristic", "")
    await proposals.make(Proposal(
        "", "memory", "create", "", "When a letter cites a law: name the clause as well.",
        "the clause was asked for twice", about=about(lesson), session=sessions[LETTER], steps=(12, 15), by="review",
    ))  # fmt: skip
    database = next(one for one in memories.listed() if "reset every night" in one.said.text)
    await proposals.make(Proposal(
        "", "memory", "patch", database.id, "The shop test database is reset every night at 03:00.",
        "the log of the reset says 03:00", database.version, session=sessions[FLAKY], steps=(9,), by="review",
    ))  # fmt: skip
    await proposals.make(Proposal(
        "", "memory", "create", "", "The heat pump of Nordwerk is the quietest of the three.", "read on a page",
        about=about(Said("knowledge", "")), session=sessions[PUMPS], steps=(7,), taint=("web: nordwerk.example",),
    ))  # fmt: skip
