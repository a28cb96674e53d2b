"""`run`, `demo` and `resume`: begin or go on, and follow to the end."""

import shutil
from dataclasses import replace
from importlib import resources
from pathlib import Path

from app.commands.context import Context
from app.commands.exits import STOPPED
from app.commands.follow import Follower, follow_started, read_file, session_named
from app.commands.worktrees import tell_kept
from core.domain.agents import AGENT
from core.domain.events import RunStarted
from core.domain.problems import Problem
from core.domain.text import Text
from core.models.catalogue import SCRIPTED

DEMO_ROUNDS = 60
DEMO_TASK = "Write the letter to the landlord about the mould. My notes are in this folder."


async def run(context: Context) -> int:
    typed, settings = context.typed, context.engine.settings.now
    script = read_file(context, typed.script) if typed.script else ""
    other = _agent_of_others(context)
    model = SCRIPTED if typed.script else other or typed.model or settings.model
    if not model:
        raise Problem(
            "No model is set up.",
            "Neither --model nor the settings name one.",
            "See what there is with `journeyman models`, then name one with --model PROVIDER/MODEL; "
            "or try `journeyman demo`.",
        )
    began = RunStarted(
        model,
        settings.max_rounds if typed.max_rounds is None else typed.max_rounds,
        Text(script),
        settings.max_minutes,
        settings.max_tokens,
        settings.max_cost if typed.max_cost is None else typed.max_cost,
        agent="" if other else typed.agent,
        effort=typed.effort,
        max_output=typed.max_output,
        temperature=typed.temperature,
    )
    return await _begin(context, typed.task, context.folder / typed.folder, began)


def _agent_of_others(context: Context) -> str:
    """As it stands in the place of a model, where an agent of others was named; one's own go first."""
    named, engine = context.typed.agent, context.engine
    if not named or named in engine.agents():
        return ""
    known = any(one.name == named for one in engine.guests.list())
    return f"{AGENT}{named}" if known or " " in named or "/" in named else ""


async def demo(context: Context) -> int:
    rounds = DEMO_ROUNDS if context.typed.max_rounds is None else context.typed.max_rounds
    began = RunStarted(SCRIPTED, rounds, Text(demo_script()))
    return await _begin(context, DEMO_TASK, sample_folder(context.home), began)


async def resume(context: Context) -> int:
    engine, typed = context.engine, context.typed
    session = session_named(engine, typed.session)
    follower = Follower(context)
    try:
        if typed.mode:
            await engine.set_mode(session, typed.mode)
        await engine.resume(session, typed.settle)
        if typed.settle == "end":
            return STOPPED
        code = await follower.open_questions(session)
        return await follow_started(context, follower, session) if code is None else code
    finally:
        follower.close()


async def _begin(context: Context, task: str, folder: Path, began: RunStarted) -> int:
    follower = Follower(context)
    try:
        typed = context.typed
        began = replace(
            began,
            mode=typed.mode,
            allow=tuple(typed.allow),
            in_words=getattr(typed, "text_calls", False),  # the demo has no choice of it
            autonomy=typed.autonomy,
            unanswered=typed.unanswered if typed.answer_minutes > 0 else "wait",
            answer_minutes=typed.answer_minutes,
        )
        session = await context.engine.start(task, folder, began, worktree=getattr(typed, "worktree", False))
        if not context.typed.json:
            context.out.write(f"Session {session} in {context.engine.session(session).folder}")
        code = await follow_started(context, follower, session)
        await tell_kept(context, session)
        return code
    finally:
        follower.close()


def demo_script() -> str:
    return (resources.files("resources") / "demo" / "script.json").read_text("utf-8")


def sample_folder(home: Path) -> Path:
    """A fresh copy of the sample folder: what an earlier demo wrote stays."""
    number = 1
    while (place := home / "demo" / f"letters-{number}").exists():
        number += 1
    with resources.as_file(resources.files("resources") / "demo" / "letters") as source:
        try:
            shutil.copytree(source, place)
        except OSError as error:  # also copytree's own, which lists what each file met
            shutil.rmtree(place, ignore_errors=True)
            why = error.strerror or str(error.args[0][0][2])
            do = "Make room there, or name another data folder with --home."
            raise Problem(f"The sample folder {place} cannot be made.", why, do) from error
    return place
