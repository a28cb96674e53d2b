"""Imports OpenTelemetry spans that follow the GenAI or OpenInference conventions, from a file or over the network."""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from core.domain.events import Usage
from core.domain.text import to_utf8
from core.exchange.importers.foreign_call import ForeignCall
from core.exchange.importers.message_parts import arguments_json, dicts, output_text
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
FLAT_MESSAGE = re.compile(r"(?P<index>\d+)\.message\.(?P<field>.*)")
FLAT_TOOL_CALL = re.compile(r"tool_calls\.(?P<index>\d+)\.tool_call\.(?P<field>.*)")
FLAT_PART = re.compile(r"contents\.(\d+)\.message_content\.text")


class TraceToolResult(NamedTuple):
    """A tool result in a message of a span. `call_id` is empty if the trace does not name the call."""

    call_id: str
    output: str


@dataclass(slots=True)
class TraceMessage:
    """A message in the attributes of a span."""

    role: str
    text: str = ""
    reasoning: str = ""
    calls: list[ForeignCall] = field(default_factory=list)
    results: list[TraceToolResult] = field(default_factory=list)


class OpenTelemetryImporter:
    """Imports each trace as a session, with one record for each span, in the order in which the spans ended."""

    agent = "OpenTelemetry"
    default_locations: tuple[str, ...] = ()

    def recognizes(self, path: Path, head: bytes) -> bool:
        return b'"resourceSpans"' in head

    def read_records(self, path: Path) -> Iterator[TranscriptRecord]:
        spans = sort_spans(_read_spans(path))
        for number, span in enumerate(spans, 1):
            bytes_read = path.stat().st_size * number // len(spans)
            yield TranscriptRecord(span.trace, to_json(asdict(span)), span, bytes_read, identity=to_utf8(span.id))

    def convert(self, record: TranscriptRecord, builder: SessionBuilder, open_session: OpenSession) -> bool:
        return add_span(record.value, builder)


def _read_spans(path: Path) -> list[OtlpSpan]:
    """Read the spans of a file that is one JSON document, or has one JSON document per line."""
    with open_transcript(path) as file:
        first_line = parse_line(file.readline(MAX_LINE_BYTES).strip())
    if not isinstance(first_line.value, dict):
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
            _add_chat(span, builder)
        case "tool":
            _add_tool_span(span, builder)
        case "agent":
            _add_agent_span(span, builder)
        case _:
            _add_agent_span(span, builder)
            return False
    return True


def span_kind(span: OtlpSpan) -> str:
    """Return "chat" for a model request, "tool" for a tool call, "agent" for a run, and "" for any other span."""
    openinference_kind = span.attributes.get("openinference.span.kind")
    operation = span.attributes.get("gen_ai.operation.name")
    if not isinstance(operation, str):
        operation = "" if openinference_kind else _guess_operation(span)
    if operation in CHATS or openinference_kind == "LLM":
        return "chat"
    if operation == "execute_tool" or openinference_kind == "TOOL":
        return "tool"
    if operation in ("invoke_agent", "invoke_workflow") or openinference_kind == "AGENT":
        return "agent"
    return ""


def _guess_operation(span: OtlpSpan) -> str:
    """Guess the operation of a span that names none: from the span's name, or from attributes of model requests."""
    attributes = span.attributes
    operation = span.name.split(" ")[0]
    if operation in OPERATIONS and any(name.startswith("gen_ai.") for name in attributes):
        return operation
    has_messages = any(name in attributes for name in MESSAGE_ATTRIBUTES)
    has_usage = any(name in attributes for name in USAGE_ATTRIBUTES)
    has_model = any(name in attributes for name in MODEL_ATTRIBUTES)
    is_chat = (has_messages or (has_usage and has_model)) and "gen_ai.agent.name" not in attributes
    return "chat" if is_chat else ""


def _add_chat(span: OtlpSpan, builder: SessionBuilder) -> None:
    attributes = span.attributes
    _keep_instructions(attributes.get("gen_ai.system_instructions"), builder)
    repeats: Counter[str] = Counter()
    for message in _with_call_ids(parse_messages(attributes, "input"), builder.state(_TraceState).unnamed_calls):
        _add_input_message(message, repeats, span, builder)
    outputs = parse_messages(attributes, "output")
    replies = [message for message in outputs if message.role in ("assistant", "model", "")]
    model = (
        attributes.get("gen_ai.response.model")
        or attributes.get("gen_ai.request.model")
        or attributes.get("llm.model_name")
    )
    builder.add_reply(
        "\n".join(reply.text for reply in replies if reply.text),
        requested_at=span.start,
        at=span.end,
        reasoning="\n".join(reply.reasoning for reply in replies if reply.reasoning),
        calls=[_register(call, builder) for reply in replies for call in reply.calls],
        usage=_parse_usage(attributes),
        model=str(model or ""),
        cost=parse_cost(attributes.get("operation.cost")),
    )
    builder.complete_reply()
    if span.failed:
        builder.fail_run(span.status_message or "the request failed", span.end)


def _with_call_ids(inputs: list[TraceMessage], unnamed_calls: Sequence[str]) -> list[TraceMessage]:
    """Give the results that have no call ID the IDs of the latest `unnamed_calls`, in order.

    Each request repeats the results of the calls before it, unless the program has dropped the first ones.
    """
    unnamed_results = sum(not result.call_id for message in inputs for result in message.results)
    call_ids = iter(unnamed_calls[max(0, len(unnamed_calls) - unnamed_results) :])

    def with_call_id(result: TraceToolResult) -> TraceToolResult:
        return result if result.call_id else result._replace(call_id=next(call_ids, ""))

    return [replace(message, results=[with_call_id(result) for result in message.results]) for message in inputs]


def _keep_instructions(instructions: Any, builder: SessionBuilder) -> None:
    """Store system instructions as an unrecognized record, unless the same text was stored before."""
    raw = arguments_json(instructions)
    known = builder.state(_TraceState).instructions
    if instructions and _text_hash(raw) not in known:
        known.add(_text_hash(raw))
        builder.keep_unrecognized("system", raw)


def _text_hash(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=12).hexdigest()


def _add_input_message(message: TraceMessage, repeats: Counter[str], span: OtlpSpan, builder: SessionBuilder) -> None:
    """Add an input message of a request, unless an earlier request had it: each request repeats the conversation.

    `repeats` counts equal texts in this request, so that a message that the user sent twice is added twice.
    """
    state = builder.state(_TraceState)
    for result in message.results:
        if result.call_id in state.open_calls:
            _add_result(result.call_id, result.output, builder, at=span.start)
    if message.role in ("system", "developer"):
        _keep_instructions(message.text, builder)
    if message.role != "user" or not message.text:
        return
    text_hash = _text_hash(message.text)
    repeats[text_hash] += 1
    if span.scope == OWN_SCOPE or repeats[text_hash] > state.user_messages[text_hash]:
        state.user_messages[text_hash] += 1
        builder.add_user_message(message.text, span.start)


def _add_tool_span(span: OtlpSpan, builder: SessionBuilder) -> None:
    attributes = span.attributes
    state = builder.state(_TraceState)
    name = str(attributes.get("gen_ai.tool.name") or attributes.get("tool.name") or span.name)
    call_id = str(attributes.get("gen_ai.tool.call.id") or "")
    if not call_id:
        call_id = next((open_id for open_id, tool in state.open_calls.items() if tool == name), f"span {span.id}")
    if call_id not in state.open_calls:
        if call_id in state.call_ids:
            return  # the result was in the input of the next request, whose span came first
        arguments = attributes.get(
            "gen_ai.tool.call.arguments", attributes.get("input.value", attributes.get("tool.parameters"))
        )
        call = _register(ForeignCall(call_id, name, arguments_json(arguments)), builder)
        builder.add_reply(at=span.start, calls=[call])
    output = attributes.get("gen_ai.tool.call.result", attributes.get("output.value", span.status_message))
    exit_code = attributes.get("journeyman.exit_code")
    _add_result(
        call_id,
        output_text(output),
        builder,
        at=span.end,
        failed=span.failed,
        exit_code=None if exit_code is None else parse_count(exit_code),
    )


def _add_agent_span(span: OtlpSpan, builder: SessionBuilder) -> None:
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
    if not call.id:
        call = replace(call, id=f"call {len(state.call_ids)}")
        state.unnamed_calls.append(call.id)
    state.call_ids.append(call.id)
    state.open_calls[call.id] = call.tool
    return call


def _add_result(
    call_id: str,
    output: str,
    builder: SessionBuilder,
    *,
    at: int,
    failed: bool = False,
    exit_code: int | None = None,
) -> None:
    builder.state(_TraceState).open_calls.pop(call_id, None)
    builder.add_result(call_id, output, at=at, failed=failed, exit_code=exit_code)


def parse_messages(attributes: dict[str, Any], direction: str) -> list[TraceMessage]:
    """Return the messages of a request (`input`) or of a reply (`output`), in the GenAI or OpenInference convention."""
    value = attributes.get(f"gen_ai.{direction}.messages")
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            value = None
    if isinstance(value, list):
        return [_message_from_parts(message) for message in dicts(value)]
    return _messages_from_flat_attributes(attributes, f"llm.{direction}_messages.")


def _message_from_parts(message: dict[str, Any]) -> TraceMessage:
    """Parse a message of the GenAI convention."""
    result = TraceMessage(str(message.get("role") or ""))
    for part in dicts(message.get("parts")):
        content = str(part.get("content") or "")
        part_id = str(part.get("id") or "")
        match part.get("type"):
            case "text":
                result.text = "\n".join(filter(None, (result.text, content)))
            case "reasoning" | "thinking":
                result.reasoning += content
            case "tool_call":
                arguments = arguments_json(part.get("arguments"))
                result.calls.append(ForeignCall(part_id, str(part.get("name") or "tool"), arguments))
            case "tool_call_response":
                output = part.get("response", part.get("result"))
                result.results.append(TraceToolResult(part_id, output_text(output)))
            case _:
                pass
    return result


def _messages_from_flat_attributes(attributes: dict[str, Any], prefix: str) -> list[TraceMessage]:
    """Parse the flat attributes of OpenInference, such as `llm.input_messages.0.message.role`."""
    messages: dict[int, dict[str, Any]] = {}
    for key, value in attributes.items():
        match = FLAT_MESSAGE.fullmatch(key.removeprefix(prefix)) if key.startswith(prefix) else None
        if match:
            messages.setdefault(int(match["index"]), {})[match["field"]] = value
    return [_message_from_fields(messages[index]) for index in sorted(messages)]


def _message_from_fields(fields: dict[str, Any]) -> TraceMessage:
    """Parse a message of the OpenInference convention, whose fields have names such as `tool_calls.0.tool_call.id`."""
    texts = [str(value or "") for name, value in fields.items() if name == "content" or FLAT_PART.fullmatch(name)]
    message = TraceMessage(role=str(fields.get("role", "")), text="\n".join(filter(None, texts)))
    calls: dict[int, dict[str, str]] = {}
    for name, value in fields.items():
        if match := FLAT_TOOL_CALL.fullmatch(name):
            calls.setdefault(int(match["index"]), {})[match["field"]] = str(value)
    for _, call in sorted(calls.items()):
        arguments = call.get("function.arguments", "{}")
        message.calls.append(ForeignCall(call.get("id", ""), call.get("function.name", "tool"), arguments))
    if "tool_call_id" in fields or message.role == "tool":
        message.results.append(TraceToolResult(str(fields.get("tool_call_id", "")), message.text))
    return message


def _parse_usage(attributes: dict[str, Any]) -> Usage:
    def count(*names: str) -> int:
        return next((parse_count(attributes[name]) for name in names if name in attributes), 0)

    return Usage(
        input=count("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt"),
        output=count("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion"),
        cache_read=count("gen_ai.usage.cache_read.input_tokens", "llm.token_count.prompt_details.cache_read"),
        cache_write=count("gen_ai.usage.cache_creation.input_tokens", "llm.token_count.prompt_details.cache_write"),
        reasoning=count("gen_ai.usage.reasoning.output_tokens", "llm.token_count.completion_details.reasoning"),
    )
