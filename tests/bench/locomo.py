"""Recall on LoCoMo-10: `python -m tests.bench.locomo FILE [MODEL]`. The data is for evaluation and no part of this.

Unit: a turn of a conversation; recall of the turns that hold the evidence, over the questions of categories 1 to 4. The
weights were tuned on the first five conversations; the other five were held out, and both halves are told.
"""

import asyncio
import json
import re
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.domain.ids import memory_id
from core.domain.memory import AROUND, LONGEST, Change, Said
from core.memory.index import indexed
from core.memory.meaning import Meaning
from core.memory.memory import Memories
from core.store.database import Database
from core.store.memory_book import MemoryBook
from core.store.memory_rows import MemoryRows
from tests.bench.bench import percentile, scratch

CUTS = (1, 5, 10, 20)
NEIGHBOURS = (-2, -1, 1, 2)  # turns that stand around a turn
BASELINES = "baselines @10: FTS5 with porter .608, MiniLM .453, two columns of FTS5 .702, with a light blend .730"
GOAL = 0.72
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


async def measure(told: list[Talk], model: str = "") -> dict[str, Any]:
    """Shares by cut, over all and by half, and how long a question took."""
    shares: dict[int, list[float]] = {cut: [] for cut in CUTS}
    halves: tuple[list[float], list[float]] = ([], [])
    took: list[float] = []
    with scratch() as folder:
        database = Database(folder / "locomo.db", synchronous="OFF")
        book = MemoryBook(folder / "locomo.db", database, indexed)
        meaning = Meaning(book, lambda: model)
        memories = Memories(book, meaning=meaning)
        try:
            for number, talk in enumerate(told):
                turns = await _remembered(book, talk, f"talk {number}")
                wanted = [("session", f"talk {number}")]
                await meaning.catch_up()
                for question in talk.questions:
                    near = await memories.near(question.text, wanted)
                    began = time.thread_time()
                    found = memories.find(question.text, wanted=wanted, most=CUTS[-1], near=near)
                    took.append((time.thread_time() - began) * 1000)
                    ids = [turns[one.memory.id] for one in found]
                    for cut in CUTS:
                        shares[cut].append(len(question.evidence & set(ids[:cut])) / len(question.evidence))
                    halves[number >= 5].append(shares[10][-1])
        finally:
            await meaning.close()
            book.close()
            database.close()
    named = {f"@{cut}": sum(values) / len(values) for cut, values in shares.items()}
    tuned, held_out = (sum(half) / len(half) for half in halves)
    more = {"@10 tuned on": tuned, "@10 held out": held_out, "n": len(took), "p95 ms": percentile(took, 0.95)}
    return named | more


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
    found = asyncio.run(measure(talks(json.loads(Path(file).read_text("utf-8"))), model))
    told = [f"{name} {value:.3f}" if isinstance(value, float) else f"{name} {value}" for name, value in found.items()]
    print("  ".join(told))
    print(BASELINES)
    if model:
        print(f"wanted with a model: {MEANT}, and never below {FLOOR}")
    return 0 if found["@10"] >= (FLOOR if model else GOAL) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
