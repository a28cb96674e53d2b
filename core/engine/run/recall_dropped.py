"""The `recall_dropped` tool: reads compacted results, or the whole conversation, back from the event log."""

from collections.abc import AsyncIterator, Sequence
from typing import NamedTuple

from core.domain.events import CallRefused, EventRecord, HarnessMessage, Replied, ToolReturned, UserMessage
from core.domain.problems import Problem
from core.domain.question import QuestionAnswered, answer_text
from core.domain.steps import first_line
from core.domain.text import Attachment, Text
from core.engine.policy.untrusted import FULL_REDACTOR
from core.engine.run.run_context import RunContext
from core.models.attachments import is_text
from core.tools.recall_dropped import CONVERSATION, RecallDroppedArguments

MAX_CHARS = 16_000  # characters returned at once
MAX_LINES = 400  # lines of the conversation returned at once
MESSAGE_CHARS = 2_000  # characters of a user message or a reply in a line of the conversation
DETAIL_CHARS = 400  # characters of a note, an answer or the arguments of a call in a line of the conversation


class DroppedContent(NamedTuple):
    """The requested lines as text, with the attachment if an image or another binary file was requested."""

    text: str
    attachments: tuple[Attachment, ...] = ()


async def read_dropped(
    run: RunContext, arguments: RecallDroppedArguments, max_chars: int = MAX_CHARS
) -> DroppedContent:
    """Return what the call requests. Raise Problem if the ID is unknown or the requested lines do not exist."""
    if 0 < arguments.end < arguments.start:
        cause = f"The end is line {arguments.end:,}, and the start is line {arguments.start:,}."
        raise Problem("The end is before the start.", cause, "Request an end of 0 to read as far as possible.")
    max_chars = min(max_chars, MAX_CHARS)
    if attachment := run.conversation.retired_attachments.get(arguments.id):
        if is_text(attachment):
            contents = run.attachment_bytes(attachment).decode("utf-8", "replace")
            return DroppedContent(_slice(contents.splitlines(), arguments, max_chars))
        description = f"{attachment.name} ({attachment.media_type}, {attachment.size:,} bytes)"
        return DroppedContent(description, (attachment,))
    return DroppedContent(await _dropped_text(run, arguments, max_chars))


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
            return FULL_REDACTOR.redact(run.full_text(text))  # it may be the output of a command
        case QuestionAnswered(answer=answer):
            return answer_text(answer)
        case _:
            return f"[{call} was not run: the run ended before it.]"


async def _conversation_lines(run: RunContext, arguments: RecallDroppedArguments, max_chars: int) -> str:
    """Return the requested lines of the conversation, which has one line per message, call or result."""
    last_allowed = arguments.start + MAX_LINES - 1
    end = min(arguments.end or last_allowed, last_allowed)
    lines: list[str] = []
    number = 0
    async for text_line in _lines(run):
        number += 1
        if number > end:
            break
        if number >= arguments.start:
            lines.append(text_line)
    if not lines:
        raise _past_the_end("conversation", number)
    return _limited(lines, arguments.start, max_chars, has_more=number > end)


async def _lines(run: RunContext) -> AsyncIterator[str]:
    async for entry in run.journal.read(run.session):
        match entry.event:
            case UserMessage(text=text) if entry.seq not in run.conversation.removed:
                yield f"User: {one_line(run.full_text(text), MESSAGE_CHARS)}"
            case HarnessMessage(text=text):
                yield f"Note: {one_line(text.head, DETAIL_CHARS)}"
            case Replied(text=text, calls=calls):
                if text.head:
                    yield f"Agent: {one_line(run.full_text(text), MESSAGE_CHARS)}"
                for call in calls:
                    yield f"Call {call.id}: {call.tool} {one_line(call.arguments.head, DETAIL_CHARS)}"
            case ToolReturned(call_id=call, output=output, failed=failed):
                beginning = Text(FULL_REDACTOR.redact(output.head[:MESSAGE_CHARS]))
                yield f"Result of {call}{' (failed)' if failed else ''}: {first_line(beginning)}"
            case CallRefused(call_id=call, reason=reason):
                yield f"Result of {call} (not run): {first_line(reason)}"
            case QuestionAnswered(call_id=call, answer=answer):
                yield f"Result of {call}: {one_line(answer_text(answer), DETAIL_CHARS)}"
            case _:
                pass


def one_line(text: str, max_chars: int) -> str:
    """Collapse text into one line of at most `max_chars` characters, which ends with `…` if text was left out."""
    read = max_chars * 2  # split only the beginning of a long text into words
    line = " ".join(text[:read].split())
    if len(line) <= max_chars and not text[read:].strip():
        return line
    return line[: max_chars - 1] + "…"


def _slice(lines: list[str], arguments: RecallDroppedArguments, max_chars: int) -> str:
    selected = lines[arguments.start - 1 : arguments.end or None]
    if not selected and arguments.start > 1:
        raise _past_the_end("result", len(lines))
    has_more = arguments.start + len(selected) <= len(lines)
    return _limited(selected, arguments.start, max_chars, has_more=has_more, total=len(lines))


def _past_the_end(text: str, count: int) -> Problem:
    if not count:
        return Problem(f"The {text} is empty.", "", "")
    lines = "1 line" if count == 1 else f"{count:,} lines"
    return Problem(f"The {text} has only {lines}.", "", f"Request lines up to {count:,}.")


def _limited(lines: Sequence[str], start: int, max_chars: int, *, has_more: bool, total: int = 0) -> str:
    """Return as many lines as fit into `max_chars`, at least one, with a note on where to continue.

    `start` is the number of the first line, `has_more` whether more lines follow the last one, and `total` the number
    of lines of the whole text, or 0 if it is unknown.
    """
    shown: list[str] = []
    size = 0
    for text_line in lines:
        if shown and size + len(text_line) > max_chars:
            break
        shown.append(text_line if len(text_line) <= max_chars else text_line[:max_chars] + " …")
        size += len(shown[-1]) + 1
    last = start + len(shown) - 1
    if has_more or len(shown) < len(lines):
        of_total = f" of {total:,}" if total else ""
        shown.append(f"[Lines {start:,} to {last:,}{of_total}. Continue with start {last + 1}.]")
    return "\n".join(shown)
