"""Memory beside others: `python -m tests.bench.beside MODEL [ALMA_PYTHON [SIZE ...]]`, in one run on the same facts.

MODEL is the folder of a model of meaning, ALMA_PYTHON a Python in which alma-memory and numpy are installed, else -.
Whatever looks for meaning is given the same vectors; ours alone also has to make that of the question.
"""

import asyncio
import importlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from core.domain.memory import Said
from core.memory.embedder import Embedder
from core.memory.index import indexed
from core.memory.keep import Source
from core.memory.meaning import Meaning
from core.memory.memory import EVERYWHERE, Memories
from core.store.database import Database
from core.store.memory_book import MemoryBook
from core.store.vectors import newer
from tests.bench.bench import Figure, percentile, scratch
from tests.bench.facts import Fact, facts
from tests.bench.memory import ASKED, SIZES, SORTS, asked, chosen, ours, plain

SHARES = tuple(f"{sort} {cut}" for sort in SORTS for cut in ("@1", "@5"))
P95_MS = 60.0
SLICE = 10_000  # of what SQLite takes at once


def beside(model: Path, alma: str, sizes: Sequence[int]) -> Iterator[Figure]:
    """For each size: ours by words, ours by words and meaning, then the others."""
    embedder = Embedder(model)
    for size in sizes:
        made = facts(size)
        with scratch() as folder:
            words, floor = asyncio.run(ours(folder, made)), plain(folder, made)
            meant, texts, vectors = with_meaning(folder, model, made)
            questions = [getattr(fact, sort) for sort in SORTS for fact in chosen(made)]
            known = embedder.lines(questions)
            others = {"FTS5": floor, "cosine": cosine(made, texts, vectors, known)}
            if alma != "-":
                others["ALMA 0.11"] = of_alma(alma, made, texts, vectors, known)
        yield Figure(f"{size:,} ours, words", words, "own and inflected not below the best", _best(words, others, 4))
        goal = f"p95 ≤ {P95_MS:g} ms, nowhere below the best"
        good = meant["p95 ms"] <= P95_MS and _best(meant, {**others, "words": words}, 6)
        yield Figure(f"{size:,} ours, meaning", meant, goal, good)
        for name, values in others.items():
            yield Figure(f"{size:,} {name}", values)


def _best(own: dict[str, float], others: dict[str, dict[str, float]], columns: int) -> bool:
    return all(own[share] >= max(one[share] for one in others.values()) for share in SHARES[:columns])


def with_meaning(folder: Path, model: Path, made: Sequence[Fact]) -> tuple[dict[str, float], list[str], Any]:
    """Ours with a model; and the vectors it made, with their sentences."""
    numpy = importlib.import_module("numpy")
    path = folder / "meant.db"
    with asyncio.Runner() as runner:
        database = Database(path, synchronous="OFF")
        book = MemoryBook(path, database, indexed)
        meaning = Meaning(book, lambda: str(model))
        memories = Memories(book, meaning=meaning)

        async def look(question: str) -> list[str]:
            wanted = [EVERYWHERE]
            near = await memories.near(question, wanted)
            return [one.memory.said.text for one in memories.find(question, wanted=wanted, most=5, near=near)]

        try:
            said = ((Said("knowledge", fact.text), Source("import")) for fact in made)
            runner.run(memories.add_all(said))
            began = time.perf_counter()
            runner.run(meaning.catch_up())
            made_in = time.perf_counter() - began
            runner.run(look("once before it counts"))
            values = asked(made, lambda question: runner.run(look(question)), time.perf_counter)
            rows = [row for some in newer(path, meaning.model, 0) for row in some]
            keys = [key for _, key, _ in rows]
            texts = [text for start in range(0, len(keys), SLICE) for text in _texts(book, keys[start : start + SLICE])]
            vectors = numpy.stack([numpy.frombuffer(body, numpy.float16) for *_, body in rows]).astype(numpy.float32)
        finally:
            runner.run(meaning.close())
            book.close()
            database.close()
    return {"seen/s": len(made) / made_in, **values}, texts, vectors


def _texts(book: MemoryBook, keys: Sequence[int]) -> list[str]:
    return [one.said.text for one in book.read(lambda rows: rows.by_keys(keys))]


def cosine(made: Sequence[Fact], texts: Sequence[str], vectors: Any, known: dict[str, Any]) -> dict[str, float]:
    """Every vector is compared, by numpy."""

    def ask(question: str) -> list[str]:
        like = vectors @ known[question]
        best = like.argpartition(-5)[-5:]
        return [texts[place] for place in best[(-like[best]).argsort()]]

    return asked(made, ask)


def of_alma(python: str, made: Sequence[Fact], texts: Sequence[str], vectors: Any, known: dict[str, Any]) -> Any:
    """Its engine in its best mode, by its own Python."""
    numpy = importlib.import_module("numpy")
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        questions = [(sort, getattr(fact, sort), fact.text) for sort in SORTS for fact in chosen(made)]
        numpy.save(here / "vectors.npy", vectors)
        numpy.save(here / "asked.npy", numpy.stack([known[question] for _, question, _ in questions]))
        (here / "texts.json").write_text(json.dumps({"texts": texts, "questions": questions}))
        command = [python, str(Path(__file__).with_name("alma_side.py")), folder]
        told = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[-1])
    took = told.pop("took")
    shares = {name: count / ASKED for name, count in told.pop("right").items()}
    return {**told, "p50 ms": percentile(took, 0.5), "p95 ms": percentile(took, 0.95), **shares}


def main(words: list[str]) -> int:
    """0 where every goal is met."""
    if not words or not Path(words[0]).is_dir():
        print(__doc__, file=sys.stderr)
        return 2
    sizes = tuple(map(int, words[2:])) or SIZES
    good = True
    for figure in beside(Path(words[0]), words[1] if len(words) > 1 else "-", sizes):
        told = "  ".join(f"{name} {value:.3g}" for name, value in figure.values.items())
        goal = f"  [{figure.goal}: {'met' if figure.good else 'NOT MET'}]" if figure.goal else ""
        print(f"{figure.name:22} {told}{goal}", flush=True)
        good = good and figure.good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
