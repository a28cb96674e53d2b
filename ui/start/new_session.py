"""Data of the start screen: what it offers for a new session, and what the user has entered."""

from typing import NamedTuple

from core.domain.message_files import AttachedFile
from core.domain.modes import DEFAULT_MODE, Mode
from ui.start.run_options import RunOptions


class ProviderOffer(NamedTuple):
    """A provider on the start screen. `models` are full names; `is_local` means that it runs on this computer."""

    name: str
    title: str
    models: tuple[str, ...] = ()
    is_local: bool = False
    needs_key: bool = False
    variable: str = ""

    @property
    def label(self) -> str:
        return self.title or self.name


class OfferedAgent(NamedTuple):
    """One of the user's agent profiles.

    `model` is the model or tier that it names; "" if it names none. A profile with an `error` cannot be chosen.
    """

    name: str = ""
    model: str = ""
    description: str = ""
    error: str = ""


class NewSession(NamedTuple):
    """What the user has entered for a new session.

    An empty `agent` means the default profile, an empty `effort` the default of the model, and None as `options` those
    of the settings.
    """

    task: str
    folder: str
    model: str
    mode: Mode = DEFAULT_MODE
    agent: str = ""
    effort: str = ""
    files: tuple[AttachedFile, ...] = ()
    options: RunOptions | None = None
