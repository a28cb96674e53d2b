"""The parser for streamed Anthropic Messages replies."""

import json
from dataclasses import dataclass, field
from typing import Any

from core.models.api_client import ReplyParser, decode_json
from core.models.errors import ErrorContext, error_from_event, make_error
from core.models.json_values import (
    IMPLAUSIBLE_COUNT,
    CheckedUsage,
    as_count,
    as_objects,
    as_text,
    get_path,
    parse_usage,
)
from core.models.model import ReplyDelta, RequestedCall
from core.models.provider_state import pack_state
from core.models.stop_reasons import normalize_stop_reason
from core.models.stream_parsers import StreamEvent
from core.models.tool_names import ToolNames


@dataclass(slots=True)
class ReplyBlock:
    """A content block of a reply: its start event, and the pieces received since."""

    fields: dict[str, Any]
    pieces: list[str] = field(default_factory=list)
    signature: str = ""

    @property
    def kind(self) -> str:
        return as_text(self.fields.get("type"))


class AnthropicReplyParser(ReplyParser):
    """Parses the events of one reply. Blocks are identified by index, because some servers interleave their deltas."""

    def __init__(self, context: ErrorContext, names: ToolNames, origin: str) -> None:
        super().__init__(context, names, origin)
        self._blocks: dict[str, ReplyBlock] = {}
        self._usage: dict[str, Any] = {}
        self._stop_reason = ""
        self._stop_details: Any = None

    def feed(self, event: StreamEvent) -> bool:
        if not event.data or event.data.startswith("[DONE]"):
            return False
        plain = decode_json(event.data, self._error_context)
        if not isinstance(plain, dict):
            raise make_error("garbled", self._error_context, "One of its events is not a JSON object.")
        match as_text(plain.get("type")) or event.name:
            case "content_block_delta":
                self._delta(str(plain.get("index")), plain.get("delta"))
            case "content_block_start":
                self._start(str(plain.get("index")), plain.get("content_block"))
            case "message_start":
                self._merge_usage(get_path(plain, "message", "usage"))
            case "message_delta":
                self._merge_usage(plain.get("usage"))
                self._set_stop_reason(plain.get("delta"))
            case "message_stop":
                self.complete = self.ended = True
            case "message":
                self._complete_message(plain)
            case "error":
                raise error_from_event(self._error_context, plain)
            case "ping":
                return False
            case _:
                if plain.get("error"):
                    raise error_from_event(self._error_context, plain)
        return True

    def finish(self) -> ReplyDelta:
        usage, note = self._checked_usage()
        blocks = list(self._blocks.values())
        calls = tuple(
            RequestedCall(self._names.from_provider(as_text(block.fields.get("name"))), self._arguments(block))
            for block in blocks
            if block.kind == "tool_use"
        )
        stop_reason = normalize_stop_reason(self._stop_reason)
        if not calls and not any(block.pieces for block in blocks):
            if stop_reason == "refused":
                raise make_error("filtered", self._error_context, as_text(get_path(self._stop_details, "explanation")))
            is_cut_without_output = stop_reason == "length" and not (usage and usage.output)
            if self._stop_reason == "model_context_window_exceeded" or is_cut_without_output:
                raise make_error(
                    "too_long",
                    self._error_context,
                    "The reply ended with no output, which means the context window is full.",
                )
        return ReplyDelta(
            calls=calls, usage=usage, stop_reason=stop_reason, provider_state=self._provider_state(blocks), note=note
        )

    def _start(self, index: str, plain: Any) -> None:
        block = ReplyBlock(plain if isinstance(plain, dict) else {})
        self._blocks[index] = block
        block.signature = as_text(block.fields.get("signature"))
        if block.kind == "text":
            self._delta(index, {"text": block.fields.get("text")})
        elif block.kind == "thinking":
            self._delta(index, {"thinking": block.fields.get("thinking")})

    def _delta(self, index: str, delta: Any) -> None:
        if not isinstance(delta, dict):
            return
        if text := as_text(delta.get("text")):
            self.text.append(text)
            self._block(index, "text").pieces.append(text)
        elif thinking := as_text(delta.get("thinking")):
            self.reasoning.append(thinking)
            self._block(index, "thinking").pieces.append(thinking)
        elif fragment := as_text(delta.get("partial_json")):
            self._block(index, "tool_use").pieces.append(fragment)
            self.arguments.append(fragment)
        elif signature := as_text(delta.get("signature")):
            self._block(index, "thinking").signature = signature

    def _block(self, index: str, kind: str) -> ReplyBlock:
        return self._blocks.setdefault(index, ReplyBlock({"type": kind}))

    def _set_stop_reason(self, delta: Any) -> None:
        if isinstance(delta, dict) and (reason := as_text(delta.get("stop_reason"))):
            self._stop_reason = reason
            self._stop_details = delta.get("stop_details")
            self.complete = True

    def _merge_usage(self, usage: Any) -> None:
        """Merge the token counts of an event. Counts are cumulative, and one that an event omits keeps its value."""
        if isinstance(usage, dict):
            self._usage |= {name: value for name, value in usage.items() if value is not None}

    def _complete_message(self, plain: dict[str, Any]) -> None:
        """Process a complete message, which some servers send instead of a stream."""
        for index, block in enumerate(as_objects(plain.get("content"))):
            self._start(str(index), block)
        self._merge_usage(plain.get("usage"))
        self._set_stop_reason(plain)
        self.complete = self.ended = True

    def _arguments(self, block: ReplyBlock) -> str:
        if block.pieces:
            return "".join(block.pieces)
        return json.dumps(block.fields.get("input") or {}, ensure_ascii=False)

    def _checked_usage(self) -> CheckedUsage:
        """Return the usage. Cached tokens, which the API counts apart, are added to those of the prompt."""
        if not self._usage:
            return CheckedUsage()
        cache_read = self._usage.get("cache_read_input_tokens")
        cache_write = self._usage.get("cache_creation_input_tokens")
        counts = (self._usage.get("input_tokens"), cache_read, cache_write)
        are_plausible = all(count is None or count == 0 or as_count(count) for count in counts)
        return parse_usage(
            prompt=sum(as_count(count) or 0 for count in counts) if are_plausible else IMPLAUSIBLE_COUNT,
            completion=self._usage.get("output_tokens"),
            cache_read=cache_read,
            cache_write=cache_write,
            reasoning=get_path(self._usage, "output_tokens_details", "thinking_tokens"),
        )

    def _provider_state(self, blocks: list[ReplyBlock]) -> str:
        """Return the blocks to send back with the next request; "" unless some reasoning is signed or encrypted.

        Unsigned reasoning is dropped, because the API would reject it.
        """
        if not any(block.signature or block.kind == "redacted_thinking" for block in blocks):
            return ""
        state: list[dict[str, Any]] = []
        for block in blocks:
            if block.kind == "thinking" and block.signature:
                thought = {"type": "thinking", "thinking": "".join(block.pieces), "signature": block.signature}
                state.append(thought)
            elif block.kind == "redacted_thinking":
                state.append({"type": "redacted_thinking", "data": block.fields.get("data")})
            elif block.kind == "text":
                state.append({"type": "text", "text": "".join(block.pieces)})
            elif block.kind == "tool_use":
                state.append({"type": "tool_use"})
        return pack_state(self._origin, state)
