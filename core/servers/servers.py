"""The tool servers a person added: each is started when it is first wanted, and again, but not at once, if it died."""

import asyncio
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from time import monotonic

from core.domain.problems import Problem
from core.servers.answers import Answer
from core.servers.connection import Connection, Progress
from core.servers.told import difference
from core.settings.schema import Settings, ToolServer

LOGS = "servers"  # in the data folder: what each printed
REST_S, LONGEST_REST_S = 1.0, 60.0


class Servers:
    """Connections by the name of the server, shared by all runs. `settings` says which servers there are."""

    def __init__(self, settings: Callable[[], Settings], data: Path, clock: Callable[[], float] = monotonic) -> None:
        self._settings = settings
        self._logs = data / LOGS
        self._clock = clock
        self._open: dict[str, Connection] = {}
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._failed: dict[str, tuple[int, float, Problem]] = {}

    def all(self) -> tuple[ToolServer, ...]:
        """As they are set now."""
        return self._settings().tool_servers

    def named(self, name: str) -> ToolServer:
        """The server of this name, as it is set now."""
        found = next((one for one in self.all() if one.name == name), None)
        if found is None:
            raise Problem(f"There is no tool server {name!r}.", "", "List them: journeyman mcp list.")
        return found

    async def call(self, name: str, tool: str, arguments: dict[str, object], progress: Progress) -> Answer:
        """What a server answers to a call, if what it says of the tool now is what the person accepted."""
        server = self.named(name)
        was = next((one for one in server.tools if one.name == tool), None)
        if was is None or not (server.on and was.on):
            raise Problem(f"The tool {tool} of {name} is switched off.", "", "Do it another way.")
        connection = await self._connected(server)
        if differs := difference(was, connection.tools.get(tool)):
            what = f"{name} describes its tool {tool} differently than when it was accepted, so it was not called."
            do = f"Do it another way. The person can look at it and accept it: journeyman mcp accept {name}."
            raise Problem(what, differs, do)
        return await connection.call(tool, arguments, progress)

    async def look(self, server: ToolServer) -> Connection:
        """Start a server anew, to see what it says; whoever looks closes it."""
        connection = Connection(server, self._logs / f"{server.name}.test.log")
        await connection.start()
        return connection

    async def drop(self, name: str) -> None:
        """End the connection to a server that was changed or removed."""
        self._failed.pop(name, None)
        async with self._turns[name]:
            if connection := self._open.pop(name, None):
                await connection.close()

    async def close(self) -> None:
        await asyncio.gather(*(self.drop(name) for name in tuple(self._open)))

    async def _connected(self, server: ToolServer) -> Connection:
        async with self._turns[server.name]:
            held = self._open.get(server.name)
            if held and held.open:
                return held
            self._refuse_resting(server.name)
            connection = Connection(server, self._logs / f"{server.name}.log")
            try:
                await connection.start()
            except Problem as problem:
                times = self._failed[server.name][0] + 1 if server.name in self._failed else 0
                rest = min(REST_S * 2**times, LONGEST_REST_S)
                self._failed[server.name] = times, self._clock() + rest, problem
                raise
            self._failed.pop(server.name, None)
            self._open[server.name] = connection
            return connection

    def _refuse_resting(self, name: str) -> None:
        """One that did not start is left alone for a while, each time for longer."""
        if name in self._failed and (left := self._failed[name][1] - self._clock()) > 0:
            trouble = self._failed[name][2].trouble
            raise Problem(trouble.what, trouble.why, f"It is tried again in {max(left, 1):.0f} s at the earliest.")
