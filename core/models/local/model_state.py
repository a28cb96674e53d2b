"""The state of the local models, for listeners such as the window."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from core.domain.problems import ErrorDetails

LoadState = Literal["", "loading", "loaded"]


@dataclass(frozen=True, slots=True)
class DownloadProgress:
    """The progress of a running download in bytes. `speed` is in bytes per second; 0 while it is unknown."""

    done: int
    size: int
    speed: float = 0.0

    @property
    def seconds_left(self) -> float | None:
        return (self.size - self.done) / self.speed if self.speed else None


@dataclass(frozen=True, slots=True)
class ModelSpeed:
    """The measured speed of a model on this computer in tokens per second; 0 if not measured."""

    prompt: float = 0.0
    reply: float = 0.0


@dataclass(frozen=True, slots=True)
class LocalModelRow:
    """A model that can be downloaded, or a model file on this computer.

    Attributes:
        name: the name of the model after `local/`.
        size: the size of the file in bytes.
        memory: the bytes of memory that the model needs with a context of `window` tokens.
        path: the path of the file; "" if it is not on this computer.
        origin: whose file it is: Journeyman, you, Ollama, LM Studio or Hugging Face; "" without a file.
        partial: the received bytes of an incomplete download.
        error: why the last download failed.
        fits: whether the computer has enough memory for the model.
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
    """The states of all local models. `install_hint` is the command that installs the library; "" if installed."""

    rows: tuple[LocalModelRow, ...] = ()
    install_hint: str = ""


StateListener = Callable[[LocalModelStates], object]
