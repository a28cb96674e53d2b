"""The models that Journeyman runs itself: downloads their files and serves them in child processes while in use."""

import asyncio
import importlib.util
import sys
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from core.domain.optional_packages import XLLAMACPP, how_to_install
from core.domain.problems import Problem
from core.models.local.found_models import FoundModel
from core.models.local.hardware import available_memory, physical_cores, total_memory
from core.models.local.model_downloads import ModelDownloads
from core.models.local.model_library import ModelFile, ModelLibrary, file_size
from core.models.local.model_server import ModelServer, ServedModel, ServerConfig
from core.models.local.model_state import (
    DownloadProgress,
    LoadState,
    LocalModelRow,
    LocalModelStates,
    ModelSpeed,
    StateListener,
)
from core.models.local.model_table import LocalModel, local_model_table
from core.models.model import ModelError

SCRIPT = Path(__file__).with_name("server_process.py")
HUB = "https://huggingface.co"


@dataclass(frozen=True, slots=True)
class LocalModelOptions:
    """The user's settings for local models. 0 means automatic for `threads` and `window`, as does -1 for `gpu_layers`.

    `idle_s` is the number of seconds without a request after which a model is unloaded.
    """

    proxy: str = ""
    idle_s: float = 600.0
    threads: int = 0
    window: int = 0
    gpu_layers: int = -1


class LocalModels:
    """Downloads and serves local models. Use it from one event loop."""

    def __init__(
        self,
        folder: Path,
        options: Callable[[], LocalModelOptions],
        environment: Mapping[str, str],
        *,
        find: Callable[[], list[FoundModel]] = list,
        table: Mapping[str, LocalModel] | None = None,
        script: Path = SCRIPT,
        python: str = sys.executable,
    ) -> None:
        """`folder` is where model files are stored. `find` returns the models that other programs have stored."""
        self._options = options
        self._environment = environment
        packaged = local_model_table() if table is None else table
        self._library = ModelLibrary(folder, packaged, find, lambda: options().window)
        self._command = (python, "-I", str(script))
        self._servers: dict[str, ModelServer] = {}
        self._loading: set[str] = set()
        self._downloads = ModelDownloads(self._publish)
        self._listeners: list[StateListener] = []
        self._last_states = LocalModelStates()

    def states(self) -> LocalModelStates:
        """Return the state of all models."""
        missing = importlib.util.find_spec("xllamacpp") is None
        return LocalModelStates(tuple(self.rows()), how_to_install(XLLAMACPP) if missing else "")

    def subscribe(self, listener: StateListener) -> None:
        """Register a listener and call it with the present states, and again after every change."""
        self._listeners.append(listener)
        listener(self.states())

    async def refresh(self) -> LocalModelStates:
        """Search for the models of other programs again; return the state of all models."""
        await self._library.refresh()
        self._publish()
        return self.states()

    def rows(self) -> list[LocalModelRow]:
        """Return the models that can be downloaded, followed by the other model files on this computer."""
        rows = [self._table_row(model) for model in self._library.table.values()]
        for name in (*self._library.added(), *self._library.found()):
            file = self._library.file(name, search=False)
            found = self._library.found().get(name)
            size = found.size if found else file_size(file.path)
            rows.append(
                self._row(
                    LocalModel(
                        name=name,
                        title=name,
                        purpose="",
                        license="",
                        size=size,
                        memory=0,
                        window=0,
                        sha256="",
                        addresses=(),
                    ),
                    file,
                )
            )
        return rows

    def start_download(self, name: str) -> bool:
        """Download a model of the table in the background, or continue its download.

        Return False if the model is already on this computer or being downloaded.
        """
        model = self._table_model(name)
        if self._is_available(name):
            return False
        addresses = [self._on_mirror(address) for address in model.addresses]
        partial = self._library.size_of_part(name)
        return self._downloads.start(model, self._library.path(name), addresses, self._options().proxy, partial)

    async def add_address(self, address: str) -> str:
        """Look up a model at a URL from the user; return its name for `start_download`, or raise `Problem`."""
        from core.models.local.model_address import file_address, look_up  # imports the HTTP library

        table, url = self._library.table, self._on_mirror(file_address(address))
        known = next((model.name for model in table.values() if url in map(self._on_mirror, model.addresses)), "")
        if known:
            return known
        taken = {*table, *self._library.added()}
        model = await look_up(url, self._options().proxy, taken)
        self._library.add_address(model)
        self._publish()
        return model.name

    async def wait_for_download(self, name: str, timeout_s: float) -> DownloadProgress | None:
        """Wait up to `timeout_s` seconds for the end of a download; return its progress if it is still running.

        Raise `Problem` if the download failed or was paused.
        """
        if progress := await self._downloads.wait(name, timeout_s):
            return progress
        if error := self._downloads.error(name):
            raise Problem(error.message, error.cause, error.fix)
        if not self._is_available(name):
            fix = f"Continue it with: journeyman models pull {name}"
            raise Problem(f"The download of {name} was paused or canceled.", "", fix)
        return None

    async def pause_download(self, name: str) -> None:
        """Stop a download, keeping the received part of the file."""
        await self._downloads.stop(name)

    async def cancel_download(self, name: str) -> None:
        """Stop a download and delete the received part of the file."""
        await self._downloads.stop(name)
        self._downloads.forget_error(name)
        self._library.delete_part(self._table_model(name).name)
        self._publish()

    def add_file(self, path: Path) -> str:
        """Add a model file of the user; return the name of the model, or raise `Problem`."""
        name = self._library.add(path)
        self._publish()
        return name

    async def remove(self, name: str) -> bool:
        """Delete a downloaded model or an incomplete download, or forget an added file; return whether it existed."""
        if name not in self._library.table and name not in self._library.added():
            if name in self._library.found():
                origin = self._library.found()[name].origin
                raise Problem(f"{name} is a file of {origin}.", "", f"Delete it in {origin}.")
            self._table_model(name)
        server = self._servers.get(name)
        if self._downloads.progress(name) or (server is not None and server.users):
            raise Problem(f"{name} is in use.", "", "Wait until the download or the run is complete.")
        if server is not None:
            await server.close()
        self._downloads.forget_error(name)
        existed = self._library.delete(name)
        self._publish()
        return existed

    def window(self, name: str) -> int | None:
        """Return the context window of a model in tokens; None for an unknown model."""
        try:
            return self._library.file(name).window
        except Problem:
            return None

    def is_loaded(self, name: str) -> bool:
        """Return whether a model is loaded into memory and ready."""
        return name in self._servers and self._servers[name].is_running and name not in self._loading

    def record_speed(self, name: str, speed: ModelSpeed) -> None:
        """Save the measured speed of a model; a rate of 0 means unknown."""
        if speed != ModelSpeed():
            self._library.save_speed(name, speed)
            self._publish()

    @asynccontextmanager
    async def serving(self, name: str) -> AsyncGenerator[ServedModel, None]:
        """Serve a model until the context exits and it has been idle; raise `ModelError` if it cannot be served."""
        try:
            file = self._library.file(name)
        except Problem as problem:
            details = problem.details
            raise ModelError(details.message, details.cause, details.fix, retryable=False, kind="model") from problem
        server = self._servers.setdefault(name, ModelServer())
        server.users += 1
        if server.idle_timer is not None:
            server.idle_timer.cancel()
        try:
            async with server.lock:
                config = self._config(file)
                if not server.is_running or (server.users == 1 and server.config != config):
                    await self._start(name, server, file, config)
            yield server.served
        except ModelError:
            await server.wait_if_ended()
            raise
        finally:
            server.users -= 1
            if not server.users:
                loop = asyncio.get_running_loop()
                server.idle_timer = loop.call_later(self._options().idle_s, self._unload, server)

    async def close(self) -> None:
        """Pause all downloads and end all server processes."""
        await self._downloads.close()
        for server in self._servers.values():
            await server.close()

    def _unload(self, server: ModelServer) -> None:
        server.kill()
        self._publish()

    async def _start(self, name: str, server: ModelServer, file: ModelFile, config: ServerConfig) -> None:
        """Start the server and wait until the model is loaded, after unloading other models that are not in use."""
        await server.close()
        for other in self._servers.values():
            if not other.users:
                await other.close()
        self._check_memory(file)
        self._loading.add(name)
        self._publish()
        try:
            await server.start(self._command, config)
        finally:
            self._loading.discard(name)
            self._publish()

    def _config(self, file: ModelFile) -> ServerConfig:
        options = self._options()
        threads = options.threads or physical_cores()
        model = self._library.table.get(file.name)
        temperature = model.temperature if model else -1.0
        return ServerConfig(
            path=str(file.path),
            name=file.name,
            window=file.window,
            threads=threads,
            gpu_layers=options.gpu_layers,
            temperature=temperature,
        )

    def _check_memory(self, file: ModelFile) -> None:
        """Raise `ModelError` if a model does not fit into the available memory."""
        available = available_memory()
        if file.memory <= available:
            return
        fitting = [name for name, other in self._library.table.items() if other.memory <= available]
        fix = f"These models fit: {', '.join(fitting)}." if fitting else "Close other programs."
        cause = f"It needs {file.memory / 1e9:.1f} GB; {available / 1e9:.1f} GB are available."
        raise ModelError(f"{file.name} does not fit in memory.", cause, fix, retryable=False)

    def _table_row(self, model: LocalModel) -> LocalModelRow:
        try:
            file = self._library.file(model.name, search=False)
        except Problem:
            file = None
        return self._row(model, file)

    def _row(self, model: LocalModel, file: ModelFile | None) -> LocalModelRow:
        memory = file.memory if file else model.memory
        load_state: LoadState = ""
        if model.name in self._loading:
            load_state = "loading"
        elif self.is_loaded(model.name):
            load_state = "loaded"
        return LocalModelRow(
            name=model.name,
            title=model.title,
            purpose=model.purpose,
            license=model.license,
            size=model.size,
            memory=memory,
            window=file.window if file else model.window,
            path=str(file.path) if file else "",
            origin=file.origin if file else "",
            partial=self._library.size_of_part(model.name) if file is None else 0,
            download=self._downloads.progress(model.name),
            error=self._downloads.error(model.name),
            load_state=load_state,
            speed=self._library.speed(model.name),
            fits=memory <= total_memory(),
        )

    def _on_mirror(self, address: str) -> str:
        """Return a URL with Hugging Face replaced by the mirror in the environment variable HF_ENDPOINT, if any."""
        hub = self._environment.get("HF_ENDPOINT", "").strip().rstrip("/")
        return address.replace(HUB, hub, 1) if hub else address

    def _is_available(self, name: str) -> bool:
        try:
            self._library.file(name)
        except Problem:
            return False
        return True

    def _table_model(self, name: str) -> LocalModel:
        table = self._library.table
        if name not in table:
            raise Problem(f"There is no local model {name!r}.", "", f"Known models: {', '.join(table)}.")
        return table[name]

    def _publish(self) -> None:
        """Pass the states to the listeners, if they have changed."""
        if not self._listeners or self._last_states == (states := self.states()):
            return
        self._last_states = states
        for listener in self._listeners:
            listener(states)
