"""The client of the child process that embeds texts. The messages are described in `embedder_process`."""

import asyncio
import json
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from base64 import b64decode
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from core.domain.optional_packages import NUMPY, XLLAMACPP, how_to_install
from core.domain.problems import Problem
from core.memory.embedding_models import FIX, find_model
from core.store.embedding_store import UnembeddedMemory

SCRIPT = Path(__file__).with_name("embedder_process.py")
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}  # leaves the other processor cores free
MAX_REPLY_BYTES = 1 << 24
EXIT_TIMEOUT_S = 1.0  # time for the process to exit by itself
REQUIRED_PACKAGES = {"numpy": NUMPY, "xllamacpp": XLLAMACPP}


class SimilarMemory(NamedTuple):
    """A memory, by its key and the number of its embedding, and how similar it is to a text."""

    key: int
    number: int
    similarity: float


class EmbedderClient:
    """A process with one model. It sends one reply after loading the model, and then one for each request, in order.

    All methods raise Problem if the process fails. Calls must not overlap, except for `kill`. A call may be canceled
    while it waits: the next one reads and discards the replies that are still due, which `_unread` counts.
    """

    def __init__(self, chosen: str, process: Process) -> None:
        """Use `start` instead."""
        assert process.stdin is not None and process.stdout is not None
        self.model = ""  # fingerprint of the model; "" until `wait_until_ready` returns
        self._chosen = chosen
        self._process = process
        self._requests = process.stdin
        self._replies = process.stdout
        self._unread = 1
        self._was_killed = False

    @classmethod
    async def start(cls, chosen: str, data_file: Path) -> "EmbedderClient":
        """Start a process, which loads the chosen model and the embeddings stored in the data file."""
        command = (sys.executable, "-I", str(SCRIPT), str(find_model(chosen)), str(data_file))
        environment = {**os.environ, **ONE_THREAD}
        try:
            process = await asyncio.create_subprocess_exec(
                *command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env=environment, limit=MAX_REPLY_BYTES
            )
        except OSError as error:
            raise Problem("The embedding model cannot be started.", f"{error}.", FIX) from error
        return cls(chosen, process)

    async def wait_until_ready(self) -> None:
        """Wait until the model is loaded, and set `model`."""
        if not self.model:
            self.model = (await self._read_reply())["model"]

    async def embed(self, memories: Sequence[UnembeddedMemory]) -> list[bytes]:
        """Return the embeddings of memories, in the form in which they are stored."""
        texts = [(memory.text, memory.context) for memory in memories]
        reply = await self._request({"do": "embed", "memories": texts})
        return [b64decode(row) for row in reply["rows"]]

    async def find(
        self, text: str, scope_numbers: Collection[int], limit: int, *, is_memory: bool
    ) -> list[SimilarMemory]:
        """Return the memories whose embeddings are the most similar to a text.

        `is_memory`: the text is a memory to compare with others, not a question; some models embed these differently.
        """
        request = {
            "do": "find",
            "text": text,
            "is_memory": is_memory,
            "scopes": list(scope_numbers),
            "limit": limit,
        }
        reply = await self._request(request)
        return [SimilarMemory(*found) for found in reply["found"]]

    def kill(self) -> None:
        """Kill the process, but only once: a second kill could reap its exit code before asyncio does."""
        if not self._was_killed and self._process.returncode is None:
            self._was_killed = True
            with suppress(ProcessLookupError):
                self._process.kill()

    async def close(self) -> None:
        """Let the process exit, and kill it if it does not exit in time."""
        self._requests.close()
        try:
            async with asyncio.timeout(EXIT_TIMEOUT_S):
                await self._process.wait()
        except TimeoutError:
            self.kill()
            await self._process.wait()
        except asyncio.CancelledError:
            self.kill()
            raise

    async def _request(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        while self._unread:
            await self._read_reply()
        self._requests.write(json.dumps(request).encode() + b"\n")
        self._unread += 1
        with suppress(ConnectionError):  # the process has ended, which reading the reply reports
            await self._requests.drain()
        return await self._read_reply()

    async def _read_reply(self) -> Mapping[str, Any]:
        try:
            line = await self._replies.readline()
            reply = json.loads(line) if line.endswith(b"\n") else {"error": "Its process has ended."}
            if not isinstance(reply, dict):
                raise ValueError("it is not a JSON object")
        except (ValueError, RecursionError) as error:
            reply = {"error": f"Its process sent an invalid reply: {error}."}
        self._unread -= 1
        if "error" in reply:
            raise _problem(self._chosen, reply)
        return reply


def _problem(chosen: str, reply: Mapping[str, Any]) -> Problem:
    if package := REQUIRED_PACKAGES.get(reply.get("missing", "")):
        advice = f"Install it in Journeyman's environment: {how_to_install(package)}"
        return Problem(f"This embedding model requires {reply['missing']}.", str(reply["error"]), advice)
    return Problem(f"The embedding model {chosen} cannot be used.", str(reply["error"]), FIX)
