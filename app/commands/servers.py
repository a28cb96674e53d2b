"""`mcp`: the tool servers; add, test, accept, switch and remove them."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from types import MappingProxyType

from app.commands.context import Context
from app.commands.exits import DONE, FAILED
from app.commands.follow import read_file
from core.domain.problems import Problem
from core.domain.visible import visible_name
from core.engine.servers import Look
from core.servers.pasted import read_servers
from core.servers.told import unfit
from core.settings.schema import Given, ServerTool, ToolServer, where
from core.tools.server_tools import full_name

LINE = 100
ADDED = "Added {}. Each call of its tools asks you, as any way out does."


async def mcp(context: Context) -> int:
    """Do what was asked."""
    return await ACTIONS[context.typed.action](context)


async def _list(context: Context) -> int:
    servers = context.engine.servers.list()
    for server in servers:
        if context.typed.json:
            context.out.json(asdict(server))
            continue
        off = "" if server.on else "  (off)"
        context.out.write(f"{server.name}{off}  {where(server)}")
        for tool in server.tools:
            _tell_tool(context, server.name, tool)
    if not servers and not context.typed.json:
        context.out.write("There are no tool servers. Add one: journeyman mcp add NAME PROGRAM ARGUMENTS")
    return DONE


async def _add(context: Context) -> int:
    typed = context.typed
    headers = [header.partition("=") for header in typed.header]
    given = (
        *(Given(name=name, value=f"${{{name}}}") for name in typed.variable),
        *(Given(name=name.strip(), value=value.strip()) for name, _, value in headers),
        *(Given(name=name) for name in typed.key),
    )
    far = typed.program.startswith(("http://", "https://"))
    at = {"url": typed.program, "plain": typed.plain} if far else {"command": typed.program, "args": tuple(typed.args)}
    server = ToolServer(name=typed.name, given=given, **at)
    keys = dict(zip(typed.key, typed.given, strict=False))
    return _told(context, await context.engine.servers.add(server, keys), ADDED, new=True)


async def _import(context: Context) -> int:
    """Each for itself: one that does not start does not keep the others away."""
    typed, code = context.typed, DONE
    found = [one for one in read_servers(read_file(context, typed.file)) if typed.only in ("", one.server.name)]
    if not found:
        raise Problem(f"There is no server {typed.only!r} in {typed.file}.", "", "Leave out --only to add all.")
    for one in found:
        code = (
            _told(
                context,
                await context.engine.servers.add(one.server, one.keys, lacks_keys=bool(one.needs)),
                ADDED,
                new=True,
            )
            or code
        )
        for name in one.needs:
            context.out.write(f"It wants a key: journeyman mcp key {one.server.name} {name}")
    return code


async def _key(context: Context) -> int:
    typed = context.typed
    kept = await context.engine.servers.give_key(typed.name, typed.what, (typed.given or [""])[0])
    if kept.trouble:
        context.out.trouble(kept.trouble)
    stays = "in the keyring" if kept.source == "keyring" else "until Journeyman ends"
    context.out.write(f"{typed.what} of {typed.name} is kept {stays}.")
    return FAILED if kept.trouble else DONE


async def _test(context: Context) -> int:
    look = await context.engine.servers.test(context.typed.name)
    same = "{} answers, and says of its tools what you accepted."
    do = f"Until you accept that, calls of these tools are refused: journeyman mcp accept {look.name}"
    return _told(context, look, do if look.changed else same)


async def _accept(context: Context) -> int:
    look = await context.engine.servers.accept(context.typed.name)
    return _told(context, look, "Accepted what {} says now.")


def _told(context: Context, look: Look, end: str, *, new: bool = False) -> int:
    """All that a server says; how it differs only where something was accepted before."""
    out = context.out
    if context.typed.json:
        out.json(asdict(look))
        return FAILED if look.trouble else DONE
    if look.trouble:
        out.trouble(look.trouble)
        return FAILED
    out.write(f"{look.name}: {len(look.tools)} tools, protocol {look.version}")
    for tool in look.tools:
        _tell_tool(context, look.name, tool)
    for name, difference in () if new else look.changed:
        out.write(f"Changed: {visible_name(name)}")
        out.write("\n".join(f"    {line}" for line in difference.splitlines()))
    out.write(end.format(look.name))
    return DONE


def _tell_tool(context: Context, server: str, tool: ServerTool) -> None:
    words = " ".join(tool.description.split())
    shown = words if len(words) <= LINE else words[: LINE - 1] + "…"
    why = unfit(tool)
    off = f"  (not offered: {why})" if why else "" if tool.on else "  (off)"
    context.out.write(f"  {visible_name(full_name(server, tool.name))}{off}  {shown}")


async def _switch(context: Context) -> int:
    typed = context.typed
    on = typed.action == "on"
    await context.engine.servers.switch(typed.name, typed.tool, on)
    what = f"{typed.tool} of {typed.name}" if typed.tool else typed.name
    context.out.write(f"New runs are offered {what}." if on else f"No agent is offered {what} any more.")
    return DONE


async def _remove(context: Context) -> int:
    await context.engine.servers.remove(context.typed.name)
    context.out.write(f"Removed {context.typed.name}.")
    return DONE


ACTIONS: Mapping[str, Callable[[Context], Awaitable[int]]] = MappingProxyType(
    {
        "list": _list,
        "add": _add,
        "import": _import,
        "key": _key,
        "test": _test,
        "accept": _accept,
        "on": _switch,
        "off": _switch,
        "remove": _remove,
    }
)
