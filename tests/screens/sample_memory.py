"""Sample memories and proposals for the screenshots, learned from the sample sessions, with rated uses."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from app.process import data_folder
from core.domain.clock import now
from core.domain.memory import DAY, MemoryAuthor, MemoryContent, MemoryKind
from core.domain.proposal import Proposal
from core.engine.services.memory_results import MemoryDetails, MemoryListing
from core.engine.services.memory_service import MemoryService
from core.memory.index_terms import index_terms
from core.memory.memories import Memories
from core.memory.saving import MemorySource
from core.memory.serialization import to_proposal_details
from core.store.database import Database
from core.store.journal import Journal
from core.store.memory_records import MemoryUse
from core.store.memory_store import MemoryStore
from core.store.proposal_store import ProposalStore
from core.store.reader import Reader

LETTER: Final = "Letter about the mould"
FLAKY: Final = "Fix flaky checkout test"
AUDIT: Final = "Weekly dependency audit"
INVOICES: Final = "Rename invoices by date"
PUMPS: Final = "Compare three heat pumps"
SHOWN: Final = "Always attach dated evidence to formal letters."


class SampleMemory(NamedTuple):
    """A sample memory. `went` has the rating of each use, oldest first: good, bad or, if unrated, empty."""

    text: str
    kind: MemoryKind
    days: int
    by: MemoryAuthor
    session: str = ""
    seq: int = 0
    went: tuple[str, ...] = ()
    folder: str = ""
    confidence: float = 0.3
    parts: tuple[tuple[str, str], ...] = ()


MEMORIES: Final = (
    SampleMemory("Running the full test suite with -n 8 starves the test database.", "anti-pattern", 26, "review",
         FLAKY, 20, ("good", "bad", "good", "bad", "bad"), "src/shop"),
    SampleMemory("Receipts before 2019 are in the blue folder.", "knowledge", 210, "agent", INVOICES, 9),
    SampleMemory("Never push to main; open a pull request instead.", "preference", 21, "user", went=("good",) * 9),
    SampleMemory("Ask for the tone before writing a final letter.", "heuristic", 19, "review", went=("good",) * 3,
         parts=(("when", "a final letter is written"), ("do", "ask for the tone"))),
    SampleMemory("Dependency audit: the lock upgrade took six minutes and passed.", "outcome", 14, "run", AUDIT, 4,
         ("good",)),
    SampleMemory("The shop test database is reset every night at 02:00.", "knowledge", 11, "agent", FLAKY, 12,
         ("good", "good", "bad", "good"), "src/shop"),
    SampleMemory(SHOWN, "heuristic", 9, "review", LETTER, 31, ("good", "good", "", "good", "bad", "good"),
         parts=(("when", "writing to a landlord, shop or authority"), ("do", "attach dated evidence"))),
    SampleMemory("Invoices from Nordwerk carry the date as DD.MM.YYYY.", "knowledge", 1, "agent", INVOICES, 14,
         ("good", "bad")),
    SampleMemory("Do not call pandoc without checking that it is installed.", "anti-pattern", 0, "agent", LETTER, 20,
         ("good",), parts=(("what", "call pandoc without checking that it is installed"),
                           ("instead", "fall back to python-docx"))),
    SampleMemory("Write dates as 20 November 2026 in letters.", "preference", 0, "user", went=("good",) * 4),
)  # fmt: skip


async def make(database: Database, journal: Journal, reader: Reader) -> None:
    """Write the sample memories, each at its own time, with their later uses, changes and proposals."""
    clock = _Clock()
    memories = Memories(MemoryStore(database.path, database, index_terms), clock)
    sessions = {row.title: row.id for row in reader.sessions()}
    for made in MEMORIES:
        clock.time = now() - made.days * DAY
        place = str(Path.home() / made.folder) if made.folder else ""
        said = MemoryContent(
            made.kind, made.text, "folder" if place else "everywhere", place, confidence=made.confidence,
            fields=dict(made.parts),
        )  # fmt: skip
        kept = await memories.save(said, MemorySource(made.by, sessions.get(made.session, ""), made.seq))
        await memories.record_uses(_uses(kept.memory.id, made, clock.time, list(sessions.values())))
    await _change(memories, clock)
    await _propose(ProposalStore(database.path, database, journal), memories, sessions)


def memory_page_data(
    home: Path, reader: Reader
) -> tuple[Sequence[MemoryListing], dict[str, MemoryDetails], Sequence[Proposal]]:
    """Return what the memory page shows: the list, each memory by its text, and the pending proposals."""
    path = data_folder.database_path(home)
    waiting = ProposalStore(path, None, Journal(None, reader))
    memory = MemoryService(Memories(MemoryStore(path, None, index_terms)), reader, waiting)
    with asyncio.Runner() as runner:
        listed = runner.run(memory.list_memories(status=None))
        shown = {one.memory.content.text: runner.run(memory.show(one.memory.id)) for one in listed}
    return listed, shown, waiting.find(state="pending", target_kind="memory")


class _Clock:
    time = 0

    def __call__(self) -> int:
        return self.time


def _uses(name: str, made: SampleMemory, began: int, sessions: Sequence[str]) -> list[MemoryUse]:
    step = made.days * DAY // (len(made.went) + 1)
    return [
        MemoryUse(sessions[at % len(sessions)], at + 1, name, 1, began + (at + 1) * step, 1.0, 1, went)
        for at, went in enumerate(made.went)
    ]


async def _change(memories: Memories, clock: _Clock) -> None:
    """Edit one memory, pin one and archive one."""
    by_text = {one.content.text: one for one in memories.listed()}
    clock.time = now() - 2 * DAY
    letters = by_text[SHOWN]
    parts = dict(letters.content.fields)
    before = MemoryContent(
        "heuristic", "Attach evidence to letters.", fields=parts, confidence=letters.content.confidence
    )
    await memories.edit(letters.id, before, by=MemorySource("review"))
    await memories.edit(letters.id, letters.content)
    await memories.pin(by_text["Never push to main; open a pull request instead."].id)


async def _propose(proposals: ProposalStore, memories: Memories, sessions: dict[str, str]) -> None:
    lesson = MemoryContent("heuristic", "")
    await proposals.create(
        Proposal(
            "",
            "memory",
            "create",
            "",
            "When a letter cites a law, name the clause too.",
            "You asked for the clause twice.",
            details=to_proposal_details(lesson),
            session=sessions[LETTER],
            steps=(12, 15),
            author="review",
        )
    )
    database = next(one for one in memories.listed() if "reset every night" in one.content.text)
    await proposals.create(Proposal(
        "", "memory", "patch", database.id, "The shop test database is reset every night at 03:00.",
        "The log of the reset says 03:00.", database.version, session=sessions[FLAKY], steps=(9,), author="review",
    ))  # fmt: skip
    await proposals.create(
        Proposal(
            "",
            "memory",
            "create",
            "",
            "The heat pump Nordwerk N8 is quieter than Alpin A6 and Sole S10.",
            "The web page of Nordwerk gives the noise of all three.",
            details=to_proposal_details(MemoryContent("knowledge", "")),
            session=sessions[PUMPS],
            steps=(7,),
            untrusted_sources=("web: nordwerk.example",),
        )
    )
