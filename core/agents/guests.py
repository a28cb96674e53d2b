"""The agents at work: a program for each session, kept for its next message, ended when it rests too long."""

import asyncio
import shlex
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

from core.agents.connection import Connection, connect
from core.agents.program import end_left
from core.domain.agents import AGENT
from core.domain.problems import Problem
from core.settings.schema import OutsideAgent, Settings
from core.workspace.thread import to_its_end

REST_S = 600.0  # so long a program is kept for the next message of its session
MOST = 4  # programs that rest


class Guests:
    """Connections by session. `settings` says which agents there are."""

    def __init__(self, settings: Callable[[], Settings], data: Path) -> None:
        self._settings = settings
        self._data = data
        self._open: dict[str, Connection] = {}
        self._resting: dict[str, asyncio.TimerHandle] = {}
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._ending: set[asyncio.Task[None]] = set()

    def named(self, model: str) -> OutsideAgent:
        """The agent that a run names as `agent/NAME`; what is no name is a command."""
        name = model.removeprefix(AGENT)
        found = next((one for one in self._settings().agents if one.name == name), None)
        return found or of_command(name)

    async def connected(self, session: str, model: str, folder: Path, theirs: str) -> Connection:
        """The agent of a session, at work or started anew; `theirs` names its session from before."""
        agent = self.named(model)
        async with self._turns[session]:
            if timer := self._resting.pop(session, None):
                timer.cancel()
            if (held := self._open.get(session)) and held.open and held.agent == agent:
                return held
            if held:
                await held.close()
            self._open[session] = await connect(agent, folder, self._data, theirs)
            return self._open[session]

    def at(self, session: str) -> Connection | None:
        """The one at work or at rest for a session."""
        held = self._open.get(session)
        return held if held and held.open else None

    def rest(self, session: str) -> None:
        """Nothing is to be done for it now."""
        self._resting[session] = asyncio.get_running_loop().call_later(REST_S, self._end, session)
        for oldest in list(self._resting)[:-MOST]:
            self._end(oldest)

    async def end(self, session: str) -> None:
        """End the agent of a session, with all that it started."""
        if timer := self._resting.pop(session, None):
            timer.cancel()
        if held := self._open.pop(session, None):
            await held.close()
        self._turns.pop(session, None)

    async def close(self) -> None:
        await asyncio.gather(*(self.end(session) for session in tuple(self._open)))
        if self._ending:
            await asyncio.wait(self._ending)

    async def test(self, agent: OutsideAgent) -> Connection:
        """Start it in the home folder and open a session; whoever looks closes it."""
        return await connect(agent, Path.home(), self._data)

    async def end_left(self) -> None:
        """What an earlier Journeyman that was killed left running."""
        await to_its_end(end_left, self._data)

    def _end(self, session: str) -> None:
        task = asyncio.create_task(self.end(session), name=f"end of the agent of {session}")
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)


def of_command(text: str) -> OutsideAgent:
    """An agent that was named by its command."""
    try:
        words = shlex.split(text)
    except ValueError:
        words = []
    if not words:
        raise Problem(f"There is no agent {text!r}.", "", "List them with `journeyman agents list`.")
    return OutsideAgent(name=text, command=words[0], args=tuple(words[1:]))
