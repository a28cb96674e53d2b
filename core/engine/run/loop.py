"""The loop of a run: request a reply, execute its calls, repeat until the model is done.

All state is derived from the event log, so continuing after a crash works like starting.
"""

import asyncio
import time
from collections.abc import Sequence
from contextlib import aclosing

from core.domain.events import (
    CallRefused,
    CallStarted,
    Replied,
    ReplyInterrupted,
    RequestRetried,
    RunEnded,
    RunPaused,
    SessionEvent,
    ToolCall,
    ToolReturned,
    UntrustedContentRead,
    Usage,
)
from core.domain.problems import Problem, StorageProblem
from core.domain.text import Text
from core.engine.run.background_agents import wait_for_agents
from core.engine.run.call_hooks import hooks_after_call, parse_call, run_call_hooks
from core.engine.run.call_recording import record_result, record_start
from core.engine.run.completion import check_completion
from core.engine.run.context_budget import (
    choose_request_model,
    compact_after_rejection,
    compact_if_needed,
    next_choice,
    request_event,
    result_events,
)
from core.engine.run.engine_calls import ENGINE_CALLS
from core.engine.run.guards import (
    check_limits,
    check_repetition,
    complete_run,
    run_timeout,
    time_is_up,
    within_time_limit,
)
from core.engine.run.memory_recall import recall_memories
from core.engine.run.permission import obtain_permission
from core.engine.run.read_ahead import check_ahead, read_ahead
from core.engine.run.reply_calls import calls_to_record
from core.engine.run.run_context import RunContext
from core.engine.run.text_calls import enable_known_text_calls, fall_back_to_text_calls, remember_written_calls
from core.engine.run.untrusted_files import paths_label, with_untrusted_files
from core.engine.run.user_questions import CallQuestions
from core.engine.state.compaction import HARNESS, USER
from core.engine.state.live_updates import LiveUpdate
from core.models.catalog import SCRIPTED
from core.models.model import Model, ModelError, ReplyDelta, RequestedCall
from core.models.repetition import without_repetition
from core.models.retry import retry_delay_s
from core.models.stop_reasons import REPEATED
from core.models.written_call_reader import CallScreen
from core.tools.catalogue import tool_named
from core.tools.skill_tools import MANAGE_SKILL
from core.tools.tool import READ_ONLY_ACCESS, Tool

EMPTY_REPLY = "The model returned an empty reply."
TRUNCATED_REPLY_HINT = "Your reply was cut off at the output limit. Do less in one call."
STOPPED = "[stopped before it was done]"
TIME_LIMIT_REASON = "the time of the run was over"  # the reason of a ReplyInterrupted


async def run_turns(run: RunContext) -> RunEnded | RunPaused:
    """Run turns until the model stops calling tools: execute the pending calls, then request the next reply.

    Return the event that ends or pauses the run.
    """
    conversation = run.conversation
    if not conversation.attempts:
        if conversation.start and (
            source := paths_label(run, [file.name for file in conversation.start.instruction_files])
        ):
            await run.record(UntrustedContentRead("", source))
        await run.run_hooks("run_start")
    run.ended_turns = conversation.turns - bool(conversation.pending)
    while True:
        if conversation.pending:
            await run.run_hooks("before_calls", calls=_described(run))
            await execute_pending_calls(run)
            await run.run_hooks("after_calls", turn=conversation.turns)
        if conversation.turns > run.ended_turns:
            run.ended_turns = conversation.turns
            await run.run_hooks("turn_end", turn=conversation.turns)
        if run.hook_stop:
            return RunEnded("stopped", f"ended by your hook: {run.hook_stop}", summary=Text(run.last_reply_text()))
        if conversation.done and not conversation.has_new_input:
            await wait_for_agents(run.agents, run.journal, run.session, conversation, lambda: run.pause_requested)
        if conversation.done and not conversation.has_new_input and not run.agents.active:
            ended = await check_completion(run)
            if ended or not conversation.has_new_input:
                return ended or await complete_run(run)
        if run.pause_requested:
            return RunPaused(run.pause_reason)
        if ended := await check_repetition(run) or await check_limits(run):
            return ended
        try:
            await request_reply(run)
        except ModelError as fault:
            if run.attended and fault.retryable:
                return RunPaused(fault.details.message, fault.details)
            return RunEnded("failed", fault.details.message, fault.details, Text(run.last_reply_text()))


async def execute_pending_calls(run: RunContext) -> None:
    """Execute the pending calls in order. Consecutive read-only calls at the front are executed concurrently."""
    while run.conversation.pending:
        calls = list(run.conversation.pending.values())
        concurrent = next((index for index, call in enumerate(calls) if not _only_reads(call)), len(calls))
        if concurrent < 2:
            await handle_call(run, calls[0])
            continue
        executions = [handle_call(run, call) for call in calls[:concurrent]]
        for error in await asyncio.gather(*executions, return_exceptions=True):
            if error is not None:
                raise error


async def request_reply(run: RunContext) -> None:
    """Request the next reply.

    Retry a failed request after a wait, with a compacted context, with text-based tool calls, or with the next model of
    the tier, depending on the error. Raise the ModelError when no retry is left.
    """
    run.apply_changed_model()
    await add_to_messages(run)
    await run.run_hooks("turn_start", turn=run.conversation.turns + 1)
    choice, attempt, has_answered = choose_request_model(run), 1, run.conversation.turns > 0
    await compact_if_needed(run, choice)
    if run.conversation.done and not run.conversation.has_new_input:
        return None  # The user removed the message for which the run was continued.
    if await read_ahead(run, choice) or await check_ahead(run, choice):
        return None
    while True:
        await enable_known_text_calls(run, choice.model)
        await run.run_hooks("before_request", model=choice.model, attempt=attempt)
        await run.record(request_event(run, choice))
        try:
            return await read_reply(run, run.model_of(choice.model))
        except ModelError as fault:
            has_answered = has_answered or fault.kind == "cut"
            wait = retry_delay_s(fault, attempt, has_fallback=bool(choice.fallbacks), has_answered=has_answered)
            if await compact_after_rejection(run, choice, fault) or await fall_back_to_text_calls(
                run, choice.model, fault
            ):
                wait = 0.0
            elif wait is None and choice.fallbacks:
                choice, attempt, wait = next_choice(choice), 0, 0.0
            if wait is None:
                raise
            await run.record(RequestRetried(fault.details, max(attempt, 1), wait))
        await run.sleep(within_time_limit(run, wait))
        attempt += 1


async def add_to_messages(run: RunContext) -> None:
    """Run the hooks for newly queued user messages, then add the memories that are relevant to them."""
    conversation = run.conversation
    new = [message for message in conversation.queued if message.category == USER and message.seq > run.hooked_until]
    if new:
        run.hooked_until = new[-1].seq
        await run.run_hooks("user_message", message="\n".join(run.full_text(message.text) for message in new))
    if conversation.queued and run.tool_context.memory and (recalled := await recall_memories(run)):
        await run.run_hooks("memories_recalled", memories=recalled)


async def read_reply(run: RunContext, model: Model) -> None:
    """Read one reply. An urgent message or the time limit interrupts only the reading, not the run."""
    try:
        async with run_timeout(run) as run.reading:
            await stream_reply(run, model)
    except TimeoutError:
        return
    finally:
        run.reading = None


async def stream_reply(run: RunContext, model: Model) -> None:
    """Stream a reply and publish each chunk. Record the complete reply, or on failure the part that had arrived."""
    text: list[str] = []
    reasoning: list[str] = []
    calls: list[RequestedCall] = []
    last, sent_at, first_token_s = ReplyDelta(), time.monotonic(), 0.0
    request = run.request()
    screen = CallScreen(tool.name for tool in request.tools)
    try:
        async with aclosing(model.stream(request)) as deltas:
            async for delta in deltas:
                if delta.activity:
                    run.live_updates.publish(LiveUpdate(run.session, activity=delta.activity))
                    continue
                first_token_s = first_token_s or time.monotonic() - sent_at
                if delta.written:
                    text.clear()
                text.append(delta.text)
                reasoning.append(delta.reasoning)
                calls += delta.calls
                last = last.merge(delta)
                visible_text = "" if delta.written else screen.feed(delta.text)
                if visible_text or delta.reasoning:
                    run.live_updates.publish(LiveUpdate(run.session, visible_text, delta.reasoning))
    except (ModelError, asyncio.CancelledError) as error:
        why = error.details.message if isinstance(error, ModelError) else _why_cut(run, error)
        if any(text) or why == TIME_LIMIT_REASON:  # No other event records that the time limit interrupted a reply.
            await run.record(ReplyInterrupted(Text("".join(text)), why))
        raise
    else:
        if not (any(text) or calls) and last.stop_reason != REPEATED and _owes_words(run):
            why = "It returned only reasoning." if any(reasoning) else "It returned neither text nor tool calls."
            raise ModelError(EMPTY_REPLY, why, "Try again, or choose another model.", retryable=True, kind="empty")
        run.seal_reply()
        tool_calls, correction = calls_to_record(run, calls, request.tools)
        note = " ".join(filter(None, (last.note, correction)))
        trim = without_repetition if last.stop_reason == REPEATED else str
        reply_text, reasoning_text = Text(trim("".join(text))), Text(trim("".join(reasoning)))
        usage = last.usage or Usage()
        state, written_text, latency = Text(last.provider_state), Text(last.written), round(first_token_s, 3)
        run.note_prompt_speed(run.conversation.last_request[0], usage.input - usage.cache_read, first_token_s)
        await run.record(
            Replied(
                reply_text,
                reasoning_text,
                tool_calls,
                usage,
                last.stop_reason,
                state,
                note,
                last.cost,
                latency,
                written_text,
            )
        )
        remember_written_calls(run)
        await run.run_hooks("after_reply", text=reply_text.head, calls=[call.tool for call in tool_calls])
    finally:
        run.live_updates.publish(LiveUpdate(run.session, ended=True))


def _why_cut(run: RunContext, error: BaseException) -> str:
    """Return why a reply was interrupted. In a replay, the recorded reason is the message of the exception."""
    return str(error) or (TIME_LIMIT_REASON if time_is_up(run) else "stopped")


def _owes_words(run: RunContext) -> bool:
    """Return whether an empty reply is an error: only directly after a user message, and not from a scripted model.

    After tool results a model may have nothing to add, and a scripted model replies with nothing after its script ends.
    A small model that has nothing to say to the engine gets a nudge instead.
    """
    last = run.conversation.messages[-1]
    if run.has_compact_prompt and last.category == HARNESS:
        return False
    return last.role == "user" and run.conversation.last_request[0] != SCRIPTED


async def handle_call(run: RunContext, call: ToolCall) -> None:
    """Execute or refuse one call and record its outcome."""
    try:
        parameters = parse_call(run, call)
    except Problem as problem:
        why = f"{problem} {TRUNCATED_REPLY_HINT}" if run.conversation.stop_reason == "length" else str(problem)
        await run.record(CallRefused(call.id, call.tool, Text(why)))
        await run.run_hooks("call_failed", call.tool, call={"id": call.id, "tool": call.tool, "reason": why})
        return
    checked = await run_call_hooks(run, call, parameters)
    if checked is None:
        return
    call, parameters = checked
    if execute := ENGINE_CALLS.get(call.tool):
        await execute(run, call, parameters)
        return
    tool = tool_named(call.tool)
    assert tool is not None
    try:
        permitted = await obtain_permission(run, tool, call, parameters)
    except StorageProblem:
        raise
    except Problem as problem:  # The call names a path that cannot be examined.
        permitted = CallRefused(call.id, tool.name, Text(str(problem)))
    if isinstance(permitted, CallRefused):
        await run.record(permitted)
        return
    parameters = permitted.parameters
    questions = CallQuestions(run, call.id)
    try:
        started = CallStarted(call.id, tool.name, tool.kind, tool.describe(parameters))
        start_events = (*await run.sandbox_events(tool), *permitted.events, started)
        start = await record_start(run, *start_events, only_reads=_tool_only_reads(tool))
        context = run.tool_context.for_call(call.id, permitted.grant, questions)
        events, blobs = await run.execute(tool, call.id, parameters, context, run.read_digests)
        await questions.withdraw()
    except asyncio.CancelledError:
        # On exit with an open question, the call stays pending and is repeated once the user has answered.
        if not (run.closing and questions.waiting):
            output = f"{run.tool_context.commands.stopped_output(call.id)}\n{STOPPED}".lstrip("\n")
            stopped = [ToolReturned(call.id, Text(output), failed=True)]
            await run.record(*result_events(run, tool, call.id, started.object, stopped))
        raise
    all_events = result_events(run, tool, call.id, started.object, events)
    with_untrusted_files(run, tool, call.id, parameters, all_events)
    await record_result(run, start, *all_events, blobs=blobs)
    await hooks_after_call(run, call, _outcome(all_events))


def _described(run: RunContext) -> list[dict[str, str]]:
    return [{"id": call.id, "tool": call.tool} for call in run.conversation.pending.values()]


def _outcome(events: Sequence[SessionEvent]) -> dict[str, object]:
    returned = next((event for event in events if isinstance(event, ToolReturned)), None)
    return (
        {"failed": returned.failed, "exit_code": returned.exit_code, "output": returned.output.head} if returned else {}
    )


def _only_reads(call: ToolCall) -> bool:
    tool = tool_named(call.tool)
    if tool is None:
        return call.tool != MANAGE_SKILL
    return _tool_only_reads(tool)


def _tool_only_reads(tool: Tool) -> bool:
    return tool.access in READ_ONLY_ACCESS and not tool.has_lasting_effect
