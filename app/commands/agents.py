"""The command `agents`: lists, adds, tests and removes external agents, and changes their settings in a session."""

import shlex
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from types import MappingProxyType

from app.commands.invocation import Invocation, UsageProblem
from app.process.exit_codes import DONE, FAILED
from core.agents.known_agents import install_command
from core.domain.visible import visible


async def agents(context: Invocation) -> int:
    return await ACTIONS[context.args.action](context)


async def _list(context: Invocation) -> int:
    found = await context.engine.external_agents.overview()
    if context.args.json:
        for settings in found.added:
            context.out.write_json(asdict(settings) | {"added": True, "installed": settings not in found.not_found})
        for agent in (*found.installed, *found.missing):
            more = {"added": False, "installed": agent in found.installed, "install": agent.install}
            context.out.write_json(asdict(agent.settings) | more)
        return DONE
    for settings in found.added:
        install = install_command(settings.command)
        hint = f"  (not found{f'; install it: {install}' if install else ''})" if settings in found.not_found else ""
        context.out.write(f"{settings.name}  {shlex.join(settings.argv())}{hint}")
    if not found.added:
        context.out.write("No external agents. Add one: journeyman agents add NAME PROGRAM [ARGS...]")
    for agent in found.installed:
        command = shlex.join((agent.settings.name, *agent.settings.argv()))
        context.out.write(f"{agent.title} is on this computer. Add it: journeyman agents add {command}")
    for agent in found.missing:
        context.out.write(f"{agent.title} is not installed. Install it: {agent.install}")
    return DONE


async def _add(context: Invocation) -> int:
    args = context.args
    context.engine.external_agents.add(args.name, shlex.join([args.program, *args.args]))
    context.out.write(f'Added {args.name}. Use it: journeyman run --agent {args.name} "TASK"')
    return DONE


async def _test(context: Invocation) -> int:
    result = await context.engine.external_agents.test(context.args.name)
    if context.args.json:
        context.out.write_json(asdict(result))
    elif result.error:
        context.out.print_error(result.error)
    else:
        context.out.write(f"{result.title} {result.version}".strip() + " works: it opened a session.")
        for setting in result.settings:
            context.out.write(f"  {visible(setting.name)}: {visible(setting.value_name())}")
    return FAILED if result.error else DONE


async def _remove(context: Invocation) -> int:
    context.engine.external_agents.remove(context.args.name)
    context.out.write(f"Removed {context.args.name}.")
    return DONE


async def _set(context: Invocation) -> int:
    args, agents = context.args, context.engine.external_agents
    session = context.session_id()
    if args.setting:
        if not args.value:
            raise UsageProblem("The value is missing.", "", f"See the choices: journeyman agents set {args.session}")
        await agents.change_setting(session, args.setting, args.value)
    for setting in await agents.session_settings(session):
        values = ", ".join(option.value for option in setting.options)
        context.out.write(visible(f"{setting.id}  {setting.value}  ({setting.name}: {values})"))
    return DONE


ACTIONS: Mapping[str, Callable[[Invocation], Awaitable[int]]] = MappingProxyType(
    {"list": _list, "add": _add, "test": _test, "remove": _remove, "set": _set}
)
