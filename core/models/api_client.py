"""The HTTP and streaming code shared by all API formats: it sends a request and parses the reply as it arrives.

An interrupted reply is never reported as complete.
"""

import contextlib
import json
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping
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
    """The limits of a model as far as they are known; None means unknown.

    `max_output` and `window` (the context window) are in tokens; `images` and `pdf` tell whether the model accepts
    them.
    """

    max_output: int | None = None
    window: int | None = None
    images: bool | None = None
    pdf: bool | None = None


UNKNOWN_LIMITS = ModelLimits()
MAX_INT_DIGITS = 4_000  # digits; by default, Python refuses integers of more than 4,300


@dataclass(frozen=True, slots=True)
class ListedModel:
    """A model as its provider lists it; None means unknown. Prices are in US dollars per million tokens."""

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
    """New content of a reply. `activity` is what the provider is doing before the reply begins."""

    text: str
    reasoning: str
    arguments: str
    activity: str


class ReplyParser(ABC):
    """Base class of parsers that turn the events of one streamed reply into deltas.

    Attributes:
        text, reasoning, arguments, activity: the content since the last `take_new`; `arguments` are those of tool
            calls.
        complete: whether the reply is complete, although further events, such as usage, may follow.
        ended: whether no more events follow.
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
        """Return the content that has arrived since the last call."""
        new = NewContent("".join(self.text), "".join(self.reasoning), "".join(self.arguments), self.activity)
        self.text.clear()
        self.reasoning.clear()
        self.arguments.clear()
        self.activity = ""
        return new

    @abstractmethod
    def feed(self, event: StreamEvent) -> bool:
        """Process an event; return whether it counts as progress. Raise `ModelError` for an error event."""

    @abstractmethod
    def finish(self) -> ReplyDelta:
        """Return the final delta of a complete reply: its tool calls, usage, stop reason and provider state."""


class BodyParser(Protocol):
    """Splits the bytes of a response into events."""

    def feed(self, chunk: bytes) -> list[StreamEvent]: ...

    def finish(self) -> list[StreamEvent]: ...


class _ContentMask:
    """Turns the content of one reply into deltas in which the API key is masked."""

    def __init__(self, mask: KeyMask) -> None:
        self._text = MaskedStream(mask)
        self._reasoning = MaskedStream(mask)

    def feed(self, content: NewContent) -> Iterator[ReplyDelta]:
        """Yield the deltas of new content, holding back an end that may be the beginning of the key."""
        if content.activity:
            yield ReplyDelta(activity=content.activity)
        if content.text or content.reasoning:
            yield ReplyDelta(self._text.feed(content.text), self._reasoning.feed(content.reasoning))

    def finish(self) -> Iterator[ReplyDelta]:
        """Yield the content that is still held back."""
        rest = ReplyDelta(self._text.finish(), self._reasoning.finish())
        if rest != ReplyDelta():
            yield rest


class ApiClient:
    """Sends requests to one provider. The caller, one of the API formats, supplies the request body and the parser."""

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
        """Post a body and stream the reply as deltas. The last delta has the tool calls, the usage and the stop reason.

        A reply that repeats itself endlessly is stopped: it ends with the stop reason `repeated` and without calls.
        Raise `ModelError`, after the content received so far, if the reply is incomplete.
        """
        mask, guard = _ContentMask(self.error_context.mask), RepetitionGuard()
        is_repeated = False
        error: ModelError | None = None
        async with contextlib.aclosing(self._receive(path, headers, body, reply_parser, ndjson)) as contents:
            try:
                async for content in contents:
                    for delta in mask.feed(content):
                        yield delta
                    is_repeated = guard.feed(content.text, content.reasoning, content.arguments)
                    if is_repeated:
                        break
            except ModelError as caught:
                error = caught
        for delta in mask.finish():
            yield delta
        yield self._last_delta(reply_parser, is_repeated, error)

    async def _receive(
        self, path: str, headers: Mapping[str, str], body: Mapping[str, Any], reply_parser: ReplyParser, ndjson: bool
    ) -> AsyncGenerator[NewContent, None]:
        """Post a body and yield the content that the parser finds in each chunk of the response, until the reply ends.

        If the parser raises `ModelError`, the content before the error is yielded first.
        """
        request = self._http.request(
            self.endpoint.url(path), self.error_context, self._head(headers), encode_json(body)
        )
        async with request as response:
            await self._accept(response)
            async with contextlib.aclosing(self._events(response, ndjson)) as batches:
                async for events in batches:
                    try:
                        _feed_events(events, reply_parser, response)
                    except ModelError:
                        yield reply_parser.take_new()
                        raise
                    yield reply_parser.take_new()
                    if reply_parser.ended:
                        break

    async def _events(self, response: HttpResponse, ndjson: bool) -> AsyncGenerator[list[StreamEvent], None]:
        """Yield the events in each chunk of a response, then those that its end completes."""
        body_parser: BodyParser | None = None
        async with contextlib.aclosing(response.chunks()) as chunks:
            async for chunk in chunks:
                body_parser = body_parser or self._body_parser(response, chunk, ndjson)
                yield body_parser.feed(chunk)
        yield (body_parser or self._body_parser(response, b"", ndjson)).finish()

    def _last_delta(self, reply_parser: ReplyParser, is_repeated: bool, error: ModelError | None) -> ReplyDelta:
        """Return the delta that ends a reply. Raise `ModelError` if the reply is incomplete and was not stopped.

        An `error` after a complete reply is ignored: at most its usage is missing.
        """
        if reply_parser.complete:
            last = self._masked(reply_parser.finish())
            return replace(last, note=last.note or STOP_NOTES.get(last.stop_reason, ""))
        if is_repeated:
            return ReplyDelta(stop_reason=REPEATED, note=STOP_NOTES[REPEATED])
        raise error or make_error("cut", self.error_context, "The stream ended before the reply was complete.")

    async def fetch_json(self, path: str, headers: Mapping[str, str], body: Mapping[str, Any] | None = None) -> Any:
        """Request a path, with POST if there is a body or else with GET, and return the decoded JSON."""
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
        """Return a parser for a response, which may be a single JSON value although a stream was requested."""
        self._refuse_web_page(response, start)
        content_type = response.headers.get("content-type", "")
        if ndjson:
            return NdjsonParser()
        if "event-stream" not in content_type and ("json" in content_type or start.lstrip()[:1] in (b"{", b"[")):
            return JsonBodyParser()
        return SseParser()

    def _refuse_web_page(self, response: HttpResponse, start: bytes) -> None:
        """Raise `ModelError` if a response is HTML, such as a login page."""
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
    """Encode a body as UTF-8 JSON; if it contains lone surrogates, escape all non-ASCII characters."""
    try:
        return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(body, separators=(",", ":")).encode()


def decode_json(text: str, context: ErrorContext) -> Any:
    """Decode JSON.

    If Python refuses to parse one of its integers, those of more than `MAX_INT_DIGITS` digits become strings.
    """
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
    return int(digits) if len(digits.removeprefix("-")) <= MAX_INT_DIGITS else digits
