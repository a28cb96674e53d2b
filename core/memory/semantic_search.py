"""Finds memories by meaning, with the embedding model that the user has chosen."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from itertools import accumulate

from core.domain.clock import now
from core.domain.problems import ErrorDetails, Problem
from core.memory.embedder_client import EmbedderClient
from core.memory.ranking import NO_SIMILARITIES
from core.store.embedding_store import UnembeddedMemory, count_embedded, find_unembedded
from core.store.memory_store import MemoryStore

MAX_RESULTS = 400  # number of memories that are returned for a question
BATCH_SIZE = 64  # maximum number of memories in one request to the model
BATCH_LINES = 96  # maximum number of their lines; a question waits until such a request ends
MAX_AT_EXIT = 64  # maximum number of memories that a command embeds before it exits
START_TIMEOUT_S = 15.0  # timeout in seconds for a question if the model has to be loaded first
QUESTION_TIMEOUT_S = 3.0  # timeout in seconds for a question; after it, the memories are ranked by words alone
IDLE_S = 3_600.0  # number of seconds without a question after which the model's process is stopped
MAX_QUESTION_CHARS = 4_000  # number of characters of a question that are used


@dataclass(frozen=True, slots=True)
class SemanticSearchStatus:
    """The state of semantic search.

    Attributes:
        model: the model that the user has chosen; empty for none.
        error: why it cannot be used.
        embedded: the number of memories that have an embedding of this model.
        memories: the number of all memories.
    """

    model: str = ""
    error: ErrorDetails | None = None
    embedded: int = 0
    memories: int = 0


class SemanticSearch:
    """Finds memories by meaning and computes their embeddings. Use it from one event loop only.

    The model runs in a separate process, which is started at the first use. After a failure, it is started again only
    if the user chooses another model or `retry` is called. `get_choice` returns the model chosen by the user, or "" for
    none.
    """

    def __init__(self, store: MemoryStore, get_choice: Callable[[], str], wait_s: float = QUESTION_TIMEOUT_S) -> None:
        self._store = store
        self._get_choice = get_choice
        self._wait_s = wait_s
        self._wake = asyncio.Event()
        self._last_question = 0.0
        self._lock = asyncio.Lock()  # held while the model's process is used or replaced
        self._embedder: EmbedderClient | None = None
        self._choice = ""  # the model that the present process or error belongs to
        self._error: ErrorDetails | None = None
        store.listen(self._wake.set)

    @property
    def is_on(self) -> bool:
        """Whether the user has chosen a model."""
        return bool(self._get_choice())

    @property
    def model(self) -> str:
        """The fingerprint of the loaded model, which is stored with its embeddings; empty if no model is loaded."""
        return self._embedder.model if self._embedder else ""

    async def similarities(
        self, text: str, scope_numbers: Collection[int], *, is_memory: bool = False
    ) -> Mapping[int, float]:
        """Return how similar the memories in these scopes are to a question or to another memory, by memory key.

        `is_memory` says whether `text` is a memory. The result is empty if no model is chosen, or if the model fails or
        does not reply in time.
        """
        if not self.is_on or not scope_numbers:
            return NO_SIMILARITIES
        self._last_question = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(self._wait_s if self._embedder else START_TIMEOUT_S):
                async with self._use_embedder() as embedder:
                    results = await embedder.find(
                        text[:MAX_QUESTION_CHARS], scope_numbers, MAX_RESULTS, is_memory=is_memory
                    )
        except (TimeoutError, Problem):
            return NO_SIMILARITIES
        numbers = [result.number for result in results]
        current = self._store.read_embeddings(lambda embeddings: embeddings.existing(numbers))
        return {result.key: result.similarity for result in results if result.number in current}

    async def run(self) -> None:
        """Compute the embeddings of new memories as they appear; stop the process when idle. Runs until canceled."""
        while True:
            self._wake.clear()
            with suppress(Problem):  # The user reads the error with `status`.
                await self.catch_up()
            with suppress(TimeoutError):
                async with asyncio.timeout(IDLE_S):
                    await self._wake.wait()
                continue
            if asyncio.get_running_loop().time() - self._last_question > IDLE_S:
                await self.close()

    async def finish(self) -> None:
        """Compute the embeddings of new memories before a command exits, if the command used the model.

        Commands do not call `run`.
        """
        if self._embedder is not None:
            with suppress(Problem):
                await self.catch_up(limit=MAX_AT_EXIT)

    async def catch_up(self, on_progress: Callable[[int], None] = lambda count: None, limit: int = sys.maxsize) -> int:
        """Compute the embeddings of up to `limit` memories that have none, and return how many these are.

        `on_progress` is called with the number of memories that are done.
        """
        if not self.is_on or self._store.database is None:
            return 0
        async with self._use_embedder() as embedder:
            model = embedder.model
        last_key = count = 0
        while count < limit:
            found = await asyncio.to_thread(find_unembedded, self._store.path, model, last_key, BATCH_SIZE)
            if not found:
                break
            batch = _first_lines(found)
            async with self._use_embedder() as embedder:  # so that a question can use the model between two batches
                model = embedder.model
                embeddings = await embedder.embed(batch)
            await self._store.save_embeddings(model, list(zip(batch, embeddings, strict=True)), now())
            last_key = batch[-1].key
            count += len(batch)
            on_progress(count)
        return count

    async def status(self) -> SemanticSearchStatus:
        """Return the state of semantic search. Start the model first if it is not running."""
        if not self.is_on:
            return SemanticSearchStatus()
        try:
            async with self._use_embedder() as embedder:
                model = embedder.model
        except Problem as problem:
            return SemanticSearchStatus(self._choice, problem.details)
        counts = await asyncio.to_thread(count_embedded, self._store.path, model)
        return SemanticSearchStatus(self._choice, embedded=counts.embedded, memories=counts.memories)

    def retry(self) -> None:
        """Start the model again at the next use, because the user's choice has changed or the last start has failed."""
        self._error = None
        self._wake.set()

    async def close(self) -> None:
        """Stop the model's process. A request that waits for its reply fails. The next request starts it again."""
        if self._embedder:
            # It is stopped before the lock is taken, so that the request that holds the lock ends.
            self._embedder.kill()
        async with self._lock:
            await self._close_embedder()
            self._error = None

    @asynccontextmanager
    async def _use_embedder(self) -> AsyncIterator[EmbedderClient]:
        """Provide the process of the chosen model, started if necessary, while no other task uses it.

        If it fails, stop it and raise Problem. Until it may be started again, every further use raises the same
        Problem.
        """
        async with self._lock:
            choice = self._get_choice()
            if choice != self._choice:
                await self._close_embedder()
                self._choice = choice
                self._error = None
            if self._error:
                raise Problem.from_details(self._error)
            try:
                if self._embedder is None:
                    self._embedder = await EmbedderClient.start(choice, self._store.path)
                await self._embedder.wait_until_ready()
                yield self._embedder
            except Problem as problem:
                self._error = problem.details
                await self._close_embedder()
                raise

    async def _close_embedder(self) -> None:
        embedder, self._embedder = self._embedder, None
        if embedder:
            await embedder.close()


def _first_lines(memories: Sequence[UnembeddedMemory]) -> Sequence[UnembeddedMemory]:
    """Return the first memories, with at most BATCH_LINES lines together; at least one memory."""
    lines = accumulate(1 + memory.context.count("\n") + bool(memory.context) for memory in memories)
    return memories[: max(1, sum(total <= BATCH_LINES for total in lines))]
