"""Work a task with a model in a folder of its own, say yes to every request, and look at what was left."""

import asyncio
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from app.assemble import assemble
from core.domain.consent import ConsentAsked
from core.domain.events import Replied, RunStarted
from core.domain.problems import Problem
from core.domain.question import Answer, QuestionAsked
from core.domain.text import Text
from core.engine.engine import Engine
from core.models.catalogue import SCRIPTED
from core.store.told import Told
from tests.eval.task import Left, Reply, Task

ROUNDS = 40
SECONDS = 600


@dataclass(frozen=True, slots=True)
class Outcome:
    """`good`: the check says so. `why` is the end of the run where it was no completion."""

    name: str
    good: bool
    status: str
    rounds: int
    tokens: int
    consents: int
    questions: int
    seconds: float
    why: str = ""


async def work(home: Path, task: Task, model: str, replies: tuple[Reply, ...] | None = None) -> Outcome:
    """By this model; the scripted one plays the solution, or these replies."""
    folder = home / f"work-{task.name}"
    folder.mkdir(parents=True)
    for name, text in task.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    script = json.dumps({"replies": task.solution if replies is None else replies}) if model == SCRIPTED else ""
    services = await assemble(home / "data", _raise)
    started = time.monotonic()
    try:
        engine = services.engine
        told: asyncio.Queue[Told] = asyncio.Queue()
        engine.listen(told.put_nowait)
        began = RunStarted(model, ROUNDS, Text(script), max_minutes=SECONDS / 60)
        session = await engine.start(task.words, folder, began)
        answering = asyncio.ensure_future(_answer(engine, told, task.answer))
        try:
            async with asyncio.timeout(SECONDS + 60):
                await engine.wait(session)
        finally:
            answering.cancel()
        return await _outcome(engine, session, task, folder, time.monotonic() - started)
    finally:
        await services.close()


async def _answer(engine: Engine, told: "asyncio.Queue[Told]", words: str) -> None:
    while True:
        event = (await told.get()).entry.event
        if isinstance(event, ConsentAsked):
            await engine.allow(event.request.id)
        elif isinstance(event, QuestionAsked):
            await engine.answer(event.question.id, Answer(text=words) if words else Answer(declined=True))


async def _outcome(engine: Engine, session: str, task: Task, folder: Path, seconds: float) -> Outcome:
    row = engine.session(session)
    events = [entry.event async for entry in engine.entries(session)]
    said = [engine.whole(event.text) for event in events if isinstance(event, Replied) and event.text.head]
    asked = sum(isinstance(event, QuestionAsked) for event in events)
    consents = sum(isinstance(event, ConsentAsked) for event in events)
    good = await asyncio.to_thread(task.check, Left(folder, said[-1] if said else "", asked))
    why = "" if row.status == "done" else str(getattr(events[-1], "reason", ""))
    return Outcome(task.name, good, row.status, row.rounds, row.tokens, consents, asked, seconds, why)


def line(done: Outcome) -> str:
    """As a person reads it."""
    word = "good" if done.good else "BAD "
    figures = f"{done.rounds:3} rounds {done.tokens:7,} tokens {done.consents:2} consents {done.seconds:6.1f} s"
    return (
        f"  {word}  {done.name:10} {figures}  {'' if done.status == 'done' else f'{done.status}: {done.why}'}".rstrip()
    )


def summary(found: list[Outcome]) -> str:
    def total(figure: Callable[[Outcome], int]) -> int:
        return sum(map(figure, found))

    good = total(lambda one: one.good)
    return (
        f"{good} of {len(found)} good; {total(lambda one: one.rounds):,} rounds, {total(lambda one: one.tokens):,} "
        f"tokens, {total(lambda one: one.consents):,} consents."
    )


def _raise(error: BaseException) -> None:
    if not isinstance(error, Problem):
        raise error
