"""The operations on external agents: list, discover, add, remove, test, and change their settings in a session."""

import asyncio
from dataclasses import dataclass

from core.agents.agent_pool import AgentPool, agent_from_command
from core.agents.known_agents import KnownAgent, is_installed, known_agents
from core.domain.external_agents import (
    AGENT_PREFIX,
    ExternalAgentSetting,
    ExternalAgentSettingChanged,
    ExternalAgentStarted,
)
from core.domain.problems import ErrorDetails, Problem
from core.engine.external.external_run import change_setting, with_setting
from core.settings.schema import ExternalAgentSettings
from core.settings.settings_file import SettingsFile
from core.store.journal import Journal


@dataclass(frozen=True, slots=True)
class ExternalAgentTestResult:
    """What an external agent reported when it was started for a test. If it did not start, `error` says why."""

    name: str
    title: str = ""
    version: str = ""
    settings: tuple[ExternalAgentSetting, ...] = ()
    error: ErrorDetails | None = None


@dataclass(frozen=True, slots=True)
class AgentOverview:
    """The external agents.

    Attributes:
        added: the agents in the settings.
        not_found: those of `added` whose program is not on this computer.
        installed: known agents that are not in the settings, with a program on this computer.
        missing: known agents whose program is not on this computer.
    """

    added: tuple[ExternalAgentSettings, ...] = ()
    not_found: tuple[ExternalAgentSettings, ...] = ()
    installed: tuple[KnownAgent, ...] = ()
    missing: tuple[KnownAgent, ...] = ()


class ExternalAgents:
    """Manages the external agents in the settings."""

    def __init__(self, settings: SettingsFile, pool: AgentPool, journal: Journal) -> None:
        self._settings = settings
        self._pool = pool
        self._journal = journal

    def list(self) -> tuple[ExternalAgentSettings, ...]:
        return self._settings.current.external_agents

    def model_names(self) -> tuple[str, ...]:
        """Return the model names that select an external agent instead of a model: `agent/` and the agent's name."""
        return tuple(f"{AGENT_PREFIX}{agent.name}" for agent in self.list())

    async def overview(self) -> AgentOverview:
        """Search this computer for the programs of the known and the added agents, and return all agents."""
        candidates = {*self.list(), *(agent.settings for agent in known_agents())}
        found = await asyncio.to_thread(lambda: {agent for agent in candidates if is_installed(agent)})
        added = self.list()  # after the search, during which an agent may have been added
        commands = {agent.argv() for agent in added}
        others = [agent for agent in known_agents() if agent.settings.argv() not in commands]
        return AgentOverview(
            added=added,
            not_found=tuple(agent for agent in added if agent in candidates - found),
            installed=tuple(agent for agent in others if agent.settings in found),
            missing=tuple(agent for agent in others if agent.settings not in found),
        )

    def add(self, name: str, command: str) -> ExternalAgentSettings:
        """Add an agent, or replace the command of the agent with this name."""
        parsed = agent_from_command(command)
        agent = ExternalAgentSettings(name=name, command=parsed.command, args=parsed.args)
        others = tuple(other for other in self.list() if other.name != name)
        self._settings.change(external_agents=(*others, agent))
        return agent

    def remove(self, name: str) -> None:
        """Remove an agent. If it was the default model, there is none then."""
        self._known(name)
        model = self._settings.current.model
        self._settings.change(
            external_agents=tuple(agent for agent in self.list() if agent.name != name),
            model="" if model == f"{AGENT_PREFIX}{name}" else model,
        )

    async def test(self, name: str) -> ExternalAgentTestResult:
        """Start the agent, initialize the connection, open a session and stop it. No model is called."""
        agent = self._known(name)
        try:
            connection = await self._pool.connect_for_test(agent)
        except Problem as problem:
            return ExternalAgentTestResult(name, error=problem.details)
        await connection.close()
        return ExternalAgentTestResult(
            name, title=connection.name, version=connection.version, settings=connection.settings
        )

    async def session_settings(self, session: str) -> tuple[ExternalAgentSetting, ...]:
        """Return the settings that a session's agent offers, with their current values."""
        if connection := self._pool.get(session):
            return connection.settings
        settings: tuple[ExternalAgentSetting, ...] = ()
        async for entry in self._journal.read(session):
            if isinstance(entry.event, ExternalAgentStarted):
                settings = entry.event.settings
            elif isinstance(entry.event, ExternalAgentSettingChanged):
                settings = with_setting(settings, entry.event.setting_id, entry.event.value) or settings
        return settings

    async def change_setting(self, session: str, name: str, value: str) -> None:
        """Change a setting of a session's agent. Raise Problem unless its process is running."""
        connection = self._pool.get(session)
        if connection is None:
            raise Problem("The agent is not running.", "", "Send it a message first, then change the setting.")
        setting = next((setting for setting in connection.settings if setting.id == name), None)
        if setting is None or value not in {option.value for option in setting.options}:
            available = "; ".join(
                f"{setting.id}: {', '.join(option.value for option in setting.options)}"
                for setting in connection.settings
            )
            fix = f"Available: {available}." if available else "This agent has no settings."
            raise Problem(f"The agent has no setting {name} with the value {value}.", "", fix)
        await change_setting(connection, setting, value)
        await self._journal.append(session, ExternalAgentSettingChanged(name, value))

    def _known(self, name: str) -> ExternalAgentSettings:
        if match := next((agent for agent in self.list() if agent.name == name), None):
            return match
        raise Problem(f"There is no agent {name!r}.", "", "List them with `journeyman agents`.")
