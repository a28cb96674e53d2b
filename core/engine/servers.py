"""The tool servers as a person sees and sets them: add, remove, look at what they say, accept it, switch."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from core.domain.problems import Problem, Trouble
from core.servers.opening import owner
from core.servers.servers import Servers
from core.servers.told import difference, unfit
from core.settings.file import SettingsFile
from core.settings.schema import ServerTool, ToolServer
from core.settings.secrets import Key, Secrets


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

    def __init__(self, settings: SettingsFile, servers: Servers, secrets: Secrets) -> None:
        self._settings = settings
        self._servers = servers
        self._secrets = secrets
        self.listen = servers.listen
        self.log = servers.log

    def list(self) -> tuple[ToolServer, ...]:
        return self._settings.now.tool_servers

    async def add(self, server: ToolServer, keys: Mapping[str, str] | None = None) -> Look:
        """Start a server, and keep it with the tools it names, where it starts. One of this name is replaced.

        `keys` are values for the keyring, by the names of what it is given.
        """
        self._settings.check(tool_servers=(server,))
        for name, value in (keys or {}).items():
            await self._secrets.keep(owner(server, name), value)
        look = await self._look(server)
        if look.trouble is None:
            await self._keep(replace(server, tools=look.tools))
        return look

    async def give_key(self, name: str, what: str, value: str) -> Key:
        """Keep a value that a server is given in the keyring; where from it comes then."""
        server = self._servers.named(name)
        if not any(given.name == what and not given.value for given in server.given):
            names = ", ".join(given.name for given in server.given if not given.value) or "none"
            raise Problem(
                f"{name} is given no key {what!r}.", f"Its keys are: {names}.", "Add it anew with --key NAME."
            )
        kept = await self._secrets.keep(owner(server, what), value)
        await self._servers.drop(name)
        return kept

    async def remove(self, name: str) -> None:
        """Its keys as well."""
        server = self._servers.named(name)
        self._settings.change(tool_servers=tuple(one for one in self.list() if one.name != name))
        await self._servers.drop(name)
        for given in server.given:
            if not given.value:
                with suppress(Problem):  # a keyring that is away keeps them; they are for this server only
                    await self._secrets.forget(owner(server, given.name))

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
        self._servers.keep(server)
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
