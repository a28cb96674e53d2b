"""Imports OpenTelemetry spans that follow the GenAI or OpenInference conventions, from a file or over the network."""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from core.domain.events import Usage
from core.domain.text import to_utf8
from core.exchange.importers.foreign_call import ForeignCall
from core.exchange.importers.message_parts import arguments_json
from core.exchange.importers.record import (
    MAX_LINE_BYTES,
    OpenSession,
    TranscriptRecord,
    open_transcript,
    parse_cost,
    parse_count,
    parse_line,
    read_document,
    read_lines,
    to_json,
)
from core.exchange.importers.session_builder import SessionBuilder
from core.exchange.otlp_spans import OtlpSpan, from_json

CHATS = frozenset({"chat", "generate_content", "text_completion"})
OPERATIONS = CHATS | {"execute_tool", "invoke_agent", "invoke_workflow"}
OWN_SCOPE = "journeyman"  # the scope of our own spans, whose input messages do not repeat earlier ones
SESSION_ATTRIBUTES = ("journeyman.title", "journeyman.folder")
MESSAGE_ATTRIBUTES = ("gen_ai.input.messages", "gen_ai.output.messages")
USAGE_ATTRIBUTES = ("gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens")
MODEL_ATTRIBUTES = ("gen_ai.response.model", "gen_ai.request.model")
FLAT_MESSAGE = re.compile(r"(\d+)\.message\.(.*)")
FLAT_TOOL_CALL = re.compile(r"tool_calls\.(\d+)\.tool_call\.(.*)")
FLAT_PART = re.compile(r"contents\.(\d+)\.message_content\.text")


@dataclass(slots=True)
class TraceMessage:
    """A message in the attributes of a span. `results` are tool results as pairs of call ID and output."""

    role: str
    text: str = ""
    reasoning: str = ""
    calls: list[ForeignCall] = field(default_factory=list)
    results: list[tuple[str, str]] = field(default_factory=list)


class OpenTelemetryImporter:
    """Imports each trace as a session, with one record for each span, in the order in which the spans ended."""

    agent = "OpenTelemetry"
    default_locations: tuple[str, ...] = ()

    def recognizes(self, path: Path, head: bytes) -> bool:
        return b'"resourceSpans"' in head

    def read_records(self, path: Path) -> Iterator[TranscriptRecord]:
        spans = sort_spans(_read_spans(path))
        for number, span in enumerate(spans, 1):
            size = path.stat().st_size * number // len(spans)
            yield TranscriptRecord(span.trace, to_json(asdict(span)), span, size, to_utf8(span.id))

    def convert(self, record: TranscriptRecord, builder: SessionBuilder, open_session: OpenSession) -> bool:
        return add_span(record.value, builder)


def _read_spans(path: Path) -> list[OtlpSpan]:
    """Read the spans of a file that is one JSON document, or has one JSON document per line."""
    with open_transcript(path) as file:
        _, first = parse_line(file.readline(MAX_LINE_BYTES).strip())
    if not isinstance(first, dict):
        return from_json(read_document(path))
    return [span for record in read_lines(path, "") for span in from_json(record.value)]


def span_order(span: OtlpSpan) -> tuple[int, int, int]:
    """Return the key to sort spans by end time.

    At equal times, replies precede tool calls, and inner spans outer ones.
    """
    return span.end, ("chat", "tool", "", "agent").index(span_kind(span)), -span.start


@dataclass(slots=True)
class _TraceState:
    """What was read of a trace. Its spans repeat earlier messages, which must be added only once.

    Attributes:
        span_ids: The IDs of the spans that were read.
        instructions: The hashes of the system instructions that were added.
        user_messages: How often each user message was added, by the hash of its text.
        call_ids: The IDs of all tool calls.
        unnamed_calls: The IDs given to calls that have none in the trace.
        open_calls: The tool of each call that has no result yet, by call ID.
    """

    span_ids: set[str] = field(default_factory=set)
    instructions: set[str] = field(default_factory=set)
    user_messages: Counter[str] = field(default_factory=Counter)
    call_ids: list[str] = field(default_factory=list)
    unnamed_calls: list[str] = field(default_factory=list)
    open_calls: dict[str, str] = field(default_factory=dict)


def sort_spans(spans: Sequence[OtlpSpan]) -> list[OtlpSpan]:
    """Return the spans sorted by `span_order`.

    The title and folder of a trace, which its root span has, are copied to its first span.
    """
    roots = [span for span in spans if not span.parent]
    details = {
        span.trace: {name: span.attributes[name] for name in SESSION_ATTRIBUTES if name in span.attributes}
        for span in roots
    }
    ordered: list[OtlpSpan] = []
    for span in sorted(spans, key=span_order):
        extra = details.pop(span.trace, None)
        ordered.append(replace(span, attributes={**extra, **span.attributes}) if extra else span)
    return ordered


def add_span(span: OtlpSpan, builder: SessionBuilder) -> bool:
    """Add a span to the session of its trace. Return whether the span was understood."""
    span_ids = builder.state(_TraceState).span_ids
    if span.id in span_ids:
        return True  # a sender repeats a span if it received no reply
    span_ids.add(span.id)
    builder.fallback_time = builder.fallback_time or span.start
    title, folder = (str(span.attributes.get(name) or "") for name in SESSION_ATTRIBUTES)
    builder.set_details(title=title, folder=folder)
    match span_kind(span):
        case "chat":
            _chat(span, builder)
        case "tool":
            _tool(span, builder)
        case "agent":
            _agent(span, builder)
        case _:
            if not span.parent:
                _agent(span, builder)
            return False
    return True


def span_kind(span: OtlpSpan) -> str:
    attributes = span.attributes
    style = attributes.get("openinference.span.kind")
    operation = attributes.get("gen_ai.operation.name")
    if not isinstance(operation, str):
        operation = "" if style else _operation(span)
    if operation in CHATS or style == "LLM":
        return "chat"
    if operation == "execute_tool" or style == "TOOL":
        return "tool"
    return "agent" if operation in ("invoke_agent", "invoke_workflow") or style == "AGENT" else ""


def _operation(span: OtlpSpan) -> str:
    """Guess the operation of a span that names none: from the span's name, or from attributes of model requests."""
    attributes = span.attributes
    operation = span.name.split(" ")[0]
    if operation in OPERATIONS and any(name.startswith("gen_ai.") for name in attributes):
        return operation
    has_messages = any(name in attributes for name in MESSAGE_ATTRIBUTES)
    has_usage = any(name in attributes for name in USAGE_ATTRIBUTES) and any(
        name in attributes for name in MODEL_ATTRIBUTES
    )
    return "chat" if (has_messages or has_usage) and "gen_ai.agent.name" not in attributes else ""


def _chat(span: OtlpSpan, builder: SessionBuilder) -> None:
    attributes = span.attributes
    _keep_instructions(attributes.get("gen_ai.system_instructions"), builder)
    times: Counter[str] = Counter()
    for message in _with_call_ids(messages(attributes, "input"), builder.state(_TraceState).unnamed_calls):
        _add_message(message, times, span, builder)
    replies = [message for message in messages(attributes, "output") if message.role in ("assistant", "model", "")]
    model = (
        attributes.get("gen_ai.response.model")
        or attributes.get("gen_ai.request.model")
        or attributes.get("llm.model_name")
    )
    cost = attributes.get("operation.cost")
    builder.add_reply(
        "\n".join(reply.text for reply in replies if reply.text), requested_at=span.start, at=span.end,
        reasoning="\n".join(reply.reasoning for reply in replies if reply.reasoning),
        calls=[_register(call, builder) for reply in replies for call in reply.calls], usage=_usage(attributes),
        model=str(model or ""), cost=parse_cost(cost),
    )  # fmt: skip
    builder.complete_reply()
    if span.failed:
        builder.fail_run(span.status_message or "the request failed", span.end)


def _with_call_ids(inputs: list[TraceMessage], unnamed_calls: Sequence[str]) -> list[TraceMessage]:
    """Give the results that have no call ID the IDs of the latest `unnamed_calls`, in order.

    Each request repeats the results of the calls before it, unless the program has dropped the first ones.
    """
    count = sum(not id for message in inputs for id, _ in message.results)
    ids = iter(unnamed_calls[max(0, len(unnamed_calls) - count) :])
    return [
        replace(message, results=[(id or next(ids, ""), output) for id, output in message.results])
        for message in inputs
    ]


def _keep_instructions(instructions: Any, builder: SessionBuilder) -> None:
    """Store system instructions as an unrecognized record, unless the same text was stored before."""
    raw = instructions if isinstance(instructions, str) else arguments_json(instructions)
    known = builder.state(_TraceState).instructions
    if instructions and _mark(raw) not in known:
        known.add(_mark(raw))
        builder.keep_unrecognized("system", raw)


def _mark(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=12).hexdigest()


def _add_message(message: TraceMessage, times: Counter[str], span: OtlpSpan, builder: SessionBuilder) -> None:
    """Add an input message of a request, unless an earlier request had it: each request repeats the conversation.

    `times` counts equal texts in this request, so that a message that the user sent twice is added twice.
    """
    state = builder.state(_TraceState)
    for id, output in message.results:
        if id in state.open_calls:
            _add_result(id, output, span.start, False, builder)
    if message.role in ("system", "developer"):
        _keep_instructions(message.text, builder)
    if message.role != "user" or not message.text:
        return
    mark = _mark(message.text)
    times[mark] += 1
    if span.scope == OWN_SCOPE or times[mark] > state.user_messages[mark]:
        state.user_messages[mark] += 1
        builder.add_user_message(message.text, span.start)


def _tool(span: OtlpSpan, builder: SessionBuilder) -> None:
    attributes, state = span.attributes, builder.state(_TraceState)
    name = str(attributes.get("gen_ai.tool.name") or attributes.get("tool.name") or span.name)
    id = str(attributes.get("gen_ai.tool.call.id") or "")
    if not id:
        id = next((call for call, tool in state.open_calls.items() if tool == name), f"span {span.id}")
    if id not in state.open_calls:
        if id in state.call_ids:
            return  # the result was in the input of the next request, whose span came first
        arguments = attributes.get(
            "gen_ai.tool.call.arguments", attributes.get("input.value", attributes.get("tool.parameters"))
        )
        builder.add_reply(at=span.start, calls=[_register(ForeignCall(id, name, arguments_json(arguments)), builder)])
    output = attributes.get("gen_ai.tool.call.result", attributes.get("output.value", span.status_message))
    _add_result(
        id,
        output if isinstance(output, str) else arguments_json(output),
        span.end,
        span.failed,
        builder,
        parse_count(attributes["journeyman.exit_code"]) if "journeyman.exit_code" in attributes else None,
    )


def _agent(span: OtlpSpan, builder: SessionBuilder) -> None:
    """End the run, if this is the root span."""
    if span.parent:
        return
    status = span.attributes.get("journeyman.status")
    if span.failed:
        builder.fail_run(span.status_message or "it failed", span.end)
    elif status:
        builder.stop_run(str(status), span.end)
    else:
        builder.complete_run(at=span.end)


def _register(call: ForeignCall, builder: SessionBuilder) -> ForeignCall:
    """Note a tool call that has no result yet, and return it. A call without an ID gets one."""
    state = builder.state(_TraceState)
    id = call.id or f"call {len(state.call_ids)}"
    state.unnamed_calls += [] if call.id else [id]
    state.call_ids.append(id)
    state.open_calls[id] = call.tool
    return ForeignCall(id, call.tool, call.arguments)


def _add_result(
    id: str, output: str, at: int, failed: bool, builder: SessionBuilder, exit_code: int | None = None
) -> None:  # fmt: skip
    builder.state(_TraceState).open_calls.pop(id, None)
    builder.add_result(id, output, at=at, failed=failed, exit_code=exit_code)


def messages(attributes: dict[str, Any], direction: str) -> list[TraceMessage]:
    """Return the messages of a request (`input`) or of a reply (`output`), in the GenAI or OpenInference convention."""
    value = attributes.get(f"gen_ai.{direction}.messages")
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            value = None
    if isinstance(value, list):
        return [_message_from_parts(message) for message in value if isinstance(message, dict)]
    return _flattened(attributes, f"llm.{direction}_messages.")


def _message_from_parts(message: dict[str, Any]) -> TraceMessage:
    result = TraceMessage(str(message.get("role") or ""))
    parts = message.get("parts")
    for part in parts if isinstance(parts, list) else []:
        if not isinstance(part, dict):
            continue
        content = part.get("content")
        match part.get("type"):
            case "text":
                result.text = "\n".join(filter(None, (result.text, str(content or ""))))
            case "reasoning" | "thinking":
                result.reasoning += str(content or "")
            case "tool_call":
                name = str(part.get("name") or "tool")
                result.calls.append(ForeignCall(str(part.get("id") or ""), name, arguments_json(part.get("arguments"))))
            case "tool_call_response":
                output = part.get("response", part.get("result"))
                text = output if isinstance(output, str) else arguments_json(output)
                result.results.append((str(part.get("id") or ""), text))
            case _:
                pass
    return result


def _flattened(attributes: dict[str, Any], start: str) -> list[TraceMessage]:
    """Parse the flat attributes of OpenInference, such as `llm.input_messages.0.message.role`."""
    messages: dict[int, TraceMessage] = {}
    calls: dict[tuple[int, int], dict[str, str]] = {}
    answers: dict[int, str] = {}
    for key, value in attributes.items():
        match = FLAT_MESSAGE.fullmatch(key.removeprefix(start)) if key.startswith(start) else None
        if match is None:
            continue
        index, field = int(match[1]), match[2]
        message = messages.setdefault(index, TraceMessage(""))
        if field == "role":
            message.role = str(value)
        elif field == "content" or FLAT_PART.fullmatch(field):
            message.text = "\n".join(filter(None, (message.text, str(value or ""))))
        elif field == "tool_call_id":
            answers[index] = str(value)
        elif inner := FLAT_TOOL_CALL.fullmatch(field):
            calls.setdefault((index, int(inner[1])), {})[inner[2]] = str(value)
    for (index, _), call in sorted(calls.items()):
        name, arguments = call.get("function.name", "tool"), call.get("function.arguments", "{}")
        messages[index].calls.append(ForeignCall(call.get("id", ""), name, arguments))
    for index, message in messages.items():
        if index in answers or message.role == "tool":
            message.results.append((answers.get(index, ""), message.text))
    return [messages[index] for index in sorted(messages)]


def _usage(attributes: dict[str, Any]) -> Usage:
    def count(*names: str) -> int:
        return next((parse_count(attributes[name]) for name in names if name in attributes), 0)

    return Usage(
        count("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt"),
        count("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion"),
        count("gen_ai.usage.cache_read.input_tokens", "llm.token_count.prompt_details.cache_read"),
        count("gen_ai.usage.cache_creation.input_tokens", "llm.token_count.prompt_details.cache_write"),
        count("gen_ai.usage.reasoning.output_tokens", "llm.token_count.completion_details.reasoning"),
    )
