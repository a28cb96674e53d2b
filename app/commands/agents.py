"""`agents`: agents of others; list, add, test, remove, and what is set of one in a session."""

import shlex
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from types import MappingProxyType

from app.commands.context import Context
from app.commands.exits import DONE, FAILED
from app.commands.follow import session_named
from core.domain.problems import Problem
from core.domain.visible import visible


async def agents(context: Context) -> int:
    """Do what was asked."""
    return await ACTIONS[context.typed.action](context)


async def _list(context: Context) -> int:
    added, found = context.engine.guests.list(), await context.engine.guests.found()
    for one in (*added, *found):
        if context.typed.json:
            context.out.json(asdict(one) | {"added": one in added})
        else:
            more = "" if one in added else f"  (found here; add it: journeyman agents add {one.name} {one.command} …)"
            context.out.write(f"{one.name}  {shlex.join(one.words())}{more}")
    if not added and not context.typed.json:
        context.out.write("None was added. Add one: journeyman agents add NAME PROGRAM ARGUMENTS")
    return DONE


async def _add(context: Context) -> int:
    typed = context.typed
    context.engine.guests.add(typed.name, shlex.join([typed.program, *typed.args]))
    context.out.write(f'Added {typed.name}. Let it work: journeyman run --agent {typed.name} "TASK"')
    return DONE


async def _test(context: Context) -> int:
    look = await context.engine.guests.test(context.typed.name)
    if context.typed.json:
        context.out.json(asdict(look))
    elif look.trouble:
        context.out.trouble(look.trouble)
    else:
        context.out.write(f"{look.title} {look.version}".strip() + " answers and opens a session.")
        for one in look.settings:
            context.out.write(f"  {visible(one.name)}: {visible(one.said())}")
    return FAILED if look.trouble else DONE


async def _remove(context: Context) -> int:
    context.engine.guests.remove(context.typed.name)
    context.out.write(f"Removed {context.typed.name}.")
    return DONE


async def _set(context: Context) -> int:
    typed, guests = context.typed, context.engine.guests
    session = session_named(context.engine, typed.session)
    if typed.setting:
        if not typed.value:
            raise Problem("No value was given.", "", f"See what there is: journeyman agents set {typed.session}")
        await guests.set(session, typed.setting, typed.value)
    for one in await guests.settings(session):
        known = ", ".join(option.value for option in one.options)
        context.out.write(visible(f"{one.id}  {one.value}  ({one.name}: {known})"))
    return DONE


ACTIONS: Mapping[str, Callable[[Context], Awaitable[int]]] = MappingProxyType(
    {"list": _list, "add": _add, "test": _test, "remove": _remove, "set": _set}
)
