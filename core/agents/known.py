"""Agents of others that are known to speak the protocol, and which of them are on this computer."""

import shutil
from typing import Final

from core.settings.schema import OutsideAgent

KNOWN: Final = (
    OutsideAgent(name="claude", command="claude-agent-acp"),
    OutsideAgent(name="codex", command="codex-acp"),
    OutsideAgent(name="copilot", command="copilot", args=("--acp",)),
    OutsideAgent(name="gemini", command="gemini", args=("--acp",)),
    OutsideAgent(name="goose", command="goose", args=("acp",)),
    OutsideAgent(name="opencode", command="opencode", args=("acp",)),
)


def installed() -> tuple[OutsideAgent, ...]:
    """Those whose program is found; none is started."""
    return tuple(one for one in KNOWN if shutil.which(one.command))
