"""OTLP in JSON, with the GenAI conventions: a run is an agent's span, in it requests and calls of tools."""

import hashlib
import json
from collections.abc import Iterator
from typing import Any

from core.domain.events import Entry
from core.domain.sessions import SessionRow
from core.exchange.exporters.moments import nano
from core.exchange.leaving import Leaving
from core.exchange.story import Act, Answered, Began, Ended, Noted, Spoke, Story, Told, arguments_of

INTERNAL, CLIENT = 1, 3
FAILED = {"code": 2}
SCOPE = {"name": "journeyman", "version": "1"}
Plain = dict[str, Any]


def write(leaving: Leaving) -> Iterator[str]:
    """One export request, its spans one a line."""
    resource = {"attributes": attributes({"service.name": "journeyman"})}
    yield f'{{"resourceSpans":[{{"resource":{json.dumps(resource)},'
    yield f'"scopeSpans":[{{"scope":{json.dumps(SCOPE)},"spans":[\n'
    first = True
    for row in leaving.family:
        spans = Spans(leaving.root.id, row, leaving.cleaner.text(row.title))
        for entry in leaving.entries(row):
            for span in spans.hear(entry):
                yield ("" if first else ",\n") + json.dumps(span, ensure_ascii=False)
                first = False
        for span in spans.end():
            yield ("" if first else ",\n") + json.dumps(span, ensure_ascii=False)
            first = False
    yield "\n]}]}]}\n"


class Spans:
    """Makes the spans of one session, each once it has ended; the run's own comes last, as programs send it."""

    def __init__(self, trace: str, row: SessionRow, title: str) -> None:
        self._trace = _id("trace", trace, 16)
        self._row = row
        self._title = title
        self._story = Story()
        self._spoken: list[Plain] = []
        self._results: list[Plain] = []
        self._run: Plain | None = None
        self._run_id = ""
        self._runs = 0
        self._last = 0
        self._count = 0
        self._answer: Plain = {}

    def hear(self, entry: Entry) -> Iterator[Plain]:
        self._last = max(self._last, entry.at)
        for told in self._story.hear(entry):
            yield from self._told(told)

    def end(self) -> Iterator[Plain]:
        """A run that is open ends where the session does."""
        for told in self._story.end():
            yield from self._told(told)
        yield from self._close(self._last, "")

    def _told(self, told: Told) -> Iterator[Plain]:
        match told:
            case Began(at=at, model=model):
                yield from self._close(at, "")
                self._begin(at, model)
            case Spoke(at=at, text=text):
                self._spoken.append({"role": "user", "parts": [{"type": "text", "content": text}]})
            case Answered():
                if self._run is None:
                    self._begin(told.asked, told.model)
                yield from self._reply(told)
            case Ended(at=at, status=status, reason=reason):
                yield from self._close(at, status if status != "completed" else "", reason)
            case Noted():
                pass

    def _begin(self, at: int, model: str) -> None:
        self._runs += 1
        self._run_id = _id(self._row.id, f"run {self._runs}", 8)
        parent = _id(self._row.parent, self._row.parent_call, 8) if self._row.parent_call else ""
        name = self._row.called or "journeyman"
        self._run = self._span(
            self._run_id, parent, f"invoke_agent {name}", INTERNAL, at,
            {
                "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name,
                "gen_ai.conversation.id": self._row.id, "gen_ai.request.model": model,
                "journeyman.title": self._title, "journeyman.folder": self._row.folder,
            },
        )  # fmt: skip

    def _reply(self, told: Answered) -> Iterator[Plain]:
        self._count += 1
        parts: list[Plain] = [{"type": "reasoning", "content": told.reasoning}] if told.reasoning else []
        parts += [{"type": "text", "content": told.text}] if told.text else []
        parts += [
            {"type": "tool_call", "id": act.call.id, "name": act.call.tool, "arguments": arguments_of(act.call)}
            for act in told.acts
        ]
        stop = told.stop or ("tool_calls" if told.acts else "stop")
        self._answer = {"role": "assistant", "parts": parts, "finish_reason": stop}
        usage = {
            "input_tokens": told.usage.input, "output_tokens": told.usage.output,
            "cache_read.input_tokens": told.usage.cached, "cache_creation.input_tokens": told.usage.written,
            "reasoning.output_tokens": told.usage.reasoning,
        }  # fmt: skip
        said: Plain = {
            "gen_ai.operation.name": "chat", "gen_ai.request.model": told.model, "gen_ai.conversation.id": self._row.id,
            "gen_ai.response.finish_reasons": [stop], "gen_ai.input.messages": _json([*self._results, *self._spoken]),
            "gen_ai.output.messages": _json([self._answer]),
            **{f"gen_ai.usage.{name}": count for name, count in usage.items() if count},
            **({} if told.cost is None else {"operation.cost": float(told.cost)}),
        }  # fmt: skip
        id = _id(self._row.id, f"chat {self._count}", 8)
        yield self._ended(self._span(id, self._run_id, f"chat {told.model}", CLIENT, told.asked, said), told.at)
        self._results, self._spoken = [], []
        for act in told.acts:
            yield self._act(act, told.at)

    def _act(self, act: Act, at: int) -> Plain:
        output = act.answer if act.asked else act.output
        said: Plain = {
            "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": act.call.tool,
            "gen_ai.tool.call.id": act.call.id, "gen_ai.tool.call.arguments": _json(arguments_of(act.call)),
        }  # fmt: skip
        if act.status != "open":
            said["gen_ai.tool.call.result"] = output
            part = {"type": "tool_call_response", "id": act.call.id, "response": output}
            self._results.append({"role": "tool", "parts": [part]})
        if act.exit_code is not None:
            said["journeyman.exit_code"] = act.exit_code
        span = self._span(
            _id(self._row.id, act.call.id, 8), self._run_id, f"execute_tool {act.call.tool}", INTERNAL,
            max(act.at, at), said,
        )  # fmt: skip
        if act.status in ("failed", "refused"):
            span["status"] = {**FAILED, "message": output[:200]}
        return self._ended(span, act.ended or self._last)

    def _close(self, at: int, status: str, reason: str = "") -> Iterator[Plain]:
        run, self._run = self._run, None
        if run is None:
            return
        if self._answer:
            run["attributes"] += attributes({"gen_ai.output.messages": _json([self._answer])})
        if status:
            run["attributes"] += attributes({"journeyman.status": status})
            run["status"] = {**FAILED, "message": reason} if status == "failed" else {}
        self._answer = {}
        yield self._ended(run, at)

    def _span(self, id: str, parent: str, name: str, kind: int, at: int, said: Plain) -> Plain:
        link = {"parentSpanId": parent} if parent else {}
        return {
            "traceId": self._trace, "spanId": id, **link, "name": name, "kind": kind, "startTimeUnixNano": nano(at),
            "attributes": attributes(said), "status": {},
        }  # fmt: skip

    def _ended(self, span: Plain, at: int) -> Plain:
        return {**span, "endTimeUnixNano": nano(max(at, int(span["startTimeUnixNano"]) // 1000))}


def attributes(said: Plain) -> list[Plain]:
    """Values as OTLP writes them."""
    return [{"key": name, "value": _value(value)} for name, value in said.items()]


def _value(value: Any) -> Plain:
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case list():
            return {"arrayValue": {"values": [_value(item) for item in value]}}
        case _:
            return {"stringValue": str(value)}


def _id(one: str, other: str, size: int) -> str:
    """The same for the same thing, whenever it is exported."""
    return hashlib.blake2b(f"{one}\0{other}".encode(), digest_size=size).hexdigest()


def _json(plain: Any) -> str:
    return json.dumps(plain, ensure_ascii=False)
