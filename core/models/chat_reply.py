"""A Chat Completions reply, folded from its chunks in all the shapes that servers send."""

import json
from dataclasses import dataclass, field
from typing import Any

from core.domain.events import Usage
from core.models.carry import packed
from core.models.faults import Place, fault, told, too_much
from core.models.model import Asked, Delta
from core.models.names import ToolNames
from core.models.plain import at, number, objects, text, usage_of
from core.models.sse import Event
from core.models.stops import ended_as
from core.models.wire import Fold, read_json

MOST_CALLS = 1_000
THOUGHTS = ("reasoning_content", "reasoning", "reasoning_text")


@dataclass(slots=True)
class Begun:
    """A call whose arguments are still coming."""

    index: Any
    id: str
    name: str = ""
    arguments: list[str] = field(default_factory=list)
    extra: Any = None


class ChatReply(Fold):
    """Calls are told apart by index, or by id where there is none."""

    def __init__(self, place: Place, names: ToolNames, mark: str) -> None:
        super().__init__(place, names, mark)
        self._calls: list[Begun] = []
        self._field = ""
        self._details: list[dict[str, Any]] = []
        self._usage: dict[str, Any] | None = None
        self._finish = ""
        self._refused = False
        self._spoke = False

    def take(self, event: Event) -> bool:
        if event.data.startswith("[DONE]"):
            self.complete = self.ended = True
            return True
        if not event.data:
            return False
        chunk = read_json(event.data, self._place)
        if not isinstance(chunk, dict):
            raise fault("garbled", self._place, "A chunk of it is not an object.")
        if chunk.get("error") or chunk.get("object") == "error":
            raise told(self._place, chunk)
        if usage := chunk.get("usage"):
            self._usage = usage
        choices = chunk.get("choices")
        if choices and isinstance(choices, list) and isinstance(choices[0], dict):
            self._choice(choices[0])
        return True

    def whole(self) -> Delta:
        usage, note = self._counted()
        stop = "refused" if self._refused else ended_as(self._finish)
        if self._finish in ("error", "network_error"):
            raise fault("cut", self._place, "The server says that the reply failed.")
        if not self._spoke and not self._calls:
            if stop == "filtered":
                raise fault("filtered", self._place)
            if stop == "length" and (usage is None or not usage.output):
                raise fault(
                    "too_long", self._place, "The reply ended before it began, as replies do when nothing fits."
                )
        extra = {str(place): call.extra for place, call in enumerate(self._calls) if call.extra}
        carry = {"field": self._field, "details": self._details, "extra": extra}
        calls = tuple(Asked(self._names.back(call.name), "".join(call.arguments) or "{}") for call in self._calls)
        kept = packed(self._mark, {name: value for name, value in carry.items() if value})
        return Delta(calls=calls, usage=usage, stop=stop, carry=kept, note=note)

    def _choice(self, choice: dict[str, Any]) -> None:
        delta = choice.get("delta") or choice.get("message")
        if isinstance(delta, dict):
            self._delta(delta)
        if usage := choice.get("usage"):
            self._usage = usage
        if finish := choice.get("finish_reason"):
            self._finish = text(finish)
            self.complete = True

    def _delta(self, delta: dict[str, Any]) -> None:
        content = delta.get("content")
        if content:
            if isinstance(content, str):
                self.text.append(content)
                self._spoke = True
            else:
                self._parts(content)
        if len(delta) > 1 or not content:
            self._besides(delta)

    def _besides(self, delta: dict[str, Any]) -> None:
        """Whatever is rarer than words."""
        for name in THOUGHTS:
            thought = delta.get(name)
            if thought and isinstance(thought, str):
                self.reasoning.append(thought)
                self._field = self._field or name
                self._spoke = True
                break
        if refusal := text(delta.get("refusal")):
            self.text.append(refusal)
            self._refused = self._spoke = True
        for detail in objects(delta.get("reasoning_details")):
            self._detail(detail)
        for call in objects(delta.get("tool_calls")):
            self._call(call)
        if isinstance(function := delta.get("function_call"), dict):
            self._call({"index": "function_call", "function": function})

    def _parts(self, content: Any) -> None:
        """Content as a list: words, and thoughts where a server puts them there."""
        for part in objects(content):
            if part.get("type") == "thinking":
                inner = part.get("thinking")
                thought = inner if isinstance(inner, str) else "".join(text(one.get("text")) for one in objects(inner))
                self.reasoning.append(thought)
            else:
                self.text.append(text(part.get("text")))
            self._spoke = True

    def _call(self, plain: dict[str, Any]) -> None:
        function = plain.get("function")
        function = function if isinstance(function, dict) else {}
        name, arguments = text(function.get("name")), function.get("arguments")
        call = self._begun(plain.get("index"), text(plain.get("id")), name)
        call.name = call.name or name
        if isinstance(arguments, str):
            call.arguments.append(arguments)
        elif arguments is not None:
            call.arguments = [json.dumps(arguments)]
        call.extra = plain.get("extra_content") or call.extra

    def _begun(self, index: Any, id: str, name: str) -> Begun:
        """The call that a piece belongs to: a new id with a name is a new call, whatever its index says."""
        for call in reversed(self._calls):
            same_place = index is not None and call.index == index
            same_id = bool(id) and call.id == id
            starts_anew = bool(id) and bool(call.id) and not same_id and bool(name) and bool(call.name)
            if (same_place and not starts_anew) or (index is None and same_id):
                return call
        if index is None and not id and self._calls and not (name and self._calls[-1].name):
            return self._calls[-1]
        if len(self._calls) == MOST_CALLS:
            raise too_much(f"It asks for more than {MOST_CALLS} calls.")
        self._calls.append(Begun(index, id))
        return self._calls[-1]

    def _detail(self, plain: dict[str, Any]) -> None:
        """Pieces of one thought are joined; the server wants it back as one."""
        last = self._details[-1] if self._details else {}
        same = all(last.get(name) == plain.get(name) for name in ("type", "index")) and not plain.get("data")
        if not last or not same:
            self._details.append(dict(plain))
            return
        for name, value in plain.items():
            if name in ("text", "summary") and isinstance(value, str):
                last[name] = text(last.get(name)) + value
            elif value is not None:
                last[name] = value

    def _counted(self) -> tuple[Usage | None, str]:
        plain = self._usage
        if not isinstance(plain, dict):
            return None, ""
        cached = at(plain, "prompt_tokens_details", "cached_tokens") or plain.get("prompt_cache_hit_tokens")
        written = at(plain, "prompt_tokens_details", "cache_write_tokens")
        thought = at(plain, "completion_tokens_details", "reasoning_tokens")
        sent, came = plain.get("prompt_tokens"), plain.get("completion_tokens")
        counts = (number(sent), number(came), number(thought))
        if all(counts) and sum(filter(None, counts)) == number(plain.get("total_tokens")):
            came = (counts[1] or 0) + (counts[2] or 0)  # x.ai counts thoughts apart from the reply
        if number(written) and (number(cached) or 0) + (number(written) or 0) > (number(sent) or 0):
            cached = (number(cached) or 0) - (number(written) or 0)  # OpenRouter counts what it writes as cached too
        return usage_of(sent, came, cached, written, thought)
