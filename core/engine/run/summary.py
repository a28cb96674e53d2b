"""Writes the summary of compacted messages with a model, or generates an outline if no model succeeds."""

import asyncio
import contextlib
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from string import Template

from core.domain.events import RequestSent, Usage
from core.domain.messages import Message
from core.domain.problems import ErrorDetails, Problem
from core.domain.provenance import new_boundary
from core.domain.text import Text
from core.domain.tiers import ModelChoice, choose_model
from core.engine.policy.untrusted import FULL_REDACTOR
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
# Maximum characters of a user message, a reply, a call and a result. If the transcript is too long, use the next step.
SHORTENING_STEPS = ((2000, 1500, 400, 600), (1000, 600, 200, 200), (400, 300, 100, 80))
TRANSCRIPT_SHARE = 0.6  # share of the context window that the transcript may take; the rest is for the reply
UNKNOWN_WINDOW = 32_000  # tokens assumed if the context window of a model is unknown
MAX_TO_DO_TOKENS = 1_000  # tokens of the to-do list after a summary
TO_DO_HEADER = "\n\nYour to-do list:\n"
SUMMARY_HEADER = (
    "[Summary of the earlier conversation, written by Journeyman to save context. "
    'Read the original with {tool} and the id "{talk}".]\n'
)


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
    error, spent, cost = ErrorDetails("The summary was empty."), Usage(), None
    for name in (choice.model, *choice.fallbacks):
        try:
            text, last = await _request_summary(run, name, choice, messages, max_tokens)
        except Problem as problem:
            error = problem.details
            continue
        except TimeoutError:
            error = ErrorDetails("The summary took too long.", f"It was not complete after {TIMEOUT_S:g} seconds.")
            continue
        used = last.usage or Usage()
        spent = Usage(spent.input + used.input, spent.output + used.output)
        cost = cost if last.cost is None else (cost or 0.0) + last.cost
        if len(text) >= MIN_SUMMARY_CHARS:
            return ContextSummary(header + shorten(text, max_tokens), name, spent, cost=cost)
    return ContextSummary(header + shorten(outline(messages, max_tokens), max_tokens), "", spent, error, cost)


async def _request_summary(
    run: RunContext, name: str, choice: ModelChoice, messages: Sequence[Message], max_tokens: int
) -> tuple[str, ReplyDelta]:
    """Request a summary from the model `name`. Return its text, and the merged delta with the usage and cost.

    Stop reading once the reply is ten times longer than allowed.
    """
    model = run.model_of(name)
    max_chars = round((model.window or UNKNOWN_WINDOW) * TRANSCRIPT_SHARE * CHARS_PER_TOKEN)
    request = Request(
        [Message("user", Text(_prompt(transcript(messages, max_chars), max_tokens)))],
        max(0, run.conversation.compactions),
        "summary",
    )
    window, why = model.window, choice.reason or "a summary"
    await run.record(
        RequestSent(
            model=name,
            turn=run.conversation.turns,
            tier=choice.tier,
            reason=why,
            tokens={SUMMARY: estimate_tokens(request.messages[0].text.head)},
            context_window=window,
            purpose="summary",
        )
    )
    chunks: list[str] = []
    last, size = ReplyDelta(), 0
    stream = model.stream(request)
    async with asyncio.timeout(TIMEOUT_S), contextlib.aclosing(stream) as deltas:
        async for delta in deltas:
            chunks.append(delta.text)
            last = last.merge(delta)
            size += len(delta.text)
            if size > max_tokens * CHARS_PER_TOKEN * 10:
                break
    return "".join(chunks).strip(), last


def to_do_list(messages: Sequence[Message], summarized: Collection[int], full_text: Callable[[Text], str]) -> str:
    """Return the agent's current to-do list, to append to a summary. "" if it has none or the list stays in context.

    `summarized` are the indexes of the messages that the summary replaces. One of them may be an earlier summary that
    ends with the list.
    """
    for index, message in reversed(tuple(enumerate(messages))):
        if message.category == TO_DO and not message.failed:
            return "" if index not in summarized else TO_DO_HEADER + shorten(full_text(message.text), MAX_TO_DO_TOKENS)
        if message.category == SUMMARY and index in summarized:
            _, separator, earlier = full_text(message.text).rpartition(TO_DO_HEADER)
            return separator + earlier if separator else ""
    return ""


def _prompt(conversation: str, max_tokens: int) -> str:
    text = (resources.files("resources") / "prompts" / "summary.md").read_text("utf-8")
    return Template(text).substitute(words=max(60, max_tokens // 2), boundary=new_boundary(), talk=conversation).strip()


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
        lines = [line for message in redacted for line in _transcript_lines(message, *limits)]
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
        for line in _transcript_lines(_redacted(message), 500, 200, 120, 80)
    ]
    room = max(100, max_tokens - estimate_tokens(older))
    size = estimate_tokens("\n".join(lines))
    if size > room:
        lines = _without_middle(lines, int(sum(map(len, lines)) * room / size))
    return "\n".join(part for part in (older, *lines) if part)


def _redacted(message: Message) -> Message:
    """Return the message with secrets redacted. This must precede shortening, which could cut a secret in two."""
    calls = (replace(call, arguments=Text(FULL_REDACTOR.redact(call.arguments.head))) for call in message.calls)
    return replace(message, text=Text(FULL_REDACTOR.redact(message.text.head)), calls=tuple(calls))


def _transcript_lines(message: Message, person: int, agent: int, call: int, result: int) -> list[str]:
    head = message.text.head
    if message.role == "tool":
        return [f"Result of {message.call_id}{' (failed)' if message.failed else ''}: {one_line(head, result)}"]
    if message.category == SUMMARY:
        return ["Earlier summary:", head.partition("\n")[2], "After that summary:"]
    if message.role == "assistant":
        lines = [f"Agent: {one_line(head, agent)}"] if head else []
        return lines + [
            f"Call {tool_call.id}: {tool_call.tool} {one_line(tool_call.arguments.head, call)}"
            for tool_call in message.calls
        ]
    label = {USER: "User", HARNESS: "Note"}.get(message.category, "Context")
    return [f"{label}: {one_line(head, person)}"]


def _without_middle(lines: list[str], max_chars: int) -> list[str]:
    """Return the first lines, up to a third of `max_chars` characters, and the last lines in the remaining space."""
    first, last, size = 0, 0, 0
    while first < len(lines) and size + len(lines[first]) < max_chars / 3:
        size += len(lines[first]) + 1
        first += 1
    while last < len(lines) - first and size + len(lines[-1 - last]) < max_chars:
        size += len(lines[-1 - last]) + 1
        last += 1
    omitted = len(lines) - first - last
    return [*lines[:first], *([f"[… {omitted:,} lines omitted …]"] if omitted else []), *lines[len(lines) - last :]]
