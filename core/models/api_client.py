"""The HTTP and streaming code shared by all API formats: send a request, then parse the reply as it arrives.

A reply that was interrupted is never reported as complete.
"""

import contextlib
import json
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

from core.models.endpoint import ProviderEndpoint
from core.models.errors import HTML, ErrorContext, error_from_response, make_error
from core.models.http import MAX_ERROR_BYTES, HttpResponse, ModelHttpClient
from core.models.mask import KeyMask, MaskedStream
from core.models.model import ModelError, ReplyDelta, RequestedCall
from core.models.repetition import RepetitionGuard
from core.models.stop_reasons import REPEATED, STOP_NOTES
from core.models.stream_parsers import JsonBodyParser, NdjsonParser, SseParser, StreamEvent
from core.models.tool_names import ToolNames


@dataclass(frozen=True, slots=True)
class ModelLimits:
    """The limits of a model as far as they are known; None is unknown.

    `max_output` and `window` (the context window) are in tokens. `images` and `pdf` are whether the model accepts them.
    """

    max_output: int | None = None
    window: int | None = None
    images: bool | None = None
    pdf: bool | None = None


UNKNOWN_LIMITS = ModelLimits()


@dataclass(frozen=True, slots=True)
class ListedModel:
    """A model as its provider lists it; None is unknown. Prices are in US dollars per million tokens."""

    id: str
    name: str = ""
    window: int | None = None
    max_output: int | None = None
    price_in: float | None = None
    price_out: float | None = None
    price_cached: float | None = None
    tools: bool | None = None
    vision: bool | None = None
    pdf: bool | None = None
    reasoning: bool | None = None


class NewContent(NamedTuple):
    """What arrived of a reply since the last look. `activity` is what the provider does before the reply begins."""

    text: str
    reasoning: str
    arguments: str
    activity: str


class ReplyParser(ABC):
    """Base class of the parsers that turn the events of one streamed reply into deltas.

    Attributes:
        text, reasoning, arguments, activity: what arrived since the last `take_new`; `arguments` are those of calls.
        complete: the reply is complete, though more events (such as usage) may follow.
        ended: no more events follow.
    """

    def __init__(self, context: ErrorContext, names: ToolNames, origin: str) -> None:
        self.text: list[str] = []
        self.reasoning: list[str] = []
        self.arguments: list[str] = []
        self.activity = ""
        self.complete = False
        self.ended = False
        self._error_context = context
        self._names = names
        self._origin = origin

    def take_new(self) -> NewContent:
        """Return what arrived since the last call."""
        new = NewContent("".join(self.text), "".join(self.reasoning), "".join(self.arguments), self.activity)
        self.text.clear()
        self.reasoning.clear()
        self.arguments.clear()
        self.activity = ""
        return new

    @abstractmethod
    def feed(self, event: StreamEvent) -> bool:
        """Process an event; return whether it counts as progress. Raises `ModelError` for an error event."""

    @abstractmethod
    def finish(self) -> ReplyDelta:
        """Return the final delta (calls, usage, stop reason, provider state) once the reply is complete."""


class BodyParser(Protocol):
    """Turns the bytes of a response into events."""

    def feed(self, chunk: bytes) -> list[StreamEvent]: ...

    def finish(self) -> list[StreamEvent]: ...


class ApiClient:
    """Sends requests to one provider. Each API format supplies the request body and the reply parser."""

    def __init__(self, endpoint: ProviderEndpoint, model: str) -> None:
        self.endpoint = endpoint
        self.model = model
        self.error_context = ErrorContext(endpoint.origin, model, KeyMask(endpoint.api_key))
        self._http = ModelHttpClient(endpoint)

    async def stream_reply(
        self,
        path: str,
        headers: Mapping[str, str],
        body: Mapping[str, Any],
        reply_parser: ReplyParser,
        *,
        ndjson: bool = False,
    ) -> AsyncGenerator[ReplyDelta, None]:
        """Post a body and stream the reply. The last delta is the one that the parser's `finish` returns.

        A reply that repeats itself without end is stopped; it ends with the stop reason `repeated` and has no calls.
        """
        text_stream = MaskedStream(self.error_context.mask)
        reasoning_stream = MaskedStream(self.error_context.mask)
        guard = RepetitionGuard()
        is_repeated = False
        error: ModelError | None = None
        async with contextlib.aclosing(self._post(path, headers, body, reply_parser, ndjson)) as chunks:
            while error is None and not is_repeated:
                try:
                    await anext(chunks)
                except StopAsyncIteration:
                    break
                except ModelError as caught:  # raised only after what arrived before it was passed on
                    error = caught
                new = reply_parser.take_new()
                is_repeated = guard.feed(new.text, new.reasoning, new.arguments)
                if new.activity:
                    yield ReplyDelta(activity=new.activity)
                if new.text or new.reasoning:
                    yield ReplyDelta(text_stream.feed(new.text), reasoning_stream.feed(new.reasoning))
        last = ReplyDelta(text_stream.finish(), reasoning_stream.finish())
        if is_repeated and not reply_parser.complete:
            yield replace(last, stop_reason=REPEATED, note=STOP_NOTES[REPEATED])
            return
        if not reply_parser.complete:
            if last != ReplyDelta():
                yield last
            raise error or make_error("cut", self.error_context, "The stream ended before the reply was complete.")
        final = reply_parser.finish()
        note = final.note or STOP_NOTES.get(final.stop_reason, "")
        yield self._masked(replace(final, text=last.text, reasoning=last.reasoning, note=note))

    async def _post(
        self, path: str, headers: Mapping[str, str], body: Mapping[str, Any], reply_parser: ReplyParser, ndjson: bool
    ) -> AsyncGenerator[None, None]:
        """Post a body and feed the response to the parser, up to the end of the reply. Yield after each chunk."""
        request = self._http.request(
            self.endpoint.url(path), self.error_context, self._head(headers), encode_json(body)
        )
        async with request as response, contextlib.AsyncExitStack() as exit_stack:
            await self._accept(response)
            chunks = await exit_stack.enter_async_context(contextlib.aclosing(response.chunks()))
            body_parser: BodyParser | None = None
            async for chunk in chunks:
                body_parser = body_parser or self._body_parser(response, chunk, ndjson)
                _feed_events(body_parser.feed(chunk), reply_parser, response)
                yield
                if reply_parser.ended:
                    return
            body_parser = body_parser or self._body_parser(response, b"", ndjson)
            _feed_events(body_parser.finish(), reply_parser, response)
            yield

    async def fetch_json(self, path: str, headers: Mapping[str, str], body: Mapping[str, Any] | None = None) -> Any:
        """Request a path (POST if there is a body, else GET) and return the decoded JSON."""
        content = None if body is None else encode_json(body)
        async with self._http.request(
            self.endpoint.url(path), self.error_context, self._head(headers), content
        ) as response:
            await self._accept(response)
            parser = JsonBodyParser()
            async for chunk in response.chunks():
                parser.feed(chunk)
        (event,) = parser.finish()
        self._refuse_web_page(response, event.data[:1000].encode("utf-8", "replace"))
        return decode_json(event.data, self.error_context)

    def _head(self, headers: Mapping[str, str]) -> dict[str, str]:
        return {"content-type": "application/json", **headers, **dict(self.endpoint.headers)}

    async def _accept(self, response: HttpResponse) -> None:
        if response.status >= 400:
            body = await response.read_body(MAX_ERROR_BYTES)
            raise error_from_response(self.error_context, response.status, response.headers, body)

    def _body_parser(self, response: HttpResponse, start: bytes, ndjson: bool) -> BodyParser:
        """Choose the parser for a response. Some servers send one JSON value even when a stream was requested."""
        self._refuse_web_page(response, start)
        content_type = response.headers.get("content-type", "")
        if ndjson:
            return NdjsonParser()
        if "event-stream" not in content_type and ("json" in content_type or start.lstrip()[:1] in (b"{", b"[")):
            return JsonBodyParser()
        return SseParser()

    def _refuse_web_page(self, response: HttpResponse, start: bytes) -> None:
        """Raise an error if the response is HTML, as from a login page or a server of another kind."""
        if "html" in response.headers.get("content-type", "") or HTML.match(start):
            raise make_error("not_a_server", self.error_context, "It returned a web page.")

    def _masked(self, delta: ReplyDelta) -> ReplyDelta:
        mask = self.error_context.mask.hide
        calls = tuple(RequestedCall(mask(call.tool), mask(call.arguments)) for call in delta.calls)
        return replace(delta, calls=calls, provider_state=mask(delta.provider_state))


def _feed_events(events: Iterable[StreamEvent], parser: ReplyParser, response: HttpResponse) -> None:
    progressed = False
    for event in events:
        if parser.feed(event):
            progressed = True
        if parser.ended:
            return
    if progressed:
        if parser.complete:
            response.deadline.reply_complete()
        else:
            response.deadline.extend()


def encode_json(body: Mapping[str, Any]) -> bytes:
    """Encode a body as UTF-8 JSON; if it contains lone surrogates, all non-ASCII characters are escaped."""
    try:
        return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(body, separators=(",", ":")).encode()


def decode_json(text: str, context: ErrorContext) -> Any:
    """Decode JSON. An integer of 4000 digits or more, which Python refuses to parse, is kept as a string."""
    try:
        return json.loads(text)
    except RecursionError:
        raise make_error("garbled", context, "Its JSON is nested too deeply.") from None
    except ValueError:
        pass
    try:
        return json.loads(text, parse_int=_parse_int)
    except (ValueError, RecursionError) as error:
        raise make_error("garbled", context, f"It is not valid JSON: {error}.") from None


def _parse_int(digits: str) -> int | str:
    return int(digits) if len(digits) < 4000 else digits
