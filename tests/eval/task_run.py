"""Runs a task with a model in its own folder, approves every permission request, and checks the result."""

import asyncio
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from app.process.services import build_services
from core.domain.events import Replied, RunStarted
from core.domain.permissions import PermissionRequested
from core.domain.problems import Problem
from core.domain.question import Answer, QuestionAsked
from core.domain.text import Text
from core.engine.api.engine import Engine
from core.models.catalog import SCRIPTED
from core.store.journal_update import JournalUpdate
from tests.eval.task import Reply, Task, TaskResult

MAX_TURNS = 40
SECONDS = 600


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a task: `good` if its check passed; `why` is the reason if the run did not complete."""

    name: str
    passed: bool
    status: str
    turns: int
    tokens: int
    permission_requests: int
    questions: int
    seconds: float
    reason: str = ""


async def run_task(home: Path, task: Task, model: str, replies: tuple[Reply, ...] | None = None) -> Outcome:
    """Run a task with `model`; the scripted model plays the task's solution, or `replies` if given."""
    folder = home / f"work-{task.name}"
    folder.mkdir(parents=True)
    for name, text in task.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    script = json.dumps({"replies": task.solution if replies is None else replies}) if model == SCRIPTED else ""
    services = await build_services(home / "data", _raise)
    started = time.monotonic()
    try:
        engine = services.engine
        updates: asyncio.Queue[JournalUpdate] = asyncio.Queue()
        engine.subscribe(updates.put_nowait)
        began = RunStarted(model, MAX_TURNS, Text(script), max_minutes=SECONDS / 60)
        session = await engine.start(task.prompt, folder, began)
        answering = asyncio.ensure_future(_answer(engine, updates, task.answer))
        try:
            async with asyncio.timeout(SECONDS + 60):
                await engine.wait_idle(session)
        finally:
            answering.cancel()
        return await _outcome(engine, session, task, folder, time.monotonic() - started)
    finally:
        await services.close()


async def _answer(engine: Engine, updates: "asyncio.Queue[JournalUpdate]", words: str) -> None:
    while True:
        event = (await updates.get()).entry.event
        if isinstance(event, PermissionRequested):
            await engine.allow(event.request.id)
        elif isinstance(event, QuestionAsked):
            await engine.answer(event.question.id, Answer(text=words) if words else Answer(declined=True))


async def _outcome(engine: Engine, session: str, task: Task, folder: Path, seconds: float) -> Outcome:
    row = engine.session(session)
    events = [entry.event async for entry in engine.events(session)]
    said = [engine.full_text(event.text) for event in events if isinstance(event, Replied) and event.text.head]
    asked = sum(isinstance(event, QuestionAsked) for event in events)
    consents = sum(isinstance(event, PermissionRequested) for event in events)
    good = await asyncio.to_thread(task.check, TaskResult(folder, said[-1] if said else "", asked))
    why = "" if row.status == "done" else str(getattr(events[-1], "reason", ""))
    return Outcome(task.name, good, row.status, row.turns, row.tokens, consents, asked, seconds, why)


def format_outcome(done: Outcome) -> str:
    """Format an outcome for the terminal."""
    word = "pass" if done.passed else "FAIL"
    figures = (
        f"{done.turns:3} turns {done.tokens:7,} tokens {done.permission_requests:2} approvals {done.seconds:6.1f} s"
    )
    ended = "" if done.status == "done" else f"{done.status}: {done.reason}"
    return f"  {word}  {done.name:10} {figures}  {ended}".rstrip()


def summary(found: list[Outcome]) -> str:
    def total(figure: Callable[[Outcome], int]) -> int:
        return sum(map(figure, found))

    good = total(lambda one: one.passed)
    return (
        f"{good} of {len(found)} passed; {total(lambda one: one.turns):,} turns, {total(lambda one: one.tokens):,} "
        f"tokens, {total(lambda one: one.permission_requests):,} permission requests."
    )


def _raise(error: BaseException) -> None:
    if not isinstance(error, Problem):
        raise error
