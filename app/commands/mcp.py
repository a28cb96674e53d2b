"""The command `mcp`: adds, tests, changes and removes MCP servers, and selects their tools."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from functools import partial
from types import MappingProxyType

from app.commands.invocation import Invocation, UsageProblem
from app.commands.mcp_serve import serve
from app.process.exit_codes import DONE, FAILED
from app.process.output import plural
from core.domain.problems import Problem
from core.domain.visible import visible, visible_name
from core.engine.services.mcp_servers import McpTestResult
from core.mcp.config_import import parse_servers
from core.mcp.tool_definition import tool_rejection
from core.settings.schema import McpServerSettings, McpToolSettings, McpVariable, server_location
from core.tools.mcp_tools import mcp_tool_name

MAX_DESCRIPTION_CHARS = 100
ADDED_TEXT = "Added {}. Each call of its tools asks for your permission, unless a saved rule allows it."


async def mcp(context: Invocation) -> int:
    return await ACTIONS[context.args.action](context)


async def _list(context: Invocation) -> int:
    servers = context.engine.mcp_servers.list()
    for server in servers:
        if context.args.json:
            context.out.write_json(asdict(server))
            continue
        note = "" if server.enabled else "  (disabled)"
        context.out.write(f"{server.name}{note}  {server_location(server)}")
        for tool in server.tools:
            _print_tool(context, server.name, tool)
    if not servers and not context.args.json:
        context.out.write("No MCP servers. Add one: journeyman mcp add NAME PROGRAM [ARGS...]")
    return DONE


async def _add(context: Invocation) -> int:
    args = context.args
    variables = (
        *(McpVariable(name=name, value=f"${{{name}}}" if value is None else value) for name, value in args.env),
        *(McpVariable(name=header.name, value=header.value) for header in args.header),
        *(McpVariable(name=name) for name in args.key),
    )
    if args.program.startswith(("http://", "https://")):
        if args.args:
            fix = "Put options before the name: journeyman mcp add --key Authorization NAME URL"
            raise UsageProblem(f"A URL has no arguments, such as {args.args[0]!r}.", "They would have no effect.", fix)
        server = McpServerSettings(name=args.name, variables=variables, url=args.program, allow_http=args.allow_http)
    else:
        server = McpServerSettings(name=args.name, variables=variables, command=args.program, args=tuple(args.args))
    keys = dict(zip(args.key, args.given, strict=False))
    open_page = partial(_print_page, context) if args.oauth else None
    result = await context.engine.mcp_servers.add(server, keys, open_page=open_page)
    if args.oauth:
        await _warn_about_sign_in(context, result)
    return _print_test(context, result, ADDED_TEXT, new=True)


async def _login(context: Invocation) -> int:
    result = await context.engine.mcp_servers.sign_in(context.args.name, partial(_print_page, context))
    await _warn_about_sign_in(context, result)
    return _print_test(context, result, "Signed in to {}.")


async def _warn_about_sign_in(context: Invocation, result: McpTestResult) -> None:
    if not result.error and not await context.engine.mcp_servers.keeps_sign_in(result.name):
        context.out.print_warning("There is no keyring, so the sign-in lasts only until Journeyman exits.")


async def _logout(context: Invocation) -> int:
    name = context.args.name
    deleted = await context.engine.mcp_servers.sign_out(name)
    context.out.write(f"Signed out of {name}." if deleted else f"You were not signed in to {name}.")
    return DONE


def _print_page(context: Invocation, url: str) -> None:
    """Print the address of the page on which to sign in. With `--json`, it goes to standard error."""
    text = f"Open this page in a browser to sign in: {visible(url)}"
    if context.args.json:
        context.out.print_warning(text)
    else:
        context.out.write(text)


async def _import(context: Invocation) -> int:
    """Add each server in a file. If one cannot be added, print the error and continue with the next."""
    args, code = context.args, DONE
    imported = [entry for entry in parse_servers(context.read_text(args.file)) if args.only in ("", entry.server.name)]
    if not imported:
        raise Problem(f"There is no server {args.only!r} in {args.file}.", "", "Leave out --only to add all of them.")
    for entry in imported:
        try:
            result = await context.engine.mcp_servers.add(
                entry.server, entry.secrets, allow_missing_secrets=bool(entry.missing_secrets)
            )
        except Problem as problem:
            context.out.print_error(problem.details)
            code = FAILED
            continue
        code = _print_test(context, result, ADDED_TEXT, new=True) or code
        for name in entry.missing_secrets:
            context.out.write(f"It needs a key: journeyman mcp key {entry.server.name} {name}")
    return code


async def _key(context: Invocation) -> int:
    args = context.args
    stored = await context.engine.mcp_servers.set_secret(args.name, args.what, (args.given or [""])[0])
    if stored.error:
        context.out.print_error(stored.error)
    location = "in the keyring" if stored.source == "keyring" else "until Journeyman exits"
    context.out.write(f"{args.what} of {args.name} is kept {location}.")
    return FAILED if stored.error else DONE


async def _test(context: Invocation) -> int:
    result = await context.engine.mcp_servers.test(context.args.name)
    unchanged_text = "{} works, and its tools are as you accepted them."
    changed_text = f"Calls of the changed tools are refused until you accept them: journeyman mcp accept {result.name}"
    return _print_test(context, result, changed_text if result.changed else unchanged_text)


async def _accept(context: Invocation) -> int:
    result = await context.engine.mcp_servers.accept(context.args.name)
    return _print_test(context, result, "Accepted the tools of {} as they are now.")


def _print_test(context: Invocation, result: McpTestResult, closing: str, *, new: bool = False) -> int:
    """Print a server's tools and the line `closing`, and return the exit code.

    Changes of the tools are also printed, unless the server is `new`. `{}` in `closing` stands for the server's name.
    """
    out = context.out
    if context.args.json:
        out.write_json(asdict(result))
        return FAILED if result.error else DONE
    if result.error:
        out.print_error(result.error)
        return FAILED
    out.write(f"{result.name}: {plural(len(result.tools), 'tool')}, protocol {result.protocol_version}")
    for tool in result.tools:
        _print_tool(context, result.name, tool)
    if not new:
        for name, diff in result.changed:
            out.write(f"Changed: {visible_name(name)}")
            out.write("\n".join(f"    {line}" for line in diff.splitlines()))
    out.write(closing.format(result.name))
    return DONE


def _print_tool(context: Invocation, server: str, tool: McpToolSettings) -> None:
    description = " ".join(tool.description.split())
    if len(description) > MAX_DESCRIPTION_CHARS:
        description = description[: MAX_DESCRIPTION_CHARS - 1] + "…"
    note = "" if tool.enabled else "  (disabled)"
    if rejection := tool_rejection(tool):
        note = f"  (not offered: {rejection})"
    context.out.write(f"  {visible_name(mcp_tool_name(server, tool.name))}{note}  {description}")


async def _switch(context: Invocation) -> int:
    args = context.args
    enabled = args.action == "enable"
    await context.engine.mcp_servers.set_enabled(args.name, args.tool, enabled)
    target = f"{args.tool} of {args.name}" if args.tool else args.name
    context.out.write(f"{'Enabled' if enabled else 'Disabled'} {target}.")
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
        "login": _login,
        "logout": _logout,
        "enable": _switch,
        "disable": _switch,
        "remove": _remove,
        "serve": serve,
    }
)
