"""The command `packages`: manages bundles of hooks, MCP servers, skills and slash commands."""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import asdict
from types import MappingProxyType
from typing import Any

from app.commands.invocation import Invocation
from app.process.exit_codes import DONE, FAILED
from app.process.output import plural
from core.domain.visible import visible
from core.engine.services.package_contents import PackageContents
from core.engine.services.packages import PackageOverview, skill_description
from core.packages.package_source import is_git_address
from core.settings.schema import server_location

STATE_TEXTS = {
    "trusted": "used",
    "untrusted": "not trusted yet",
    "changed": "not used, since it has changed",
    "missing": "not used, since its files are missing or damaged",
}


async def packages(context: Invocation) -> int:
    return await ACTIONS[context.args.action](context)


async def _list(context: Invocation) -> int:
    overviews = await context.engine.packages.list()
    for overview in overviews:
        if context.args.json:
            context.out.write_json(_plain(overview))
        else:
            context.out.write(f"{overview.package.name}  ({STATE_TEXTS[overview.state]})  {_counts(overview)}".rstrip())
    if not overviews and not context.args.json:
        context.out.write("No packages. Add one: journeyman packages add SOURCE")
    return DONE


async def _add(context: Invocation) -> int:
    args = context.args
    source = args.source if is_git_address(args.source) else str(context.path(args.source))
    overview = await context.engine.packages.add(source, ref=args.ref, path=args.path, name=args.name)
    return _print_overview(
        context, overview, f"Added {overview.package.name}. It is not used yet, and nothing was run."
    )


async def _show(context: Invocation) -> int:
    return _print_overview(context, await context.engine.packages.show(context.args.name))


async def _trust(context: Invocation) -> int:
    args, out = context.args, context.out
    digest = args.digest or (await context.engine.packages.show(args.name)).digest
    results = await context.engine.packages.trust(args.name, digest)
    for result in results:
        if args.json:
            out.write_json(asdict(result))
        elif result.error:
            out.print_error(result.error, "warning")
        else:
            out.write(f"MCP server {result.name}: {plural(len(result.tools), 'tool')}")
    if not args.json:
        out.write(f"{args.name} is used from the next run on, until one of its files changes.")
    return DONE


async def _untrust(context: Invocation) -> int:
    await context.engine.packages.distrust(context.args.name)
    context.out.write(f"{context.args.name} is no longer used.")
    return DONE


async def _update(context: Invocation) -> int:
    overview, changed = await context.engine.packages.update(context.args.name)
    if not changed and not context.args.json:
        context.out.write(f"{overview.package.name} is up to date{_at_commit(overview)}.")
        return DONE
    return _print_overview(context, overview, f"Updated {overview.package.name}{_at_commit(overview)}.")


async def _remove(context: Invocation) -> int:
    await context.engine.packages.remove(context.args.name)
    context.out.write(f"Removed {context.args.name} and everything that it brought.")
    return DONE


def _print_overview(context: Invocation, overview: PackageOverview, first: str = "") -> int:
    out, name = context.out, overview.package.name
    if context.args.json:
        out.write_json(_plain(overview))
        return FAILED if overview.error else DONE
    if first:
        out.write(first)
    for line in _describe(overview):
        out.write(visible(line))
    if overview.error:
        out.print_error(overview.error)
        return FAILED
    if overview.state != "trusted":
        out.write(f"To use it as it is: journeyman packages trust {name}")
    return DONE


def _describe(overview: PackageOverview) -> Iterator[str]:
    """Yield lines about where a package comes from, what it brings and what has changed since it was trusted."""
    package, contents = overview.package, overview.contents
    title = " ".join(filter(None, (contents.title or package.name, contents.version)))
    yield f"{title}: {STATE_TEXTS[overview.state]}"
    if contents.description:
        yield f"  {' '.join(contents.description.split())}"
    inner_folder = f" ({package.path})" if package.path else ""
    yield f"  From {package.source}{inner_folder}{_at_commit(overview)}"
    yield f"  Files {overview.digest}"
    yield from _describe_contents(contents)
    for change in overview.changed:
        yield f"  Since you trusted it: {change}"


def _describe_contents(contents: PackageContents) -> Iterator[str]:
    for hook in contents.hooks:
        tools = f" of {', '.join(hook.tools)}" if hook.tools else ""
        yield f"  Hook at {hook.on}{tools}, with your permissions: {hook.command}"
    for imported in contents.servers:
        keys = ", ".join(variable.name for variable in imported.server.variables)
        receives = f"; receives {keys}" if keys else ""
        location = server_location(imported.server)
        yield f"  MCP server {imported.server.name}, with your permissions: {location}{receives}"
    for skill in contents.skills:
        yield f"  Skill {skill.name}: {' '.join(skill_description(skill).split())}"
        for finding in skill.findings:
            if finding.level != "note":
                yield f"    {finding.level} in line {finding.line}: {finding.message}"
    for command in contents.commands:
        yield f"  Command /{command.name}: {command.description}"
    for reason in contents.unused:
        yield f"  Not used: {reason}"


def _counts(overview: PackageOverview) -> str:
    contents = overview.contents
    counts = {
        "hook": len(contents.hooks),
        "MCP server": len(contents.servers),
        "skill": len(contents.skills),
        "command": len(contents.commands),
    }
    return ", ".join(plural(count, noun) for noun, count in counts.items() if count)


def _at_commit(overview: PackageOverview) -> str:
    return f", commit {overview.package.commit[:12]}" if overview.package.commit else ""


def _plain(overview: PackageOverview) -> dict[str, Any]:
    """Return a package as a JSON object, without the values of secrets in its MCP servers."""
    contents = overview.contents
    plain = asdict(overview.package)
    del plain["trusted_files"]
    return plain | {
        "state": overview.state,
        "digest": overview.digest,
        "title": contents.title,
        "version": contents.version,
        "description": contents.description,
        "hooks": [{"on": hook.on, "tools": hook.tools, "command": hook.command} for hook in contents.hooks],
        "servers": [asdict(imported.server) for imported in contents.servers],
        "skills": [{"name": skill.name, "description": skill_description(skill)} for skill in contents.skills],
        "commands": [{"name": command.name, "description": command.description} for command in contents.commands],
        "unused": contents.unused,
        "changed": overview.changed,
        "error": asdict(overview.error) if overview.error else None,
    }


ACTIONS: Mapping[str, Callable[[Invocation], Awaitable[int]]] = MappingProxyType(
    {
        "list": _list,
        "add": _add,
        "show": _show,
        "trust": _trust,
        "untrust": _untrust,
        "update": _update,
        "remove": _remove,
    }
)
