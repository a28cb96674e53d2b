"""The connection to the child process that embeds texts. `embedder_process` describes the messages."""

import asyncio
import json
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from base64 import b64decode
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from core.domain.optional_packages import NUMPY, XLLAMACPP, how_to_install
from core.domain.problems import Problem
from core.memory.embedding_models import FIX, find_model
from core.store.embedding_store import UnembeddedMemory

SCRIPT = Path(__file__).with_name("embedder_process.py")
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}  # Leave the other cores free.
MAX_REPLY_BYTES = 1 << 24
EXIT_TIMEOUT_S = 1.0  # for the process to exit by itself
REQUIRED_PACKAGES = {"numpy": NUMPY, "xllamacpp": XLLAMACPP}


class EmbedderClient:
    """A process with one model. It sends one reply when the model is loaded, then one for each request, in order.

    All methods raise Problem if the process fails. Call one at a time; only `kill` can be called meanwhile. A call can
    be canceled while it waits: the next call reads and discards the replies that are still expected (`_unread`).
    """

    def __init__(self, chosen: str, process: Process) -> None:
        """Use `start` instead."""
        assert process.stdin is not None and process.stdout is not None
        self.model = ""  # the fingerprint of the model; empty until `wait_until_ready` has returned
        self._chosen = chosen
        self._process = process
        self._requests = process.stdin
        self._replies = process.stdout
        self._unread = 1
        self._was_killed = False

    @classmethod
    async def start(cls, chosen: str, data_file: Path) -> "EmbedderClient":
        """Start the process with the model that the user chose. It loads the model and the stored embeddings."""
        arguments = ("-I", str(SCRIPT), str(find_model(chosen)), str(data_file))
        environment = {**os.environ, **ONE_THREAD}
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable, *arguments, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env=environment,
                limit=MAX_REPLY_BYTES,
            )  # fmt: skip
        except OSError as error:
            raise Problem("The embedding model cannot be started.", f"{error}.", FIX) from error
        return cls(chosen, process)

    async def wait_until_ready(self) -> None:
        """Wait until the model is loaded."""
        if not self.model:
            self.model = (await self._read_reply())["model"]

    async def embed(self, memories: Sequence[UnembeddedMemory]) -> list[bytes]:
        """Return the embeddings of memories, as they are stored."""
        texts = [(memory.text, memory.context) for memory in memories]
        return [b64decode(row) for row in (await self._request({"do": "embed", "memories": texts}))["rows"]]

    async def find(self, text: str, scope_numbers: Collection[int], limit: int) -> list[tuple[int, int, float]]:
        """Return the memory key, embedding number and similarity of the embeddings that are most similar to a text."""
        request = {"do": "find", "text": text, "scopes": list(scope_numbers), "limit": limit}
        return [(key, number, similarity) for key, number, similarity in (await self._request(request))["found"]]

    def kill(self) -> None:
        """Kill the process, but only once: a second `kill` could collect its exit code before asyncio does."""
        if not self._was_killed and self._process.returncode is None:
            self._was_killed = True
            with suppress(ProcessLookupError):
                self._process.kill()

    async def close(self) -> None:
        """Let the process exit, or kill it if it does not exit in time."""
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
        with suppress(ConnectionError):  # The process has ended; reading reports that.
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
