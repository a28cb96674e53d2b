"""The commands `run`, `demo` and `resume`, which follow a run to its end."""

import shutil
from dataclasses import replace
from importlib import resources
from pathlib import Path

from app.commands.invocation import Invocation
from app.commands.run_follower import RunFollower, find_session_id, follow_started, read_text_argument
from app.commands.worktree import print_kept_work
from app.process.exit_codes import DONE
from core.domain.events import RunStarted
from core.domain.external_agents import AGENT_PREFIX
from core.domain.problems import Problem
from core.domain.text import Text
from core.engine.api.engine import Engine
from core.models.catalog import SCRIPTED

DEMO_TURNS = 60
RESUMABLE = frozenset({"interrupted", "paused", "waiting"})
DEMO_TASK = "Write the letter to the landlord about the mould. My notes are in this folder."


async def run(context: Invocation) -> int:
    typed, settings = context.args, context.engine.settings.current
    script = read_text_argument(context, typed.script) if typed.script else ""
    other = _external_agent(context)
    model = SCRIPTED if typed.script else other or typed.model or settings.model
    if not model:
        raise Problem(
            "No model is set up.",
            "Neither --model nor the settings name one.",
            "List models with `journeyman models`, then use one with --model PROVIDER/MODEL, or try `journeyman demo`.",
        )
    began = RunStarted(
        model,
        settings.max_turns if typed.max_turns is None else typed.max_turns,
        Text(script),
        settings.max_minutes,
        settings.max_tokens,
        settings.max_cost if typed.max_cost is None else typed.max_cost,
        profile="" if other else typed.agent,
        effort=typed.effort,
        max_output_tokens=typed.max_output_tokens,
        temperature=typed.temperature,
    )
    task = typed.given[0] if typed.task == "-" else typed.task
    return await _begin(context, task, context.folder / typed.folder, began)


def _external_agent(context: Invocation) -> str:
    """Return the model name that selects the external agent in --agent; empty if --agent names a profile."""
    named, engine = context.args.agent, context.engine
    if not named or named in engine.profiles():
        return ""
    known = any(one.name == named for one in engine.external_agents.list())
    return f"{AGENT_PREFIX}{named}" if known or " " in named or "/" in named else ""


async def demo(context: Invocation) -> int:
    turns = DEMO_TURNS if context.args.max_turns is None else context.args.max_turns
    began = RunStarted(SCRIPTED, turns, Text(demo_script()))
    return await _begin(context, DEMO_TASK, sample_folder(context.data_folder), began)


async def resume(context: Invocation) -> int:
    engine, typed = context.engine, context.args
    session = _last_session(engine) if typed.last else find_session_id(engine, typed.session)
    follower = RunFollower(context)
    try:
        if typed.mode:
            await engine.set_mode(session, typed.mode)
        await engine.resume(session, typed.settle)
        if typed.settle == "abort":
            if not typed.json:
                context.out.write("Ended the run.")
            return DONE
        code = await follower.open_questions(session)
        return await follow_started(context, follower, session) if code is None else code
    finally:
        follower.close()


def _last_session(engine: Engine) -> str:
    """Return the most recently active session that can be resumed."""
    rows = [row for row in engine.sessions() if row.status in RESUMABLE and not (row.parent or row.trashed)]
    if not rows:
        why = "None is interrupted, paused or waiting."
        raise Problem("There is no session to resume.", why, "List them with `journeyman sessions`.")
    return max(rows, key=lambda row: row.updated_at).id


async def _begin(context: Invocation, task: str, folder: Path, began: RunStarted) -> int:
    follower = RunFollower(context)
    try:
        typed = context.args
        began = replace(
            began,
            mode=typed.mode,
            allow=tuple(typed.allow),
            text_calls=getattr(typed, "text_calls", False),  # the demo has no such option
            prompt_size=getattr(typed, "prompt_size", ""),
            autonomy=typed.autonomy,
            on_unanswered=typed.unanswered if typed.answer_timeout > 0 else "wait",
            answer_timeout_minutes=typed.answer_timeout / 60,
        )
        session = await context.engine.start(task, folder, began, worktree=getattr(typed, "worktree", False))
        if not (typed.json or typed.quiet):
            context.out.write(f"Session {session} in {context.engine.session(session).folder}")
        code = await follow_started(context, follower, session)
        if not typed.quiet:
            await print_kept_work(context, session)
        return code
    finally:
        follower.close()


def demo_script() -> str:
    return (resources.files("resources") / "demo" / "script.json").read_text("utf-8")


def sample_folder(home: Path) -> Path:
    """Make a new copy of the sample folder. Copies made for earlier demos are kept."""
    number = 1
    while (place := home / "demo" / f"letters-{number}").exists():
        number += 1
    with resources.as_file(resources.files("resources") / "demo" / "letters") as source:
        try:
            shutil.copytree(source, place)
        except OSError as error:  # shutil.Error is an OSError whose argument is a list of errors
            shutil.rmtree(place, ignore_errors=True)
            why = error.strerror or str(error.args[0][0][2])
            do = "Free some space there, or choose another data folder with --data-dir."
            raise Problem(f"The sample folder {place} cannot be created.", why, do) from error
    return place
