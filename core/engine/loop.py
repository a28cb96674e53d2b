"""Work one run to its end. All that is known is in the journal, so going on after a crash is the same as starting."""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing

from core.domain.events import (
    Call,
    CallRefused,
    CallStarted,
    Replied,
    ReplyCut,
    Retried,
    RunEnded,
    RunEvent,
    RunPaused,
    ToolReturned,
    Usage,
)
from core.domain.ids import call_id
from core.domain.problems import Problem
from core.domain.text import Text
from core.engine.asking import AskedInCall, ask_person
from core.engine.calls import look_for_calls, turn_to_words
from core.engine.compaction import MEMORY
from core.engine.drafts import Draft
from core.engine.finish import check_end
from core.engine.guards import check_limits, check_repeats, completed, cut_at_limit, in_time, is_over
from core.engine.managing import manage_skill
from core.engine.permission import permission
from core.engine.recall import recall
from core.engine.remembering import remember
from core.engine.room import choice_of, look_for_room, next_of, sent, shrink
from core.engine.strangers import tainted
from core.engine.using import use_skill
from core.engine.work import Work
from core.models.catalogue import SCRIPTED
from core.models.model import Asked, Delta, Fault, Model
from core.models.retry import wait_s
from core.tools.catalogue import ASK, read_arguments, tool_named
from core.tools.delegate import NAME as DELEGATE
from core.tools.recall import RECALL, Recall, row
from core.tools.skill import MANAGE_SKILL, USE_SKILL

HARMLESS = frozenset({"nothing", "reads"})
SILENT = "The model said nothing."
CUT_SHORT = "Your reply was cut, for it reached the most that one may have: do less in one call."
OUT_OF_TIME = "the time of the run was over"


async def work(run: Work) -> RunEnded | RunPaused:
    """Round after round: results first, then the next reply, until nothing is asked any more."""
    talk = run.talk
    if not talk.turn:
        await run.hooked("run start")
    while True:
        await give_results(run)
        if talk.done and not talk.waiting:
            ended = await check_end(run)
            if ended or not talk.waiting:
                return ended or await completed(run)
        if run.pausing:
            return RunPaused(run.pause_why)
        if ended := await check_repeats(run) or await check_limits(run):
            return ended
        try:
            await next_reply(run)
        except Fault as fault:
            if run.attended and fault.again:
                return RunPaused(fault.trouble.what, fault.trouble)
            return RunEnded("failed", fault.trouble.what, fault.trouble, Text(run.said()))


async def give_results(run: Work) -> None:
    """Every call of the last reply gets its one result: neighbours that only read at once, the others in order."""
    while run.talk.pending:
        calls = list(run.talk.pending.values())
        together = next((place for place, call in enumerate(calls) if not _only_reads(call)), len(calls))
        if together < 2:
            await perform(run, calls[0])
            continue
        acts = [perform(run, call) for call in calls[:together]]
        for end in await asyncio.gather(*acts, return_exceptions=True):
            if end is not None:
                raise end


async def next_reply(run: Work) -> None:
    """One request, asked again while that may help: later, with less, or of another model."""
    run.turn_to_chosen()
    if run.talk.waiting and run.place.memory:
        await remember(run)
    choice, attempt = choice_of(run), 1
    await look_for_room(run, choice)
    if run.talk.done and all(message.kind == MEMORY for message in run.talk.waiting):
        return None  # what it was to go on for was taken back
    while True:
        await look_for_calls(run, choice.model)
        await run.record(sent(run, choice))
        try:
            return await read_reply(run, run.model_of(choice.model))
        except Fault as fault:
            wait = wait_s(fault, attempt, others=bool(choice.others))
            if await shrink(run, choice, fault) or await turn_to_words(run, choice.model, fault):
                wait = 0.0
            elif wait is None and choice.others:
                choice, attempt, wait = next_of(choice), 0, 0.0
            if wait is None:
                raise
            await run.record(Retried(fault.trouble, max(attempt, 1), wait))
        await run.sleep(in_time(run, wait))
        attempt += 1


async def read_reply(run: Work, model: Model) -> None:
    """Words sent now end the reading, and nothing else: the next request carries them; so does the limit of time."""
    try:
        async with cut_at_limit(run) as run.reading:
            await stream(run, model)
    except TimeoutError:
        return
    finally:
        run.reading = None


async def stream(run: Work, model: Model) -> None:
    """Tell the reply as it comes; record it when it is whole, or what came of it."""
    text: list[str] = []
    reasoning: list[str] = []
    calls: list[Asked] = []
    last = Delta()
    try:
        async with aclosing(model.stream(run.request())) as deltas:
            async for delta in deltas:
                text.append(delta.text)
                reasoning.append(delta.reasoning)
                calls += delta.calls
                last = last.followed_by(delta)
                if delta.text or delta.reasoning:
                    run.drafts.tell(Draft(run.session, delta.text, delta.reasoning))
    except (Fault, asyncio.CancelledError) as error:
        why = error.trouble.what if isinstance(error, Fault) else _why_cut(run, error)
        if any(text) or why == OUT_OF_TIME:  # when it was cut stands in no other fact
            await run.record(ReplyCut(Text("".join(text)), why))
        raise
    else:
        if not (any(text) or calls) and _owes_words(run):
            why = "It thought, and that was all." if any(reasoning) else "Its reply was empty."
            raise Fault(SILENT, why, "Try again, or choose another model.", again=True, kind="empty")
        run.keep()
        number = run.talk.total_rounds + 1
        named = tuple(Call(call_id(number, i), c.tool, Text(c.arguments)) for i, c in enumerate(calls, 1))
        said, thought, usage = Text("".join(text)), Text("".join(reasoning)), last.usage or Usage()
        await run.record(Replied(said, thought, named, usage, last.stop, Text(last.carry), last.note, last.cost))
    finally:
        run.drafts.tell(Draft(run.session, ended=True))


def _why_cut(run: Work, error: BaseException) -> str:
    """A recording says why it was."""
    return str(error) or (OUT_OF_TIME if is_over(run) else "stopped")


def _owes_words(run: Work) -> bool:
    """To a person. After work a model may have nothing to add, and a script that is played out says no more."""
    return run.talk.messages[-1].role == "user" and run.talk.sent[0] != SCRIPTED


async def perform(run: Work, call: Call) -> None:
    """Give a call its result: by asking, by acting, or by saying why not."""
    try:
        parameters = read_arguments(call.tool, run.whole(call.arguments), run.tools)
    except Problem as problem:
        why = f"{problem} {CUT_SHORT}" if run.talk.cut_short else str(problem)
        await run.record(CallRefused(call.id, call.tool, Text(why)))
        return
    if await refused_by_hook(run, call):
        return
    if call.tool == ASK:
        await ask_person(run, parameters, call.id, call.tool)
        return
    if call.tool == DELEGATE and run.delegate:
        await run.delegate(run, call, parameters)
        return
    if call.tool == RECALL:
        await look_back(run, call.id, parameters)
        return
    if call.tool == USE_SKILL:
        await use_skill(run, call, parameters)
        return
    if call.tool == MANAGE_SKILL:
        await manage_skill(run, call, parameters)
        return
    tool = tool_named(call.tool)
    assert tool is not None
    try:
        permitted = await permission(run, tool, call, parameters)
    except Problem as problem:  # it names what cannot be looked at
        permitted = CallRefused(call.id, tool.name, Text(str(problem)))
    if isinstance(permitted, CallRefused):
        await run.record(permitted)
        return
    asked = AskedInCall(run, call.id)
    try:
        started = CallStarted(call.id, tool.name, tool.kind, tool.object(parameters))
        begun = run.begin(*await run.walls(tool), *permitted.facts, started)
        if tool.lasts or tool.touches not in HARMLESS:  # what only looks may look once more after a crash
            await begun
        place = run.place.acting(call.id, permitted.word, asked)
        events, blobs = await run.act(tool, call.id, parameters, place, run.seen)
        await asked.withdraw()
    except asyncio.CancelledError:
        if not (run.closing and asked.waiting):  # else the person may still answer, and the call be made again
            await run.record(ToolReturned(call.id, Text("[stopped before it was done]"), failed=True))
        raise
    facts = tainted(run.talk.rights.taint, tool, call.id, started.object, events, trusted=run.trusted)
    await run.record_behind(begun, *facts, blobs=blobs)
    await run.hooked("after call", call.tool, call={"id": call.id, "tool": call.tool, "result": _outcome(facts)})


async def refused_by_hook(run: Work, call: Call) -> bool:
    """The word of a person's own command, before anything else is asked."""
    told = {"id": call.id, "tool": call.tool, "arguments": run.whole(call.arguments)}
    if why := await run.hooked("before call", call.tool, call=told):
        await run.record(CallRefused(call.id, call.tool, Text(f"[A hook of the person refused this call: {why}]")))
    return bool(why)


def _outcome(facts: Sequence[RunEvent]) -> dict[str, object]:
    done = next((fact for fact in facts if isinstance(fact, ToolReturned)), None)
    return {"failed": done.failed, "exit_code": done.exit_code, "output": done.output.head} if done else {}


async def look_back(run: Work, call: str, asked: Recall) -> None:
    """What was dropped from the context, from the journal."""
    try:
        output, failed = await recall(run, asked), False
    except Problem as problem:
        output, failed = str(problem), True
    await run.record(CallStarted(call, RECALL, "recall", row(asked)), ToolReturned(call, Text(output), failed))


def _only_reads(call: Call) -> bool:
    tool = tool_named(call.tool)
    if tool is None:
        return call.tool != MANAGE_SKILL
    return tool.touches in HARMLESS and not tool.lasts
