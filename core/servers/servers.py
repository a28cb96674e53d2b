"""The tool servers a person added: each is started when it is first wanted, and again, but not at once, if it died."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic
from typing import Any

from core.domain.problems import Problem
from core.domain.question import Option, Question
from core.servers.answers import Answer
from core.servers.asking import Ask
from core.servers.connection import Connection, Progress
from core.servers.extras import Extras
from core.servers.health import Listener, State, States
from core.servers.opening import Opening, opening
from core.servers.told import difference
from core.settings.file import SettingsFile
from core.settings.schema import ServerTool, ToolServer
from core.settings.secrets import Secrets

LOGS = "servers"  # in the data folder: what each printed
REST_S, LONGEST_REST_S = 1.0, 60.0
ACCEPT, LEAVE = "Accept it and call", "Do not call it"


@dataclass(slots=True)
class _Failed:
    """How often in a row, until when it is left alone, and why."""

    times: int
    until: float
    problem: Problem


class Servers:
    """Connections by the name of the server, shared by all runs."""

    def __init__(
        self,
        settings: SettingsFile,
        data: Path,
        secrets: Secrets,
        environment: Mapping[str, str],
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._settings = settings
        self._logs = data / LOGS
        self._secrets = secrets
        self._environment = environment
        self._clock = clock
        self._open: dict[str, Connection] = {}
        self._since: dict[str, float] = {}
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._failed: dict[str, _Failed] = {}
        self._listeners: list[Listener] = []
        self._told = States()

    def all(self) -> tuple[ToolServer, ...]:
        """As they are set now."""
        return self._settings.now.tool_servers

    def named(self, name: str) -> ToolServer:
        """The server of this name, as it is set now."""
        found = next((one for one in self.all() if one.name == name), None)
        if found is None:
            raise Problem(f"There is no tool server {name!r}.", "", "List them: journeyman mcp list.")
        return found

    def keep(self, server: ToolServer) -> None:
        """Set it, in the place of one of its name."""
        there = [server if one.name == server.name else one for one in self.all()]
        added = () if any(one.name == server.name for one in self.all()) else (server,)
        self._settings.change(tool_servers=(*there, *added))
        self._tell()

    def states(self) -> States:
        """Of those that are on."""
        return States(tuple(self._state(server.name) for server in self.all() if server.on))

    def listen(self, listener: Listener) -> None:
        """Told how they are now, and whenever that has changed."""
        self._listeners.append(listener)
        listener(self.states())

    def log(self, name: str) -> Path:
        """What it printed, since it was started last."""
        return self._logs / f"{name}.log"

    async def call(
        self, name: str, tool: str, arguments: dict[str, Any], progress: Progress, ask: Ask | None = None
    ) -> Answer:
        """What a server answers to a call, if what it says of the tool now is what the person accepted."""
        server = self.named(name)
        was = next((one for one in server.tools if one.name == tool), None)
        if was is None or not (server.on and was.on):
            raise Problem(f"The tool {tool} of {name} is switched off.", "", "Do it another way.")
        connection = await self._connected(server)
        now = (await connection.look()).get(tool)
        if differs := difference(was, now):
            await self._accept(name, tool, now, differs, ask)
        return await connection.call(tool, arguments, progress, ask)

    async def extras(self) -> Extras:
        """What those that are on offer a person; they are started for it. One that fails is left out."""

        async def of(server: ToolServer) -> Extras:
            with suppress(Problem):  # its state says so
                return await (await self._connected(server)).extras()
            return Extras()

        found = await asyncio.gather(*(of(server) for server in self.all() if server.on))
        return Extras(
            tuple(each for one in found for each in one.resources), tuple(each for one in found for each in one.prompts)
        )

    async def resource(self, name: str, uri: str) -> str:
        """The words of a resource."""
        return await (await self._connected(self.named(name))).resource(uri)

    async def prompt(self, name: str, prompt: str, words: Sequence[str]) -> str:
        """The words of a prompt, with these as its arguments, in their order; the last takes what is left."""
        connection = await self._connected(self.named(name))
        known = next((each for each in (await connection.extras()).prompts if each.name == prompt), None)
        if known is None:
            raise Problem(f"{name} has no prompt {prompt!r}.", "", "Type / to see those there are.")
        places = known.arguments
        given = [*words[: len(places) - 1], " ".join(words[len(places) - 1 :])] if places else []
        return await connection.prompt(
            prompt, {place: word for place, word in zip(places, given, strict=False) if word}
        )

    async def look(self, server: ToolServer) -> Connection:
        """Start a server anew, to see what it says; whoever looks closes it."""
        connection = Connection(await self._opening(server), self._logs / f"{server.name}.test.log")
        await connection.start()
        return connection

    async def drop(self, name: str) -> None:
        """End the connection to a server that was changed or removed."""
        self._failed.pop(name, None)
        async with self._turns[name]:
            if connection := self._open.pop(name, None):
                await connection.close()
        self._tell()

    async def close(self) -> None:
        await asyncio.gather(*(self.drop(name) for name in tuple(self._open)))

    async def _accept(self, name: str, tool: str, now: ServerTool | None, differs: str, ask: Ask | None) -> None:
        """The person's word on a tool that is described differently than when it was accepted."""
        answer = await ask(_changed(name, tool, differs)) if ask and now else None
        if now is None or answer is None or answer.option != ACCEPT:
            what = f"{name} describes its tool {tool} differently than when it was accepted, so it was not called."
            do = f"Do it another way. The person can look at it and accept it: journeyman mcp accept {name}."
            raise Problem(what, differs, do)
        server = self.named(name)
        self.keep(replace(server, tools=tuple(replace(now, on=t.on) if t.name == tool else t for t in server.tools)))

    async def _connected(self, server: ToolServer) -> Connection:
        name = server.name
        try:
            async with self._turns[name]:
                held = self._open.get(name)
                if held and held.open:
                    return held
                self._refuse_resting(name)
                self._tell()
                connection = Connection(await self._opening(server), self.log(name))
                await connection.start()
                self._open[name], self._since[name] = connection, self._clock()
                connection.when_ended(lambda: self._died(name, connection))
                return connection
        except Problem as problem:
            if name not in self._failed or self._failed[name].until <= self._clock():
                self._fail(name, problem, REST_S)
            raise
        finally:
            self._tell()

    async def _opening(self, server: ToolServer) -> Opening:
        return await opening(server, self._secrets, self._environment, self._settings.now.proxy)

    def _refuse_resting(self, name: str) -> None:
        """One that failed is left alone for a while, each time for longer."""
        failed = self._failed.get(name)
        if failed and (left := failed.until - self._clock()) > 0:
            trouble = failed.problem.trouble
            raise Problem(trouble.what, trouble.why, f"It is tried again in {max(left, 1):.0f} s at the earliest.")

    def _died(self, name: str, connection: Connection) -> None:
        """One that lived for a while may be started at once; one that keeps dying may not."""
        if self._open.get(name) is not connection:
            return  # it was ended by us
        del self._open[name]
        if self._clock() - self._since[name] >= LONGEST_REST_S:
            self._failed.pop(name, None)
        self._fail(name, connection.problem("has ended"), 0.0)

    def _fail(self, name: str, problem: Problem, rest: float) -> None:
        times = self._failed[name].times + 1 if name in self._failed else 0
        wait = min(REST_S * 2**times, LONGEST_REST_S) if times else rest
        self._failed[name] = _Failed(times, self._clock() + wait, problem)
        self._tell()

    def _state(self, name: str) -> State:
        held = self._open.get(name)
        if held and held.open:
            return State(name, "open")
        if self._turns[name].locked():
            return State(name, "starting")
        failed = self._failed.get(name)
        return State(name, "failed", failed.problem.trouble) if failed else State(name, "ready")

    def _tell(self) -> None:
        if self._told != (now := self.states()):
            self._told = now
            for listener in self._listeners:
                listener(now)


def _changed(server: str, tool: str, differs: str) -> Question:
    """Asked in the run: the difference is what the person decides on."""
    text = f"{server} describes its tool {tool} differently than when you accepted it. Call it all the same?"
    options = (
        Option(ACCEPT, "From now on agents are told the new words."),
        Option(LEAVE, "The agent has to find another way."),
    )
    return Question("changed", text, differs, options, free_text=False, server=server)
