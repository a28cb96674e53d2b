"""The models that Journeyman runs itself: downloads their files, and serves them in child processes while in use."""

import asyncio
import json
import os
import secrets
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from core.domain.optional_packages import how_to_install
from core.domain.problems import Problem
from core.models.local.gguf_header import read_context_length
from core.models.local.model_table import LocalModel, local_model_table
from core.models.local.system_memory import available_memory
from core.models.model import ModelError

SCRIPT = Path(__file__).with_name("server_process.py")
XLLAMACPP = "xllamacpp>=2026.10"
LOAD_S = 300.0  # how long loading a model may take
REAP_S = 0.5  # how long a failed request waits to see whether the process has ended
FILE_WINDOW = 16_384  # tokens; the largest context window of a file that is not in the table
FILE_OVERHEAD = 2 << 30  # bytes of memory beyond the weights that such a file is assumed to need
ERROR_LINES = 5  # last lines of the process's log that an error message quotes
HUB = "https://huggingface.co"


@dataclass(frozen=True, slots=True)
class LocalModelRow:
    """A model of the table, and whether it is downloaded.

    `partial` is the number of bytes of an interrupted download.
    """

    model: LocalModel
    downloaded: bool
    partial: int


@dataclass(frozen=True, slots=True)
class ServedModel:
    """Where a served model listens, and the API key that its requests need."""

    url: str
    key: str


class _Server:
    """The process that serves one model. `users` counts the requests in progress."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.process: Process | None = None
        self.served = ServedModel("", "")
        self.users = 0
        self.idle_timer: asyncio.TimerHandle | None = None
        self.log: asyncio.Task[None] | None = None
        self.log_lines: list[str] = []

    @property
    def is_running(self) -> bool:
        return self.process is not None and self.process.returncode is None

    async def wait_if_ended(self) -> None:
        """Give a process that has just ended time to be reaped, so that the next request starts a new one."""
        if self.process is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(REAP_S):
                    await self.process.wait()

    def kill(self) -> None:
        if self.process is not None and self.process.returncode is None:
            with suppress(ProcessLookupError):
                self.process.kill()

    async def close(self) -> None:
        """End the process, and wait until it has ended."""
        if self.idle_timer is not None:
            self.idle_timer.cancel()
        self.kill()
        if self.process is not None:
            await self.process.wait()
        if self.log is not None:
            await self.log
        self.process = self.log = None


class LocalModels:
    """Downloads models and serves them. Use it from one event loop."""

    def __init__(
        self,
        folder: Path,
        proxy: Callable[[], str],
        idle_s: Callable[[], float],
        environment: Mapping[str, str],
        *,
        table: Mapping[str, LocalModel] | None = None,
        script: Path = SCRIPT,
        python: str = sys.executable,
    ) -> None:
        """`folder` contains the model files. `idle_s` returns after how many idle seconds a model is unloaded."""
        self._folder = folder
        self._proxy = proxy
        self._idle_s = idle_s
        self._environment = environment
        self._table = local_model_table() if table is None else table
        self._command = (python, "-I", str(script))
        self._servers: dict[str, _Server] = {}
        self._downloading: set[str] = set()

    def rows(self) -> list[LocalModelRow]:
        """Return the models of the table."""
        return [
            LocalModelRow(model, self._path(name).exists(), _size(self._path(name).with_name(f"{name}.gguf.part")))
            for name, model in self._table.items()
        ]

    async def pull(self, name: str, on_progress: Callable[[int, int], object]) -> None:
        """Download a model of the table, unless it is already downloaded. Raises `Problem`."""
        from core.models.local.download import download  # loads the HTTP library

        model = self._table_model(name)
        if self._path(name).exists():
            return
        if name in self._downloading:
            raise Problem(f"{name} is already being downloaded.", "", "Wait until that is complete.")
        hub = self._environment.get("HF_ENDPOINT", "").strip().rstrip("/")
        addresses = [address.replace(HUB, hub, 1) if hub else address for address in model.addresses]
        self._downloading.add(name)
        try:
            await download(model, self._path(name), addresses, self._proxy(), on_progress)
        finally:
            self._downloading.discard(name)

    async def remove(self, name: str) -> bool:
        """Delete the file of a model and of its interrupted download; return whether there was one."""
        self._table_model(name)
        server = self._servers.get(name)
        if name in self._downloading or (server is not None and server.users):
            raise Problem(f"{name} is in use.", "", "Wait until the download or the run is complete.")
        if server is not None:
            await server.close()
        paths = [self._path(name), self._path(name).with_name(f"{name}.gguf.part")]
        existing = [path for path in paths if path.exists()]
        for path in existing:
            path.unlink()
        return bool(existing)

    def window(self, name: str) -> int | None:
        """Return the context window of a model in tokens; None if there is no such model."""
        try:
            return self._find(name)[1].window
        except Problem:
            return None

    @asynccontextmanager
    async def serving(self, name: str) -> AsyncGenerator[ServedModel, None]:
        """Serve a model at least until the context exits. Raises `ModelError` if it cannot be served."""
        try:
            path, model = self._find(name)
        except Problem as problem:
            details = problem.details
            raise ModelError(details.message, details.cause, details.fix, retryable=False, kind="model") from problem
        server = self._servers.setdefault(name, _Server())
        server.users += 1
        if server.idle_timer is not None:
            server.idle_timer.cancel()
        try:
            async with server.lock:
                if not server.is_running:
                    await self._start(server, path, model)
            yield server.served
        except ModelError:
            await server.wait_if_ended()
            raise
        finally:
            server.users -= 1
            if not server.users:
                server.idle_timer = asyncio.get_running_loop().call_later(self._idle_s(), server.kill)

    async def close(self) -> None:
        """End all processes."""
        for server in self._servers.values():
            await server.close()

    async def _start(self, server: _Server, path: Path, model: LocalModel) -> None:
        """Start the process and wait until the model is loaded. Other models that are not in use are unloaded first."""
        await server.close()
        for other in self._servers.values():
            if not other.users:
                await other.close()
        self._check_memory(model)
        key = secrets.token_urlsafe(32)
        config = {
            "path": str(path), "name": model.name, "key": key, "window": model.window, "threads": os.cpu_count() or 1,
        }  # fmt: skip
        server.process = process = await asyncio.create_subprocess_exec(
            *self._command, stdin=PIPE, stdout=PIPE, stderr=PIPE
        )
        server.log_lines = []
        server.log = asyncio.create_task(_read_log(process, server.log_lines))
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(json.dumps(config).encode() + b"\n")
        try:
            async with asyncio.timeout(LOAD_S):
                line = await process.stdout.readline()
        except TimeoutError:
            line = b""
        except asyncio.CancelledError:
            server.kill()
            raise
        reply = json.loads(line) if line.endswith(b"\n") else {}
        if "url" in reply:
            server.served = ServedModel(reply["url"], key)
            return
        await server.close()
        if reply.get("missing"):
            fix = f"Install it in Journeyman's environment: {how_to_install(XLLAMACPP)}"
            raise ModelError("Local models need the library xllamacpp.", reply["error"], fix, retryable=False)
        cause = reply.get("error") or " ".join(server.log_lines[-ERROR_LINES:]) or "Its process has ended."
        raise ModelError(f"{model.name} cannot be loaded.", cause, "Choose another model.", retryable=False)

    def _check_memory(self, model: LocalModel) -> None:
        """Raise `ModelError` if the model does not fit in the available memory."""
        available = available_memory()
        if model.memory <= available:
            return
        fitting = [name for name, other in self._table.items() if other.memory <= available]
        fix = f"These models fit: {', '.join(fitting)}." if fitting else "Close other programs."
        cause = f"It needs {model.memory / 1e9:.1f} GB; {available / 1e9:.1f} GB are available."
        raise ModelError(f"{model.name} does not fit in memory.", cause, fix, retryable=False)

    def _find(self, name: str) -> tuple[Path, LocalModel]:
        """Return the file of a model: one of the table, or the absolute path of a GGUF file."""
        if name in self._table:
            if not self._path(name).exists():
                fix = f"Download it with: journeyman models pull {name}"
                raise Problem(f"The model {name} is not downloaded.", "", fix)
            return self._path(name), self._table[name]
        path = Path(name).expanduser()
        if not path.is_absolute() or not path.is_file():
            fix = f"Name one of {', '.join(self._table)}, or the absolute path of a GGUF file."
            raise Problem(f"There is no local model {name!r}.", "", fix)
        window = min(read_context_length(path) or FILE_WINDOW, FILE_WINDOW)
        size = path.stat().st_size
        return path, LocalModel(path.stem, path.stem, "", "", size, size + FILE_OVERHEAD, window, "", ())

    def _table_model(self, name: str) -> LocalModel:
        if name not in self._table:
            raise Problem(f"There is no local model {name!r}.", "", f"Known models: {', '.join(self._table)}.")
        return self._table[name]

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.gguf"


async def _read_log(process: Process, lines: list[str]) -> None:
    """Keep the last lines of the log; the pipe must be read, or the process would block."""
    assert process.stderr is not None
    with suppress(ValueError):  # an overlong line
        async for line in process.stderr:
            lines.append(line.decode("utf-8", "replace").strip())
            del lines[:-ERROR_LINES]


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
