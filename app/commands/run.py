"""`run`, `demo` and `resume`: begin or go on, and follow to the end."""

import shutil
from importlib import resources
from pathlib import Path

from app.commands.context import Context
from app.commands.exits import STOPPED
from app.commands.follow import Follower, follow_started, read_file, session_named
from core.domain.events import RunStarted, Text
from core.domain.problems import Problem
from core.models.catalogue import SCRIPTED

DEMO_TASK = "Write the letter to the landlord about the mould. My notes are in this folder."


async def run(context: Context) -> int:
    typed = context.typed
    if not typed.script:
        raise Problem(
            "No model is set up.",
            "This version plays scripts.",
            "Give it one with --script FILE, or try `journeyman demo`.",
        )
    script = read_file(context, typed.script)
    return await _begin(context, typed.task, context.folder / typed.folder, script)


async def demo(context: Context) -> int:
    return await _begin(context, DEMO_TASK, sample_folder(context.home), demo_script())


async def resume(context: Context) -> int:
    engine, typed = context.engine, context.typed
    session = session_named(engine, typed.session)
    follower = Follower(context)
    try:
        await engine.resume(session, typed.settle)
        if typed.settle == "end":
            return STOPPED
        code = await follower.open_questions(session)
        return await follow_started(context, follower, session) if code is None else code
    finally:
        follower.close()


async def _begin(context: Context, task: str, folder: Path, script: str) -> int:
    follower = Follower(context)
    try:
        agent = getattr(context.typed, "agent", "")  # the demo has no choice of one
        began = RunStarted(SCRIPTED, context.typed.max_rounds, Text(script), agent=agent)
        session = await context.engine.start(task, folder, began)
        if not context.typed.json:
            context.out.write(f"Session {session} in {context.engine.session(session).folder}")
        return await follow_started(context, follower, session)
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
        shutil.copytree(source, place)
    return place
