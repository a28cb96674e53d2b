"""Recall on LoCoMo-10: `python -m tests.bench.locomo FILE [MODEL]`. The data is for evaluation and no part of this.

Unit: a turn of a conversation; recall of the turns that hold the evidence, over the questions of categories 1 to 4. The
weights of words were tuned on the first half of the conversations, the other half was held out, and both are told. The
weight of meaning is chosen here anew on either half and told for the half that had no say in it.
"""

import asyncio
import json
import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.domain.ids import memory_id
from core.domain.memory import AROUND, LONGEST, Change, Said
from core.memory import rank
from core.memory.index import indexed
from core.memory.meaning import Meaning
from core.memory.memory import Memories
from core.store.database import Database
from core.store.memory_book import MemoryBook
from core.store.memory_rows import MemoryRows
from tests.bench.bench import Figure, percentile, scratch

CUTS = (1, 5, 10, 20)
NEIGHBOURS = (-2, -1, 1, 2)  # turns that stand around a turn
BASELINES = "baselines @10: FTS5 with porter .608, MiniLM .453, two columns of FTS5 .702, with a light blend .730"
GOAL = 0.72
WEIGHTS = (0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4)  # of meaning, from which one is chosen
MEANT, FLOOR = 0.76, 0.73  # with the folder of a model: what is wanted, and what it must not fall below


@dataclass(frozen=True, slots=True)
class Turn:
    id: str
    sitting: int
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    text: str
    evidence: frozenset[str]


@dataclass(frozen=True, slots=True)
class Talk:
    turns: tuple[Turn, ...]
    questions: tuple[Question, ...]


def talks(plain: list[dict[str, Any]]) -> list[Talk]:
    """The conversations of the file."""
    return [Talk(tuple(_turns(one["conversation"])), tuple(_questions(one["qa"]))) for one in plain]


def _turns(talk: dict[str, Any]) -> Iterator[Turn]:
    sitting = 1
    while f"session_{sitting}" in talk:
        for turn in talk[f"session_{sitting}"]:
            picture = f" [{turn['blip_caption']}]" if turn.get("blip_caption") else ""
            yield Turn(turn["dia_id"], sitting, f"{turn['speaker']}: {turn['text']}{picture}")
        sitting += 1


def _questions(plain: list[dict[str, Any]]) -> Iterator[Question]:
    for one in plain:
        named = frozenset(found for part in one.get("evidence", ()) for found in re.findall(r"D\d+:\d+", part))
        if one["category"] in (1, 2, 3, 4) and named:
            yield Question(one["question"], named)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with the memories of its talk, and how near each is by what it means."""

    question: Question
    turns: dict[str, str]
    wanted: tuple[tuple[str, str], ...]
    near: Mapping[int, float]
    tuned: bool  # of the half that the weights of words were tuned on


async def measure(told: list[Talk], model: str = "") -> list[Figure]:
    """What is found with the weights as they are; with a model also what a weight is worth that was chosen blindly."""
    with scratch() as folder:
        database = Database(folder / "locomo.db", synchronous="OFF")
        book = MemoryBook(folder / "locomo.db", database, indexed)
        meaning = Meaning(book, lambda: model)
        memories = Memories(book, meaning=meaning)
        try:
            asked: list[Asked] = []
            for number, talk in enumerate(told):
                turns, wanted = await _remembered(book, talk, f"talk {number}"), (("session", f"talk {number}"),)
                await meaning.catch_up()
                for question in talk.questions:
                    near = await memories.near(question.text, wanted)
                    asked.append(Asked(question, turns, wanted, near, 2 * number < len(told)))
            return [_as_it_is(memories, asked), *(_blind(memories, asked) if model else ())]
        finally:
            await meaning.close()
            book.close()
            database.close()


def _as_it_is(memories: Memories, asked: list[Asked]) -> Figure:
    """Shares by cut, over all and by half, and how long a question took."""
    shares: dict[int, list[float]] = {cut: [] for cut in CUTS}
    halves: dict[bool, list[float]] = {True: [], False: []}
    took: list[float] = []
    for one in asked:
        began = time.thread_time()
        found = _found(memories, one)
        took.append((time.thread_time() - began) * 1000)
        for cut in CUTS:
            shares[cut].append(_share(one, found, cut))
        halves[one.tuned].append(shares[10][-1])
    values: dict[str, float | int] = {f"@{cut}": _mean(found) for cut, found in shares.items()}
    values |= {"@10 tuned on": _mean(halves[True]), "@10 held out": _mean(halves[False])}
    return Figure("as it is", values | {"n": len(took), "p95 ms": percentile(took, 0.95)})


def _blind(memories: Memories, asked: list[Asked]) -> Iterator[Figure]:
    """The weight of meaning that is best on one half, on the other half, which had no say in it; and turned about."""
    kept, found = rank.MEANS, {}
    for weight in WEIGHTS:
        rank.MEANS = weight
        shares = [(one.tuned, _share(one, _found(memories, one), 10)) for one in asked]
        found[weight] = {half: _mean([share for of, share in shares if of == half]) for half in (True, False)}
    rank.MEANS = kept
    for half, name in ((True, "first"), (False, "second")):
        best = max(WEIGHTS, key=lambda weight: found[weight][half])
        values = {"weight": best, "@10 chosen on": found[best][half], "@10 other half": found[best][not half]}
        yield Figure(f"chosen on the {name} half", values)
    for weight in WEIGHTS:
        yield Figure(f"weight {weight:g}", {"@10 first": found[weight][True], "@10 second": found[weight][False]})


def _found(memories: Memories, one: Asked) -> list[str]:
    found = memories.find(one.question.text, wanted=one.wanted, most=CUTS[-1], near=one.near)
    return [one.turns[each.memory.id] for each in found]


def _share(one: Asked, found: Sequence[str], cut: int) -> float:
    return len(one.question.evidence & set(found[:cut])) / len(one.question.evidence)


def _mean(values: Sequence[float]) -> float:
    """Nothing of nothing: a file may hold one talk only."""
    return sum(values) / len(values) if values else 0.0


async def _remembered(book: MemoryBook, talk: Talk, place: str) -> dict[str, str]:
    """Each turn as a memory, with what was said around it; the turns by the ids of their memories."""
    names: dict[str, str] = {}
    changes = []
    for at, turn in enumerate(talk.turns):
        near = [talk.turns[at + step] for step in NEIGHBOURS if 0 <= at + step < len(talk.turns)]
        around = "\n".join(one.text for one in near if one.sitting == turn.sitting)
        said = Said("knowledge", turn.text[:LONGEST], "session", place, around[:AROUND])
        names[name := memory_id()] = turn.id
        changes.append(Change(name, 1, 1, "kept", "import", said))

    def write(rows: MemoryRows) -> int:
        return rows.add_all(changes)

    await book.write(write)
    return names


def main(words: list[str]) -> int:
    """0 where the goal is met."""
    if len(words) not in (1, 2):
        print("python -m tests.bench.locomo FILE [MODEL]: the locomo10.json of its authors", file=sys.stderr)
        return 2
    file, model = [*words, ""][:2]
    figures = asyncio.run(measure(talks(json.loads(Path(file).read_text("utf-8"))), model))
    for figure in figures:
        told = (
            f"{name} {value:.3f}" if isinstance(value, float) else f"{name} {value}"
            for name, value in figure.values.items()
        )
        print(f"{figure.name}:", "  ".join(told))
    print(BASELINES)
    if model:
        print(f"wanted with a model: {MEANT}, and never below {FLOOR}")
    return 0 if float(figures[0].values["@10"]) >= (FLOOR if model else GOAL) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
