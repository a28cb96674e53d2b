"""The child process that serves one model on the loopback interface: its start, its log and its end."""

import asyncio
import json
import os
import secrets
from asyncio.subprocess import PIPE, Process
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass

from core.domain.optional_packages import XLLAMACPP, how_to_install
from core.models.model import ModelError
from core.workspace.process_tree import kill_group

LOAD_S = 300.0  # timeout for loading a model
REAP_S = 0.5  # how long to wait after a failed request for the process to end
ERROR_LINES = 5  # last lines of the log to quote in an error message


@dataclass(frozen=True, slots=True)
class ServedModel:
    """The URL of a served model, and the API key that its requests need."""

    url: str
    key: str


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """How to serve a model with a context of `window` tokens. -1 means automatic for `gpu_layers` and `temperature`."""

    path: str
    name: str
    window: int
    threads: int
    gpu_layers: int
    temperature: float


class ModelServer:
    """The process that serves one model. `users` counts the contexts in which it is being used."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.process: Process | None = None
        self.config: ServerConfig | None = None
        self.served = ServedModel("", "")
        self.users = 0
        self.idle_timer: asyncio.TimerHandle | None = None
        self._is_killed = False
        self._log: asyncio.Task[None] | None = None
        self._log_lines: list[str] = []

    @property
    def is_running(self) -> bool:
        return self.process is not None and self.process.returncode is None and not self._is_killed

    async def start(self, command: Sequence[str], config: ServerConfig) -> None:
        """Start the process and wait until the model is loaded; raise `ModelError` on failure."""
        key = secrets.token_urlsafe(32)
        # In a new session, so that Ctrl+C in the terminal does not interrupt a reply.
        self.process = process = await asyncio.create_subprocess_exec(
            *command, stdin=PIPE, stdout=PIPE, stderr=PIPE, start_new_session=os.name != "nt"
        )
        self.config, self._is_killed = config, False
        self._log_lines = []
        self._log = asyncio.create_task(self._read_log(process))
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(json.dumps({**asdict(config), "key": key}).encode() + b"\n")
        try:
            async with asyncio.timeout(LOAD_S):
                line = await process.stdout.readline()
        except TimeoutError:
            line = b""
        except asyncio.CancelledError:
            self.kill()
            raise
        reply = json.loads(line) if line.endswith(b"\n") else {}
        if "url" in reply:
            self.served = ServedModel(reply["url"], key)
            return
        await self.close()
        if reply.get("missing"):
            fix = f"Install it in Journeyman's environment: {how_to_install(XLLAMACPP)}"
            raise ModelError("Local models need the library xllamacpp.", reply["error"], fix, retryable=False)
        cause = reply.get("error") or " ".join(self._log_lines[-ERROR_LINES:]) or "Its process has ended."
        raise ModelError(f"{config.name} cannot be loaded.", cause, "Choose another model.", retryable=False)

    async def wait_if_ended(self) -> None:
        """Give a process that may have just crashed time to end, so that the next request starts a new one."""
        if self.process is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(REAP_S):
                    await self.process.wait()

    def kill(self) -> None:
        if self.process is not None and self.process.returncode is None:
            self._is_killed = True
            if os.name == "nt":
                self.process.kill()
            else:  # not `Process.kill`, which could reap an ended process before asyncio does
                kill_group(self.process.pid)

    async def close(self) -> None:
        """Kill the process and wait until it has ended."""
        if self.idle_timer is not None:
            self.idle_timer.cancel()
        self.kill()
        if self.process is not None:
            await self.process.wait()
        if self._log is not None:
            await self._log
        self.process = self._log = None

    async def _read_log(self, process: Process) -> None:
        """Read the log and keep its last lines. If the pipe were not read, the process would block."""
        assert process.stderr is not None
        with suppress(ValueError):  # a line is too long
            async for line in process.stderr:
                self._log_lines.append(line.decode("utf-8", "replace").strip())
                del self._log_lines[:-ERROR_LINES]
