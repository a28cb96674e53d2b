"""Runs the ALMA half of `tests.bench.memory_comparison` in a Python that has alma-memory installed.

Reads the facts and questions from a folder and prints timings and recall as one line of JSON.
"""

import json
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any


class PrecomputedEmbedder:
    """An embedder that returns precomputed vectors."""

    def __init__(self, known: dict[str, Any]) -> None:
        self._known = known

    @property
    def dimension(self) -> int:
        return len(next(iter(self._known.values())))

    def encode(self, text: str) -> list[float]:
        return [float(one) for one in self._known[text]]


def main(folder: Path) -> None:
    numpy, types = import_module("numpy"), import_module("alma.types")
    engine_of, modes = import_module("alma.retrieval.engine"), import_module("alma.retrieval.modes")
    storage_of = import_module("alma.storage.sqlite_local")
    given = json.loads((folder / "texts.json").read_text())
    vectors, question_vectors = numpy.load(folder / "vectors.npy"), numpy.load(folder / "asked.npy")
    storage = storage_of.SQLiteStorage(folder / "alma.db", embedding_dim=vectors.shape[1])
    rows = [
        types.DomainKnowledge(f"f{at}", "a", "p", "facts", text, "bench", embedding=vector.tolist())
        for at, (text, vector) in enumerate(zip(given["texts"], vectors, strict=True))
    ]
    began = time.process_time()
    for start in range(0, len(rows), 1_000):
        storage.save_domain_knowledge_batch(rows[start : start + 1_000])
    bulk = time.process_time() - began
    engine = engine_of.RetrievalEngine(storage, enable_cache=False)
    engine._embedder = PrecomputedEmbedder(
        {question: vector for (_, question, _), vector in zip(given["questions"], question_vectors, strict=True)}
    )
    took: list[float] = []
    right: dict[str, int] = {}
    for sort, question, text in given["questions"]:
        began = time.process_time()
        found, *_ = engine.retrieve_with_mode(question, "a", "p", mode=modes.RetrievalMode.SIMILARITY, top_k=5)
        took.append((time.process_time() - began) * 1000)
        facts = [one.fact for one in found.domain_knowledge][:5]
        right[f"{sort} @1"] = right.get(f"{sort} @1", 0) + (facts[:1] == [text])
        right[f"{sort} @5"] = right.get(f"{sort} @5", 0) + (text in facts)
    print(json.dumps({"rows/s": len(rows) / bulk, "took": took, "right": right}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
