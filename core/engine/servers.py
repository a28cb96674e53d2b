"""The tool servers as a person sees and sets them: add, remove, look at what they say, accept it, switch."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from core.domain.problems import Problem, Trouble
from core.servers.servers import Servers
from core.servers.told import difference, unfit
from core.settings.file import SettingsFile
from core.settings.schema import ServerTool, ToolServer


@dataclass(frozen=True, slots=True)
class Look:
    """What a server says of itself now.

    Attributes:
        version: of the protocol.
        tools: all that it offers.
        changed: tools that are not as they were accepted, with the difference.
        unfit: tools that no agent is offered, and why.
        trouble: why it does not start; then nothing else is known.
    """

    name: str
    version: str = ""
    tools: tuple[ServerTool, ...] = ()
    changed: tuple[tuple[str, str], ...] = ()
    unfit: tuple[tuple[str, str], ...] = ()
    trouble: Trouble | None = None


class ToolServers:
    """What a person set, and one way to change it."""

    def __init__(self, settings: SettingsFile, servers: Servers) -> None:
        self._settings = settings
        self._servers = servers

    def list(self) -> tuple[ToolServer, ...]:
        return self._settings.now.tool_servers

    async def add(self, name: str, command: str, args: Sequence[str] = (), variables: Sequence[str] = ()) -> Look:
        """Start a server, and keep it with the tools it names, where it starts. One of this name is replaced."""
        server = ToolServer(name=name, command=command, args=tuple(args), variables=tuple(variables))
        self._settings.check(tool_servers=(server,))
        look = await self._look(server)
        if look.trouble is None:
            await self._keep(replace(server, tools=look.tools))
        return look

    async def remove(self, name: str) -> None:
        self._servers.named(name)
        self._settings.change(tool_servers=tuple(one for one in self.list() if one.name != name))
        await self._servers.drop(name)

    async def test(self, name: str) -> Look:
        """Start it anew, and compare what it says with what was accepted."""
        return await self._look(self._servers.named(name))

    async def accept(self, name: str) -> Look:
        """Take what it says now for good; what was switched off stays off."""
        server = self._servers.named(name)
        look = await self._look(server)
        if look.trouble is None:
            off = {tool.name for tool in server.tools if not tool.on}
            await self._keep(replace(server, tools=tuple(replace(t, on=t.name not in off) for t in look.tools)))
        return look

    async def switch(self, name: str, tool: str, on: bool) -> None:
        """A server, or one of its tools."""
        server = self._servers.named(name)
        if not tool:
            await self._keep(replace(server, on=on))
            return
        if tool not in {one.name for one in server.tools}:
            raise Problem(f"{name} has no tool {tool!r}.", "", f"List them: journeyman mcp test {name}.")
        tools = tuple(replace(one, on=on) if one.name == tool else one for one in server.tools)
        await self._keep(replace(server, tools=tools))

    async def _keep(self, server: ToolServer) -> None:
        there = [one.name for one in self.list()]
        kept = [server if one.name == server.name else one for one in self.list()]
        self._settings.change(tool_servers=tuple(kept if server.name in there else [*kept, server]))
        await self._servers.drop(server.name)

    async def _look(self, server: ToolServer) -> Look:
        try:
            connection = await self._servers.look(server)
        except Problem as problem:
            return Look(server.name, trouble=problem.trouble)
        await connection.close()
        now, was = connection.tools, {tool.name: tool for tool in server.tools}
        differs = {name: difference(was.get(name), now.get(name)) for name in {**was, **now}}
        return Look(
            server.name,
            connection.version,
            tuple(now.values()),
            tuple((name, text) for name, text in differs.items() if text),
            tuple((tool.name, why) for tool in now.values() if (why := unfit(tool))),
        )
