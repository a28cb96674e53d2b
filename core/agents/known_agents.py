"""The external agents known to support ACP, and which of them are installed."""

import shutil
from typing import Final

from core.settings.schema import ExternalAgentSettings

KNOWN_AGENTS: Final = (
    ExternalAgentSettings(name="claude", command="claude-agent-acp"),
    ExternalAgentSettings(name="codex", command="codex-acp"),
    ExternalAgentSettings(name="copilot", command="copilot", args=("--acp",)),
    ExternalAgentSettings(name="gemini", command="gemini", args=("--acp",)),
    ExternalAgentSettings(name="goose", command="goose", args=("acp",)),
    ExternalAgentSettings(name="opencode", command="opencode", args=("acp",)),
)


def installed_agents() -> tuple[ExternalAgentSettings, ...]:
    """Return the known agents whose program is on the PATH, without starting them."""
    return tuple(agent for agent in KNOWN_AGENTS if shutil.which(agent.command))
