"""Work one run to its end. All that is known is in the journal, so going on after a crash is the same as starting."""

import asyncio
from dataclasses import dataclass
from pathlib import Path

from core.domain.events import (
    Call,
    CallRefused,
    CallStarted,
    Entry,
    QuestionAnswered,
    QuestionAsked,
    Replied,
    ReplyCut,
    RequestSent,
    Retried,
    RunEnded,
    RunEvent,
    Text,
    ToolReturned,
    Usage,
)
from core.domain.ids import call_id, question_id
from core.domain.problems import Problem
from core.engine.acts import act
from core.engine.conversation import Conversation
from core.engine.drafts import Draft, Drafts
from core.models.model import Asked, Fault, Model, Request
from core.models.retry import wait_s
from core.store.journal import Journal
from core.store.reader import Reader
from core.store.told import Told
from core.tools.ask import AskUser, question
from core.tools.catalogue import ASK, TOOLS, read_arguments


@dataclass(slots=True)
class Work:
    """What a run works with. `talk` is the conversation so far, folded from the journal."""

    session: str
    workspace: Path
    model_name: str
    model: Model
    max_rounds: int
    talk: Conversation
    journal: Journal
    reader: Reader
    drafts: Drafts

    async def record(self, *events: RunEvent, blobs: dict[str, bytes] | None = None) -> Entry:
        """Make facts durable; the conversation hears of them by the listener of the run."""
        return await self.journal.append(self.session, *events, blobs=blobs)


async def work(run: Work) -> RunEnded:
    """Round after round: results first, then the next reply, until nothing is asked any more."""
    talk = run.talk
    while True:
        for call in tuple(talk.pending.values()):
            await perform(run, call)
        if talk.done and not talk.waiting:
            return RunEnded("completed")
        if run.max_rounds and talk.rounds >= run.max_rounds:
            return RunEnded("limit", f"{talk.rounds} rounds, the limit of this run")
        try:
            await next_reply(run)
        except Fault as fault:
            return RunEnded("failed", fault.trouble.what, fault.trouble)


async def next_reply(run: Work) -> None:
    """One request, asked again while that may help."""
    attempt = 1
    while True:
        await run.record(RequestSent(run.model_name, run.talk.rounds + 1))
        try:
            return await stream(run)
        except Fault as fault:
            wait = wait_s(fault, attempt)
            if wait is None:
                raise
            await run.record(Retried(fault.trouble, attempt, wait))
        await asyncio.sleep(wait)
        attempt += 1


async def stream(run: Work) -> None:
    """Tell the reply as it comes; record it when it is whole, or what came of it."""
    text: list[str] = []
    reasoning: list[str] = []
    calls: list[Asked] = []
    usage, stop, carry = Usage(), "", ""
    try:
        async for delta in run.model.stream(Request(run.talk.messages, run.talk.turn)):
            text.append(delta.text)
            reasoning.append(delta.reasoning)
            calls += delta.calls
            usage, stop, carry = delta.usage or usage, delta.stop or stop, delta.carry or carry
            if delta.text or delta.reasoning:
                run.drafts.tell(Draft(run.session, delta.text, delta.reasoning))
    except (Fault, asyncio.CancelledError) as error:
        why = error.trouble.what if isinstance(error, Fault) else "stopped"
        if any(text):
            await run.record(ReplyCut(Text("".join(text)), why))
        raise
    else:
        number = run.talk.total_rounds + 1
        named = tuple(Call(call_id(number, i), c.tool, Text(c.arguments)) for i, c in enumerate(calls, 1))
        await run.record(Replied(Text("".join(text)), Text("".join(reasoning)), named, usage, stop, Text(carry)))
    finally:
        run.drafts.tell(Draft(run.session, ended=True))


async def perform(run: Work, call: Call) -> None:
    """Give a call its result: by asking, by acting, or by saying why not."""
    arguments = run.reader.blob(call.arguments.blob).decode() if call.arguments.blob else call.arguments.head
    try:
        parameters = read_arguments(call.tool, arguments)
    except Problem as problem:
        await run.record(CallRefused(call.id, call.tool, Text(str(problem))))
        return
    if call.tool == ASK:
        await ask(run, call, parameters)
        return
    tool = TOOLS[call.tool]
    try:
        await run.record(CallStarted(call.id, tool.name, tool.kind, tool.object(parameters)))
        events, blobs = await act(tool, call.id, parameters, run.workspace)
    except asyncio.CancelledError:
        await run.record(ToolReturned(call.id, Text("[stopped before it was done]"), failed=True))
        raise
    await run.record(*events, blobs=blobs)


async def ask(run: Work, call: Call, parameters: AskUser) -> None:
    """Ask unless asked already, then wait until the answer is in the journal, whoever wrote it."""
    name = question_id(run.session, call.id)
    answered = asyncio.get_running_loop().create_future()

    def hear(told: Told) -> None:
        event = told.entry.event
        if isinstance(event, QuestionAnswered) and event.question_id == name and not answered.done():
            answered.set_result(None)

    forget = run.journal.listen(hear)
    try:
        if call.id not in run.talk.asked:
            await run.record(QuestionAsked(question(parameters, name), call.id))
        if call.id in run.talk.pending:
            await answered
    finally:
        forget()
