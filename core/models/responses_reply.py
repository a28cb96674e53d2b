"""A Responses reply, folded from its events."""

from dataclasses import dataclass, field
from typing import Any

from core.models.carry import packed
from core.models.faults import Place, fault, told
from core.models.model import Asked, Delta
from core.models.names import ToolNames
from core.models.plain import at, objects, text, usage_of
from core.models.sse import Event
from core.models.stops import ended_as
from core.models.wire import Fold, read_json

KEPT = ("type", "id", "summary", "content", "encrypted_content", "role", "phase", "name", "arguments", "call_id")


@dataclass(slots=True)
class Item:
    """A part of the output: as it began, what has come of it, and as it was in the end."""

    plain: dict[str, Any] = field(default_factory=dict)
    arguments: list[str] = field(default_factory=list)
    shown: bool = False


class ResponsesReply(Fold):
    """Items are told apart by their own ids."""

    def __init__(self, place: Place, names: ToolNames, mark: str) -> None:
        super().__init__(place, names, mark)
        self._items: dict[str, Item] = {}
        self._thoughts = ""
        self._response: dict[str, Any] = {}
        self._refused = False
        self._spoke = False

    def take(self, event: Event) -> bool:
        if not event.data or event.data.startswith("[DONE]"):
            return False
        plain = read_json(event.data, self._place)
        if not isinstance(plain, dict):
            raise fault("garbled", self._place, "An event of it is not an object.")
        kind = text(plain.get("type")) or event.name
        if plain.get("object") == "response" and not plain.get("type"):
            self._end(plain)
        elif kind == "error" or (plain.get("error") and not kind.startswith("response.")):
            raise told(self._place, plain)
        elif kind in ("response.completed", "response.incomplete", "response.failed", "response.done"):
            response = plain.get("response")
            self._end(response if isinstance(response, dict) else {})
        else:
            self._piece(kind, plain)
        return True

    def whole(self) -> Delta:
        counts = self._response.get("usage")
        usage, note = None, ""
        if isinstance(counts, dict):
            cached, written = (at(counts, "input_tokens_details", n) for n in ("cached_tokens", "cache_write_tokens"))
            thought = at(counts, "output_tokens_details", "reasoning_tokens")
            usage, note = usage_of(counts.get("input_tokens"), counts.get("output_tokens"), cached, written, thought)
        calls = tuple(
            Asked(self._names.back(text(item.plain.get("name"))), self._arguments(item) or "{}")
            for item in self._items.values()
            if item.plain.get("type") == "function_call"
        )
        cut = self._response.get("status") == "incomplete"
        stop = ended_as(text(at(self._response, "incomplete_details", "reason")) or "length") if cut else ""
        if stop == "filtered" and not self._spoke and not calls:
            raise fault("filtered", self._place)
        if stop == "length" and not self._spoke and not calls and (usage is None or not usage.output):
            raise fault("too_long", self._place, "The reply ended before it began, as replies do when nothing fits.")
        return Delta(
            calls=calls, usage=usage, stop="refused" if self._refused else stop, carry=self._carry(), note=note
        )

    def _piece(self, kind: str, plain: dict[str, Any]) -> None:
        match kind:
            case "response.output_text.delta":
                self._show(plain, text(plain.get("delta")))
            case "response.refusal.delta":
                self._refused = True
                self._show(plain, text(plain.get("delta")))
            case "response.reasoning_text.delta" | "response.reasoning_summary_text.delta":
                self._think(kind, plain)
            case "response.reasoning_summary_part.added" if self._item(plain).shown:
                self.reasoning.append("\n\n")
            case "response.function_call_arguments.delta":
                self._item(plain).arguments.append(text(plain.get("delta")))
            case "response.function_call_arguments.done":
                if whole := text(plain.get("arguments")):
                    self._item(plain).arguments = [whole]
            case "response.output_item.added" | "response.output_item.done":
                if isinstance(item := plain.get("item"), dict):
                    self._item({**plain, "item_id": item.get("id")}).plain |= item
            case _:
                pass

    def _item(self, plain: dict[str, Any]) -> Item:
        """The item an event is about; where it has no id, its place tells."""
        place = plain.get("output_index")
        name = text(plain.get("item_id")) or f"at {place}"
        return self._items.setdefault(name, Item())

    def _show(self, plain: dict[str, Any], words: str) -> None:
        self.text.append(words)
        self._item(plain).shown = self._spoke = True

    def _think(self, kind: str, plain: dict[str, Any]) -> None:
        """Thoughts, from the first of the two ways they come in; a server may use both for the same."""
        self._thoughts = self._thoughts or kind
        if kind == self._thoughts:
            self.reasoning.append(text(plain.get("delta")))
            self._item(plain).shown = True

    def _end(self, response: dict[str, Any]) -> None:
        if response.get("status") == "failed" or response.get("error"):
            raise told(self._place, response.get("error") or {"message": "The server says that the reply failed."})
        self._response = response
        for place, plain in enumerate(objects(response.get("output"))):
            item = self._items.setdefault(text(plain.get("id")) or f"at {place}", Item())
            if item.plain.get("status") != "completed":
                item.plain |= plain
            if not item.shown and not self._spoke:
                self._show_whole(plain)
        self.complete = self.ended = True

    def _show_whole(self, plain: dict[str, Any]) -> None:
        """Words of an item that came at once."""
        words = [text(part.get("text")) or text(part.get("refusal")) for part in objects(plain.get("content"))]
        if plain.get("type") == "message":
            self.text += words
        elif plain.get("type") == "reasoning" and not self._thoughts:
            self.reasoning += words or [text(part.get("text")) for part in objects(plain.get("summary"))]

    def _arguments(self, item: Item) -> str:
        return text(item.plain.get("arguments")) or "".join(item.arguments)

    def _carry(self) -> str:
        """The output as it was, where the server wants some of it back: sealed thoughts, or phases."""
        items = [item.plain for item in self._items.values() if item.plain]
        wanted = [plain for plain in items if plain.get("encrypted_content") or plain.get("phase")]
        if not wanted:
            return ""
        return packed(self._mark, [{name: plain[name] for name in KEPT if name in plain} for plain in items])
