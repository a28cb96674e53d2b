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
WINDOWS = (32_768, 16_384, 8_192, 4_096)  # context windows that are tried for files outside the table
FILE_WINDOW = 16_384  # if the header does not say how much memory the context needs
WORK_BYTES = 600_000_000  # memory beyond weights and context
FILE_OVERHEAD = 2 << 30  # the same if the header does not say how much memory the context needs
SHARE = 0.75  # of all memory, which a model outside the table may use
SPEEDS = "speeds.json"


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A model file, and how to serve it: `window` in tokens, and the bytes of memory that this needs."""

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
        """`chosen_window` returns the context window that the user chose, 0 if none."""
        self.folder = folder
        self._packaged = table
        self._own: dict[str, LocalModel] | None = None  # models of the user's addresses, once they were read
        self._find = find
        self._chosen_window = chosen_window
        self._found: dict[str, FoundModel] = {}
        self._searched = False
        self._headers: dict[tuple[Path, int], GgufHeader] = {}
        self._speeds: dict[str, ModelSpeed] | None = None

    @property
    def table(self) -> Mapping[str, LocalModel]:
        """The models that can be downloaded, or have been: those of the table, then those of the user's addresses."""
        if self._own is None:
            paths = sorted(self.folder.glob(f"*{ADDRESS}"))
            models = (decode_model(path.read_text("utf-8", "replace")) for path in paths)
            self._own = {model.name: model for model in models if model is not None}
        return {**self._packaged, **self._own}

    def add_address(self, model: LocalModel) -> None:
        """Remember a model that the user downloads from an address."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        _write(self.folder / f"{model.name}{ADDRESS}", encode_model(model))
        self._own = None

    def path(self, name: str) -> Path:
        """Return where the download of a model is stored."""
        return self.folder / f"{name}{SUFFIX}"

    async def refresh(self) -> None:
        """Look for the models of other programs again."""
        self._keep(await asyncio.to_thread(self._find))

    def found(self) -> dict[str, FoundModel]:
        """Return the models of other programs by name, as far as they were looked for, without those of the table."""
        known = {model.sha256 for model in self.table.values() if model.sha256}
        return {name: model for name, model in self._found.items() if model.sha256 not in known}

    def added(self) -> Iterator[str]:
        """Yield the names of the files that the user added."""
        for path in sorted(self.folder.glob(f"*{LINK}")):
            if self._linked(path.stem) is not None:
                yield path.stem

    def file(self, name: str, *, search: bool = True) -> ModelFile:
        """Return the file of a model. Raises `Problem` if there is none.

        If `search`, other programs' models are looked for if that was not done yet.
        """
        if search and not (self._searched or self.path(name).exists()):
            self._keep(self._find())
        if (model := self.table.get(name)) is not None:
            if self.path(name).exists():
                return self._plan(name, self.path(name), "Journeyman", model.window)
            digest = model.sha256 or "unknown"
            same = [found for found in self._found.values() if found.sha256 == digest and found.size == model.size]
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
        """Add a model file of the user, and return its name. The file stays where it is. Raises `Problem`."""
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
        """Delete a downloaded model and its interrupted download, or forget a file that the user added."""
        paths = [self.folder / f"{name}{suffix}" for suffix in (SUFFIX, PART, LINK, ADDRESS)]
        existing = [path for path in paths if path.exists()]
        for path in existing:
            path.unlink()
        self._own = None
        return bool(existing)

    def delete_part(self, name: str) -> None:
        """Delete an interrupted download, and forget the address that the user gave for it."""
        for suffix in (PART, ADDRESS):
            (self.folder / f"{name}{suffix}").unlink(missing_ok=True)
        self._own = None

    def size_of_part(self, name: str) -> int:
        return file_size(self.folder / f"{name}{PART}")

    def speed(self, name: str) -> ModelSpeed:
        return self._all_speeds().get(name, ModelSpeed())

    def save_speed(self, name: str, speed: ModelSpeed) -> None:
        """Keep a measured speed; a rate of 0 keeps the one measured before."""
        before = self.speed(name)
        speeds = self._all_speeds()
        speeds[name] = ModelSpeed(speed.prompt or before.prompt, speed.reply or before.reply)
        plain = {model: [rates.prompt, rates.reply] for model, rates in speeds.items()}
        with suppress(OSError):  # it is measured again
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
        self._found = {model.name: model for model in found}

    def _linked(self, name: str) -> Path | None:
        """Return the file that the user added by this name, if it still exists."""
        if "/" in name or "\\" in name:
            return None
        try:
            path = Path((self.folder / f"{name}{LINK}").read_text("utf-8"))
        except (OSError, ValueError):
            return None
        return path if path.is_absolute() and path.is_file() else None

    def _plan(self, name: str, path: Path, origin: str, window: int = 0) -> ModelFile:
        """Choose the context window: as the user set it, else `window`, else the largest that fits in the memory."""
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
        """Return the header of a file; of one in another format, an empty one: loading it fails with an explanation."""
        key = path, file_size(path)
        if key not in self._headers:
            try:
                self._headers[key] = read_header(path)
            except Problem:
                self._headers[key] = GgufHeader()
        return self._headers[key]


def file_size(path: Path) -> int:
    """Return the size of a file in bytes, 0 if there is none."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _write(path: Path, text: str) -> None:
    """Replace a file atomically."""
    draft = path.with_name(f"{path.name}.draft")
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)
