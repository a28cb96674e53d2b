"""Exports a session as OTLP JSON with the GenAI conventions: an agent span for each run, with model and tool spans."""

import hashlib
import json
from collections.abc import Iterator
from typing import Any

from core.domain.events import EventRecord
from core.domain.sessions import SessionRow
from core.exchange.export_items import (
    ExportItem,
    ExportItemBuilder,
    NoteItem,
    ReplyItem,
    RunEndItem,
    RunStartItem,
    ToolCallItem,
    UserMessageItem,
    call_arguments,
)
from core.exchange.export_source import ExportSource
from core.exchange.exporters.time_formats import unix_nanoseconds

INTERNAL, CLIENT = 1, 3  # kinds of spans
FAILED = {"code": 2}
TRACE_ID_BYTES, SPAN_ID_BYTES = 16, 8
SCOPE = {"name": "journeyman", "version": "1"}
Plain = dict[str, Any]


def write(source: ExportSource) -> Iterator[str]:
    """Yield one OTLP export request in pieces, with one span per line."""
    resource = {"attributes": encode_attributes({"service.name": "journeyman"})}
    yield f'{{"resourceSpans":[{{"resource":{json.dumps(resource)},'
    yield f'"scopeSpans":[{{"scope":{json.dumps(SCOPE)},"spans":[\n'
    first = True
    for row in source.sessions:
        spans = OtlpSpanBuilder(source.root.id, row)
        for entry in source.events(row):
            for span in spans.add(entry):
                yield ("" if first else ",\n") + json.dumps(span, ensure_ascii=False)
                first = False
        for span in spans.finish():
            yield ("" if first else ",\n") + json.dumps(span, ensure_ascii=False)
            first = False
    yield "\n]}]}]}\n"


class OtlpSpanBuilder:
    """Builds the spans of one session. `row` is the redacted session.

    A span is yielded when it has ended. So the span of a run follows the spans within it.
    """

    def __init__(self, trace: str, row: SessionRow) -> None:
        self._trace = _derive_id("trace", trace, TRACE_ID_BYTES)
        self._row = row
        self._items = ExportItemBuilder()
        self._messages: list[Plain] = []
        self._results: list[Plain] = []
        self._run: Plain | None = None
        self._run_id = ""
        self._run_count = 0
        self._latest = 0
        self._reply_count = 0
        self._last_reply: Plain = {}

    def add(self, entry: EventRecord) -> Iterator[Plain]:
        """Add an event and yield the spans that are complete."""
        self._latest = max(self._latest, entry.at)
        for item in self._items.add(entry):
            yield from self._spans_of(item)

    def finish(self) -> Iterator[Plain]:
        """Yield the remaining spans. An open run ends with the last event of the session."""
        for item in self._items.flush():
            yield from self._spans_of(item)
        yield from self._end_run(self._latest, "")

    def _spans_of(self, item: ExportItem) -> Iterator[Plain]:
        match item:
            case RunStartItem(at=at, model=model):
                yield from self._end_run(at, "")
                self._begin_run(at, model)
            case UserMessageItem(at=at, text=text):
                self._messages.append({"role": "user", "parts": [{"type": "text", "content": text}]})
            case ReplyItem():
                if self._run is None:
                    self._begin_run(item.requested_at, item.model)
                yield from self._reply_spans(item)
            case RunEndItem(at=at, status=status, reason=reason):
                yield from self._end_run(at, status if status != "completed" else "", reason)
            case NoteItem():
                pass

    def _begin_run(self, at: int, model: str) -> None:
        self._run_count += 1
        self._run_id = _derive_id(self._row.id, f"run {self._run_count}", SPAN_ID_BYTES)
        parent = ""
        if self._row.parent_call:
            parent = _derive_id(self._row.parent, self._row.parent_call, SPAN_ID_BYTES)
        name = self._row.subagent or "journeyman"
        self._run = self._span(
            span_id=self._run_id,
            parent=parent,
            name=f"invoke_agent {name}",
            kind=INTERNAL,
            start=at,
            attributes={
                "gen_ai.operation.name": "invoke_agent",
                "gen_ai.agent.name": name,
                "gen_ai.conversation.id": self._row.id,
                "gen_ai.request.model": model,
                "journeyman.title": self._row.title,
                "journeyman.folder": self._row.folder,
            },
        )

    def _reply_spans(self, item: ReplyItem) -> Iterator[Plain]:
        self._reply_count += 1
        parts: list[Plain] = [{"type": "reasoning", "content": item.reasoning}] if item.reasoning else []
        parts += [{"type": "text", "content": item.text}] if item.text else []
        parts += [
            {"type": "tool_call", "id": call.call.id, "name": call.call.tool, "arguments": call_arguments(call.call)}
            for call in item.calls
        ]
        stop_reason = item.stop_reason or ("tool_calls" if item.calls else "stop")
        self._last_reply = {"role": "assistant", "parts": parts, "finish_reason": stop_reason}
        usage = {
            "input_tokens": item.usage.input,
            "output_tokens": item.usage.output,
            "cache_read.input_tokens": item.usage.cache_read,
            "cache_creation.input_tokens": item.usage.cache_write,
            "reasoning.output_tokens": item.usage.reasoning,
        }
        attributes: Plain = {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": item.model,
            "gen_ai.conversation.id": self._row.id,
            "gen_ai.response.finish_reasons": [stop_reason],
            "gen_ai.input.messages": _json([*self._results, *self._messages]),
            "gen_ai.output.messages": _json([self._last_reply]),
            **{f"gen_ai.usage.{name}": count for name, count in usage.items() if count},
            **({} if item.cost is None else {"operation.cost": float(item.cost)}),
        }
        span = self._span(
            span_id=_derive_id(self._row.id, f"chat {self._reply_count}", SPAN_ID_BYTES),
            parent=self._run_id,
            name=f"chat {item.model}",
            kind=CLIENT,
            start=item.requested_at,
            attributes=attributes,
        )
        yield self._with_end(span, item.at)
        self._results, self._messages = [], []
        for call in item.calls:
            yield self._call_span(call, item.at)

    def _call_span(self, call: ToolCallItem, replied_at: int) -> Plain:
        output = call.answer if call.question else call.output
        attributes: Plain = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": call.call.tool,
            "gen_ai.tool.call.id": call.call.id,
            "gen_ai.tool.call.arguments": _json(call_arguments(call.call)),
        }
        if call.status != "open":
            attributes["gen_ai.tool.call.result"] = output
            part = {"type": "tool_call_response", "id": call.call.id, "response": output}
            self._results.append({"role": "tool", "parts": [part]})
        if call.exit_code is not None:
            attributes["journeyman.exit_code"] = call.exit_code
        span = self._span(
            span_id=_derive_id(self._row.id, call.call.id, SPAN_ID_BYTES),
            parent=self._run_id,
            name=f"execute_tool {call.call.tool}",
            kind=INTERNAL,
            start=max(call.at, replied_at),
            attributes=attributes,
        )
        if call.status in ("failed", "refused"):
            span["status"] = {**FAILED, "message": output[:200]}
        return self._with_end(span, call.ended or self._latest)

    def _end_run(self, at: int, status: str, reason: str = "") -> Iterator[Plain]:
        run, self._run = self._run, None
        if run is None:
            return
        if self._last_reply:
            run["attributes"] += encode_attributes({"gen_ai.output.messages": _json([self._last_reply])})
        if status:
            run["attributes"] += encode_attributes({"journeyman.status": status})
            run["status"] = {**FAILED, "message": reason} if status == "failed" else {}
        self._last_reply = {}
        yield self._with_end(run, at)

    def _span(self, *, span_id: str, parent: str, name: str, kind: int, start: int, attributes: Plain) -> Plain:
        """Return a span without its end. `start` is in microseconds."""
        return {
            "traceId": self._trace,
            "spanId": span_id,
            **({"parentSpanId": parent} if parent else {}),
            "name": name,
            "kind": kind,
            "startTimeUnixNano": unix_nanoseconds(start),
            "attributes": encode_attributes(attributes),
            "status": {},
        }

    def _with_end(self, span: Plain, at: int) -> Plain:
        return {**span, "endTimeUnixNano": unix_nanoseconds(max(at, int(span["startTimeUnixNano"]) // 1000))}


def encode_attributes(values: Plain) -> list[Plain]:
    """Encode attributes as OTLP JSON."""
    return [{"key": name, "value": _encode_value(value)} for name, value in values.items()]


def _encode_value(value: Any) -> Plain:
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case list():
            return {"arrayValue": {"values": [_encode_value(item) for item in value]}}
        case _:
            return {"stringValue": str(value)}


def _derive_id(first: str, second: str, size: int) -> str:
    """Return an ID of `size` bytes in hexadecimal, which is the same in every export of the same session."""
    return hashlib.blake2b(f"{first}\0{second}".encode(), digest_size=size).hexdigest()


def _json(plain: Any) -> str:
    return json.dumps(plain, ensure_ascii=False)
