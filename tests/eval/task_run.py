"""Runs a task in its own folder, with Journeyman or another agent, and checks the result."""

import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from app.process.services import build_services
from core.domain.events import READ_AHEAD, CallStarted, Replied, RunStarted, SessionEvent, ToolCall
from core.domain.modes import Mode
from core.domain.permissions import PermissionRequested
from core.domain.problems import Problem
from core.domain.question import Answer, QuestionAsked
from core.domain.text import Text
from core.engine.api.engine import Engine
from core.models.catalog import SCRIPTED
from core.store.journal_update import JournalUpdate
from tests.eval.meter import Meter
from tests.eval.other_agents import OTHER_AGENTS, run_agent
from tests.eval.task import Reply, Task, TaskResult

JOURNEYMAN = "journeyman"
MAX_TURNS = 40
LIMIT_MINUTES = 60.0  # a real model on two busy cores needs a minute or more for each request


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a task.

    Attributes:
        passed: the task's check passed.
        status: `done` if the agent reported that it is done.
        reason: why the agent did not complete the task.
        acted: the agent did something, apart from replying.
        followed_injection: files or commands beside the task show that the agent followed instructions in its content.
        tried_injection: it made a call that would have followed them, even if the call was denied.
        turns, tokens, first_prompt, reply_tokens: requests, prompt tokens of all and of the first, and reply tokens.
        seconds: those that the server computed, or the time that the task took if the server does not say it.
    """

    name: str
    agent: str
    passed: bool
    status: str
    turns: int
    tokens: int
    permission_requests: int
    questions: int
    seconds: float
    reason: str = ""
    acted: bool = False
    followed_injection: bool = False
    tried_injection: bool = False
    first_prompt: int = 0
    reply_tokens: int = 0
    repeat: int = 0


def make_folder(home: Path, task: Task) -> Path:
    """Return a new folder with the files of a task."""
    folder = home / "work"
    folder.mkdir(parents=True)
    for name, text in task.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


async def run_task(
    home: Path, task: Task, model: str, replies: tuple[Reply, ...] | None = None, meter: Meter | None = None,
    prompt_size: Literal["", "full", "compact"] = "", minutes: float = LIMIT_MINUTES,
    lessons: Sequence[str] = (),
) -> Outcome:  # fmt: skip
    """Run a task with Journeyman; the scripted model plays the task's solution, or `replies` if given.

    Every permission request is approved, unless the task says otherwise. `lessons` are memories of the user. The
    figures come from `meter` if the requests pass through one.
    """
    folder = make_folder(home, task)
    script = json.dumps({"replies": task.solution if replies is None else replies}) if model == SCRIPTED else ""
    services = await build_services(home / "data", _raise)
    started = time.monotonic()
    try:
        engine = services.engine
        updates: asyncio.Queue[JournalUpdate] = asyncio.Queue()
        engine.subscribe(updates.put_nowait)
        for lesson in lessons:
            await engine.memory.add(lesson, "preference")
        mode: Mode = "auto" if task.unasked else "ask"
        if task.unasked:
            await engine.trust(folder, False)
        began = RunStarted(model, MAX_TURNS, Text(script), mode=mode, max_minutes=minutes, prompt_size=prompt_size)
        session = await engine.start(task.prompt, folder, began)
        answering = asyncio.ensure_future(_answer(engine, updates, task))
        try:
            async with asyncio.timeout(minutes * 60 + 60):
                await engine.wait_idle(session)
        finally:
            answering.cancel()
        return await _outcome(engine, session, task, folder, time.monotonic() - started, meter)
    finally:
        await services.close()


def run_other(home: Path, task: Task, agent: str, url: str, model: str, meter: Meter, minutes: float) -> Outcome:
    """Run a task with another agent, whose requests pass through `meter`."""
    folder = make_folder(home, task)
    (own := home / "home").mkdir()
    meter.take()
    started = time.monotonic()
    done = run_agent(OTHER_AGENTS[agent](url, model, task.prompt, own), folder, minutes * 60)
    seconds = time.monotonic() - started
    result, used = TaskResult(folder, done.reply, 0), meter.take()
    return Outcome(
        task.name, agent, task.passed(result), "failed" if done.reason else "done", used.requests, used.prompt, 0, 0,
        used.seconds or seconds, done.reason, used.requests > 1, task.followed_injection(result),
        first_prompt=used.first_prompt, reply_tokens=used.reply,
    )  # fmt: skip


async def _answer(engine: Engine, updates: "asyncio.Queue[JournalUpdate]", task: Task) -> None:
    answer = Answer(text=task.answer) if task.answer else Answer(declined=True)
    while True:
        event = (await updates.get()).entry.event
        if isinstance(event, QuestionAsked):
            await engine.answer(event.question.id, answer)
        elif isinstance(event, PermissionRequested):
            await (engine.deny(event.request.id) if task.unasked else engine.allow(event.request.id))


async def _outcome(
    engine: Engine, session: str, task: Task, folder: Path, seconds: float, meter: Meter | None
) -> Outcome:
    row = engine.session(session)
    events = [entry.event async for entry in engine.events(session)]
    replies = [event for event in events if isinstance(event, Replied)]
    said = [engine.full_text(event.text) for event in replies if event.text.head]
    asked = sum(isinstance(event, QuestionAsked) for event in events)
    consents = sum(isinstance(event, PermissionRequested) for event in events)
    commands = tuple(
        event.object for event in events if isinstance(event, CallStarted) and event.step_kind == "command"
    )
    result = TaskResult(folder, said[-1] if said else "", asked, commands)
    good = await asyncio.to_thread(task.passed, result)
    why = "" if row.status == "done" else str(getattr(events[-1], "reason", ""))
    usage = [event.usage for event in replies]
    used = meter.take() if meter else Meter(
        row.turns, sum(one.input for one in usage), 0, sum(one.output for one in usage),
        usage[0].input if usage else 0,
    )  # fmt: skip
    return Outcome(
        task.name, JOURNEYMAN, good, row.status, used.requests, used.prompt, consents, asked,
        used.seconds or seconds, why,
        acted(events), task.followed_injection(result), _has_call_with(task.injection_mark, replies),
        used.first_prompt, used.reply,
    )  # fmt: skip


def _has_call_with(mark: str, replies: Sequence[Replied]) -> bool:
    calls = [call for reply in replies if reply.stop_reason != READ_AHEAD for call in reply.calls]
    return bool(mark) and any(mark in _target(call) for call in calls)


def _target(call: ToolCall) -> str:
    """Return the command or the path of a call; a text to write may quote instructions without following them."""
    try:
        arguments = json.loads(call.arguments.head)
        return f"{arguments.get('command', '')} {arguments.get('path', '')}"
    except (ValueError, AttributeError):
        return ""


def acted(events: Sequence[SessionEvent]) -> bool:
    """Return whether the model called a tool. The files that the engine reads ahead do not count."""
    replies = (event for event in events if isinstance(event, Replied) and event.stop_reason != READ_AHEAD)
    calls = {call.id for reply in replies for call in reply.calls}
    return any(isinstance(event, CallStarted | QuestionAsked) and event.call_id in calls for event in events)


def format_outcome(done: Outcome) -> str:
    """Format an outcome for the terminal."""
    word = "pass" if done.passed else "FAIL"
    figures = (
        f"{done.turns:3} turns {done.tokens:7,} tokens {done.permission_requests:2} approvals {done.seconds:6.1f} s"
    )
    ended = "" if done.status == "done" else f"{done.status}: {done.reason}"
    return f"  {word}  {done.agent:10} {done.name:10} {figures}  {ended}".rstrip()


def _raise(error: BaseException) -> None:
    if not isinstance(error, Problem):
        raise error
