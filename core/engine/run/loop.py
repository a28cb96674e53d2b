"""The loop of a run: request a reply, execute its calls, repeat until the model is done.

All state is derived from the event log, so continuing after a crash works like starting.
"""

import asyncio

from core.domain.events import (
    RequestRetried,
    RunEnded,
    RunPaused,
    ToolCall,
    UntrustedContentRead,
)
from core.domain.text import Text
from core.engine.run.background_agents import wait_for_agents
from core.engine.run.call_execution import handle_call, tool_only_reads
from core.engine.run.completion import check_completion
from core.engine.run.context_budget import (
    choose_request_model,
    compact_after_rejection,
    compact_if_needed,
    next_choice,
    request_event,
)
from core.engine.run.guards import (
    check_limits,
    check_repetition,
    complete_run,
    within_time_limit,
)
from core.engine.run.memory_recall import recall_memories
from core.engine.run.read_ahead import check_ahead, read_ahead, read_failed_files, run_tests_ahead
from core.engine.run.read_reply import read_reply
from core.engine.run.run_context import RunContext
from core.engine.run.text_calls import enable_known_text_calls, fall_back_to_text_calls
from core.engine.run.untrusted_files import paths_label
from core.engine.run.user_questions import repeats_question
from core.engine.state.compaction import USER
from core.models.model import ModelError
from core.models.retry import retry_delay_s
from core.tools.catalogue import tool_named
from core.tools.skill_tools import MANAGE_SKILL


async def run_turns(run: RunContext) -> RunEnded | RunPaused:
    """Run turns until the model stops calling tools: execute the pending calls, then request the next reply.

    Return the event that ends or pauses the run.
    """
    conversation = run.conversation
    if not conversation.attempts:
        instruction_files = conversation.start.instruction_files if conversation.start else ()
        if source := paths_label(run, [file.name for file in instruction_files]):
            await run.record(UntrustedContentRead("", source, in_instructions=True))
        await run.run_hooks("run_start")
    run.ended_turns = conversation.turns - 1 if conversation.pending else conversation.turns
    while True:
        if conversation.pending and not run.hook_stop:
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
    """Execute the pending calls in order. Consecutive read-only calls are executed concurrently.

    A question that is asked twice waits for the first answer, which is then reused. Once a hook has stopped the run,
    no further call is begun.
    """
    while run.conversation.pending and not run.hook_stop:
        calls = list(run.conversation.pending.values())
        concurrent = _concurrent_calls(run, calls)
        if len(concurrent) < 2:
            await handle_call(run, calls[0])
            continue
        executions = [handle_call(run, call) for call in concurrent]
        for error in await asyncio.gather(*executions, return_exceptions=True):
            if error is not None:
                raise error


def _concurrent_calls(run: RunContext, calls: list[ToolCall]) -> list[ToolCall]:
    """Return the calls from the first one on that can be executed at the same time."""
    for index, call in enumerate(calls):
        if not _only_reads(call) or repeats_question(run, call, calls[:index]):
            return calls[:index]
    return calls


async def request_reply(run: RunContext) -> None:
    """Request the next reply from the model, or record read-ahead calls in its place.

    Retry a failed request after a wait, with a compacted context, with text-based tool calls, or with the next model of
    the tier, depending on the error. Raise the ModelError when no retry is left.
    """
    run.apply_changed_model()
    await add_to_messages(run)
    await run.run_hooks("turn_start", turn=run.conversation.turns + 1)
    choice = choose_request_model(run)
    attempt = 1
    has_answered = run.conversation.turns > 0
    await compact_if_needed(run, choice)
    if run.conversation.done and not run.conversation.has_new_input:
        return None  # Meanwhile the user has removed the queued message that the reply would have answered.
    for call_ahead in (run_tests_ahead, read_ahead, check_ahead, read_failed_files):
        if await call_ahead(run, choice):
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
            is_compacted = await compact_after_rejection(run, choice, fault)
            if is_compacted or await fall_back_to_text_calls(run, choice.model, fault):
                wait = 0.0
            elif wait is None and choice.fallbacks:
                choice = next_choice(choice)
                attempt = 0
                wait = 0.0
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


def _described(run: RunContext) -> list[dict[str, str]]:
    return [{"id": call.id, "tool": call.tool} for call in run.conversation.pending.values()]


def _only_reads(call: ToolCall) -> bool:
    tool = tool_named(call.tool)
    if tool is None:
        return call.tool != MANAGE_SKILL
    return tool_only_reads(tool)
