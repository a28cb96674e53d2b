"""The command `fork`: copies a session up to an event, to continue it or to repeat a run."""

from pathlib import Path

from app.commands.invocation import Invocation
from app.commands.run_follower import RunFollower, find_session_id, follow_started, read_text_argument
from app.process.exit_codes import DONE
from core.domain.problems import Problem
from core.engine.history.session_history import PreparedFork


async def fork(context: Invocation) -> int:
    typed, history = context.args, context.engine.history
    session = find_session_id(context.engine, typed.session)
    beginning = await _beginning(context, session)
    if beginning is None:
        last = None if typed.at is None else await history.last_seq_of_step(session, typed.at)
        beginning = PreparedFork(await history.fork(session, last), ())
    name = beginning.session_id
    if not typed.json:
        context.out.write(f"Session {name}, forked from {session}.")
    if not beginning.events and not typed.say:
        if typed.json:
            context.out.write_json({"session": name, "forked_from": session})
        return DONE
    follower = RunFollower(context)
    try:
        if typed.say:
            await context.engine.send_message(name, typed.say)
        else:
            await history.start_fork(beginning)
        code = await follow_started(context, follower, name)
        if typed.without and not typed.json:
            context.out.write(f"Compare the two: journeyman compare {session} {name}")
        return code
    finally:
        follower.close()


async def _beginning(context: Invocation, session: str) -> PreparedFork | None:
    """Prepare a fork that repeats a run, for --edit or --retry; None for a fork that only continues the session."""
    typed, history = context.args, context.engine.history
    anew = typed.edit or typed.retry
    if (typed.model or typed.script) and not typed.retry:
        raise Problem("--model needs --retry.", "A fork keeps its model.", "Add --retry.")
    if typed.without and not typed.retry:
        raise Problem("--without needs --retry.", "A fork keeps its memories and skills.", "Add --retry.")
    if (typed.at is not None and anew) or (typed.run and not anew):
        raise Problem("--at and --run name two places.", "", "Use --at STEP, or --run N with --edit or --retry.")
    if typed.edit:
        return await history.edit_run_message(session, typed.run, typed.edit)
    if typed.retry:
        script = read_text_argument(context, typed.script) if typed.script else ""
        without = [await _item(context, session, name) for name in typed.without]
        return await history.fork_to_rerun(session, typed.run, typed.model, script, excluded=without)
    return None


async def _item(context: Invocation, session: str, name: str) -> str:
    """Resolve `name` to a skill that the session's agent can use, or to the ID of a memory."""
    skills = await context.engine.skills.list(Path(context.engine.session(session).folder))
    if skill := next((one for one in skills if name in (one.name, one.key)), None):
        return skill.name
    try:
        return (await context.engine.memory.show(name)).listed.memory.id
    except Problem as problem:
        do = "List them with `journeyman memory list` and `journeyman skills list`."
        raise Problem(f"There is no memory or skill {name!r}.", "", do) from problem
