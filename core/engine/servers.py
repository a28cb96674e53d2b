"""The tool servers as a person sees and sets them: add, remove, look at what they say, accept it, switch."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from core.domain.problems import Problem, Trouble
from core.engine.extras import Filled, filled
from core.engine.trust import Obeyed
from core.servers.health import State
from core.servers.opening import owner
from core.servers.pasted import LARGEST, Pasted, read_servers
from core.servers.servers import Servers
from core.servers.told import difference, unfit
from core.settings.file import SettingsFile
from core.settings.schema import ServerTool, ToolServer
from core.settings.secrets import Key, Secrets
from core.tools.server_tools import offered, server_of
from core.workspace.broker import Broker

FILE = ".mcp.json"
PRINTED = 64 << 10


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


@dataclass(frozen=True, slots=True)
class Row:
    """A server as it is set; `lacking` are its keys that are not there."""

    server: ToolServer
    state: State
    lacking: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Brought:
    """A server that a folder brings along, which the person trusts; `keys` are the names of what it is given."""

    folder: str
    server: ToolServer
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Overview:
    rows: tuple[Row, ...] = ()
    brought: tuple[Brought, ...] = ()
    troubles: tuple[Trouble, ...] = ()


class ToolServers:
    """What a person set, and one way to change it."""

    def __init__(
        self, settings: SettingsFile, servers: Servers, secrets: Secrets, obeyed: Callable[[Path], Obeyed]
    ) -> None:
        self._settings = settings
        self._obeyed = obeyed
        self._servers = servers
        self._secrets = secrets
        self.listen = servers.listen
        self.extras = servers.extras

    async def filled(self, text: str, boundary: str) -> Filled:
        """What a person said, with the resources and the prompt that it names."""
        return await filled(text, self._servers, boundary)

    def list(self) -> tuple[ToolServer, ...]:
        return self._settings.now.tool_servers

    async def overview(self, folders: Sequence[str] = ()) -> Overview:
        """Every server with how it is, and what these folders bring along, as far as they are trusted."""
        states = {state.name: state for state in self._servers.states().of}
        rows: list[Row] = []
        for server in self.list():
            named = [given.name for given in server.given if not given.value]
            lacking = [name for name in named if not (await self._secrets.find(owner(server, name))).value]
            rows.append(Row(server, states.get(server.name, State(server.name)), tuple(lacking)))
        brought: list[Brought] = []
        troubles: list[Trouble] = []
        there = {row.server.name for row in rows}
        for folder in folders:
            try:
                found = await asyncio.to_thread(servers_of, Path(folder), self._obeyed(Path(folder)))
            except Problem as problem:
                troubles.append(replace(problem.trouble, why=f"{folder}/{FILE}: {problem.trouble.why}"))
                continue
            new = [one for one in found if one.server.name not in there]
            brought += [Brought(folder, one.server, (*one.keys, *one.needs)) for one in new]
        return Overview(tuple(rows), tuple(brought), tuple(troubles))

    async def add_brought(self, folder: str, name: str) -> Look:
        """One that a trusted folder brings along: from here on it is the person's own."""
        found = await asyncio.to_thread(servers_of, Path(folder), self._obeyed(Path(folder)))
        one = next((one for one in found if one.server.name == name), None)
        if one is None:
            raise Problem(f"{folder} brings no tool server {name!r} any more.", "", "Look again.")
        return await self.add(one.server, one.keys, lacks_keys=bool(one.needs))

    def printed(self, name: str) -> str:
        """The end of what a server printed when it ran last."""
        logs = [self._servers.log(name), self._servers.log(f"{name}.test")]
        there = [log for log in logs if log.exists()]
        if not there:
            return ""
        latest = max(there, key=lambda log: log.stat().st_mtime_ns)
        with latest.open("rb") as file:
            file.seek(max(0, latest.stat().st_size - PRINTED))
            return file.read().decode("utf-8", "replace")

    def refuse_unknown(self, allow: Sequence[str]) -> None:
        """Raise Problem where tools of servers are allowed that there are not."""
        there = offered(self.list())
        for text in allow:
            name = text.partition(":")[0].strip()
            if (server := server_of(name)) and name not in there:
                known = any(one.name == server for one in self.list())
                why = f"The tool server {server} has no such tool that is on." if known else "There is no such server."
                raise Problem(f"There is no tool {name!r} to allow.", why, "List them: journeyman mcp list.")

    async def add(self, server: ToolServer, keys: Mapping[str, str] | None = None, *, lacks_keys: bool = False) -> Look:
        """Start a server, and keep it with the tools it names, where it starts. One of this name is replaced.

        `keys` are values for the keyring, by the names of what it is given. One that `lacks_keys` is kept all the same,
        so that they can be given.
        """
        self._settings.check(tool_servers=(server,))
        for name, value in (keys or {}).items():
            await self._secrets.keep(owner(server, name), value)
        look = await self._look(server)
        if look.trouble is None or lacks_keys:
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
        if not server.tools:  # it was added without its key, so nobody has heard yet what it offers
            await self.accept(name)
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


def servers_of(folder: Path, obeys: Obeyed) -> tuple[Pasted, ...]:
    """The servers that a folder brings along; none where it is not trusted, or not as its file is now."""
    try:
        with Broker(folder) as broker:
            body = broker.read(FILE, LARGEST) if broker.look(FILE) is not None else b""
    except (Problem, OSError):
        return ()
    return read_servers(body.decode("utf-8", "replace")) if body and obeys(FILE, body) else ()
