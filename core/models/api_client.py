"""The HTTP and streaming code shared by all API formats: send a request, then parse the reply as it arrives.

A reply that was interrupted is never reported as complete.
"""

import contextlib
import json
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

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


class ReplyParser(ABC):
    """Base class of the parsers that turn the events of one streamed reply into deltas.

    Attributes:
        text: text received since the caller last cleared the list.
        reasoning: reasoning received since the caller last cleared the list.
        activity: what the provider does before the reply begins, as of the last event.
        arguments: arguments of calls received since the caller last cleared the list.
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

    def __init__(self, server: ProviderEndpoint, model: str) -> None:
        self.endpoint = server
        self.model = model
        self.error_context = ErrorContext(server.origin, model, KeyMask(server.api_key))
        self._http = ModelHttpClient(server)

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
        text_stream, reasoning_stream = MaskedStream(self.error_context.mask), MaskedStream(self.error_context.mask)
        error: ModelError | None = None
        guard, is_repeated = RepetitionGuard(), False
        parser: BodyParser | None = None
        response_context = self._http.request(
            self.endpoint.url(path), self.error_context, self._head(headers), encode_json(body)
        )
        async with response_context as response, contextlib.AsyncExitStack() as exit_stack:
            await self._accept(response)
            chunks = await exit_stack.enter_async_context(contextlib.aclosing(response.chunks()))
            chunk = b"-"  # not empty, so that the loop reads the first chunk
            while chunk and not reply_parser.ended and error is None and not is_repeated:
                try:
                    chunk = await anext(chunks, b"")
                    parser = parser or self._parser(response, chunk, ndjson)
                    _feed_events(parser.feed(chunk) if chunk else parser.finish(), reply_parser, response)
                except ModelError as caught:
                    error = caught
                text, reasoning = "".join(reply_parser.text), "".join(reply_parser.reasoning)
                is_repeated = guard.feed(text, reasoning, "".join(reply_parser.arguments))
                reply_parser.arguments.clear()
                if reply_parser.activity:
                    yield ReplyDelta(activity=reply_parser.activity)
                    reply_parser.activity = ""
                if text or reasoning:
                    reply_parser.text.clear()
                    reply_parser.reasoning.clear()
                    yield ReplyDelta(text_stream.feed(text), reasoning_stream.feed(reasoning))
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
        self._parser(response, event.data[:1000].encode("utf-8", "replace"), False)
        return decode_json(event.data, self.error_context)

    def _head(self, headers: Mapping[str, str]) -> dict[str, str]:
        return {"content-type": "application/json", **headers, **dict(self.endpoint.headers)}

    async def _accept(self, answer: HttpResponse) -> None:
        if answer.status >= 400:
            raise error_from_response(
                self.error_context, answer.status, answer.headers, await answer.read_body(MAX_ERROR_BYTES)
            )

    def _parser(self, answer: HttpResponse, start: bytes, lines: bool) -> BodyParser:
        """Choose the parser for a response. Some servers send one JSON value even when a stream was requested."""
        kind = answer.headers.get("content-type", "")
        if "html" in kind or HTML.match(start):
            raise make_error("not_a_server", self.error_context, "It returned a web page.")
        if lines:
            return NdjsonParser()
        if "event-stream" not in kind and ("json" in kind or start.lstrip()[:1] in (b"{", b"[")):
            return JsonBodyParser()
        return SseParser()

    def _masked(self, delta: ReplyDelta) -> ReplyDelta:
        mask = self.error_context.mask.hide
        calls = tuple(RequestedCall(mask(call.tool), mask(call.arguments)) for call in delta.calls)
        return replace(delta, calls=calls, provider_state=mask(delta.provider_state))


def _feed_events(events: Iterable[StreamEvent], parser: ReplyParser, answer: HttpResponse) -> None:
    progressed = False
    for event in events:
        if parser.feed(event):
            progressed = True
        if parser.ended:
            return
    if progressed:
        if parser.complete:
            answer.deadline.reply_complete()
        else:
            answer.deadline.extend()


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
