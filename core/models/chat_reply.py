"""The parser for Chat Completions replies in all known variants of providers."""

import json
from dataclasses import dataclass, field
from typing import Any

from core.models.api_client import ReplyParser, decode_json
from core.models.errors import ErrorContext, error_from_event, make_error, too_much
from core.models.json_values import CheckedUsage, as_count, as_objects, as_text, get_path, parse_usage
from core.models.model import ReplyDelta, RequestedCall
from core.models.provider_state import pack_state
from core.models.stop_reasons import normalize_stop_reason
from core.models.stream_parsers import StreamEvent
from core.models.tool_names import ToolNames

MAX_CALLS = 1_000
REASONING_FIELDS = ("reasoning_content", "reasoning", "reasoning_text")


@dataclass(slots=True)
class PartialCall:
    """A tool call whose arguments are still arriving."""

    index: Any
    id: str
    name: str = ""
    arguments: list[str] = field(default_factory=list)
    extra: Any = None


class ChatReplyParser(ReplyParser):
    """Parses the chunks of one reply. Calls are identified by index, or by id if they have no index."""

    def __init__(self, context: ErrorContext, names: ToolNames, origin: str) -> None:
        super().__init__(context, names, origin)
        self._calls: list[PartialCall] = []
        self._reasoning_field = ""
        self._reasoning_details: list[dict[str, Any]] = []
        self._detail_parts: dict[str, list[str]] = {}  # fragments of the last reasoning detail, by field
        self._usage: dict[str, Any] | None = None
        self._finish_reason = ""
        self._refused = False
        self._has_output = False

    def feed(self, event: StreamEvent) -> bool:
        if event.data.startswith("[DONE]"):
            self.complete = self.ended = True
            return True
        if not event.data:
            return False
        chunk = decode_json(event.data, self._error_context)
        if not isinstance(chunk, dict):
            raise make_error("garbled", self._error_context, "One of its chunks is not a JSON object.")
        if chunk.get("error") or chunk.get("object") == "error":
            raise error_from_event(self._error_context, chunk)
        if isinstance(progress := chunk.get("prompt_progress"), dict):
            self.activity = _prompt_activity(progress)
            return False
        if usage := chunk.get("usage"):
            self._usage = usage
        choices = chunk.get("choices")
        if choices and isinstance(choices, list) and isinstance(choices[0], dict):
            self._choice(choices[0])
        return True

    def finish(self) -> ReplyDelta:
        usage, note = self._checked_usage()
        stop_reason = "refused" if self._refused else normalize_stop_reason(self._finish_reason)
        if self._finish_reason in ("error", "network_error"):
            raise make_error("cut", self._error_context, "The provider reported that the reply failed.")
        if not self._has_output and not self._calls:
            if stop_reason == "filtered":
                raise make_error("filtered", self._error_context)
            if stop_reason == "length" and (usage is None or not usage.output):
                raise make_error(
                    "too_long",
                    self._error_context,
                    "The reply ended with no output, which means the context window is full.",
                )
        self._join_detail()
        extra = {str(index): call.extra for index, call in enumerate(self._calls) if call.extra}
        state = {"field": self._reasoning_field, "details": self._reasoning_details, "extra": extra}
        calls = tuple(
            RequestedCall(self._names.from_provider(call.name), "".join(call.arguments) or "{}") for call in self._calls
        )
        packed = pack_state(self._origin, {name: value for name, value in state.items() if value})
        return ReplyDelta(calls=calls, usage=usage, stop_reason=stop_reason, provider_state=packed, note=note)

    def _choice(self, choice: dict[str, Any]) -> None:
        delta = choice.get("delta") or choice.get("message")
        if isinstance(delta, dict):
            self._delta(delta)
        if usage := choice.get("usage"):
            self._usage = usage
        if finish := choice.get("finish_reason"):
            self._finish_reason = as_text(finish)
            self.complete = True

    def _delta(self, delta: dict[str, Any]) -> None:
        content = delta.get("content")
        if content:
            if isinstance(content, str):
                self.text.append(content)
                self._has_output = True
            else:
                self._parts(content)
        if len(delta) > 1 or not content:
            self._rare_fields(delta)

    def _rare_fields(self, delta: dict[str, Any]) -> None:
        """Process the less frequent fields of a delta: reasoning, refusals and tool calls."""
        for name in REASONING_FIELDS:
            reasoning = delta.get(name)
            if reasoning and isinstance(reasoning, str):
                self.reasoning.append(reasoning)
                self._reasoning_field = self._reasoning_field or name
                self._has_output = True
                break
        if refusal := as_text(delta.get("refusal")):
            self.text.append(refusal)
            self._refused = self._has_output = True
        for detail in as_objects(delta.get("reasoning_details")):
            self._detail(detail)
        for call in as_objects(delta.get("tool_calls")):
            self._call(call)
        if isinstance(function := delta.get("function_call"), dict):
            self._call({"index": "function_call", "function": function})

    def _parts(self, content: Any) -> None:
        """Process content that is a list of text parts and reasoning parts."""
        for part in as_objects(content):
            if part.get("type") == "thinking":
                inner = part.get("thinking")
                if isinstance(inner, str):
                    thought = inner
                else:
                    thought = "".join(as_text(item.get("text")) for item in as_objects(inner))
                self.reasoning.append(thought)
            else:
                self.text.append(as_text(part.get("text")))
            self._has_output = True

    def _call(self, plain: dict[str, Any]) -> None:
        function = plain.get("function")
        function = function if isinstance(function, dict) else {}
        name, arguments = as_text(function.get("name")), function.get("arguments")
        call = self._find_call(plain.get("index"), as_text(plain.get("id")), name)
        call.name = call.name or name
        if isinstance(arguments, str):
            call.arguments.append(arguments)
            self.arguments.append(arguments)
        elif arguments is not None:
            call.arguments = [json.dumps(arguments)]
        call.extra = plain.get("extra_content") or call.extra

    def _find_call(self, index: Any, call_id: str, name: str) -> PartialCall:
        """Return the call that a fragment belongs to. A new id with a name starts a new call, whatever its index."""
        for call in reversed(self._calls):
            has_same_id = bool(call_id) and call.id == call_id
            if index is None:
                is_same_call = has_same_id
            else:
                has_other_id = bool(call_id and call.id) and not has_same_id
                is_same_call = call.index == index and not (has_other_id and name and call.name)
            if is_same_call:
                return call
        if index is None and not call_id and self._calls:
            last = self._calls[-1]
            if not name or not last.name:
                return last
        if len(self._calls) == MAX_CALLS:
            raise too_much(f"It contains more than {MAX_CALLS} tool calls.")
        self._calls.append(PartialCall(index, call_id))
        return self._calls[-1]

    def _detail(self, plain: dict[str, Any]) -> None:
        """Add a fragment to the last reasoning detail, or start a new one. The provider expects whole details back."""
        last = self._reasoning_details[-1] if self._reasoning_details else {}
        same = all(last.get(name) == plain.get(name) for name in ("type", "index")) and not plain.get("data")
        is_new = not last or not same
        if is_new:
            self._join_detail()
            last = {}
            self._reasoning_details.append(last)
        for name, value in plain.items():
            if name in ("text", "summary") and isinstance(value, str):
                last.setdefault(name, "")  # creates the field now, to keep the order of the fields
                self._detail_parts.setdefault(name, []).append(value)
            elif value is not None or is_new:
                last[name] = value

    def _join_detail(self) -> None:
        """Join the fragments of the last reasoning detail. Joining after each fragment would take quadratic time."""
        for name, parts in self._detail_parts.items():
            self._reasoning_details[-1][name] = "".join(parts)
        self._detail_parts.clear()

    def _checked_usage(self) -> CheckedUsage:
        counts = self._usage
        if not isinstance(counts, dict):
            return CheckedUsage()
        prompt_tokens, completion_tokens = counts.get("prompt_tokens"), counts.get("completion_tokens")
        cache_read = get_path(counts, "prompt_tokens_details", "cached_tokens") or counts.get("prompt_cache_hit_tokens")
        cache_write = get_path(counts, "prompt_tokens_details", "cache_write_tokens")
        reasoning_tokens = get_path(counts, "completion_tokens_details", "reasoning_tokens")
        prompt, completion = as_count(prompt_tokens) or 0, as_count(completion_tokens) or 0
        reasoning = as_count(reasoning_tokens) or 0
        if prompt and completion and reasoning:
            is_separate = prompt + completion + reasoning == as_count(counts.get("total_tokens"))
            if is_separate:  # x.ai does not include reasoning tokens in the completion tokens
                completion_tokens = completion + reasoning
        reads, writes = as_count(cache_read) or 0, as_count(cache_write) or 0
        if writes and reads + writes > prompt:
            cache_read = reads - writes  # OpenRouter includes cache writes in the cached tokens
        return parse_usage(
            prompt=prompt_tokens,
            completion=completion_tokens,
            cache_read=cache_read,
            cache_write=cache_write,
            reasoning=reasoning_tokens,
        )


def _prompt_activity(progress: dict[str, Any]) -> str:
    """Return the activity of llama.cpp: the percentage of the prompt that it has read, not counting cached tokens."""
    total, known, done = (as_count(progress.get(name)) or 0 for name in ("total", "cache", "processed"))
    if done >= total:
        return "writing the reply"
    return f"reading the prompt, {100 * (done - known) // max(1, total - known)}%"
