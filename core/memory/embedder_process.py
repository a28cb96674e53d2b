"""The process that embeds sentences and searches embeddings. Each request and each reply is one line of JSON.

`EmbedderClient` starts this file as a script, to keep its memory and CPU use out of the main process, and stops the
process when it is idle.

The first reply is `{"model": FINGERPRINT}`, or `{"error": TEXT, "missing": PACKAGE}` if the model cannot be used; then
the process ends. `missing` is there if a package is not installed. The requests are:

- `{"do": "embed", "memories": [[TEXT, CONTEXT], …]}` → `{"rows": [BASE64, …]}`
- `{"do": "find", "text": TEXT, "is_memory": BOOL, "scopes": [NUMBER, …], "limit": COUNT}` →
  `{"found": [[KEY, NUMBER, SIMILARITY], …]}`; the text is a memory to compare with others, or else a question

A row is the embedding of a memory as float16 numbers.
"""

import json
import os
import sys
from base64 import b64encode
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

CONTEXT_WEIGHT = 0.5  # weight of the context lines of a memory, relative to its sentence
CONTEXT_LINES = 8  # context lines that are embedded
MIN_TO_CENTER = 100  # With fewer memories, their mean says little about what memories have in common.
MIN_DISTANCE = 1e-3  # avoids division by zero if all memories are the same
CACHE_SIZE = 4_096  # lines whose embeddings are cached, because memories share context lines


class VectorIndex:
    """An in-memory index of all stored embeddings of one model, updated from the data file."""

    def __init__(self, file: str, model: str, size: int) -> None:
        import numpy as np

        self._file = file
        self._model = model
        self._last_number = 0  # of the embeddings that are loaded
        self._count = 0
        self._rows: dict[int, int] = {}  # row of each memory in the arrays, by its key
        self._keys: Any = np.zeros(1_024, np.int64)
        self._numbers: Any = np.zeros(1_024, np.int64)
        self._lengths: Any = np.ones(1_024, np.float32)
        self._vectors: Any = np.zeros((1_024, size), np.float32)

    def find(
        self, query: Any, scopes: list[int], limit: int, *, is_memory: bool = False
    ) -> list[tuple[int, int, float]]:
        """Return up to `limit` memories in these scopes as (key, number, similarity), most similar first.

        `query` is the embedding of a question, or with `is_memory` of a memory's sentence. Numbers of embeddings
        increase in the order in which they were stored.
        """
        import numpy as np

        self.refresh()
        is_in_scope = np.isin(self._keys[: self._count] >> 32, scopes)
        (in_scope,) = np.nonzero(is_in_scope)
        if not len(in_scope):
            return []
        rows: Any = slice(self._count)
        if len(in_scope) * 4 <= self._count:  # otherwise selecting the rows first costs more than it saves
            rows, is_in_scope = in_scope, np.ones(len(in_scope), bool)
        vectors = self._vectors[rows]
        if is_memory or len(in_scope) < MIN_TO_CENTER:
            similarity = (vectors @ query)[is_in_scope]
        else:
            similarity = _centered_similarity(vectors, self._lengths[rows], query, is_in_scope)
        best = np.argpartition(-similarity, limit)[:limit] if len(similarity) > limit else np.arange(len(similarity))
        best = best[np.argsort(-similarity[best])]
        chosen = in_scope[best]
        return list(
            zip(self._keys[chosen].tolist(), self._numbers[chosen].tolist(), similarity[best].tolist(), strict=True)
        )

    def refresh(self) -> None:
        """Load the embeddings stored since the last call. An embedding with a known key replaces the earlier one."""
        import numpy as np

        from core.store.embedding_store import read_newer

        for batch in read_newer(Path(self._file), self._model, self._last_number):
            rows = [self._rows.setdefault(embedding.key, len(self._rows)) for embedding in batch]
            self._count = len(self._rows)
            while self._count > len(self._vectors):
                self._double_capacity()
            self._keys[rows] = [embedding.key for embedding in batch]
            self._numbers[rows] = [embedding.number for embedding in batch]
            vectors = b"".join(embedding.vector for embedding in batch)
            self._vectors[rows] = np.frombuffer(vectors, np.float16).reshape(len(rows), -1)
            self._lengths[rows] = np.maximum(np.linalg.norm(self._vectors[rows], axis=1), MIN_DISTANCE)
            self._last_number = batch[-1].number

    def _double_capacity(self) -> None:
        import numpy as np

        capacity = 2 * len(self._vectors)
        self._keys = np.resize(self._keys, capacity)
        self._numbers = np.resize(self._numbers, capacity)
        self._lengths = np.resize(self._lengths, capacity)
        self._vectors = np.concatenate([self._vectors, np.zeros_like(self._vectors)])


def _centered_similarity(vectors: Any, lengths: Any, query: Any, is_in_scope: Any) -> Any:
    """Return the similarity of the vectors in scope to a query, without what all of these have in common.

    The mean of their directions is subtracted from each direction and from the query. What remains of a vector is what
    sets it apart from the others: the names and the topic that all memories of a conversation share no longer make
    them all similar to every question about it. The values are scaled by the mean length, as without centering.
    """
    import numpy as np

    count = int(is_in_scope.sum())
    mean = (is_in_scope / lengths).astype(np.float32) @ vectors / count
    centered = query - mean
    centered /= max(float(np.linalg.norm(centered)), MIN_DISTANCE)
    squared_distance = 1 - 2 * (vectors @ mean) / lengths + mean @ mean
    distance = np.sqrt(np.maximum(squared_distance, MIN_DISTANCE**2))
    cosine = ((vectors @ centered) / lengths - centered @ mean) / distance
    return lengths[is_in_scope].mean() * cosine[is_in_scope]


class Embedder:
    """An embedding model, with a cache of the embeddings of recent lines."""

    def __init__(self, path: Path) -> None:
        """Load the model from `path`: the folder of a BERT model, or a file in the GGUF format."""
        if path.is_file():
            from core.memory.gguf_embeddings import GgufEmbeddings

            self._model: Any = GgufEmbeddings(path)
        else:
            from core.memory.bert import Bert

            self._model = Bert(path)
        self._cache: dict[str, Any] = {}
        self.fingerprint = self._model.fingerprint
        self.size = self._model.dimensions

    def embed_query(self, text: str, is_memory: bool) -> Any:
        """Return the embedding to search for: that of a question, or with `is_memory` of a memory's sentence."""
        prompted = (self._model.document_prompt if is_memory else self._model.query_prompt) + text
        return self.embed_lines([prompted])[prompted]

    def embed_lines(self, texts: list[str]) -> dict[str, Any]:
        """Return the embeddings by text, computing only those that are not cached. Texts already have their prompt."""
        new = [text for text in dict.fromkeys(texts) if text not in self._cache]
        if len(self._cache) + len(new) > CACHE_SIZE:
            self._cache.clear()
            new = list(dict.fromkeys(texts))
        if new:
            self._cache.update(zip(new, self._model.embed(new), strict=True))
        return {text: self._cache[text] for text in texts}

    def embed_memories(self, memories: list[tuple[str, str]]) -> Any:
        """Return an array with one row for each pair of sentence and context.

        A row is the embedding of the sentence plus CONTEXT_WEIGHT times the embedding of the context. It is not
        normalized, so its dot product with a query embedding is the similarity of the sentence plus CONTEXT_WEIGHT
        times the similarity of the context.
        """
        import numpy as np

        prompt = self._model.document_prompt
        sentences = [prompt + text for text, _ in memories]
        contexts = [[prompt + line for line in _lines(context)] for _, context in memories]
        vectors = self.embed_lines(sentences + [line for lines in contexts for line in lines])
        rows = np.stack([vectors[text] for text in sentences])
        for row, lines in zip(rows, contexts, strict=True):
            if lines:
                total = np.sum([vectors[line] for line in lines], 0)
                row += CONTEXT_WEIGHT * total / max(float(np.linalg.norm(total)), 1e-9)  # avoids division by zero
        return rows.astype(np.float16)


def _lines(context: str) -> list[str]:
    return [line.strip() for line in context.splitlines() if line.strip()][:CONTEXT_LINES]


def handle_request(request: dict[str, Any], embedder: Embedder, index: VectorIndex) -> dict[str, Any]:
    """Return the reply to a request: for "embed" the embeddings of memories, for "find" the search results."""
    if request["do"] == "embed":
        rows = embedder.embed_memories([(text, context) for text, context in request["memories"]])
        return {"rows": [b64encode(row.tobytes()).decode() for row in rows]}
    vector = embedder.embed_query(request["text"], request["is_memory"])
    return {"found": index.find(vector, request["scopes"], request["limit"], is_memory=request["is_memory"])}


def main() -> None:
    """Serve requests. The command line is `embedder_process.py MODEL FILE`, where FILE contains the embeddings."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    requests, replies = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # output of libraries must not mix with the replies

    def send(message: dict[str, Any]) -> None:
        replies.write(json.dumps(message).encode() + b"\n")
        replies.flush()

    try:
        embedder = Embedder(Path(sys.argv[1]))
        index = VectorIndex(sys.argv[2], embedder.fingerprint, embedder.size)
    except ImportError as error:
        send({"error": f"{error}.", "missing": error.name})
        return
    except (OSError, ValueError, KeyError, TypeError, MemoryError) as error:
        message = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        send({"error": f"{message}."})
        return
    with closing(requests):
        send({"model": embedder.fingerprint})
        index.refresh()  # so that the first question does not wait for loading
        with suppress(OSError, AttributeError):  # Windows has no os.nice
            os.nice(10)  # only after loading the model, for which the user waits
        for line in requests:
            send(handle_request(json.loads(line), embedder, index))


if __name__ == "__main__":
    main()
