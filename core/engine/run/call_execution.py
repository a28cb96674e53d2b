"""Executes or refuses one call, and records its outcome."""

import asyncio
from collections.abc import Sequence

from core.domain.events import CallRefused, CallStarted, SessionEvent, ToolCall, ToolReturned
from core.domain.problems import Problem, StorageProblem
from core.domain.text import Text
from core.engine.run.call_hooks import hooks_after_call, parse_call, run_call_hooks
from core.engine.run.call_recording import record_result, record_start
from core.engine.run.context_budget import result_events
from core.engine.run.engine_calls import ENGINE_CALLS
from core.engine.run.permission import PermittedCall, obtain_permission
from core.engine.run.run_context import RunContext
from core.engine.run.untrusted_files import with_untrusted_files
from core.engine.run.user_questions import CallQuestions
from core.tools.catalogue import tool_named
from core.tools.tool import READ_ONLY_ACCESS, Tool

TRUNCATED_REPLY_HINT = "Your reply was cut off at the output limit. Do less in one call."
STOPPED = "[stopped before it was done]"


async def handle_call(run: RunContext, call: ToolCall) -> None:
    """Run the hooks for a call, obtain permission, and execute the call. Record the result or the refusal."""
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
    except Problem as problem:  # The arguments contain a path that cannot be examined.
        permitted = CallRefused(call.id, tool.name, Text(str(problem)))
    if isinstance(permitted, CallRefused):
        await run.record(permitted)
    else:
        await _execute(run, tool, call, permitted)


async def _execute(run: RunContext, tool: Tool, call: ToolCall, permitted: PermittedCall) -> None:
    """Execute a permitted call. If it is canceled, record that it was stopped."""
    parameters = permitted.parameters
    questions = CallQuestions(run, call.id)
    try:
        started = CallStarted(call.id, tool.name, tool.kind, tool.describe(parameters))
        start_events = (*await run.sandbox_events(tool), *permitted.events, started)
        start = await record_start(run, *start_events, only_reads=tool_only_reads(tool))
        context = run.tool_context.for_call(call.id, permitted.grant, questions)
        executed = await run.execute(tool, call.id, parameters, context, run.read_digests)
        await questions.withdraw()
    except asyncio.CancelledError:
        # On exit with an open question, the call stays pending and is repeated once the user has answered.
        stays_pending = run.closing and questions.waiting
        if not stays_pending:
            ended = run.tool_context.commands.take_stopped(call.id)
            output = Text(f"{ended.output}\n{STOPPED}".lstrip("\n"))
            stopped = ToolReturned(
                call.id,
                output,
                failed=True,
                unrestorable=ended.unrestorable,
                changed_history=ended.changed_history,
            )
            await run.record(*result_events(run, tool, call.id, started.object, [stopped]))
        raise
    events = result_events(run, tool, call.id, started.object, executed.events)
    with_untrusted_files(run, tool, call.id, parameters, events)
    await record_result(run, start, *events, blobs=executed.blobs)
    await hooks_after_call(run, call, _outcome(events))


def tool_only_reads(tool: Tool) -> bool:
    return tool.access in READ_ONLY_ACCESS and not tool.has_lasting_effect


def _outcome(events: Sequence[SessionEvent]) -> dict[str, object]:
    """Return the fields of a call's result that are passed to the user's hooks; {} if the call has no result."""
    returned = next((event for event in events if isinstance(event, ToolReturned)), None)
    if returned is None:
        return {}
    return {"failed": returned.failed, "exit_code": returned.exit_code, "output": returned.output.head}
