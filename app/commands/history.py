"""`fork`, `rewind` and `verdict`: go back in a session without losing it, and say whether it was any good."""

from dataclasses import asdict
from pathlib import Path
from typing import Literal

from app.commands.context import Context
from app.commands.exits import DONE, FAILED
from app.commands.follow import Follower, follow_started, read_file, session_named
from core.domain.problems import Problem
from core.domain.visible import visible_name
from core.engine.history import Beginning
from core.engine.rewind import FilePlan, Plan

WORDS: dict[str, Literal["up", "down", ""]] = {"up": "up", "down": "down", "none": ""}
ACTIONS = {
    "change": "put back",
    "create": "make again",
    "remove": "remove",
    "same": "as it was",
    "conflict": "conflict",
    "lost": "lost",
}


async def fork(context: Context) -> int:
    typed, history = context.typed, context.engine.history
    session = session_named(context.engine, typed.session)
    beginning = await _beginning(context, session)
    if beginning is None:
        last = None if typed.at is None else await history.at_step(session, typed.at)
        beginning = Beginning(await history.fork(session, last), ())
    name = beginning.session
    if not typed.json:
        context.out.write(f"Session {name}, forked from {session}.")
    if not beginning.facts and not typed.say:
        if typed.json:
            context.out.json({"session": name, "origin": session})
        return DONE
    follower = Follower(context)
    try:
        if typed.say:
            await context.engine.say(name, typed.say)
        else:
            await history.begin(beginning)
        code = await follow_started(context, follower, name)
        if typed.without and not typed.json:
            context.out.write(f"Lay both side by side: journeyman compare {session} {name}")
        return code
    finally:
        follower.close()


async def _beginning(context: Context, session: str) -> Beginning | None:
    """What is to be done anew; None where the fork only goes on."""
    typed, history = context.typed, context.engine.history
    anew = typed.instead or typed.again
    if (typed.model or typed.script) and not typed.again:
        raise Problem("A model is named only with --again.", "A fork keeps its own.", "Add --again.")
    if typed.without and not typed.again:
        raise Problem("What is left out is named only with --again.", "A fork goes on with all of it.", "Add --again.")
    if (typed.at is not None and anew) or (typed.run and not anew):
        raise Problem("That names two places.", "", "Give --at STEP, or --run N with --instead or --again.")
    if typed.instead:
        return await history.instead(session, typed.run, typed.instead)
    if typed.again:
        script = read_file(context, typed.script) if typed.script else ""
        without = [await _item(context, session, name) for name in typed.without]
        return await history.again(session, typed.run, typed.model, script, without=without)
    return None


async def _item(context: Context, session: str, name: str) -> str:
    """The id of a memory, or the name of a skill that an agent there may be told of."""
    skills = await context.engine.skills.list(Path(context.engine.session(session).folder))
    if skill := next((one for one in skills if name in (one.name, one.key)), None):
        return skill.name
    try:
        return (await context.engine.memory.show(name)).listed.memory.id
    except Problem as problem:
        do = "List them with `journeyman memory list` and `journeyman skills list`."
        raise Problem(f"There is no memory and no skill {name!r}.", "", do) from problem


async def rewind(context: Context) -> int:
    typed, history = context.typed, context.engine.history
    session = session_named(context.engine, typed.session)
    if typed.undo:
        made = await history.plan_undo(session, typed.force)
    else:
        made = await history.plan(session, await history.at_step(session, typed.to) if typed.to else 1, typed.force)
    unknown = sorted(set(typed.force) - {file.path for file in made.files})
    if unknown:
        what = f"{visible_name(unknown[0])} is none of the files."
        raise Problem(what, "It was not changed since.", "See --preview.")
    _tell_plan(context, made)
    if typed.preview:
        return DONE
    done = await history.rewind(session, made)
    if not typed.json:
        context.out.write(f"{len(done.files)} put back, {len(done.left)} left." if made.files else "Nothing to do.")
        if done.files and not typed.undo:
            context.out.write(f"Take it back with: journeyman rewind {session} --undo")
    return FAILED if done.left else DONE


def _tell_plan(context: Context, made: Plan) -> None:
    for file in made.files:
        if context.typed.json:
            context.out.json(asdict(file))
        else:
            context.out.write(_file_line(file))
    if context.typed.json:
        for name in made.unkept:
            context.out.json({"path": name, "action": "unkept"})
        return
    _tell_list(context, "These were changed too, but not kept, and are not put back:", made.unkept)
    ran = "These commands ran since; what they did beyond the files above is not taken back:"
    _tell_list(context, ran, made.commands)


def _tell_list(context: Context, title: str, names: tuple[str, ...]) -> None:
    if names:
        context.out.write(title)
    for name in names:
        context.out.write(f"  {visible_name(name)}")


def _file_line(file: FilePlan) -> str:
    figures = f"+{file.added} −{file.removed}" if file.added or file.removed else ""
    rest = "  ".join(part for part in (figures, file.why) if part)
    return f"{ACTIONS[file.action]:10} {visible_name(file.path)}" + (f"  ({rest})" if rest else "")


async def verdict(context: Context) -> int:
    typed = context.typed
    session = session_named(context.engine, typed.session)
    word = WORDS[typed.verdict]
    run = await context.engine.history.judge(session, word, run=typed.run, note=typed.note, tags=tuple(typed.tag))
    context.out.write(f"Run {run} of {session}: {word or 'no verdict'}.")
    return DONE
