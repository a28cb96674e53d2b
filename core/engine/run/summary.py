"""Writes the summary of compacted messages with a model, or generates an outline if no model succeeds."""

import asyncio
import contextlib
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from core.domain.events import RequestSent, Usage
from core.domain.messages import Message
from core.domain.problems import ErrorDetails, Problem
from core.domain.provenance import new_boundary
from core.domain.text import Text
from core.domain.tiers import ModelChoice, choose_model
from core.engine.policy.untrusted import FULL_REDACTOR
from core.engine.prompting.prompt_templates import fill_template
from core.engine.run.recall_dropped import one_line
from core.engine.run.run_context import RunContext
from core.engine.state.compaction import HARNESS, SUMMARY, TO_DO, USER
from core.models.model import ReplyDelta, Request
from core.models.token_estimate import estimate_tokens
from core.tools.recall_dropped import CONVERSATION, RECALL_DROPPED

CHARS_PER_TOKEN = 3.0  # a low estimate, so that a text cut to this length has no more tokens than allowed
TIMEOUT_S = 180.0  # time limit for writing a summary
MIN_SUMMARY_CHARS = 40  # characters; a shorter summary counts as empty
MAX_SUMMARY_TOKENS = 4_000  # tokens of a summary
TRANSCRIPT_SHARE = 0.6  # share of the context window that the transcript may take; the rest is for the reply
UNKNOWN_WINDOW = 32_000  # tokens assumed if the context window of a model is unknown
MAX_TO_DO_TOKENS = 1_000  # tokens of the to-do list after a summary
TO_DO_HEADER = "\n\nYour to-do list:\n"
SUMMARY_HEADER = (
    "[Summary of the earlier conversation, written by Journeyman to save context. "
    'Read the original with {tool} and the id "{talk}".]\n'
)


class _MaxChars(NamedTuple):
    """The maximum characters of each kind of line in a transcript."""

    user_message: int
    reply: int
    call: int
    result: int


# If the transcript is too long, the next step is used.
SHORTENING_STEPS = (
    _MaxChars(user_message=2000, reply=1500, call=400, result=600),
    _MaxChars(user_message=1000, reply=600, call=200, result=200),
    _MaxChars(user_message=400, reply=300, call=100, result=80),
)
OUTLINE_CHARS = _MaxChars(user_message=500, reply=200, call=120, result=80)


class _SummaryReply(NamedTuple):
    """The text of a model's summary, and what the request for it used. `cost` is in US dollars; None if unknown."""

    text: str
    usage: Usage
    cost: float | None


@dataclass(frozen=True, slots=True)
class ContextSummary:
    """The text that replaces the compacted messages.

    `model` is the name of the model that wrote it. If empty, the text is a generated outline, and `error` says why
    every model failed.
    """

    text: str
    model: str = ""
    usage: Usage = Usage()
    error: ErrorDetails | None = None
    cost: float | None = None


async def summarize(run: RunContext, messages: Sequence[Message], max_tokens: int) -> ContextSummary:
    """Summarize messages in at most `max_tokens`.

    The models of the summary tier are tried in turn. If none succeeds, the summary is a generated outline.
    """
    max_tokens = min(max_tokens, MAX_SUMMARY_TOKENS)
    header = SUMMARY_HEADER.format(tool=RECALL_DROPPED, talk=CONVERSATION)
    choice = choose_model(run.tiers(), run.model_name, ("summary",))
    error = ErrorDetails("The summary was empty.")
    usage = Usage()
    cost: float | None = None
    for name in (choice.model, *choice.fallbacks):
        try:
            reply = await _request_summary(run, name, choice, messages, max_tokens)
        except Problem as problem:
            error = problem.details
            continue
        except TimeoutError:
            error = ErrorDetails("The summary took too long.", f"It was not complete after {TIMEOUT_S:g} seconds.")
            continue
        usage = Usage(input=usage.input + reply.usage.input, output=usage.output + reply.usage.output)
        cost = cost if reply.cost is None else (cost or 0.0) + reply.cost
        if len(reply.text) >= MIN_SUMMARY_CHARS:
            return ContextSummary(header + shorten(reply.text, max_tokens), name, usage, cost=cost)
    text = header + shorten(outline(messages, max_tokens), max_tokens)
    return ContextSummary(text, usage=usage, error=error, cost=cost)


async def _request_summary(
    run: RunContext, name: str, choice: ModelChoice, messages: Sequence[Message], max_tokens: int
) -> _SummaryReply:
    """Request a summary from the model `name`. Stop reading once the reply is ten times longer than allowed."""
    model = run.model_of(name)
    max_chars = round((model.window or UNKNOWN_WINDOW) * TRANSCRIPT_SHARE * CHARS_PER_TOKEN)
    prompt = _prompt(transcript(messages, max_chars), max_tokens)
    request = Request([Message("user", Text(prompt))], script_position=run.conversation.compactions, purpose="summary")
    await run.record(
        RequestSent(
            model=name,
            turn=run.conversation.turns,
            tier=choice.tier,
            reason=choice.reason or "a summary",
            tokens={SUMMARY: estimate_tokens(prompt)},
            context_window=model.window,
            purpose="summary",
        )
    )
    chunks: list[str] = []
    size = 0
    merged = ReplyDelta()
    async with asyncio.timeout(TIMEOUT_S), contextlib.aclosing(model.stream(request)) as deltas:
        async for delta in deltas:
            chunks.append(delta.text)
            merged = merged.merge(delta)
            size += len(delta.text)
            if size > max_tokens * CHARS_PER_TOKEN * 10:
                break
    return _SummaryReply("".join(chunks).strip(), merged.usage or Usage(), merged.cost)


def to_do_list(messages: Sequence[Message], summarized: Collection[int], full_text: Callable[[Text], str]) -> str:
    """Return the agent's current to-do list, to append to a summary. "" if it has none or the list stays in context.

    `summarized` are the indexes of the messages that the summary replaces. One of them may be an earlier summary that
    ends with the list.
    """
    for index, message in reversed(tuple(enumerate(messages))):
        if message.category == TO_DO and not message.failed:
            if index not in summarized:
                return ""
            return TO_DO_HEADER + shorten(full_text(message.text), MAX_TO_DO_TOKENS)
        if message.category == SUMMARY and index in summarized:
            _, separator, earlier = full_text(message.text).rpartition(TO_DO_HEADER)
            return separator + earlier if separator else ""
    return ""


def _prompt(conversation: str, max_tokens: int) -> str:
    words = max(60, max_tokens // 2)
    return fill_template("summary", words=str(words), boundary=new_boundary(), talk=conversation)


def shorten(text: str, max_tokens: int) -> str:
    """Shorten text to about `max_tokens`, preferably at the end of a line or sentence."""
    size = estimate_tokens(text)
    if size <= max_tokens:
        return text
    cut = text[: int(len(text) * max_tokens / size)]
    end = max(cut.rfind("\n"), cut.rfind(". ") + 1)
    return (cut[:end] if end > len(cut) // 2 else cut).rstrip() + " …"


def transcript(messages: Sequence[Message], max_chars: int) -> str:
    """Return the messages as text of at most `max_chars` characters.

    If they do not fit, each message is shortened first, and then the middle of the conversation is left out.
    """
    lines: list[str] = []
    redacted = [_redacted(message) for message in messages]
    for limits in SHORTENING_STEPS:
        lines = [line for message in redacted for line in _transcript_lines(message, limits)]
        if sum(map(len, lines)) + len(lines) <= max_chars:
            return "\n".join(lines)
    return "\n".join(_without_middle(lines, max_chars))


def outline(messages: Sequence[Message], max_tokens: int) -> str:
    """Return an outline of at most `max_tokens` with a line for each message, call and result."""
    older = next((message.text.head for message in messages if message.category == SUMMARY), "")
    older = shorten(older.partition("\n")[2], max_tokens // 2) if older else ""
    lines = [
        line
        for message in messages
        if message.category != SUMMARY
        for line in _transcript_lines(_redacted(message), OUTLINE_CHARS)
    ]
    remaining_tokens = max(100, max_tokens - estimate_tokens(older))
    size = estimate_tokens("\n".join(lines))
    if size > remaining_tokens:
        lines = _without_middle(lines, int(sum(map(len, lines)) * remaining_tokens / size))
    return "\n".join(part for part in (older, *lines) if part)


def _redacted(message: Message) -> Message:
    """Return the message with secrets redacted. This must precede shortening, which could cut a secret in two."""
    calls = (replace(call, arguments=Text(FULL_REDACTOR.redact(call.arguments.head))) for call in message.calls)
    return replace(message, text=Text(FULL_REDACTOR.redact(message.text.head)), calls=tuple(calls))


def _transcript_lines(message: Message, limits: _MaxChars) -> list[str]:
    text = message.text.head
    if message.role == "tool":
        return [f"Result of {message.call_id}{' (failed)' if message.failed else ''}: {one_line(text, limits.result)}"]
    if message.category == SUMMARY:
        return ["Earlier summary:", text.partition("\n")[2], "After that summary:"]
    if message.role == "assistant":
        lines = [f"Agent: {one_line(text, limits.reply)}"] if text else []
        return lines + [
            f"Call {call.id}: {call.tool} {one_line(call.arguments.head, limits.call)}" for call in message.calls
        ]
    label = {USER: "User", HARNESS: "Note"}.get(message.category, "Context")
    return [f"{label}: {one_line(text, limits.user_message)}"]


def _without_middle(lines: list[str], max_chars: int) -> list[str]:
    """Return the first lines, up to a third of `max_chars` characters, and the last lines in the remaining space."""
    size = 0
    start = 0  # The index of the first line that is left out.
    while start < len(lines) and size + len(lines[start]) < max_chars / 3:
        size += len(lines[start]) + 1
        start += 1
    end = len(lines)  # The index of the first line after those that are left out.
    while end > start and size + len(lines[end - 1]) < max_chars:
        size += len(lines[end - 1]) + 1
        end -= 1
    if start == end:
        return lines
    return [*lines[:start], f"[… {end - start:,} lines omitted …]", *lines[end:]]
