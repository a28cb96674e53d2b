"""An Anthropic Messages reply, folded from its events."""

import json
from dataclasses import dataclass, field
from typing import Any

from core.domain.events import Usage
from core.models.carry import packed
from core.models.faults import Place, fault, told
from core.models.model import Asked, Delta
from core.models.names import ToolNames
from core.models.plain import at, number, objects, text, usage_of
from core.models.sse import Event
from core.models.stops import ended_as
from core.models.wire import Fold, read_json


@dataclass(slots=True)
class Block:
    """A part of the reply: as it began, and the pieces since."""

    plain: dict[str, Any]
    pieces: list[str] = field(default_factory=list)
    signature: str = ""

    @property
    def kind(self) -> str:
        return text(self.plain.get("type"))


class AnthropicReply(Fold):
    """Blocks may overlap."""

    def __init__(self, place: Place, names: ToolNames, mark: str) -> None:
        super().__init__(place, names, mark)
        self._blocks: dict[str, Block] = {}
        self._usage: dict[str, Any] = {}
        self._stop = ""
        self._details: Any = None

    def take(self, event: Event) -> bool:
        if not event.data or event.data.startswith("[DONE]"):
            return False
        plain = read_json(event.data, self._place)
        if not isinstance(plain, dict):
            raise fault("garbled", self._place, "An event of it is not an object.")
        match text(plain.get("type")) or event.name:
            case "content_block_delta":
                self._delta(str(plain.get("index")), plain.get("delta"))
            case "content_block_start":
                self._start(str(plain.get("index")), plain.get("content_block"))
            case "message_start":
                self._count(at(plain, "message", "usage"))
            case "message_delta":
                self._count(plain.get("usage"))
                self._stopped(plain.get("delta"))
            case "message_stop":
                self.complete = self.ended = True
            case "message":
                self._whole(plain)
            case "error":
                raise told(self._place, plain)
            case "ping":
                return False
            case _:
                if plain.get("error"):
                    raise told(self._place, plain)
        return True

    def whole(self) -> Delta:
        usage, note = self._counted()
        blocks = list(self._blocks.values())
        calls = tuple(
            Asked(self._names.back(text(block.plain.get("name"))), self._arguments(block))
            for block in blocks
            if block.kind == "tool_use"
        )
        stop = ended_as(self._stop)
        if not calls and not any(block.pieces for block in blocks):
            if stop == "refused":
                raise fault("filtered", self._place, text(at(self._details, "explanation")))
            if self._stop == "model_context_window_exceeded" or (stop == "length" and not (usage and usage.output)):
                raise fault(
                    "too_long", self._place, "The reply ended before it began, as replies do when nothing fits."
                )
        return Delta(calls=calls, usage=usage, stop=stop, carry=self._carry(blocks), note=note)

    def _start(self, index: str, plain: Any) -> None:
        block = Block(plain if isinstance(plain, dict) else {})
        self._blocks[index] = block
        block.signature = text(block.plain.get("signature"))
        if block.kind == "text":
            self._delta(index, {"text": block.plain.get("text")})
        elif block.kind == "thinking":
            self._delta(index, {"thinking": block.plain.get("thinking")})

    def _delta(self, index: str, delta: Any) -> None:
        if not isinstance(delta, dict):
            return
        if words := text(delta.get("text")):
            self.text.append(words)
            self._block(index, "text").pieces.append(words)
        elif thought := text(delta.get("thinking")):
            self.reasoning.append(thought)
            self._block(index, "thinking").pieces.append(thought)
        elif piece := text(delta.get("partial_json")):
            self._block(index, "tool_use").pieces.append(piece)
        elif signature := text(delta.get("signature")):
            self._block(index, "thinking").signature = signature

    def _block(self, index: str, kind: str) -> Block:
        return self._blocks.setdefault(index, Block({"type": kind}))

    def _stopped(self, delta: Any) -> None:
        if isinstance(delta, dict) and (reason := text(delta.get("stop_reason"))):
            self._stop = reason
            self._details = delta.get("stop_details")
            self.complete = True

    def _count(self, usage: Any) -> None:
        """Counts are of everything so far; those that are not repeated still hold."""
        if isinstance(usage, dict):
            self._usage |= {name: value for name, value in usage.items() if value is not None}

    def _whole(self, plain: dict[str, Any]) -> None:
        """A message that came at once."""
        for index, block in enumerate(objects(plain.get("content"))):
            self._start(str(index), block)
        self._count(plain.get("usage"))
        self._stopped(plain)
        self.complete = self.ended = True

    def _arguments(self, block: Block) -> str:
        if block.pieces:
            return "".join(block.pieces)
        return json.dumps(block.plain.get("input") or {}, ensure_ascii=False)

    def _counted(self) -> tuple[Usage | None, str]:
        """This wire counts what was cached beside the input; for us it is a part of it."""
        if not self._usage:
            return None, ""
        names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
        counts = [self._usage.get(name) for name in names]
        good = all(value == 0 or value is None or number(value) for value in counts)
        whole = sum(number(value) or 0 for value in counts) if good else -1
        thought = at(self._usage, "output_tokens_details", "thinking_tokens")
        return usage_of(whole, self._usage.get("output_tokens"), counts[1], counts[2], thought)

    def _carry(self, blocks: list[Block]) -> str:
        """The blocks in their order where there are thoughts that are signed or sealed; only those may go back."""
        if not any(block.signature or block.kind == "redacted_thinking" for block in blocks):
            return ""
        kept: list[dict[str, Any]] = []
        for block in blocks:
            if block.kind == "thinking" and block.signature:
                thought = {"type": "thinking", "thinking": "".join(block.pieces), "signature": block.signature}
                kept.append(thought)
            elif block.kind == "redacted_thinking":
                kept.append({"type": "redacted_thinking", "data": block.plain.get("data")})
            elif block.kind == "text":
                kept.append({"type": "text", "text": "".join(block.pieces)})
            elif block.kind == "tool_use":
                kept.append({"type": "tool_use"})
        return packed(self._mark, kept)
