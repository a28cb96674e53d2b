"""The `recall_dropped` tool: reads compacted results, or the whole conversation, back from the event log."""

from collections.abc import AsyncIterator, Iterable

from core.domain.events import CallRefused, EventRecord, HarnessMessage, Replied, ToolReturned, UserMessage
from core.domain.problems import Problem
from core.domain.question import QuestionAnswered, answer_text
from core.domain.steps import first_line
from core.domain.text import Attachment
from core.engine.run.run_context import RunContext
from core.models.attachments import is_text
from core.tools.recall_dropped import CONVERSATION, RecallDroppedArguments

MAX_CHARS = 16_000  # characters returned at once
MAX_LINES = 400  # lines of the conversation returned at once


async def read_dropped(
    run: RunContext, arguments: RecallDroppedArguments, max_chars: int = MAX_CHARS
) -> tuple[str, tuple[Attachment, ...]]:
    """Return the requested lines, or the requested attachment. Raise Problem if there is nothing to return."""
    max_chars = min(max_chars, MAX_CHARS)
    if attachment := run.conversation.retired_attachments.get(arguments.id):
        if is_text(attachment):
            contents = run.attachment_bytes(attachment).decode("utf-8", "replace")
            return _slice(contents.splitlines(), arguments, max_chars), ()
        return f"{attachment.name} ({attachment.media_type}, {attachment.size:,} bytes)", (attachment,)
    return await _dropped_text(run, arguments, max_chars), ()


async def _dropped_text(run: RunContext, arguments: RecallDroppedArguments, max_chars: int) -> str:
    if arguments.id == CONVERSATION:
        return await _conversation_lines(run, arguments, max_chars)
    seq = run.conversation.compacted_calls.get(arguments.id)
    if seq is None:
        recent_ids = ", ".join(list(run.conversation.compacted_calls)[-5:])
        raise Problem(
            f"No result with the id {arguments.id!r} was truncated or summarized.",
            "Other results are still in the conversation above.",
            f"The most recent ids are: {recent_ids}." if recent_ids else "",
        )
    async for entry in run.journal.read(run.session, seq - 1):
        return _slice(_result(run, entry, arguments.id).splitlines(), arguments, max_chars)
    raise Problem("The result is lost.", f"Event {seq} of the session cannot be read.", "")


def _result(run: RunContext, entry: EventRecord, call: str) -> str:
    match entry.event:
        case ToolReturned(output=text) | CallRefused(reason=text):
            return run.full_text(text)
        case QuestionAnswered(answer=answer):
            return answer_text(answer)
        case _:
            return f"[{call} was not run: the run ended before it.]"


async def _conversation_lines(run: RunContext, arguments: RecallDroppedArguments, max_chars: int) -> str:
    """Return numbered lines of the conversation from its beginning, one per message, call or result."""
    last_allowed = arguments.start + MAX_LINES - 1
    end = min(arguments.end or last_allowed, last_allowed)
    lines: list[str] = []
    number = 0
    async for text_line in _lines(run):
        number += 1
        if number >= arguments.start:
            lines.append(text_line)
        if number >= end:
            break
    if not lines:
        raise Problem(f"The conversation has only {number:,} lines.", "", f"Request lines up to {number:,}.")
    return _numbered(lines, arguments.start, max_chars)


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


def one_line(text: str, max_chars: int) -> str:
    """Collapse text into one line of at most `max_chars` characters."""
    line = " ".join(text[: max_chars * 2].split())
    return line if len(line) <= max_chars else line[: max_chars - 1] + "…"


def _slice(lines: list[str], arguments: RecallDroppedArguments, max_chars: int) -> str:
    selected = lines[arguments.start - 1 : arguments.end or None]
    if not selected and arguments.start > 1:
        raise Problem(f"The result has only {len(lines):,} lines.", "", f"Request lines up to {len(lines):,}.")
    return _numbered(selected, arguments.start, max_chars, total=len(lines))


def _numbered(lines: Iterable[str], start: int, max_chars: int, total: int = 0) -> str:
    """Return as many numbered lines as fit into `max_chars`, with a note on where to continue."""
    numbered: list[str] = []
    size = 0
    lines = list(lines)
    for text_line in lines:
        if numbered and size + len(text_line) > max_chars:
            break
        numbered.append(text_line if len(text_line) <= max_chars else text_line[:max_chars] + " …")
        size += len(numbered[-1]) + 1
    last = start + len(numbered) - 1
    if len(numbered) < len(lines) or (total and last < total):
        numbered.append(
            f"[Lines {start:,} to {last:,}{f' of {total:,}' if total else ''}. Continue with start {last + 1}.]"
        )
    return "\n".join(numbered)
