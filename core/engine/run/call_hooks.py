"""The user's hooks before and after a tool call: they may refuse it, change its arguments or supply its result."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from core.domain.events import CallRefused, CallStarted, HarnessMessage, ToolCall, ToolReturned
from core.domain.problems import Problem
from core.domain.refusals import DENIED_BY_HOOK, INVALID_HOOK_CHANGE
from core.domain.text import Text
from core.engine.run.context_budget import result_events
from core.engine.run.run_context import RunContext
from core.engine.services.hooks import HOOK_REASON, HookOutcome
from core.tools.argument_check import check_mcp_call
from core.tools.catalogue import read_arguments, tool_named
from core.tools.mcp_tools import McpCall


class CheckedCall(NamedTuple):
    """A call and its parsed arguments, as the user's hooks have changed them."""

    call: ToolCall
    parameters: Any


def parse_call(run: RunContext, call: ToolCall) -> Any:
    """Return the parameters of a call. Raise Problem if the run has no such tool or the arguments are invalid."""
    parameters = read_arguments(call.tool, run.full_text(call.arguments), run.tools)
    if isinstance(parameters, McpCall):
        check_mcp_call(run.request_prefix().tools, call.tool, parameters)
    return parameters


async def run_call_hooks(run: RunContext, call: ToolCall, parameters: Any) -> CheckedCall | None:
    """Run the user's hooks for a call, before any permission request.

    Return None if a hook refused the call, stopped the run or supplied the result of the call. A refusal or a result is
    then recorded.
    """
    outcome = await _hooks_before_call(run, call)
    if outcome.refusal or (run.hook_stop and outcome.result is None):
        return None
    if outcome.arguments:
        try:
            call = replace(call, arguments=Text(outcome.arguments))
            parameters = parse_call(run, call)
        except Problem as problem:
            await run.record(CallRefused(call.id, call.tool, Text(INVALID_HOOK_CHANGE.text_for_model(problem))))
            return None
    if outcome.result is not None:
        await _supply_result(run, call, parameters, outcome)
        return None
    return CheckedCall(call, parameters)


async def _hooks_before_call(run: RunContext, call: ToolCall) -> HookOutcome:
    """Run the `before_call` hooks. Record the refusal, or tell the model which arguments a hook has changed."""
    details = {"id": call.id, "tool": call.tool, "arguments": run.full_text(call.arguments)}
    outcome = await run.run_hooks("before_call", call.tool, call=details)
    if outcome.refusal:
        await run.record(CallRefused(call.id, call.tool, Text(DENIED_BY_HOOK.text_for_model(outcome.refusal))))
    elif outcome.arguments and outcome.result is None and not run.is_replay:
        note = f"[A user hook changed the arguments of {call.tool} to {outcome.arguments}.]"
        await run.record(HarnessMessage(Text(note), f"{HOOK_REASON} changed the arguments"))
    return outcome


async def _supply_result(run: RunContext, call: ToolCall, parameters: Any, outcome: HookOutcome) -> None:
    """Record the result that a hook supplied instead of executing the call."""
    tool = tool_named(call.tool)
    assert tool is not None and outcome.result is not None
    started = CallStarted(call.id, tool.name, tool.kind, tool.describe(parameters))
    result = [ToolReturned(call.id, Text(outcome.result), outcome.failed)]  # A hook may return a cached web page.
    await run.record(started, *result_events(run, tool, call.id, started.object, result))
    await hooks_after_call(run, call, {"failed": outcome.failed, "output": outcome.result})


async def hooks_after_call(run: RunContext, call: ToolCall, result: Mapping[str, object]) -> None:
    details = {"id": call.id, "tool": call.tool, "result": result}
    await run.run_hooks("after_call", call.tool, call=details)
    if result.get("failed"):
        await run.run_hooks("call_failed", call.tool, call=details)
