"""The model files on this computer: downloaded ones, files that the user added, and those of other programs."""

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from core.domain.problems import Problem
from core.models.local.found_models import FoundModel
from core.models.local.gguf_header import GgufHeader, read_header
from core.models.local.hardware import total_memory
from core.models.local.model_state import ModelSpeed
from core.models.local.model_table import LocalModel, decode_model, encode_model

SUFFIX, PART, LINK, ADDRESS = ".gguf", ".gguf.part", ".path", ".address"
WINDOWS = (32_768, 16_384, 8_192, 4_096)  # context windows to try for files outside the table, largest first
FILE_WINDOW = 16_384  # context window if the memory that each token needs is unknown
WORK_BYTES = 600_000_000  # memory in addition to weights and context
FILE_OVERHEAD = 2 << 30  # the same, including the context, if the memory that each token needs is unknown
SHARE = 0.75  # share of all memory that a model outside the table may use
SPEEDS = "speeds.json"


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A model file with its context window in tokens, and the bytes of memory that it needs with that window."""

    name: str
    path: Path
    origin: str
    window: int
    memory: int


class ModelLibrary:
    """Finds the file of a model by its name. `find` returns the models of other programs."""

    def __init__(
        self,
        folder: Path,
        table: Mapping[str, LocalModel],
        find: Callable[[], list[FoundModel]],
        chosen_window: Callable[[], int],
    ) -> None:
        """`chosen_window` returns the context window that the user chose; 0 if none."""
        self.folder = folder
        self._packaged = table
        self._own: dict[str, LocalModel] | None = None  # models at URLs from the user; None until they are read
        self._find = find
        self._chosen_window = chosen_window
        self._found_models: dict[str, FoundModel] = {}
        self._searched = False
        self._headers: dict[tuple[Path, int], GgufHeader] = {}
        self._speeds: dict[str, ModelSpeed] | None = None

    @property
    def table(self) -> Mapping[str, LocalModel]:
        """The models that can be downloaded: those of the table, and then those at URLs from the user."""
        if self._own is None:
            paths = sorted(self.folder.glob(f"*{ADDRESS}"))
            models = (decode_model(path.read_text("utf-8", "replace")) for path in paths)
            self._own = {model.name: model for model in models if model is not None}
        return {**self._packaged, **self._own}

    def add_address(self, model: LocalModel) -> None:
        """Save a model that the user downloads from a URL."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        _write(self.folder / f"{model.name}{ADDRESS}", encode_model(model))
        self._own = None

    def path(self, name: str) -> Path:
        """Return the path at which the download of a model is stored."""
        return self.folder / f"{name}{SUFFIX}"

    async def refresh(self) -> None:
        """Search for the models of other programs again."""
        self._keep(await asyncio.to_thread(self._find))

    def found(self) -> dict[str, FoundModel]:
        """Return the models of other programs from the last search, by name, without those that `table` also lists."""
        known = {model.sha256 for model in self.table.values() if model.sha256}
        return {name: model for name, model in self._found_models.items() if model.sha256 not in known}

    def added(self) -> Iterator[str]:
        """Yield the names of the files that the user added and that still exist."""
        for path in sorted(self.folder.glob(f"*{LINK}")):
            if self._linked(path.stem) is not None:
                yield path.stem

    def file(self, name: str, *, search: bool = True) -> ModelFile:
        """Return the file of a model; raise `Problem` if there is none.

        `search`: search for models of other programs, unless that was done before.
        """
        if search and not (self._searched or self.path(name).exists()):
            self._keep(self._find())
        if (model := self.table.get(name)) is not None:
            if self.path(name).exists():
                return self._plan(name, self.path(name), "Journeyman", model.window)
            digest = model.sha256 or "unknown"
            same = [
                found for found in self._found_models.values() if found.sha256 == digest and found.size == model.size
            ]
            if same:
                return self._plan(name, same[0].path, same[0].origin, model.window)
            raise Problem(
                f"The model {name} is not downloaded.", "", f"Download it with: journeyman models pull {name}"
            )
        if (linked := self._linked(name)) is not None:
            return self._plan(name, linked, "you")
        if found := self.found().get(name):
            return self._plan(name, found.path, found.origin)
        path = Path(name).expanduser()
        if path.is_absolute() and path.is_file():
            return self._plan(path.stem, path, "you")
        fix = f"Name one of {', '.join(self.table)}, or the absolute path of a GGUF file."
        raise Problem(f"There is no local model {name!r}.", "", fix)

    def add(self, path: Path) -> str:
        """Add a model file of the user, which stays in place; return the model's name, or raise `Problem`."""
        path = path.expanduser().absolute()
        if not read_header(path).can_chat:
            raise Problem(f"{path.name} cannot be used.", "This model does not chat.", "Choose another model.")
        name, number = path.stem, 2
        while name in self.table or self._linked(name) not in (None, path):
            name, number = f"{path.stem}-{number}", number + 1
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        _write(self.folder / f"{name}{LINK}", str(path))
        return name

    def delete(self, name: str) -> bool:
        """Delete a downloaded model and its incomplete download, or forget an added file; return whether it existed."""
        paths = [self.folder / f"{name}{suffix}" for suffix in (SUFFIX, PART, LINK, ADDRESS)]
        existing = [path for path in paths if path.exists()]
        for path in existing:
            path.unlink()
        self._own = None
        return bool(existing)

    def delete_part(self, name: str) -> None:
        """Delete an incomplete download, and forget the URL that the user gave for it."""
        for suffix in (PART, ADDRESS):
            (self.folder / f"{name}{suffix}").unlink(missing_ok=True)
        self._own = None

    def size_of_part(self, name: str) -> int:
        return file_size(self.folder / f"{name}{PART}")

    def speed(self, name: str) -> ModelSpeed:
        return self._all_speeds().get(name, ModelSpeed())

    def save_speed(self, name: str, speed: ModelSpeed) -> None:
        """Save a measured speed; a rate of 0 keeps the rate measured before."""
        before = self.speed(name)
        speeds = self._all_speeds()
        speeds[name] = ModelSpeed(speed.prompt or before.prompt, speed.reply or before.reply)
        plain = {model: [rates.prompt, rates.reply] for model, rates in speeds.items()}
        with suppress(OSError):  # the speed will be measured again
            _write(self.folder / SPEEDS, json.dumps(plain))

    def _all_speeds(self) -> dict[str, ModelSpeed]:
        if self._speeds is None:
            try:
                plain = json.loads((self.folder / SPEEDS).read_bytes())
                self._speeds = {name: ModelSpeed(float(rates[0]), float(rates[1])) for name, rates in plain.items()}
            except (OSError, ValueError, AttributeError, TypeError, LookupError):
                self._speeds = {}
        return self._speeds

    def _keep(self, found: list[FoundModel]) -> None:
        self._searched = True
        self._found_models = {model.name: model for model in found}

    def _linked(self, name: str) -> Path | None:
        """Return the file that the user added under this name; None if there is none or it no longer exists."""
        if "/" in name or "\\" in name:
            return None
        try:
            path = Path((self.folder / f"{name}{LINK}").read_text("utf-8"))
        except (OSError, ValueError):
            return None
        return path if path.is_absolute() and path.is_file() else None

    def _plan(self, name: str, path: Path, origin: str, window: int = 0) -> ModelFile:
        """Choose a context window: the user's choice, else `window`, else the largest that fits into memory."""
        header, size = self._header(path), file_size(path)
        trained = header.context_length or FILE_WINDOW
        chosen = self._chosen_window() or window
        if not header.cache_bytes:
            model = self.table.get(name)
            memory = model.memory if model else size + FILE_OVERHEAD
            return ModelFile(name, path, origin, min(chosen or FILE_WINDOW, trained), memory)

        def memory_with(tokens: int) -> int:
            return size + tokens * header.cache_bytes + WORK_BYTES

        limit = total_memory() * SHARE
        fitting = (tokens for tokens in WINDOWS if memory_with(tokens) <= limit)
        tokens = min(chosen or next(fitting, WINDOWS[-1]), trained)
        return ModelFile(name, path, origin, tokens, memory_with(tokens))

    def _header(self, path: Path) -> GgufHeader:
        """Return the header of a file; an empty one for another format, because loading will explain the error."""
        key = path, file_size(path)
        if key not in self._headers:
            try:
                self._headers[key] = read_header(path)
            except Problem:
                self._headers[key] = GgufHeader()
        return self._headers[key]


def file_size(path: Path) -> int:
    """Return the size of a file in bytes; 0 if it does not exist."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _write(path: Path, text: str) -> None:
    """Replace a file atomically."""
    draft = path.with_name(f"{path.name}.draft")
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)
