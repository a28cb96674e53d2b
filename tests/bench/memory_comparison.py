"""Compare our memory search with other ones: `python -m tests.bench.memory_comparison MODEL [ALMA_PYTHON [SIZE ...]]`.

MODEL is the folder of an embedding model; ALMA_PYTHON is a Python in which alma-memory and numpy are installed, or `-`.
All systems search the same facts. Those with semantic search get the same precomputed vectors; ours additionally has to
embed each question.
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

from core.domain.clock import now
from core.domain.memory import EVERYWHERE, MemoryContent
from core.memory.embedder_process import Embedder
from core.memory.index_terms import index_terms
from core.memory.memories import Memories
from core.memory.saving import MemorySource
from core.memory.semantic_search import SemanticSearch
from core.store.database import Database
from core.store.embedding_store import read_newer
from core.store.memory_store import MemoryStore
from tests.bench.benchmark import Measurement, percentile, scratch_folder
from tests.bench.memory import (
    QUESTION_KINDS,
    QUESTIONS,
    SIZES,
    measure_fts5,
    measure_ours,
    measure_recall,
    sample_facts,
)
from tests.bench.synthetic_facts import Fact, make_facts
from tests.core.memory.made import add_all

SHARES = tuple(f"{sort} {cut}" for sort in QUESTION_KINDS for cut in ("@1", "@5"))
P95_MS = 60.0
SLICE = 10_000  # rows fetched per query: SQLite limits the number of parameters


def compare(model: Path, alma: str, sizes: Sequence[int]) -> Iterator[Measurement]:
    """For each size, measure our full-text search, our full-text and semantic search, then the others."""
    embedder = Embedder(model)
    for size in sizes:
        made = make_facts(size)
        with scratch_folder() as folder:
            words, floor = asyncio.run(measure_ours(folder, made)), measure_fts5(folder, made)
            meant, texts, vectors = measure_semantic(folder, model, made)
            questions = [getattr(fact, sort) for sort in QUESTION_KINDS for fact in sample_facts(made)]
            known = embedder.embed_lines(questions)
            others = {"FTS5": floor, "cosine": measure_cosine(made, texts, vectors, known)}
            if alma != "-":
                others["ALMA 0.11"] = measure_alma(alma, made, texts, vectors, known)
        yield Measurement(
            f"{size:,} ours, full-text", words, "exact and inflected not below the best", _best(words, others, 4)
        )
        goal = f"p95 ≤ {P95_MS:g} ms, nowhere below the best"
        good = meant["p95 ms"] <= P95_MS and _best(meant, {**others, "words": words}, 6)
        yield Measurement(f"{size:,} ours, semantic", meant, goal, good)
        for name, values in others.items():
            yield Measurement(f"{size:,} {name}", values)


def _best(own: dict[str, float], others: dict[str, dict[str, float]], columns: int) -> bool:
    return all(own[share] >= max(one[share] for one in others.values()) for share in SHARES[:columns])


def measure_semantic(folder: Path, model: Path, made: Sequence[Fact]) -> tuple[dict[str, float], list[str], Any]:
    """Measure our search with embeddings; also return the indexed sentences and their vectors."""
    numpy = importlib.import_module("numpy")
    path = folder / "meant.db"
    with asyncio.Runner() as runner:
        database = Database(path, synchronous="OFF")
        book = MemoryStore(path, database, index_terms)
        meaning = SemanticSearch(book, lambda: str(model))
        memories = Memories(book, semantic_search=meaning)

        async def look(question: str) -> list[str]:
            wanted = [EVERYWHERE]
            near = await memories.similarities(question, wanted)
            return [
                one.memory.content.text for one in memories.find(question, scopes=wanted, limit=5, similarities=near)
            ]

        try:
            said = ((MemoryContent("knowledge", fact.text), MemorySource("import")) for fact in made)
            runner.run(add_all(memories, said, now()))
            began = time.perf_counter()
            runner.run(meaning.catch_up())
            made_in = time.perf_counter() - began
            runner.run(look("warm-up question"))
            values = measure_recall(made, lambda question: runner.run(look(question)), time.perf_counter)
            rows = [row for some in read_newer(path, meaning.model, 0) for row in some]
            keys = [key for _, key, _ in rows]
            texts = [text for start in range(0, len(keys), SLICE) for text in _texts(book, keys[start : start + SLICE])]
            vectors = numpy.stack([numpy.frombuffer(body, numpy.float16) for *_, body in rows]).astype(numpy.float32)
        finally:
            runner.run(meaning.close())
            book.close()
            database.close()
    return {"embedded/s": len(made) / made_in, **values}, texts, vectors


def _texts(book: MemoryStore, keys: Sequence[int]) -> list[str]:
    return [one.content.text for one in book.read(lambda rows: rows.by_keys(keys))]


def measure_cosine(made: Sequence[Fact], texts: Sequence[str], vectors: Any, known: dict[str, Any]) -> dict[str, float]:
    """Measure a brute-force cosine search over all vectors in numpy."""

    def ask(question: str) -> list[str]:
        like = vectors @ known[question]
        best = like.argpartition(-5)[-5:]
        return [texts[place] for place in best[(-like[best]).argsort()]]

    return measure_recall(made, ask)


def measure_alma(python: str, made: Sequence[Fact], texts: Sequence[str], vectors: Any, known: dict[str, Any]) -> Any:
    """Measure ALMA's engine in its best mode, in its own Python."""
    numpy = importlib.import_module("numpy")
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        questions = [(sort, getattr(fact, sort), fact.text) for sort in QUESTION_KINDS for fact in sample_facts(made)]
        numpy.save(here / "vectors.npy", vectors)
        numpy.save(here / "asked.npy", numpy.stack([known[question] for _, question, _ in questions]))
        (here / "texts.json").write_text(json.dumps({"texts": texts, "questions": questions}))
        command = [python, str(Path(__file__).with_name("alma_side.py")), folder]
        measured = json.loads(
            subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[-1]
        )
    took = measured.pop("took")
    shares = {name: count / QUESTIONS for name, count in measured.pop("right").items()}
    return {**measured, "p50 ms": percentile(took, 0.5), "p95 ms": percentile(took, 0.95), **shares}


def main(words: list[str]) -> int:
    """Return exit code 0 if every goal was met, 1 if one was missed, 2 for a usage error."""
    if not words or not Path(words[0]).is_dir():
        print(__doc__, file=sys.stderr)
        return 2
    sizes = tuple(map(int, words[2:])) or SIZES
    good = True
    for figure in compare(Path(words[0]), words[1] if len(words) > 1 else "-", sizes):
        values = "  ".join(f"{name} {value:.3g}" for name, value in figure.values.items())
        goal = f"  [{figure.goal}: {'met' if figure.passed else 'NOT MET'}]" if figure.goal else ""
        print(f"{figure.name:22} {values}{goal}", flush=True)
        good = good and figure.passed
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
