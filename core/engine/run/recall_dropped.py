"""The `recall_dropped` tool: reads compacted results, or the whole conversation, back from the event log."""

from collections.abc import AsyncIterator, Iterable

from core.domain.events import CallRefused, EventRecord, HarnessMessage, Replied, ToolReturned, UserMessage
from core.domain.problems import Problem
from core.domain.question import QuestionAnswered, answer_text
from core.domain.steps import first_line
from core.engine.run.run_context import RunContext
from core.tools.recall_dropped import CONVERSATION, RecallDroppedArguments

MAX_CHARS = 16_000  # characters returned at once
MAX_LINES = 400  # lines of the conversation returned at once


async def read_dropped(run: RunContext, asked: RecallDroppedArguments) -> str:
    """Return the requested lines. Raise Problem if there are no such lines."""
    if asked.id == CONVERSATION:
        return await _conversation_lines(run, asked)
    seq = run.conversation.compacted_calls.get(asked.id)
    if seq is None:
        near = ", ".join(list(run.conversation.compacted_calls)[-5:])
        raise Problem(
            f"No result with the id {asked.id!r} was truncated or summarized.",
            "Other results are still in the conversation above.",
            f"The most recent ids are: {near}." if near else "",
        )
    async for entry in run.journal.read(run.session, seq - 1):
        return _slice(_result(run, entry, asked.id).splitlines(), asked)
    raise Problem("The result is lost.", f"Event {seq} of the session cannot be read.", "")


def _result(run: RunContext, entry: EventRecord, call: str) -> str:
    match entry.event:
        case ToolReturned(output=text) | CallRefused(reason=text):
            return run.full_text(text)
        case QuestionAnswered(answer=answer):
            return answer_text(answer)
        case _:
            return f"[{call} was not run: the run ended before it.]"


async def _conversation_lines(run: RunContext, asked: RecallDroppedArguments) -> str:
    """Return numbered lines of the conversation from its beginning, one per message, call or result."""
    end = min(asked.end or asked.start + MAX_LINES, asked.start + MAX_LINES)
    found: list[str] = []
    number = 0
    async for text_line in _lines(run):
        number += 1
        if number >= asked.start:
            found.append(text_line)
        if number >= end:
            break
    if not found:
        raise Problem(f"The conversation has only {number:,} lines.", "", f"Request lines up to {number:,}.")
    return _numbered(found, asked.start)


async def _lines(run: RunContext) -> AsyncIterator[str]:
    async for entry in run.journal.read(run.session):
        match entry.event:
            case UserMessage(text=text) if entry.seq not in run.conversation.removed:
                yield f"User: {one_line(run.full_text(text), 2000)}"
            case HarnessMessage(text=text):
                yield f"Note: {one_line(text.head, 400)}"
            case Replied(text=text, calls=calls):
                if text.head:
                    yield f"Agent: {one_line(run.full_text(text), 2000)}"
                for call in calls:
                    yield f"Call {call.id}: {call.tool} {one_line(call.arguments.head, 400)}"
            case ToolReturned(call_id=call, output=output, failed=failed):
                yield f"Result of {call}{' (failed)' if failed else ''}: {first_line(output)}"
            case CallRefused(call_id=call, reason=reason):
                yield f"Result of {call} (not run): {first_line(reason)}"
            case QuestionAnswered(call_id=call, answer=answer):
                yield f"Result of {call}: {one_line(answer_text(answer), 400)}"
            case _:
                pass


def one_line(text: str, most: int) -> str:
    """Collapse text into one line of at most `most` characters."""
    words = " ".join(text[: most * 2].split())
    return words if len(words) <= most else words[: most - 1] + "…"


def _slice(lines: list[str], asked: RecallDroppedArguments) -> str:
    wanted = lines[asked.start - 1 : asked.end or None]
    if not wanted and asked.start > 1:
        raise Problem(f"The result has only {len(lines):,} lines.", "", f"Request lines up to {len(lines):,}.")
    return _numbered(wanted, asked.start, of=len(lines))


def _numbered(lines: Iterable[str], start: int, of: int = 0) -> str:
    """Return as many numbered lines as fit into MAX_CHARS, with a note on where to continue."""
    taken: list[str] = []
    size = 0
    lines = list(lines)
    for text_line in lines:
        if taken and size + len(text_line) > MAX_CHARS:
            break
        taken.append(text_line if len(text_line) <= MAX_CHARS else text_line[:MAX_CHARS] + " …")
        size += len(taken[-1]) + 1
    last = start + len(taken) - 1
    if len(taken) < len(lines) or (of and last < of):
        taken.append(f"[Lines {start:,} to {last:,}{f' of {of:,}' if of else ''}. Continue with start {last + 1}.]")
    return "\n".join(taken)
