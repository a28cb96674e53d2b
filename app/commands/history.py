"""`fork`: go back in a session without losing it."""

from app.commands.context import Context
from app.commands.exits import DONE
from app.commands.follow import Follower, follow_started, read_file, session_named
from core.domain.problems import Problem
from core.engine.history import Beginning


async def fork(context: Context) -> int:
    typed, history = context.typed, context.engine.history
    session = session_named(context.engine, typed.session)
    beginning = await _beginning(context, session)
    if beginning is None:
        beginning = Beginning(
            await history.fork(session, await history.at_step(session, typed.at) if typed.at else None), ()
        )
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
        return await follow_started(context, follower, name)
    finally:
        follower.close()


async def _beginning(context: Context, session: str) -> Beginning | None:
    """What is to be done anew; None where the fork only goes on."""
    typed, history = context.typed, context.engine.history
    anew = typed.instead or typed.again
    if (typed.model or typed.script) and not typed.again:
        raise Problem("A model is named only with --again.", "A fork keeps its own.", "Add --again.")
    if (typed.at and anew) or (typed.run and not anew):
        raise Problem("That names two places.", "", "Give --at STEP, or --run N with --instead or --again.")
    if typed.instead:
        told = await history.told(session, typed.run)
        return await history.edit(session, told.first, typed.instead)
    if typed.again:
        script = read_file(context, typed.script) if typed.script else ""
        return await history.again(session, typed.run, typed.model, script)
    return None
