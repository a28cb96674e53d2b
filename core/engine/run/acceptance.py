"""Acceptance checks: commands that must succeed, and sealed files that must be unchanged, before a run counts as done.

Their result rates the run.
"""

import asyncio
import json

from core.domain.events import (
    BackgroundCommandEnded,
    FileChanged,
    HarnessMessage,
    RunEnded,
    RunRated,
    RunStarted,
    ToolReturned,
)
from core.domain.text import Text
from core.engine.run.guards import within_time_limit
from core.engine.run.run_context import RunContext
from core.tools.catalogue import tool_named
from core.tools.run import RunArguments
from core.tools.sealed_files import broken_seals

MAX_FAILURES = 3  # the third time that a check fails, the run ends as failed
TIMEOUT_S = 900.0
SHOWN_CHARS = 4_000  # the last characters of the output of a failed check, which the agent receives
CHECK_PREFIX = "[An acceptance check of the user failed: "
SEALS = "the sealed files are unchanged"  # the check that precedes the user's commands
CHECK_REASON = "your check failed"  # begins the reason of the message to the agent


async def check_acceptance(run: RunContext) -> RunEnded | None:
    """Run the acceptance checks of the task without asking for permission, because the user supplied the commands.

    The sealed files are compared first, because the commands may depend on them.

    If a check fails, queue its output as a message to the model and return None. The failure number MAX_FAILURES since
    the user's last message returns a failed RunEnded instead. A replay runs no checks: it has the recorded messages.
    """
    conversation = run.conversation
    start = conversation.start
    if start is None or not (start.acceptance or start.sealed) or run.is_replay:
        return None
    for number, command in enumerate((SEALS, *start.acceptance)):
        if command == SEALS:
            failure = await asyncio.to_thread(_broken_seals, run, start)
        else:
            failure = await _failure(run, command, f"check{conversation.total_turns}-{number}")
        if failure is None:
            continue
        new_messages = (message for message in conversation.messages if message.seq > conversation.task_seq)
        earlier_failures = sum(message.text.head.startswith(CHECK_PREFIX) for message in new_messages)
        if earlier_failures + 1 >= MAX_FAILURES:
            await run.record(RunRated(conversation.run, "down", Text(f"{command}: {failure[-200:]}"), by="check"))
            return RunEnded("failed", f"the check failed: {command}", summary=Text(run.last_reply_text()))
        message = f"{CHECK_PREFIX}{command}]\n{failure}"
        await run.record(HarnessMessage(Text(message), f"{CHECK_REASON}: {command}"))
        return None
    if start.acceptance:
        await run.record(RunRated(conversation.run, "up", Text("; ".join(start.acceptance)), by="check"))
    return None


def _broken_seals(run: RunContext, start: RunStarted) -> str | None:
    """Return which sealed files differ from their state at the start of the run, or None if none does."""
    if not start.sealed:
        return None
    sealed = json.loads(run.full_text(start.sealed_digests))
    broken = broken_seals(run.tool_context.folder, start.sealed, sealed)
    return f"These files must be as they were when the run started: {', '.join(broken)}." if broken else None


async def _failure(run: RunContext, command: str, call: str) -> str | None:
    """Run the command of one check, and record its result and the files that it changed.

    Return the last SHOWN_CHARS characters of its output if it failed, or None if it succeeded.
    """
    tool = tool_named("run")
    assert tool is not None
    sandbox_events = await run.sandbox_events(tool)
    parameters = RunArguments(command, max(1.0, within_time_limit(run, TIMEOUT_S)))
    executed = await run.execute(tool, call, parameters, run.tool_context.for_call(call), run.read_digests)
    result = next(event for event in executed.events if isinstance(event, ToolReturned))
    changes = [event for event in executed.events if isinstance(event, FileChanged)]
    ended = BackgroundCommandEnded(call, command, result.output, result.exit_code)
    await run.record(*sandbox_events, *changes, ended, blobs=executed.blobs)
    if not result.failed:
        return None
    return result.output.head[-SHOWN_CHARS:] or "(no output)"
