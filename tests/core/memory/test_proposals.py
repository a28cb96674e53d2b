"""A thousand proposals kept, edited, rejected, undone, opened again, forgotten: what is there is always the fold."""

import asyncio
import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from core.domain.memory import Said
from core.domain.proposal import Proposal, ProposalState
from core.engine.proposing import Tray
from core.memory.memory import Memories
from core.memory.portable import about
from tests.core.memory.made import done, memories_at
from tests.core.memory.test_changes import problems
from tests.core.memory.test_lessons import tray_at

DEEDS = ("keep", "edit", "reject", "undo", "forget", "restore")
WISHES = st.lists(st.tuples(st.sampled_from(("make", "make", *DEEDS)), st.integers(0, 5)), min_size=1, max_size=40)


def sentence(number: int) -> str:
    """Of words that stand in no other sentence: only the same one is the same."""
    chance = random.Random(number)
    words = ("".join(chance.choice("bdfgklmnprst") + chance.choice("aou") for _ in range(3)) for _ in range(5))
    return f"The house of {' '.join(words)}."


@dataclass(slots=True)
class Model:
    """What the wishes must have led to. A memory is there while a kept proposal made it and nobody forgot it."""

    states: dict[str, ProposalState] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    made: dict[str, str] = field(default_factory=dict)  # the memory of each proposal that is kept
    forgotten: set[str] = field(default_factory=set)

    def expected(self) -> dict[str, tuple[str, int]]:
        """Each memory that must be there: its sentence, and how often it was learnt."""
        counts = Counter(self.made.values())
        text = {memory: self.texts[proposal] for proposal, memory in self.made.items()}
        return {memory: (text[memory], counts[memory]) for memory in counts.keys() - self.forgotten}

    def wrong(self, memories: Memories, tray: Tray) -> list[str]:
        """Where the file says otherwise."""
        there = {one.id: (one.said.text, one.evidence) for one in memories.listed()}
        states = {one.id: one.state for one in tray.list(None)}
        expected = self.expected()
        differ = [f"{name}: {there.get(name)}, not {expected.get(name)}" for name in there.keys() ^ expected.keys()]
        differ += [f"{name}: {there[name]}, not {expected[name]}" for name in there.keys() & expected.keys()
                   if there[name] != expected[name]]  # fmt: skip
        return differ + [f"proposal {name}" for name in states if states[name] != self.states[name]]


async def wish(model: Model, tray: Tray, memories: Memories, did: str, which: int) -> None:
    """One of them, for the proposal that the number picks among those it can be done to."""
    if did == "make":
        wanted = Proposal("", "memory", "create", "", sentence(which), "seen", about=about(Said("knowledge", "")))
        made = await tray.make(wanted)
        model.states[made.id], model.texts[made.id] = "open", made.text
        return
    if did in {"forget", "restore"}:
        some = sorted(model.forgotten if did == "restore" else model.expected())
        if some:
            name = some[which % len(some)]
            await (memories.restore(name) if did == "restore" else memories.forget(name))
            (model.forgotten.discard if did == "restore" else model.forgotten.add)(name)
        return
    wanted_state = {"keep": "open", "edit": "open", "reject": "open"}.get(did)
    can = [name for name, state in model.states.items() if (state == wanted_state if wanted_state else state != "open")]
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
        kept = await tray.keep(name, sentence(9_000 + which % 50) if did == "edit" else None)
        model.states[name], model.texts[name] = "kept", kept.text
        model.made[name] = kept.result.partition(":")[0]


async def play(model: Model, tray: Tray, memories: Memories, wishes: Iterable[tuple[str, int]], every: int) -> None:
    for place, (did, which) in enumerate(wishes, 1):
        await wish(model, tray, memories, did, which)
        if place % every == 0:
            assert model.wrong(memories, tray) == [], f"after {did} {which}"
    assert model.wrong(memories, tray) == [] and problems(memories) == []


@settings(max_examples=40, deadline=None)
@given(WISHES)
def test_proposals_in_any_order_leave_the_fold_of_the_facts(
    tmp_path_factory: pytest.TempPathFactory, wishes: list[tuple[str, int]]
) -> None:
    """Few, so that what goes wrong is told in the fewest wishes."""
    folder = tmp_path_factory.mktemp("p")
    with memories_at(folder, quick=True) as memories:
        asyncio.run(play(Model(), tray_at(folder, memories)[0], memories, wishes, 1))


@settings(max_examples=2, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
@given(st.integers(0, 1 << 32))
def test_so_do_a_thousand(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
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
def test_a_planted_bug_is_seen(tmp_path: Path, bug: str) -> None:
    with memories_at(tmp_path) as memories:
        tray, model = tray_at(tmp_path, memories)[0], Model()
        wishes = [("make", 1), ("make", 2), ("keep", 0), ("keep", 0)]
        asyncio.run(play(model, tray, memories, wishes, 1))
        planted = {
            "lost": "UPDATE memory SET standing = 'archived' WHERE rowid = (SELECT max(rowid) FROM memory)",
            "left": "UPDATE proposal SET state = 'undone' WHERE rowid = 1",
            "counted twice": "UPDATE memory SET evidence = evidence + 1",
            "other words": "UPDATE memory SET text = 'The house is empty.'",
            "settled": "UPDATE proposal SET state = 'rejected' WHERE rowid = 2",
        }[bug]
        assert memories.book.database is not None
        done(memories.book.database.do(lambda db: db.execute(planted)))
        assert model.wrong(memories, tray) != []
