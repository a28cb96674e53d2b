"""The state of the local models, as reported to listeners such as the window."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from core.domain.problems import ErrorDetails

LoadState = Literal["", "loading", "loaded"]


@dataclass(frozen=True, slots=True)
class DownloadProgress:
    """The progress of a running download in bytes. `speed` is in bytes per second, 0 if not known yet."""

    done: int
    size: int
    speed: float = 0.0

    @property
    def seconds_left(self) -> float | None:
        return (self.size - self.done) / self.speed if self.speed else None


@dataclass(frozen=True, slots=True)
class ModelSpeed:
    """How fast a model was on this computer, in tokens per second; 0 if not measured."""

    prompt: float = 0.0
    reply: float = 0.0


@dataclass(frozen=True, slots=True)
class LocalModelRow:
    """A model of the table, or a model file that is on this computer.

    Attributes:
        name: its name after `local/`.
        size: of its file, in bytes.
        memory: bytes that it needs with a context of `window` tokens.
        path: of its file; empty if it is not on this computer.
        origin: whose file it is: Journeyman, you, Ollama, LM Studio or Hugging Face; empty without a file.
        partial: bytes of an interrupted or running download.
        error: why the last download failed.
        fits: whether the computer has the memory that it needs.
    """

    name: str
    title: str
    purpose: str
    license: str
    size: int
    memory: int
    window: int
    path: str = ""
    origin: str = ""
    partial: int = 0
    download: DownloadProgress | None = None
    error: ErrorDetails | None = None
    load_state: LoadState = ""
    speed: ModelSpeed = ModelSpeed()
    fits: bool = True

    @property
    def is_available(self) -> bool:
        return bool(self.path)


@dataclass(frozen=True, slots=True)
class LocalModelStates:
    """All local models. `install_hint` is the command that installs the missing library; empty if it is installed."""

    rows: tuple[LocalModelRow, ...] = ()
    install_hint: str = ""


StateListener = Callable[[LocalModelStates], object]
