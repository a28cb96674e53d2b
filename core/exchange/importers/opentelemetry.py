"""OpenTelemetry: spans with the GenAI conventions or those of OpenInference, from a file or as they come."""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from core.domain.events import Usage
from core.exchange.importers.blocks import as_json
from core.exchange.importers.called import Asked
from core.exchange.importers.record import Open, Record, amount, document, in_utf8, number, written
from core.exchange.importers.telling import Telling
from core.exchange.spans import Span, from_json

CHATS = frozenset({"chat", "generate_content", "text_completion"})
OPERATIONS = CHATS | {"execute_tool", "invoke_agent", "invoke_workflow"}
OURS = "journeyman"  # its requests carry only what is new
ABOUT = ("journeyman.title", "journeyman.folder")
WORDS = ("gen_ai.input.messages", "gen_ai.output.messages")
USED = ("gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens")
MODELS = ("gen_ai.response.model", "gen_ai.request.model")
FLAT = re.compile(r"(\d+)\.message\.(.*)")
TOOL = re.compile(r"tool_calls\.(\d+)\.tool_call\.(.*)")
PART = re.compile(r"contents\.(\d+)\.message_content\.text")


@dataclass(slots=True)
class Said:
    """A message of a request or a reply."""

    role: str
    text: str = ""
    thought: str = ""
    calls: list[Asked] = field(default_factory=list)
    results: list[tuple[str, str]] = field(default_factory=list)


class OpenTelemetry:
    """A trace is a session, a span a record. Spans are told in the order in which they ended: children first."""

    agent = "OpenTelemetry"
    usual: tuple[str, ...] = ()

    def knows(self, path: Path, head: bytes) -> bool:
        return b'"resourceSpans"' in head

    def records(self, path: Path) -> Iterator[Record]:
        spans = arranged(from_json(document(path)))
        for place, span in enumerate(spans, 1):
            size = path.stat().st_size * place // len(spans)
            yield Record(span.trace, written(asdict(span)), span, size, in_utf8(span.id))

    def tell(self, record: Record, telling: Telling, open: Open) -> bool:
        return tell_span(record.value, telling)


def in_order(span: Span) -> tuple[int, int, int]:
    """What ended first is told first; of what ended at once a reply goes before its calls, and what is within first."""
    return span.ended, ("chat", "tool", "", "agent").index(kind_of(span)), -span.began


def arranged(spans: Sequence[Span]) -> list[Span]:
    """In order; what the root says of its session is known from the first span of its trace on."""
    roots = [span for span in spans if not span.parent]
    about = {span.trace: {name: span.said[name] for name in ABOUT if name in span.said} for span in roots}
    found: list[Span] = []
    for span in sorted(spans, key=in_order):
        more = about.pop(span.trace, None)
        found.append(replace(span, said={**more, **span.said}) if more else span)
    return found


def tell_span(span: Span, telling: Telling) -> bool:
    """What a span says of the session of its trace; whether it said something."""
    seen: set[str] = telling.memory.setdefault("spans", set())
    if span.id in seen:
        return True  # sent once more
    seen.add(span.id)
    telling.usual = telling.usual or span.began
    title, folder = (str(span.said.get(name) or "") for name in ABOUT)
    telling.about(title=title, folder=folder)
    match kind_of(span):
        case "chat":
            _chat(span, telling)
        case "tool":
            _tool(span, telling)
        case "agent":
            _agent(span, telling)
        case _:
            if not span.parent:
                _agent(span, telling)
            return False
    return True


def kind_of(span: Span) -> str:
    said = span.said
    style = said.get("openinference.span.kind")
    operation = said.get("gen_ai.operation.name")
    if not isinstance(operation, str):
        operation = "" if style else _operation(span)
    if operation in CHATS or style == "LLM":
        return "chat"
    if operation == "execute_tool" or style == "TOOL":
        return "tool"
    return "agent" if operation in ("invoke_agent", "invoke_workflow") or style == "AGENT" else ""


def _operation(span: Span) -> str:
    """What a span does that does not say so: its name begins with it, or it holds what only a request holds."""
    said = span.said
    named = span.name.split(" ")[0]
    if named in OPERATIONS and any(name.startswith("gen_ai.") for name in said):
        return named
    words = any(name in said for name in WORDS)
    used = any(name in said for name in USED) and any(name in said for name in MODELS)
    return "chat" if (words or used) and "gen_ai.agent.name" not in said else ""


def _chat(span: Span, telling: Telling) -> None:
    said = span.said
    _instructed(said.get("gen_ai.system_instructions"), telling)
    times: Counter[str] = Counter()
    for message in messages(said, "input"):
        _heard(message, times, span, telling)
    replies = [message for message in messages(said, "output") if message.role in ("assistant", "model", "")]
    model = said.get("gen_ai.response.model") or said.get("gen_ai.request.model") or said.get("llm.model_name")
    cost = said.get("operation.cost")
    telling.reply(
        "\n".join(reply.text for reply in replies if reply.text), began=span.began, at=span.ended,
        thought="\n".join(reply.thought for reply in replies if reply.thought),
        calls=[_new(call, telling) for reply in replies for call in reply.calls], usage=_usage(said),
        model=str(model or ""), cost=amount(cost),
    )  # fmt: skip
    telling.settle()
    if span.failed:
        telling.failed(span.trouble or "the request failed", span.ended)


def _instructed(words: Any, telling: Telling) -> None:
    """What the model was told to be is kept as it is, once."""
    raw = words if isinstance(words, str) else as_json(words)
    known: set[str] = telling.memory.setdefault("system", set())
    if words and _mark(raw) not in known:
        known.add(_mark(raw))
        telling.keep("system", raw)


def _mark(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=12).hexdigest()


def _heard(message: Said, times: Counter[str], span: Span, telling: Telling) -> None:
    """Of a request only what was not told before: each carries the whole talk, `times` counts the same words in it."""
    for id, output in message.results:
        if _open(id, telling):
            _returned(id, output, span.began, False, telling)
    if message.role in ("system", "developer"):
        _instructed(message.text, telling)
    if message.role != "user" or not message.text:
        return
    told: Counter[str] = telling.memory.setdefault("told", Counter())
    mark = _mark(message.text)
    times[mark] += 1
    if span.scope == OURS or times[mark] > told[mark]:
        told[mark] += 1
        telling.person(message.text, span.began)


def _tool(span: Span, telling: Telling) -> None:
    said = span.said
    name = str(said.get("gen_ai.tool.name") or said.get("tool.name") or span.name)
    id = str(said.get("gen_ai.tool.call.id") or "")
    if not id:
        calls: dict[str, str] = telling.memory.get("calls", {})
        id = next((call for call, tool in calls.items() if tool == name), f"span {span.id}")
    if not _open(id, telling):
        if id in telling.memory.get("all", ()):
            return  # the next request brought its result already
        arguments = said.get("gen_ai.tool.call.arguments", said.get("input.value", said.get("tool.parameters")))
        telling.reply(at=span.began, calls=[_new(Asked(id, name, as_json(arguments)), telling)])
    output = said.get("gen_ai.tool.call.result", said.get("output.value", span.trouble))
    _returned(id, output if isinstance(output, str) else as_json(output), span.ended, span.failed, telling,
              number(said["journeyman.exit_code"]) if "journeyman.exit_code" in said else None)  # fmt: skip


def _agent(span: Span, telling: Telling) -> None:
    """The outermost one ends the run."""
    if span.parent:
        return
    status = span.said.get("journeyman.status")
    if span.failed:
        telling.failed(span.trouble or "it failed", span.ended)
    elif status:
        telling.stopped(str(status), span.ended)
    else:
        telling.completed(at=span.ended)


def _new(call: Asked, telling: Telling) -> Asked:
    """A call that waits for its result."""
    id = call.id or f"call {len(telling.memory.setdefault('all', []))}"
    telling.memory.setdefault("all", []).append(id)
    telling.memory.setdefault("calls", {})[id] = call.tool
    return Asked(id, call.tool, call.arguments)


def _open(id: str, telling: Telling) -> bool:
    return id in telling.memory.get("calls", {})


def _returned(
    id: str, output: str, at: int, failed: bool, telling: Telling, exit_code: int | None = None
) -> None:  # fmt: skip
    telling.memory["calls"].pop(id, None)
    telling.result(id, output, at=at, failed=failed, exit_code=exit_code)


def messages(said: dict[str, Any], which: str) -> list[Said]:
    """The messages of a request or a reply, in whichever way they are written."""
    given = said.get(f"gen_ai.{which}.messages")
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            given = None
    if isinstance(given, list):
        return [_of_parts(message) for message in given if isinstance(message, dict)]
    return _flattened(said, f"llm.{which}_messages.")


def _of_parts(message: dict[str, Any]) -> Said:
    found = Said(str(message.get("role") or ""))
    parts = message.get("parts")
    for part in parts if isinstance(parts, list) else []:
        if not isinstance(part, dict):
            continue
        content = part.get("content")
        match part.get("type"):
            case "text":
                found.text = "\n".join(filter(None, (found.text, str(content or ""))))
            case "reasoning" | "thinking":
                found.thought += str(content or "")
            case "tool_call":
                name = str(part.get("name") or "tool")
                found.calls.append(Asked(str(part.get("id") or ""), name, as_json(part.get("arguments"))))
            case "tool_call_response":
                output = part.get("response", part.get("result"))
                found.results.append((str(part.get("id")), output if isinstance(output, str) else as_json(output)))
            case _:
                pass
    return found


def _flattened(said: dict[str, Any], start: str) -> list[Said]:
    """`llm.input_messages.0.message.role` and its like."""
    found: dict[int, Said] = {}
    calls: dict[tuple[int, int], dict[str, str]] = {}
    answers: dict[int, str] = {}
    for key, value in said.items():
        match = FLAT.fullmatch(key.removeprefix(start)) if key.startswith(start) else None
        if match is None:
            continue
        place, rest = int(match[1]), match[2]
        message = found.setdefault(place, Said(""))
        if rest == "role":
            message.role = str(value)
        elif rest == "content" or PART.fullmatch(rest):
            message.text = "\n".join(filter(None, (message.text, str(value or ""))))
        elif rest == "tool_call_id":
            answers[place] = str(value)
        elif inner := TOOL.fullmatch(rest):
            calls.setdefault((place, int(inner[1])), {})[inner[2]] = str(value)
    for (place, _), call in sorted(calls.items()):
        name, arguments = call.get("function.name", "tool"), call.get("function.arguments", "{}")
        found[place].calls.append(Asked(call.get("id", ""), name, arguments))
    for place, id in answers.items():
        found[place].results.append((id, found[place].text))
    return [found[place] for place in sorted(found)]


def _usage(said: dict[str, Any]) -> Usage:
    def count(*names: str) -> int:
        return next((number(said[name]) for name in names if name in said), 0)

    return Usage(
        count("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt"),
        count("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion"),
        count("gen_ai.usage.cache_read.input_tokens", "llm.token_count.prompt_details.cache_read"),
        count("gen_ai.usage.cache_creation.input_tokens", "llm.token_count.prompt_details.cache_write"),
        count("gen_ai.usage.reasoning.output_tokens", "llm.token_count.completion_details.reasoning"),
    )
