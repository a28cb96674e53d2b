"""The command `mcp`: the MCP servers and their tools."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from types import MappingProxyType

from app.commands.invocation import Invocation
from app.commands.run_follower import read_text_argument
from app.process.exit_codes import DONE, FAILED
from app.process.output import plural
from core.domain.problems import Problem
from core.domain.visible import visible_name
from core.engine.services.mcp_servers import McpTestResult
from core.mcp.config_import import parse_servers
from core.mcp.tool_definition import tool_rejection
from core.settings.schema import McpServerSettings, McpToolSettings, McpVariable, server_location
from core.tools.mcp_tools import mcp_tool_name

LINE = 100
ADDED_TEXT = "Added {}. Each call of its tools asks for your permission, like all network access."


async def mcp(context: Invocation) -> int:
    return await ACTIONS[context.args.action](context)


async def _list(context: Invocation) -> int:
    servers = context.engine.mcp_servers.list()
    for server in servers:
        if context.args.json:
            context.out.write_json(asdict(server))
            continue
        off = "" if server.enabled else "  (disabled)"
        context.out.write(f"{server.name}{off}  {server_location(server)}")
        for tool in server.tools:
            _tell_tool(context, server.name, tool)
    if not servers and not context.args.json:
        context.out.write("No MCP servers. Add one: journeyman mcp add NAME PROGRAM [ARGS...]")
    return DONE


async def _add(context: Invocation) -> int:
    typed = context.args
    given = (
        *(McpVariable(name=name, value=f"${{{name}}}" if value is None else value) for name, value in typed.env),
        *(McpVariable(name=name, value=value) for name, value in typed.header),
        *(McpVariable(name=name) for name in typed.key),
    )
    far = typed.program.startswith(("http://", "https://"))
    at = (
        {"url": typed.program, "allow_http": typed.allow_http}
        if far
        else {"command": typed.program, "args": tuple(typed.args)}
    )
    server = McpServerSettings(name=typed.name, variables=given, **at)
    keys = dict(zip(typed.key, typed.given, strict=False))
    return _print_look(context, await context.engine.mcp_servers.add(server, keys), ADDED_TEXT, new=True)


async def _import(context: Invocation) -> int:
    """Add each server in a file. If one does not start, the others are still added."""
    typed, code = context.args, DONE
    found = [
        one for one in parse_servers(read_text_argument(context, typed.file)) if typed.only in ("", one.server.name)
    ]
    if not found:
        raise Problem(f"There is no server {typed.only!r} in {typed.file}.", "", "Leave out --only to add all of them.")
    for one in found:
        code = (
            _print_look(
                context,
                await context.engine.mcp_servers.add(
                    one.server, one.secrets, allow_missing_secrets=bool(one.missing_secrets)
                ),
                ADDED_TEXT,
                new=True,
            )
            or code
        )
        for name in one.missing_secrets:
            context.out.write(f"It needs a key: journeyman mcp key {one.server.name} {name}")
    return code


async def _key(context: Invocation) -> int:
    typed = context.args
    kept = await context.engine.mcp_servers.set_secret(typed.name, typed.what, (typed.given or [""])[0])
    if kept.error:
        context.out.print_error(kept.error)
    stays = "in the keyring" if kept.source == "keyring" else "until Journeyman exits"
    context.out.write(f"{typed.what} of {typed.name} is kept {stays}.")
    return FAILED if kept.error else DONE


async def _test(context: Invocation) -> int:
    look = await context.engine.mcp_servers.test(context.args.name)
    same = "{} works, and its tools are as you accepted them."
    do = f"Calls of the changed tools are refused until you accept them: journeyman mcp accept {look.name}"
    return _print_look(context, look, do if look.changed else same)


async def _accept(context: Invocation) -> int:
    look = await context.engine.mcp_servers.accept(context.args.name)
    return _print_look(context, look, "Accepted the tools of {} as they are now.")


def _print_look(context: Invocation, look: McpTestResult, end: str, *, new: bool = False) -> int:
    """Print a server's tools, how they changed unless it is `new`, and the line `end`. Return an exit code."""
    out = context.out
    if context.args.json:
        out.write_json(asdict(look))
        return FAILED if look.error else DONE
    if look.error:
        out.print_error(look.error)
        return FAILED
    out.write(f"{look.name}: {plural(len(look.tools), 'tool')}, protocol {look.protocol_version}")
    for tool in look.tools:
        _tell_tool(context, look.name, tool)
    for name, difference in () if new else look.changed:
        out.write(f"Changed: {visible_name(name)}")
        out.write("\n".join(f"    {line}" for line in difference.splitlines()))
    out.write(end.format(look.name))
    return DONE


def _tell_tool(context: Invocation, server: str, tool: McpToolSettings) -> None:
    words = " ".join(tool.description.split())
    shown = words if len(words) <= LINE else words[: LINE - 1] + "…"
    why = tool_rejection(tool)
    off = f"  (not offered: {why})" if why else "" if tool.enabled else "  (disabled)"
    context.out.write(f"  {visible_name(mcp_tool_name(server, tool.name))}{off}  {shown}")


async def _switch(context: Invocation) -> int:
    typed = context.args
    on = typed.action == "enable"
    await context.engine.mcp_servers.set_enabled(typed.name, typed.tool, on)
    what = f"{typed.tool} of {typed.name}" if typed.tool else typed.name
    context.out.write(f"{'Enabled' if on else 'Disabled'} {what}.")
    return DONE


async def _remove(context: Invocation) -> int:
    await context.engine.mcp_servers.remove(context.args.name)
    context.out.write(f"Removed {context.args.name}.")
    return DONE


ACTIONS: Mapping[str, Callable[[Invocation], Awaitable[int]]] = MappingProxyType(
    {
        "list": _list,
        "add": _add,
        "import": _import,
        "key": _key,
        "test": _test,
        "accept": _accept,
        "enable": _switch,
        "disable": _switch,
        "remove": _remove,
    }
)
