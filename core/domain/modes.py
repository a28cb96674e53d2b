"""How much an agent may do before it asks. Apart from the rest of consent, so that a command line reads it quickly."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, get_args

Mode = Literal["ask", "edits", "accept", "plan", "trust"]

MODES: tuple[Mode, ...] = get_args(Mode)
DEFAULT_MODE: Mode = "edits"
MODE_WORDS: Mapping[Mode, str] = MappingProxyType(
    {
        "ask": "ask everything",
        "edits": "ask before edits and commands",
        "accept": "accept edits",
        "plan": "plan, read only",
        "trust": "trust this folder",
    }
)
