"""The command `fork`: copies a session up to an event, to continue it or to repeat a run."""

import argparse
from dataclasses import replace
from pathlib import Path

from app.commands.invocation import Invocation, UsageProblem
from app.commands.run_follower import RunFollower, follow_started
from app.process.exit_codes import DONE
from core.domain.events import RunStarted, SessionEvent
from core.domain.problems import Problem
from core.engine.history.session_history import PreparedFork


async def fork(context: Invocation) -> int:
    args, history = context.args, context.engine.history
    session = context.session_id()
    prepared = await _prepare_rerun(context, session)
    if prepared is None:
        last = None if args.at is None else await history.last_seq_of_step(session, args.at)
        prepared = PreparedFork(await history.fork(session, last), events=())
    if args.no_questions is not None:
        events = [_with_no_questions(event, args.no_questions) for event in prepared.events]
        prepared = replace(prepared, events=tuple(events))
    name = prepared.session_id
    if not args.json:
        context.out.write(f"Session {name}, forked from {session}.")
    if not prepared.events and not args.say:
        if args.json:
            context.out.write_json({"session": name, "forked_from": session})
        return DONE
    follower = RunFollower(context)
    try:
        if args.say:
            await context.engine.send_message(name, args.say, no_questions=bool(args.no_questions))
        else:
            await history.start_fork(prepared)
        code = await follow_started(context, follower, name)
        if args.without and not args.json:
            context.out.write(f"Compare the two: journeyman compare {session} {name}")
        return code
    finally:
        follower.close()


def _with_no_questions(event: SessionEvent, no_questions: bool) -> SessionEvent:
    return replace(event, no_questions=no_questions) if isinstance(event, RunStarted) else event


async def _prepare_rerun(context: Invocation, session: str) -> PreparedFork | None:
    """Prepare a fork that repeats a run (--edit or --retry). Return None for a fork that only continues the session."""
    args, history = context.args, context.engine.history
    _check_options(args)
    if args.edit:
        return await history.edit_run_message(session, args.run, args.edit)
    if args.retry:
        script = context.read_text(args.script) if args.script else ""
        without = [await _resolve_item(context, session, name) for name in args.without]
        return await history.fork_to_rerun(session, args.run, args.model, script, excluded=without)
    return None


def _check_options(args: argparse.Namespace) -> None:
    """Raise UsageProblem for options that contradict each other."""
    if not args.retry:
        if args.model or args.script:
            raise UsageProblem("--model needs --retry.", "A fork keeps its model.", "Add --retry.")
        if args.without:
            raise UsageProblem("--without needs --retry.", "A fork keeps its memories and skills.", "Add --retry.")
    repeats = args.edit or args.retry
    misplaced = args.at is not None if repeats else args.run
    if misplaced:
        raise UsageProblem("--at and --run name two places.", "", "Use --at STEP, or --run N with --edit or --retry.")


async def _resolve_item(context: Invocation, session: str, name: str) -> str:
    """Return the key of the skill or the ID of the memory that `name` refers to in this session."""
    skills = await context.engine.skills.list(Path(context.engine.session(session).folder))
    if skill := next((row for row in skills if name in (row.name, row.key)), None):
        return skill.name
    try:
        return (await context.engine.memory.show(name)).listed.memory.id
    except Problem as problem:
        fix = "List them with `journeyman memory list` and `journeyman skills list`."
        raise Problem(f"There is no memory or skill {name!r}.", "", fix) from problem
