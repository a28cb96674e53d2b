"""Broken and malicious providers, case by case: the error explains why, nothing hangs and memory is bounded."""

import asyncio
import json
import re
import ssl
from pathlib import Path
from typing import Any

import pytest

from core.domain.events import ToolCall
from core.domain.problems import Problem, StorageProblem
from core.domain.text import Text
from core.models.api_client import UNKNOWN_LIMITS
from core.models.api_formats import API_FORMATS
from core.models.endpoint import ProviderEndpoint, RequestTimeouts
from core.models.errors import ERROR_KINDS, ErrorContext, make_error
from core.models.json_values import USAGE_NOTE
from core.models.mask import KeyMask
from core.models.model import RequestedCall
from core.models.retry import MAX_ATTEMPTS, retry_delay_s
from tests.core.models.replies import (
    GOLDEN,
    KEY,
    SHORT_TIMEOUTS,
    TEST_TIMEOUT_S,
    Gathered,
    assistant_message,
    gather,
    make_request,
    run_exchange,
    tool_message,
    user_message,
)
from tests.servers.scripted_server import ScriptedServer, answer, chunk, failure, scripted_server, stream

FOUR = sorted(API_FORMATS)
HASTY = RequestTimeouts(connect_s=2.0, first_event_s=0.4, idle_s=0.4, total_s=10.0, after_end_s=0.2)
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
HELLO = stream(chunk(content="Hello"), end="")
DONE = stream(chunk(content="Hello"), chunk("stop"))


def call_chunk(arguments: str, name: str = "read_file", id: str = "x", index: int = 0) -> dict[str, Any]:
    return chunk(tool_calls=[{"index": index, "id": id, "function": {"name": name, "arguments": arguments}}])


def called_with(*arguments: str, **more: Any) -> Gathered:
    """Return the parsed Chat Completions reply with one call for each of these arguments."""
    chunks = [call_chunk(words, id=f"x{place}", index=place, **more) for place, words in enumerate(arguments)]
    return run_exchange("chat", answer(stream(*chunks, chunk("tool_calls"))))[0]


@pytest.mark.parametrize("wire", FOUR)
def test_m1_connection_refused(wire: str) -> None:
    async def run() -> Gathered:
        async with scripted_server([]) as server:
            url = server.url
        return await gather(
            API_FORMATS[wire](ProviderEndpoint(url, KEY, timeouts=SHORT_TIMEOUTS), "m", UNKNOWN_LIMITS), make_request()
        )

    got = asyncio.run(run())
    assert got.kind == "refused" and got.fault is not None and "127.0.0.1" in got.fault.details.message
    assert got.fault.details.fix


def test_m2_connection_reset_in_mid_stream() -> None:
    got, _ = run_exchange("chat", [HEAD + HELLO, "reset"])
    assert (got.text, got.kind, got.usage) == ("Hello", "cut", None)


@pytest.mark.parametrize(("size", "kind"), [(20, "cut"), (100_000, "")])
def test_m3_wrong_content_length(size: int, kind: str) -> None:
    """A length that is too short truncates the reply; one that is too long does not matter once it is complete."""
    head = f"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: {size}\r\n\r\n".encode()
    got, _ = run_exchange("chat", [head + DONE, "reset"])
    assert got.kind == kind


@pytest.mark.parametrize("wire", FOUR)
def test_m4_endless_line(wire: str) -> None:
    got, server = run_exchange(wire, [HEAD, "drip"], drip=b"data: " + b"x" * 65_536)
    assert got.kind == "too_much" and got.fault is not None and not got.fault.retryable
    assert server.sent < 16 << 20


@pytest.mark.parametrize("drip", [b": PROCESSING\n\n", b"\n", b"event: ping\ndata:\n\n"])
def test_m5_keep_alive_drip(drip: bytes) -> None:
    """Keep-alive data does not count as progress."""
    got, server = run_exchange("chat", [HEAD + HELLO, "drip"], drip=drip, patience=HASTY)
    assert (got.text, got.kind) == ("Hello", "timeout")
    assert server.sent > len(HEAD + HELLO)


def test_m5_pings_of_anthropic_do_not_count() -> None:
    ping = b'event: ping\ndata: {"type": "ping"}\n\n'
    assert run_exchange("anthropic", [HEAD, "drip"], drip=ping, patience=HASTY)[0].kind == "timeout"


def test_m5_silence() -> None:
    assert run_exchange("chat", [HEAD + HELLO, "hang"], patience=HASTY)[0].kind == "timeout"
    assert run_exchange("chat", ["hang"], patience=HASTY)[0].kind == "timeout"


def test_silence_after_the_end_keeps_the_reply() -> None:
    """A reply is valid even if the server neither sends [DONE] nor closes the connection."""
    whole = stream(chunk(content="Hello"), chunk("stop"), end="")
    got, _ = run_exchange("chat", [HEAD + whole, "hang"])
    assert (got.text, got.kind) == ("Hello", "")


@pytest.mark.parametrize("wire", FOUR)
def test_m6_gzip_bomb(wire: str) -> None:
    """The body is not decompressed, because compression was not requested."""
    got, server = run_exchange(wire, answer(b"\x1f\x8b" + b"\0" * 300_000, headers=["Content-Encoding: gzip"]))
    assert got.kind == "garbled" and got.fault is not None and not got.fault.retryable
    assert server.requests[0].headers["accept-encoding"] == "identity"


def test_m7_header_of_200_kb() -> None:
    got, _ = run_exchange("chat", answer(DONE, headers=["X-Big: " + "x" * 200_000]))
    assert got.kind in ("not_a_server", "cut")


@pytest.mark.parametrize("wire", FOUR)
def test_m8_redirect_gets_no_key(wire: str) -> None:
    async def run() -> tuple[Gathered, ScriptedServer]:
        async with scripted_server(answer(DONE)) as other, asyncio.timeout(TEST_TIMEOUT_S):
            place = f"Location: {other.url.replace('127.0.0.1', 'localhost')}/chat/completions"
            async with scripted_server(answer(b"", status="302 Found", headers=[place])) as server:
                model = API_FORMATS[wire](
                    ProviderEndpoint(server.url, KEY, timeouts=SHORT_TIMEOUTS), "m", UNKNOWN_LIMITS
                )
                return await gather(model, make_request()), other

    got, other = asyncio.run(run())
    assert got.kind == "moved" and got.fault is not None and f"localhost:{other.port}" in got.fault.details.cause
    assert other.connections == 0


@pytest.mark.parametrize("wire", FOUR)
def test_m9_a_wrong_key_is_not_repeated(wire: str) -> None:
    """A key that the server echoes is masked in the error."""
    body = {"error": {"message": f"Incorrect API key provided: {KEY}.", "code": "invalid_api_key"}}
    got, server = run_exchange(wire, failure("401 Unauthorized", body))
    assert got.kind == "key" and got.fault is not None and not got.fault.retryable
    assert KEY not in str(got.fault) and "[key]" in str(got.fault)
    assert KEY in str(server.requests[0].headers)


@pytest.mark.parametrize("cut", range(1, len(KEY)))
def test_m9_a_key_in_the_reply_is_masked_too(cut: int) -> None:
    """The key is masked even if it is split between two chunks."""
    chunks = [chunk(content=f"It is {KEY[:cut]}"), chunk(content=f"{KEY[cut:]}, sk-t")]
    first, second = stream(chunks[0], end=""), stream(chunks[1], chunk("stop"))
    got, _ = run_exchange("chat", [HEAD + first, second])
    assert got.text == "It is [key], sk-t"


def test_m10_a_retry_after_of_a_day_is_shown_and_not_waited_for() -> None:
    got, _ = run_exchange("chat", failure("429 Too Many Requests", {"error": "slow down"}, ["Retry-After: 86400"]))
    assert got.kind == "rate_limited" and got.fault is not None
    assert "24 h" in got.fault.details.cause and retry_delay_s(got.fault, 1) is None


def test_m11_server_errors_are_retried_and_counted() -> None:
    got, _ = run_exchange("chat", failure("500 Internal Server Error", b""))
    assert got.kind == "server" and got.fault is not None and "500" in got.fault.details.cause
    assert [retry_delay_s(got.fault, attempt) is None for attempt in range(1, MAX_ATTEMPTS + 1)] == [
        False,
        False,
        False,
        True,
    ]


@pytest.mark.parametrize("wire", FOUR)
@pytest.mark.parametrize("status", ["200 OK", "404 Not Found"])
@pytest.mark.parametrize("kind", ["text/html", "application/json", "text/plain"])
def test_m12_a_web_page_is_not_a_reply(wire: str, status: str, kind: str) -> None:
    got, _ = run_exchange(wire, answer(b"<!DOCTYPE html><html><body>Welcome</body></html>", kind, status))
    assert got.kind == "not_a_server" and got.fault is not None and "/v1" in got.fault.details.fix


def test_m13_carriage_returns_a_byte_order_mark_and_split_characters() -> None:
    body = stream(chunk(content="Grüße, 世界 🦉"), chunk("stop")).replace(b"\n", b"\r")
    data = b"\xef\xbb\xbf" + body.decode().encode()
    got, _ = run_exchange("chat", [HEAD, *(data[place : place + 1] for place in range(len(data)))])
    assert got.text == "Grüße, 世界 🦉"


def test_m14_truncated_arguments_are_passed_on() -> None:
    assert called_with('{"path": "a.t').calls == [RequestedCall("read_file", '{"path": "a.t')]


def test_m15_an_unknown_tool_is_passed_on() -> None:
    assert called_with("{}", name="launch_rocket").calls == [RequestedCall("launch_rocket", "{}")]


def test_m16_one_id_for_two_calls() -> None:
    chunks = [call_chunk("1", index=0), call_chunk("2", index=1)]
    got, _ = run_exchange("chat", answer(stream(*chunks, chunk("tool_calls"))))
    assert [call.arguments for call in got.calls] == ["1", "2"]


def test_m17_deep_nesting() -> None:
    """In call arguments it is passed on for the engine to reject; in the stream itself it is an error."""
    deep = "[" * 100_000
    assert called_with(deep).calls[0].arguments == deep
    got, _ = run_exchange("chat", answer(stream(deep + "]" * 100_000)))
    assert got.kind == "garbled"
    request = make_request(
        user_message("go"),
        assistant_message(ToolCall("r1c1", "read_file", Text(deep))),
        tool_message("r1c1", "no", failed=True),
    )
    for wire in FOUR:
        assert run_exchange(wire, answer(b"{}", "application/json"), request=request)[1].requests


@pytest.mark.parametrize("number", ["NaN", "1e999", "-Infinity", "9" * 5_000])
def test_m18_invalid_numbers(number: str) -> None:
    arguments = f'{{"line": {number}}}'
    assert called_with(arguments).calls == [RequestedCall("read_file", arguments)]
    line = f'{{"message":{{"tool_calls":[{{"function":{{"name":"f","arguments":{arguments}}}}}]}},"done":true}}\n'
    got, _ = run_exchange("ollama", answer(line.encode(), "application/x-ndjson"))
    assert got.kind == "" and got.calls[0].tool == "f"


@pytest.mark.parametrize("wire", FOUR)
def test_m19_lone_surrogates_and_nul(wire: str) -> None:
    """Such characters are received and can be sent again."""
    words = "a\ud800b\0c"
    got, _ = run_exchange("chat", answer(stream(chunk(content=words), chunk("stop"))))
    assert got.text == words
    request = make_request(
        user_message(words), assistant_message(ToolCall("r1c1", "read_file", Text('"\ud800"')), words=words)
    )
    _, server = run_exchange(wire, answer(b"{}", "application/json"), request=request)
    assert words in json.dumps(server.requests[0].json, ensure_ascii=False).replace("\\u0000", "\0")


def test_m19_a_character_split_into_two_pieces_is_joined() -> None:
    chunks = stream(chunk(content="\ud83e"), end=""), stream(chunk(content="\udd89!"), chunk("stop"))
    assert run_exchange("chat", [HEAD, *chunks])[0].text == "🦉!"
    assert run_exchange("chat", [HEAD, chunks[0], stream(chunk("stop"))])[0].text == "\ud83e"


@pytest.mark.parametrize("wire", FOUR)
def test_m20_an_empty_reply_is_a_reply(wire: str) -> None:
    """Three empty replies in a row are all returned without an error; retrying is up to the engine."""
    bodies = {
        "chat": stream(chunk("stop")),
        "responses": b'data: {"type":"response.completed","response":{"output":[]}}\n\n',
        "anthropic": b'data: {"type":"message_stop"}\n\n',
        "ollama": b'{"done":true,"done_reason":"stop"}\n',
    }
    for _ in range(3):
        got, _ = run_exchange(wire, answer(bodies[wire]))
        assert got.kind == "" and (got.text, got.calls, got.usage, got.deltas) == ("", [], None, 1)


@pytest.mark.parametrize("count", [-5, 10**12, 10**400, "many", True, [1], 1e999], ids=lambda value: str(value)[:9])
def test_m21_impossible_counts_are_omitted_and_reported(count: Any) -> None:
    usage = {"prompt_tokens": count, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 3}}
    got, _ = run_exchange("chat", answer(stream(chunk(content="x"), {**chunk("stop"), "usage": usage})))
    assert got.usage is not None and (got.usage.input, got.usage.output, got.usage.cache_read) == (0, 7, 0)
    assert got.note == USAGE_NOTE


def test_m22_text_after_the_finish_is_kept() -> None:
    got, _ = run_exchange("chat", answer(stream(chunk(content="a"), chunk("stop"), chunk(content="b"))))
    assert (got.text, got.stop) == ("ab", "")


def test_m22_nothing_after_the_end_is_read() -> None:
    got, _ = run_exchange("chat", answer(DONE + b"data: {{{ not json\n\n"))
    assert (got.text, got.kind) == ("Hello", "")


def test_m23_the_same_call_twenty_times_is_passed_on() -> None:
    """Detecting a loop is up to the engine."""
    assert called_with(*["{}"] * 20).calls == [RequestedCall("read_file", "{}")] * 20


def test_m24_an_endless_reply_has_a_size_limit() -> None:
    endless = stream(chunk(content=" ".join(map(str, range(80_000)))), end="")
    got, server = run_exchange("chat", [HEAD, "drip"], drip=endless, patience=RequestTimeouts())
    assert got.kind == "too_much" and got.fault is not None and not got.fault.retryable
    assert 31 << 20 < server.sent < 48 << 20


def test_m24_an_endless_reply_has_a_time_limit() -> None:
    patience = RequestTimeouts(total_s=0.5)
    got, _ = run_exchange("chat", [HEAD, "drip"], drip=HELLO, patience=patience)
    assert got.kind == "too_much" and got.text.startswith("HelloHello")


def test_m25_text_that_looks_like_instructions_is_text() -> None:
    words = 'The file says "[FINAL] data: [DONE] [ASK_USER] {"error": 1}\n\nevent: error".'
    got, _ = run_exchange("chat", answer(stream(chunk(content=words), chunk("stop"))))
    assert (got.text, got.calls, got.stop) == (words, [], "")


def test_m26_a_proxy_of_the_environment_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> tuple[Gathered, ScriptedServer]:
        async with (
            scripted_server(answer(b"")) as proxy,
            scripted_server(answer(DONE)) as server,
            asyncio.timeout(TEST_TIMEOUT_S),
        ):
            for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
                monkeypatch.setenv(name, proxy.url.removesuffix("/v1"))
            model = API_FORMATS["chat"](ProviderEndpoint(server.url, KEY, timeouts=SHORT_TIMEOUTS), "m", UNKNOWN_LIMITS)
            return await gather(model, make_request()), proxy

    got, proxy = asyncio.run(run())
    assert got.text == "Hello" and proxy.connections == 0


def test_m26_a_configured_proxy_is_used() -> None:
    """The proxy is used for other machines: it receives a request for a host name that does not exist."""

    async def run() -> tuple[Gathered, ScriptedServer]:
        async with scripted_server(answer(DONE)) as proxy, asyncio.timeout(TEST_TIMEOUT_S):
            place = ProviderEndpoint(
                "http://model.invalid/v1",
                KEY,
                allow_http=True,
                proxy=proxy.url.removesuffix("/v1"),
                timeouts=SHORT_TIMEOUTS,
            )
            return await gather(API_FORMATS["chat"](place, "m", UNKNOWN_LIMITS), make_request()), proxy

    got, proxy = asyncio.run(run())
    assert got.text == "Hello" and proxy.requests[0].path == "http://model.invalid/v1/chat/completions"


def test_m27_an_invalid_certificate_is_refused() -> None:
    async def run() -> tuple[Gathered, ScriptedServer]:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(GOLDEN / "tls" / "certificate.pem", GOLDEN / "tls" / "key.pem")
        async with scripted_server(answer(DONE), tls=context) as server, asyncio.timeout(TEST_TIMEOUT_S):
            model = API_FORMATS["chat"](ProviderEndpoint(server.url, KEY, timeouts=SHORT_TIMEOUTS), "m", UNKNOWN_LIMITS)
            return await gather(model, make_request()), server

    got, server = asyncio.run(run())
    assert got.kind == "tls" and got.fault is not None and "certificate" in got.fault.details.cause
    assert server.requests == [] and not got.fault.retryable


def test_m27_a_server_without_tls() -> None:
    async def run() -> Gathered:
        async with scripted_server(answer(DONE)) as server, asyncio.timeout(TEST_TIMEOUT_S):
            place = ProviderEndpoint(server.url.replace("http:", "https:"), KEY, timeouts=SHORT_TIMEOUTS)
            return await gather(API_FORMATS["chat"](place, "m", UNKNOWN_LIMITS), make_request())

    assert asyncio.run(run()).kind in ("tls", "cut")


@pytest.mark.parametrize(
    "address",
    [
        "https://user:secret@api.example.com/v1",
        "https://user@api.example.com/v1",
        "https://api.example.com/v1?key=1",
        "https://api.example.com/v1?",
        "https://api.example.com/v1#x",
        "http://api.example.com/v1",
        "http://127.0.0.1.example.com/v1",
        "http://0x7f.evil.com/v1",
        "ftp://api.example.com/v1",
        "file:///etc/passwd",
        "api.example.com",
        "https://",
        "https://a\\@127.0.0.1/",
        "https://a b/",
        "https://a\n/",
        "https://host:99999/",
        "",
    ],
)
def test_m28_misleading_addresses_are_refused_at_entry(address: str) -> None:
    with pytest.raises(Problem) as caught:
        ProviderEndpoint(address, KEY)
    assert caught.value.details.fix and "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "address", ["https://api.openai.com/v1", "http://localhost:1234/v1", "http://[::1]:8080", "http://127.0.0.9/"]
)
def test_good_addresses_are_accepted(address: str) -> None:
    assert KEY not in repr(ProviderEndpoint(address, KEY))


@pytest.mark.parametrize("key", ["a b", "a\nb", "schlüssel", "a\0"])
def test_an_impossible_key_is_refused(key: str) -> None:
    with pytest.raises(Problem):
        ProviderEndpoint("https://api.example.com", key)


def test_a_port_with_another_protocol() -> None:
    got, _ = run_exchange("chat", [b"SSH-2.0-OpenSSH_9.2\r\n\r\n"])
    assert got.kind == "not_a_server"


def test_a_connection_closed_at_once() -> None:
    assert run_exchange("chat", [])[0].kind == "cut"


def test_a_reply_may_be_canceled_at_any_time() -> None:
    """Canceling ends the task at once, and the connection with it."""

    async def run() -> ScriptedServer:
        async with scripted_server([HEAD + HELLO, "hang"]) as server:
            model = API_FORMATS["chat"](ProviderEndpoint(server.url, KEY), "m", UNKNOWN_LIMITS)
            came = asyncio.Event()

            async def listen() -> None:
                async for _ in model.stream(make_request()):
                    came.set()

            task = asyncio.create_task(listen())
            async with asyncio.timeout(TEST_TIMEOUT_S):
                await came.wait()
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                await server.connection_ended.wait()
            return server

    assert asyncio.run(run()).connections == 1


def test_the_codes_of_errors_never_change() -> None:
    """Scripts tell errors apart by their codes in the output of `--json`, as the help lists them."""
    help_page = (Path(__file__).parents[3] / "resources" / "help" / "command-line.md").read_text("utf-8")
    table = help_page.partition("## Error codes")[2].partition("\n## ")[0]
    listed = re.findall(r"^\| `([a-z_]+)` \|", table, re.MULTILINE)
    expected = {
        "too_long", "credit", "key", "forbidden", "model", "no_tools", "filtered", "rate_limited", "overloaded",
        "server", "rejected", "not_a_server", "moved", "refused", "unreachable", "tls", "timeout", "cut", "garbled",
        "too_much", "loading",
    }  # fmt: skip
    assert set(ERROR_KINDS) == expected
    assert sorted(listed) == sorted({*expected, "empty", "storage", "internal"})
    context = ErrorContext("origin", "model", KeyMask(""))
    assert {make_error(kind, context).details.code for kind in ERROR_KINDS} == expected
    assert StorageProblem("It is full.").details.code == "storage"
    assert Problem.from_details(make_error("key", context).details).details.code == "key"
