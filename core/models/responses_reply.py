"""The parser for streamed Responses replies."""

from dataclasses import dataclass, field
from typing import Any

from core.models.api_client import ReplyParser, decode_json
from core.models.errors import ErrorContext, error_from_event, make_error
from core.models.json_values import CheckedUsage, as_objects, as_text, get_path, parse_usage
from core.models.model import ReplyDelta, RequestedCall
from core.models.provider_state import pack_state
from core.models.stop_reasons import normalize_stop_reason
from core.models.stream_parsers import StreamEvent
from core.models.tool_names import ToolNames

STATE_FIELDS = (
    "type",
    "id",
    "summary",
    "content",
    "encrypted_content",
    "role",
    "phase",
    "name",
    "arguments",
    "call_id",
)


@dataclass(slots=True)
class OutputItem:
    """An output item: its fields and argument fragments so far, and whether its text was already emitted."""

    fields: dict[str, Any] = field(default_factory=dict)
    arguments: list[str] = field(default_factory=list)
    shown: bool = False


class ResponsesReplyParser(ReplyParser):
    """Parses the events of one reply. Items are identified by their ids."""

    def __init__(self, context: ErrorContext, names: ToolNames, origin: str) -> None:
        super().__init__(context, names, origin)
        self._items: dict[str, OutputItem] = {}
        self._reasoning_event = ""
        self._response: dict[str, Any] = {}
        self._refused = False
        self._has_output = False

    def feed(self, event: StreamEvent) -> bool:
        if not event.data or event.data.startswith("[DONE]"):
            return False
        plain = decode_json(event.data, self._error_context)
        if not isinstance(plain, dict):
            raise make_error("garbled", self._error_context, "One of its events is not a JSON object.")
        kind = as_text(plain.get("type")) or event.name
        if plain.get("object") == "response" and not plain.get("type"):
            self._end(plain)
        elif kind == "error" or (plain.get("error") and not kind.startswith("response.")):
            raise error_from_event(self._error_context, plain)
        elif kind in ("response.completed", "response.incomplete", "response.failed", "response.done"):
            response = plain.get("response")
            self._end(response if isinstance(response, dict) else {})
        else:
            self._feed_event(kind, plain)
        return True

    def finish(self) -> ReplyDelta:
        usage, note = self._checked_usage()
        calls = tuple(
            RequestedCall(self._names.from_provider(as_text(item.fields.get("name"))), self._arguments(item) or "{}")
            for item in self._items.values()
            if item.fields.get("type") == "function_call"
        )
        stop = ""
        if self._response.get("status") == "incomplete":
            reason = as_text(get_path(self._response, "incomplete_details", "reason"))
            stop = normalize_stop_reason(reason or "length")
        if stop == "filtered" and not self._has_output and not calls:
            raise make_error("filtered", self._error_context)
        if stop == "length" and not self._has_output and not calls and (usage is None or not usage.output):
            raise make_error(
                "too_long",
                self._error_context,
                "The reply ended with no output, which means the context window is full.",
            )
        return ReplyDelta(
            calls=calls,
            usage=usage,
            stop_reason="refused" if self._refused else stop,
            provider_state=self._provider_state(),
            note=note,
        )

    def _checked_usage(self) -> CheckedUsage:
        counts = self._response.get("usage")
        if not isinstance(counts, dict):
            return CheckedUsage()
        return parse_usage(
            prompt=counts.get("input_tokens"),
            completion=counts.get("output_tokens"),
            cache_read=get_path(counts, "input_tokens_details", "cached_tokens"),
            cache_write=get_path(counts, "input_tokens_details", "cache_write_tokens"),
            reasoning=get_path(counts, "output_tokens_details", "reasoning_tokens"),
        )

    def _feed_event(self, kind: str, plain: dict[str, Any]) -> None:
        match kind:
            case "response.output_text.delta":
                self._append_text(plain, as_text(plain.get("delta")))
            case "response.refusal.delta":
                self._refused = True
                self._append_text(plain, as_text(plain.get("delta")))
            case "response.reasoning_text.delta" | "response.reasoning_summary_text.delta":
                self._append_reasoning(kind, plain)
            case "response.reasoning_summary_part.added" if self._item(plain).shown:
                self.reasoning.append("\n\n")
            case "response.function_call_arguments.delta":
                self._item(plain).arguments.append(as_text(plain.get("delta")))
                self.arguments.append(as_text(plain.get("delta")))
            case "response.function_call_arguments.done":
                if arguments := as_text(plain.get("arguments")):
                    self._item(plain).arguments = [arguments]
            case "response.output_item.added" | "response.output_item.done":
                if isinstance(item := plain.get("item"), dict):
                    self._item({**plain, "item_id": item.get("id")}).fields |= item
            case _:
                pass

    def _item(self, plain: dict[str, Any]) -> OutputItem:
        """Return the item that an event belongs to, by its id, or by its index if it has no id."""
        index = plain.get("output_index")
        name = as_text(plain.get("item_id")) or f"at {index}"
        return self._items.setdefault(name, OutputItem())

    def _append_text(self, plain: dict[str, Any], text: str) -> None:
        self.text.append(text)
        self._item(plain).shown = self._has_output = True

    def _append_reasoning(self, kind: str, plain: dict[str, Any]) -> None:
        """Append reasoning text from the first of two kinds of events only, because both may carry the same text."""
        self._reasoning_event = self._reasoning_event or kind
        if kind == self._reasoning_event:
            self.reasoning.append(as_text(plain.get("delta")))
            self._item(plain).shown = True

    def _end(self, response: dict[str, Any]) -> None:
        if response.get("status") == "failed" or response.get("error"):
            raise error_from_event(
                self._error_context,
                response.get("error") or {"message": "The provider reported that the reply failed."},
            )
        self._response = response
        for index, plain in enumerate(as_objects(response.get("output"))):
            item = self._items.setdefault(as_text(plain.get("id")) or f"at {index}", OutputItem())
            if item.fields.get("status") != "completed":
                item.fields |= plain
            if not item.shown and not self._has_output:
                self._append_item_text(plain)
        self.complete = self.ended = True

    def _append_item_text(self, plain: dict[str, Any]) -> None:
        """Append the text of an item that was not streamed before."""
        texts = [as_text(part.get("text")) or as_text(part.get("refusal")) for part in as_objects(plain.get("content"))]
        if plain.get("type") == "message":
            self.text += texts
        elif plain.get("type") == "reasoning" and not self._reasoning_event:
            self.reasoning += texts or [as_text(part.get("text")) for part in as_objects(plain.get("summary"))]

    def _arguments(self, item: OutputItem) -> str:
        return as_text(item.fields.get("arguments")) or "".join(item.arguments)

    def _provider_state(self) -> str:
        """Return the output items to send back with the next request; "" without encrypted reasoning or a phase."""
        items = [item.fields for item in self._items.values() if item.fields]
        if not any(item.get("encrypted_content") or item.get("phase") for item in items):
            return ""
        return pack_state(self._origin, [{name: item[name] for name in STATE_FIELDS if name in item} for item in items])
