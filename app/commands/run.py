"""The commands `run`, `demo` and `resume`, which follow a run to its end."""

import json
import shlex
from dataclasses import replace
from importlib import resources
from pathlib import Path

from app.commands.invocation import Invocation
from app.commands.run_follower import RunFollower, follow_started
from app.commands.worktree import print_kept_work
from app.process.exit_codes import DONE, WAITING
from core.agents.known_agents import is_installed, known_agents
from core.domain.events import RunStarted
from core.domain.external_agents import AGENT_PREFIX
from core.domain.problems import Problem
from core.domain.text import Text
from core.engine.api.engine import Engine
from core.models.catalog import SCRIPTED
from core.tools.json_schema import schema_error
from core.workspace.sample_folder import sample_folder

DEMO_TURNS = 60
RESUMABLE = frozenset({"interrupted", "paused", "waiting"})
DEMO_TASK = "Write the letter to the landlord about the mould. My notes are in this folder."


async def run(context: Invocation) -> int:
    args, settings = context.args, context.engine.settings.current
    script = context.read_text(args.script) if args.script else ""
    external_agent = _external_agent(context)
    profile = "" if external_agent else args.agent
    model = SCRIPTED if args.script else external_agent or args.model or context.engine.default_model(profile)
    if not model:
        raise Problem(
            "No model is set up.",
            "Neither --model nor the settings name one.",
            "List models with `journeyman models`, then use one with --model PROVIDER/MODEL, or try `journeyman demo`.",
        )
    run_started = RunStarted(
        model=model,
        max_turns=settings.max_turns if args.max_turns is None else args.max_turns,
        script=Text(script),
        max_minutes=settings.max_minutes if args.max_minutes is None else args.max_minutes,
        max_tokens=settings.max_tokens if args.max_tokens is None else args.max_tokens,
        max_cost=settings.max_cost if args.max_cost is None else args.max_cost,
        profile=profile,
        output_schema=Text(_output_schema(context)),
        acceptance=tuple(args.check),
        sealed=tuple(args.seal),
        agent_command=external_agent.removeprefix(AGENT_PREFIX),
        effort=args.effort,
        max_output_tokens=args.max_output_tokens,
        temperature=args.temperature,
    )
    task = args.given[0] if args.task == "-" else args.task
    return await _begin(context, task, context.folder / args.folder, run_started)


def _output_schema(context: Invocation) -> str:
    """Return the JSON Schema of --schema, or "". Raise Problem if it cannot be used."""
    if not context.args.schema:
        return ""
    text = context.read_text(context.args.schema)
    try:
        error = schema_error(json.loads(text))
    except ValueError as invalid:
        error = f"it is not valid JSON: {invalid}"
    if error:
        raise Problem(
            "The JSON Schema cannot be used.", f"{error[0].upper()}{error[1:]}.", f"Correct {context.args.schema}."
        )
    return text


def _external_agent(context: Invocation) -> str:
    """Return the model name that selects the external agent in --agent; empty if --agent names a profile.

    Raise Problem if it is a known agent that the user has not added.
    """
    name, engine = context.args.agent, context.engine
    if not name or name in engine.profiles():
        return ""
    is_configured = any(agent.name == name for agent in engine.external_agents.list())
    is_command = " " in name or "/" in name
    known = next((agent for agent in known_agents() if agent.settings.name == name), None)
    if known and not is_configured:
        add = f"journeyman agents add {shlex.join((name, *known.settings.argv()))}"
        install = "" if is_installed(known.settings) else f"Install it: {known.install}. "
        raise Problem(f"The external agent {name} is not added.", "", f"{install}Add it: {add}")
    return f"{AGENT_PREFIX}{name}" if is_configured or is_command else ""


async def demo(context: Invocation) -> int:
    turns = DEMO_TURNS if context.args.max_turns is None else context.args.max_turns
    run_started = RunStarted(model=SCRIPTED, max_turns=turns, script=Text(demo_script()))
    return await _begin(context, DEMO_TASK, sample_folder(context.data_folder), run_started)


async def resume(context: Invocation) -> int:
    engine, args = context.engine, context.args
    session = _last_session(engine) if args.last else context.session_id()
    follower = RunFollower(context)
    try:
        if args.mode:
            await engine.set_mode(session, args.mode)
        await engine.resume(session, args.settle)
        if args.settle == "abort":
            if not args.json:
                context.out.write("Ended the run.")
            return DONE
        if await follower.waits_for_user(session):
            return WAITING
        return await follow_started(context, follower, session)
    finally:
        follower.close()


def _last_session(engine: Engine) -> str:
    """Return the most recently active session that can be resumed."""
    rows = [row for row in engine.sessions() if row.status in RESUMABLE and not row.parent and not row.trashed]
    if not rows:
        cause = "None is interrupted, paused or waiting."
        raise Problem("There is no session to resume.", cause, "List them with `journeyman sessions`.")
    return max(rows, key=lambda row: row.updated_at).id


async def _begin(context: Invocation, task: str, folder: Path, run_started: RunStarted) -> int:
    follower = RunFollower(context)
    try:
        args = context.args
        run_started = replace(
            run_started,
            mode=args.mode,
            allow=tuple(args.allow),
            text_calls=getattr(args, "text_calls", False),  # the demo has no such option
            prompt_size=getattr(args, "prompt_size", ""),
            autonomy=args.autonomy,
            on_unanswered=args.unanswered if args.answer_timeout > 0 else "wait",
            answer_timeout_minutes=args.answer_timeout / 60,
            no_questions=bool(args.no_questions),
        )
        session = await context.engine.start(task, folder, run_started, worktree=getattr(args, "worktree", False))
        if not (args.json or args.quiet):
            context.out.write(f"Session {session} in {context.engine.session(session).folder}")
        code = await follow_started(context, follower, session)
        if not args.quiet:
            await print_kept_work(context, session)
        return code
    finally:
        follower.close()


def demo_script() -> str:
    return (resources.files("resources") / "demo" / "script.json").read_text("utf-8")
