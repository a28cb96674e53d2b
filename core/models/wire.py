"""What all wires share: a request sent, its reply read piece by piece, and never taken for whole when it was cut."""

import contextlib
import json
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from core.models.faults import HTML, Place, fault, refused
from core.models.http import LARGEST_ERROR, Answer, Http
from core.models.mask import Flow, Mask
from core.models.model import Asked, Delta, Fault
from core.models.names import ToolNames
from core.models.server import Server
from core.models.sse import Event, Ndjson, Sse, Whole
from core.models.stops import NOTES


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a model; None is unknown. `output` and `window` are tokens."""

    output: int | None = None
    window: int | None = None
    images: bool | None = None
    pdf: bool | None = None


UNKNOWN = Known()


@dataclass(frozen=True, slots=True)
class Listed:
    """A model as its server lists it; None is unknown. Prices are in US dollars for a million tokens."""

    id: str
    name: str = ""
    window: int | None = None
    output: int | None = None
    price_in: float | None = None
    price_out: float | None = None
    price_cached: float | None = None
    tools: bool | None = None
    vision: bool | None = None
    pdf: bool | None = None
    reasoning: bool | None = None


class Fold(ABC):
    """Folds the events of one reply.

    Attributes:
        text: words that the last events brought.
        reasoning: thoughts that they brought.
        complete: the reply is whole, though more may follow.
        ended: nothing follows.
    """

    def __init__(self, place: Place, names: ToolNames, mark: str) -> None:
        self.text: list[str] = []
        self.reasoning: list[str] = []
        self.complete = False
        self.ended = False
        self._place = place
        self._names = names
        self._mark = mark

    @abstractmethod
    def take(self, event: Event) -> bool:
        """Whether it was a sign of life. Raises Fault when the server tells one."""

    @abstractmethod
    def whole(self) -> Delta:
        """Calls, usage, stop and carry, once the reply is complete."""


class Parser(Protocol):
    """Bytes to events."""

    def feed(self, chunk: bytes) -> list[Event]: ...

    def rest(self) -> list[Event]: ...


class Wire:
    """Requests to one server; what they say and how a reply is read is up to each format."""

    def __init__(self, server: Server, model: str) -> None:
        self.server = server
        self.model = model
        self.place = Place(server.origin, model, Mask(server.key))
        self._http = Http(server)

    async def reply(
        self, path: str, headers: Mapping[str, str], body: Mapping[str, Any], fold: Fold, *, lines: bool = False
    ) -> AsyncGenerator[Delta, None]:
        """The reply to a body, piece by piece; the last piece is what the fold made of it."""
        words, thoughts = Flow(self.place.mask), Flow(self.place.mask)
        trouble: Fault | None = None
        parser: Parser | None = None
        asked = self._http.ask(self.server.url(path), self.place, self._head(headers), encoded(body))
        async with asked as answer, contextlib.AsyncExitStack() as closed_with:
            await self._accept(answer)
            pieces = await closed_with.enter_async_context(contextlib.aclosing(answer.pieces()))
            piece = b"-"
            while piece and not fold.ended and trouble is None:
                try:
                    piece = await anext(pieces, b"")
                    parser = parser or self._parser(answer, piece, lines)
                    _take(parser.feed(piece) if piece else parser.rest(), fold, answer)
                except Fault as met:
                    trouble = met
                text, reasoning = "".join(fold.text), "".join(fold.reasoning)
                if text or reasoning:
                    fold.text.clear()
                    fold.reasoning.clear()
                    yield Delta(words.pass_on(text), thoughts.pass_on(reasoning))
        last = Delta(words.rest(), thoughts.rest())
        if not fold.complete:
            if last != Delta():
                yield last
            raise trouble or fault("cut", self.place, "The stream ended before the reply did.")
        whole = fold.whole()
        note = whole.note or NOTES.get(whole.stop, "")
        yield self._masked(replace(whole, text=last.text, reasoning=last.reasoning, note=note))

    async def fetch(self, path: str, headers: Mapping[str, str], body: Mapping[str, Any] | None = None) -> Any:
        """The JSON at a path."""
        content = None if body is None else encoded(body)
        async with self._http.ask(self.server.url(path), self.place, self._head(headers), content) as answer:
            await self._accept(answer)
            value = Whole()
            async for piece in answer.pieces():
                value.feed(piece)
        (event,) = value.rest()
        self._parser(answer, event.data[:1000].encode("utf-8", "replace"), False)
        return read_json(event.data, self.place)

    def _head(self, headers: Mapping[str, str]) -> dict[str, str]:
        return {"content-type": "application/json", **headers, **dict(self.server.headers)}

    async def _accept(self, answer: Answer) -> None:
        if answer.status >= 400:
            raise refused(self.place, answer.status, answer.headers, await answer.body(LARGEST_ERROR))

    def _parser(self, answer: Answer, start: bytes, lines: bool) -> Parser:
        """What reads this answer; servers also send one JSON value where a stream was asked for."""
        kind = answer.headers.get("content-type", "")
        if "html" in kind or HTML.match(start):
            raise fault("not_a_server", self.place, "It answered with a web page.")
        if lines:
            return Ndjson()
        if "event-stream" not in kind and ("json" in kind or start.lstrip()[:1] in (b"{", b"[")):
            return Whole()
        return Sse()

    def _masked(self, delta: Delta) -> Delta:
        hide = self.place.mask.hide
        calls = tuple(Asked(hide(call.tool), hide(call.arguments)) for call in delta.calls)
        return replace(delta, calls=calls, carry=hide(delta.carry))


def _take(events: Iterable[Event], fold: Fold, answer: Answer) -> None:
    moved = False
    for event in events:
        if fold.take(event):
            moved = True
        if fold.ended:
            return
    if moved:
        if fold.complete:
            answer.watch.ended()
        else:
            answer.watch.moved()


def encoded(body: Mapping[str, Any]) -> bytes:
    """JSON as every server reads it; half a character stays an escape."""
    try:
        return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(body, separators=(",", ":")).encode()


def read_json(text: str, place: Place) -> Any:
    """The value a text holds. A number with thousands of digits, which Python reads no more, stays its digits."""
    try:
        return json.loads(text)
    except RecursionError:
        raise fault("garbled", place, "Its JSON is nested too deeply.") from None
    except ValueError:
        pass
    try:
        return json.loads(text, parse_int=_digits)
    except (ValueError, RecursionError) as error:
        raise fault("garbled", place, f"It is not JSON: {error}.") from None


def _digits(digits: str) -> int | str:
    return int(digits) if len(digits) < 4000 else digits
