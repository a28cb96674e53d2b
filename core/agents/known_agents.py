"""The external agents known to support ACP, and which of them are installed."""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Final

from core.settings.schema import ExternalAgentSettings
from core.workspace.program_search import find_program

# Agents that cannot create files, because they do not recognize the error for a missing file when they read it first.
# They receive an empty file instead of the error.
CANNOT_RECOGNIZE_NEW_FILES: Final = frozenset({"Gemini CLI"})


@dataclass(frozen=True, slots=True)
class KnownAgent:
    """An agent that supports ACP, and the shell command that installs it."""

    title: str
    install: str
    settings: ExternalAgentSettings


@cache
def known_agents() -> tuple[KnownAgent, ...]:
    """Return the known agents, sorted by name."""
    document = tomllib.loads(resources.files("resources").joinpath("external_agents.toml").read_text("utf-8"))
    return tuple(
        KnownAgent(
            agent["title"],
            agent["install"],
            ExternalAgentSettings(name=agent["name"], command=agent["command"][0], args=tuple(agent["command"][1:])),
        )
        for agent in document["agent"]
    )


def is_installed(agent: ExternalAgentSettings) -> bool:
    """Return whether the program of an agent is on the PATH, without starting it."""
    return bool(find_program(agent.command))


def install_command(program: str) -> str:
    """Return the shell command that installs the known agent with this program, or ""."""
    return next((agent.install for agent in known_agents() if agent.settings.command == program), "")
