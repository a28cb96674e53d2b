"""The pool of running external agents: one process per session, kept for the next message and ended when idle."""

import asyncio
import shlex
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

from core.agents.connection import AgentConnection, connect
from core.agents.process import kill_leftovers
from core.domain.external_agents import AGENT_PREFIX
from core.domain.problems import Problem
from core.domain.visible import visible
from core.settings.schema import ExternalAgentSettings, Settings
from core.workspace.threads import run_to_completion

IDLE_TIMEOUT_S = 600.0  # how long an idle process is kept for the next message of its session
MAX_IDLE = 4  # processes kept idle at the same time


class AgentPool:
    """The connections to running external agents, one per session. `settings` returns the current settings."""

    def __init__(self, settings: Callable[[], Settings], data: Path) -> None:
        self._settings = settings
        self._data = data
        self._open: dict[str, AgentConnection] = {}
        self._idle_timers: dict[str, asyncio.TimerHandle] = {}
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._ending: set[asyncio.Task[None]] = set()

    def find_agent(self, model: str, command: str) -> ExternalAgentSettings:
        """Return the agent for the model name `agent/NAME`, or `agent/COMMAND` if `command` is the same command line.

        `command` is what the user typed. Raise Problem for any other name, which may come from a transcript or a model.
        """
        name = model.removeprefix(AGENT_PREFIX)
        configured = next((agent for agent in self._settings().external_agents if agent.name == name), None)
        if configured:
            return configured
        if name and name == command:
            return agent_from_command(name)
        fix = "Add it under Settings, External agents, or with: journeyman agents add."
        raise Problem(f"There is no external agent {visible(name)!r}.", "You have not added it.", fix)

    async def connect(
        self, session: str, agent: ExternalAgentSettings, folder: Path, agent_session_id: str
    ) -> AgentConnection:
        """Return the connection to a session's agent. If the agent has to be started, resume its `agent_session_id`."""
        async with self._locks[session]:
            if timer := self._idle_timers.pop(session, None):
                timer.cancel()
            if (connection := self._open.get(session)) and connection.is_open and connection.agent == agent:
                return connection
            if connection:
                await connection.close()
            self._open[session] = await connect(agent, folder, self._data, agent_session_id)
            return self._open[session]

    def get(self, session: str) -> AgentConnection | None:
        """Return the open connection of a session, busy or idle, or None."""
        connection = self._open.get(session)
        return connection if connection and connection.is_open else None

    def mark_idle(self, session: str) -> None:
        """Mark a session's agent as idle. It ends after IDLE_TIMEOUT_S, or if too many agents are idle."""
        self._idle_timers[session] = asyncio.get_running_loop().call_later(IDLE_TIMEOUT_S, self._end, session)
        for oldest in list(self._idle_timers)[:-MAX_IDLE]:
            self._end(oldest)

    async def end(self, session: str) -> None:
        """End the agent of a session and its child processes."""
        if timer := self._idle_timers.pop(session, None):
            timer.cancel()
        if connection := self._open.pop(session, None):
            await connection.close()
        self._locks.pop(session, None)

    async def close(self) -> None:
        await asyncio.gather(*(self.end(session) for session in tuple(self._open)))
        if self._ending:
            await asyncio.wait(self._ending)

    async def connect_for_test(self, agent: ExternalAgentSettings) -> AgentConnection:
        """Start an agent in the home folder and open a session. The caller must close the connection."""
        return await connect(agent, Path.home(), self._data)

    async def end_leftovers(self) -> None:
        """End agents left running by an earlier Journeyman process that was killed."""
        await run_to_completion(kill_leftovers, self._data)

    def _end(self, session: str) -> None:
        task = asyncio.create_task(self.end(session), name=f"end of the agent of {session}")
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)


def agent_from_command(text: str) -> ExternalAgentSettings:
    """Build an agent from a command line. Raises `Problem` if it is empty or malformed."""
    try:
        argv = shlex.split(text)
    except ValueError:
        argv = []
    if not argv:
        raise Problem(f"There is no agent {text!r}.", "", "To list them: journeyman agents list.")
    return ExternalAgentSettings(name=text, command=argv[0], args=tuple(argv[1:]))
