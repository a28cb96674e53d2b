"""The command `agents`: lists, adds, tests and removes external agents, and changes their settings in a session."""

import shlex
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from types import MappingProxyType

from app.commands.invocation import Invocation
from app.commands.run_follower import find_session_id
from app.process.exit_codes import DONE, FAILED
from core.domain.problems import Problem
from core.domain.visible import visible


async def agents(context: Invocation) -> int:
    return await ACTIONS[context.args.action](context)


async def _list(context: Invocation) -> int:
    added, found = context.engine.external_agents.list(), await context.engine.external_agents.find_installed()
    for one in (*added, *found):
        if context.args.json:
            context.out.write_json(asdict(one) | {"added": one in added})
        else:
            more = (
                ""
                if one in added
                else f"  (found on this computer; add it: journeyman agents add {one.name} {one.command} …)"
            )
            context.out.write(f"{one.name}  {shlex.join(one.argv())}{more}")
    if not added and not context.args.json:
        context.out.write("No external agents. Add one: journeyman agents add NAME PROGRAM [ARGS...]")
    return DONE


async def _add(context: Invocation) -> int:
    typed = context.args
    context.engine.external_agents.add(typed.name, shlex.join([typed.program, *typed.args]))
    context.out.write(f'Added {typed.name}. Use it: journeyman run --agent {typed.name} "TASK"')
    return DONE


async def _test(context: Invocation) -> int:
    look = await context.engine.external_agents.test(context.args.name)
    if context.args.json:
        context.out.write_json(asdict(look))
    elif look.error:
        context.out.print_error(look.error)
    else:
        context.out.write(f"{look.title} {look.version}".strip() + " works: it opened a session.")
        for one in look.settings:
            context.out.write(f"  {visible(one.name)}: {visible(one.value_name())}")
    return FAILED if look.error else DONE


async def _remove(context: Invocation) -> int:
    context.engine.external_agents.remove(context.args.name)
    context.out.write(f"Removed {context.args.name}.")
    return DONE


async def _set(context: Invocation) -> int:
    typed, guests = context.args, context.engine.external_agents
    session = find_session_id(context.engine, typed.session)
    if typed.setting:
        if not typed.value:
            raise Problem("The value is missing.", "", f"See the choices: journeyman agents set {typed.session}")
        await guests.change_setting(session, typed.setting, typed.value)
    for one in await guests.session_settings(session):
        known = ", ".join(option.value for option in one.options)
        context.out.write(visible(f"{one.id}  {one.value}  ({one.name}: {known})"))
    return DONE


ACTIONS: Mapping[str, Callable[[Invocation], Awaitable[int]]] = MappingProxyType(
    {"list": _list, "add": _add, "test": _test, "remove": _remove, "set": _set}
)
