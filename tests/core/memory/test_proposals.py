"""Random operations on many proposals: the memories always equal the fold of the changes."""

import asyncio
import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from core.domain.memory import MemoryContent
from core.domain.proposal import MemoryResult, Proposal, ProposalState
from core.engine.services.proposal_queue import ProposalQueue
from core.memory.memories import Memories
from core.memory.serialization import to_proposal_details
from tests.core.memory.made import memories_at, run_now
from tests.core.memory.test_changes import problems
from tests.core.memory.test_lessons import tray_at

DEEDS = ("keep", "edit", "reject", "undo", "forget", "restore")
WISHES = st.lists(st.tuples(st.sampled_from(("make", "make", *DEEDS)), st.integers(0, 5)), min_size=1, max_size=40)


def sentence(number: int) -> str:
    """Return a sentence that shares no word with any other, so that only an equal one is the same."""
    chance = random.Random(number)
    words = ("".join(chance.choice("bdfgklmnprst") + chance.choice("aou") for _ in range(3)) for _ in range(5))
    return f"The house of {' '.join(words)}."


@dataclass(slots=True)
class Model:
    """The expected result of the operations.

    A memory exists while an accepted proposal created it and nothing has forgotten it.
    """

    states: dict[str, ProposalState] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    made: dict[str, str] = field(default_factory=dict)  # the memory of each accepted proposal
    forgotten: set[str] = field(default_factory=set)

    def expected(self) -> dict[str, tuple[str, int]]:
        """Return each memory that must exist, with its text and evidence count."""
        counts = Counter(self.made.values())
        text = {memory: self.texts[proposal] for proposal, memory in self.made.items()}
        return {memory: (text[memory], counts[memory]) for memory in counts.keys() - self.forgotten}

    def wrong(self, memories: Memories, tray: ProposalQueue) -> list[str]:
        """Return the differences between the file and the expectation."""
        there = {one.id: (one.content.text, one.evidence) for one in memories.listed()}
        states = {one.id: one.state for one in tray.list(None)}
        expected = self.expected()
        differ = [f"{name}: {there.get(name)}, not {expected.get(name)}" for name in there.keys() ^ expected.keys()]
        differ += [f"{name}: {there[name]}, not {expected[name]}" for name in there.keys() & expected.keys()
                   if there[name] != expected[name]]  # fmt: skip
        return differ + [f"proposal {name}" for name in states if states[name] != self.states[name]]


async def wish(model: Model, tray: ProposalQueue, memories: Memories, did: str, which: int) -> None:
    """Apply an operation to the proposal that the number selects among those that allow it."""
    if did == "make":
        wanted = Proposal(
            "",
            "memory",
            "create",
            "",
            sentence(which),
            "seen",
            details=to_proposal_details(MemoryContent("knowledge", "")),
        )
        made = await tray.add(wanted)
        model.states[made.id], model.texts[made.id] = "pending", made.text
        return
    if did in {"forget", "restore"}:
        some = sorted(model.forgotten if did == "restore" else model.expected())
        if some:
            name = some[which % len(some)]
            await (memories.restore(name) if did == "restore" else memories.forget(name))
            (model.forgotten.discard if did == "restore" else model.forgotten.add)(name)
        return
    wanted_state = {"keep": "pending", "edit": "pending", "reject": "pending"}.get(did)
    can = [
        name for name, state in model.states.items() if (state == wanted_state if wanted_state else state != "pending")
    ]
    if not can:
        return
    name = can[which % len(can)]
    if did == "reject":
        model.states[name] = (await tray.reject(name)).state
    elif did == "undo":
        model.states[name] = (await tray.undo(name)).state
        if (gone := model.made.pop(name, "")) and gone not in model.made.values():
            model.forgotten.discard(gone)
    else:
        kept = await tray.accept(name, sentence(9_000 + which % 50) if did == "edit" else None)
        model.states[name], model.texts[name] = "accepted", kept.text
        assert isinstance(kept.result, MemoryResult)
        model.made[name] = kept.result.changes[0].memory


async def play(
    model: Model, tray: ProposalQueue, memories: Memories, wishes: Iterable[tuple[str, int]], every: int
) -> None:
    for place, (did, which) in enumerate(wishes, 1):
        await wish(model, tray, memories, did, which)
        if place % every == 0:
            assert model.wrong(memories, tray) == [], f"after {did} {which}"
    assert model.wrong(memories, tray) == [] and problems(memories) == []


@settings(max_examples=40, deadline=None)
@given(WISHES)
def test_proposals_in_any_order_leave_the_fold_of_the_events(
    tmp_path_factory: pytest.TempPathFactory, wishes: list[tuple[str, int]]
) -> None:
    """The number of operations is small, so that a failure is reported with the shortest sequence."""
    folder = tmp_path_factory.mktemp("p")
    with memories_at(folder, quick=True) as memories:
        asyncio.run(play(Model(), tray_at(folder, memories)[0], memories, wishes, 1))


@settings(max_examples=2, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
@given(st.integers(0, 1 << 32))
def test_a_thousand_proposals(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    chance = random.Random(seed)
    folder = tmp_path_factory.mktemp("p")
    wishes = [("make", chance.randrange(3_000)) for _ in range(1_100)]
    for _ in range(1_900):
        wishes.insert(chance.randrange(len(wishes)), (chance.choice(DEEDS), chance.randrange(1 << 20)))
    with memories_at(folder, quick=True) as memories:
        model = Model()
        asyncio.run(play(model, tray_at(folder, memories)[0], memories, wishes, 100))
        assert len(model.states) >= 1_000


@pytest.mark.parametrize("bug", ["lost", "left", "counted twice", "other words", "settled"])
def test_a_planted_bug_is_detected(tmp_path: Path, bug: str) -> None:
    with memories_at(tmp_path) as memories:
        tray, model = tray_at(tmp_path, memories)[0], Model()
        wishes = [("make", 1), ("make", 2), ("keep", 0), ("keep", 0)]
        asyncio.run(play(model, tray, memories, wishes, 1))
        planted = {
            "lost": "UPDATE memory SET status = 'archived' WHERE rowid = (SELECT max(rowid) FROM memory)",
            "left": "UPDATE proposal SET state = 'undone' WHERE rowid = 1",
            "counted twice": "UPDATE memory SET evidence = evidence + 1",
            "other words": "UPDATE memory SET text = 'The house is empty.'",
            "settled": "UPDATE proposal SET state = 'rejected' WHERE rowid = 2",
        }[bug]
        assert memories.store.database is not None
        run_now(memories.store.database.run(lambda db: db.execute(planted)))
        assert model.wrong(memories, tray) != []
