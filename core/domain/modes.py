"""The permission modes. Separate from the other permission types so that the command line starts quickly."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, get_args

Mode = Literal["ask-all", "ask", "accept-edits", "plan", "auto"]

MODES: tuple[Mode, ...] = get_args(Mode)
DEFAULT_MODE: Mode = "ask"
MODE_LABELS: Mapping[Mode, str] = MappingProxyType(
    {
        "ask-all": "Ask for everything",
        "ask": "Ask before edits and commands",
        "accept-edits": "Accept edits",
        "plan": "Plan only",
        "auto": "Auto-approve, sandboxed",
    }
)
