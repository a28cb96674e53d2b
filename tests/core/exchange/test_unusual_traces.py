"""Unusual traces: malformed values, oversized requests, failed writes, and traces that continue later."""

import asyncio
import gzip
import json
import struct
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from core.domain.events import Replied, SessionCreated
from core.exchange import trace_receiver as receiving
from core.exchange.otlp_spans import from_json, from_protobuf
from core.exchange.trace_connection import MAX_BODY_BYTES
from core.exchange.trace_receiver import TraceReceiver
from core.store.purge import purge_sessions
from tests.core.exchange.home import Home, home
from tests.core.exchange.test_exporters import worked
from tests.core.exchange.test_foreign_traces import chat, export, span, spoken, turns, user
from tests.core.exchange.test_trace_receiver import send

JSON, PROTOBUF = "application/json", "application/x-protobuf"


def wire(number: int, kind: int, body: bytes | int) -> bytes:
    """Encode a protobuf field; field numbers and integers must be small."""
    head = bytes([number << 3 | kind])
    if isinstance(body, int):
        return head + (bytes([body]) if kind == 0 else struct.pack("<Q", body))
    size = len(body)
    return head + (bytes([size]) if size < 128 else bytes([size & 127 | 128, size >> 7])) + body


def binary(body: bytes) -> bytes:
    return wire(1, 2, wire(2, 2, wire(2, 2, body)))


@asynccontextmanager
async def listening(path: Path, told: list[BaseException] | None = None) -> AsyncIterator[tuple[Home, TraceReceiver]]:
    """Run a receiver and check that no exception escapes it."""
    loose: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: loose.append(context))
    async with home(path) as made:
        receiver = TraceReceiver(made.journal, (told if told is not None else loose).append)
        await receiver.listen(0)
        try:
            yield made, receiver
        finally:
            await receiver.close()
    assert loose == []


IDS = wire(1, 2, b"a" * 16) + wire(2, 2, b"b" * 8)
ODD = {
    "time without end": (export({**chat("a1", 0, [user("x")], "y"), "startTimeUnixNano": float("inf")}), JSON),
    "time of 40 digits": (
        export({**chat("a1", 0, [user("x")], "y"), "startTimeUnixNano": "9" * 40, "endTimeUnixNano": "9" * 40}), JSON,
    ),
    "operation as a list": (
        export(span("a1", 0, {"gen_ai.operation.name": {"arrayValue": {"values": [{"stringValue": "chat"}]}}})), JSON,
    ),
    "a number that is none": (export(span("a1", 0, {"gen_ai.usage.input_tokens": {"intValue": "²"}})), JSON),
    "a place beyond numbers": (
        export(span("a1", 0, {"openinference.span.kind": "LLM",
                              f"llm.input_messages.{'9' * 5000}.message.role": "user"})), JSON,
    ),
    "trace as a number": (binary(wire(1, 0, 5) + wire(2, 2, b"a" * 8)), PROTOBUF),
    "time as bytes": (binary(IDS + wire(7, 2, b"zz")), PROTOBUF),
    "double as bytes": (binary(IDS + wire(9, 2, wire(1, 2, b"k") + wire(2, 2, wire(4, 2, b"x")))), PROTOBUF),
    "whole number as bytes": (binary(IDS + wire(9, 2, wire(1, 2, b"k") + wire(2, 2, wire(3, 2, b"x")))), PROTOBUF),
    "status as a number": (binary(IDS + wire(15, 0, 4)), PROTOBUF),
}  # fmt: skip


@pytest.mark.parametrize("name", ODD)
def test_an_unusual_value_is_answered_and_affects_nothing_else(name: str, tmp_path: Path) -> None:
    body, kind = ODD[name]

    async def main() -> None:
        async with listening(tmp_path / "a.db") as (made, receiver):
            assert (await send(receiver.port, body, kind))[0] in {200, 400}
            both = export(*turns("b2", ["hello"]))
            assert (await send(receiver.port, both, JSON))[0] == 200
            assert ["hello"] in [await spoken(made, row.id) for row in made.reader.sessions()]

    asyncio.run(main())


def test_an_unusual_span_beside_a_good_one(tmp_path: Path) -> None:
    odd = json.loads(ODD["a place beyond numbers"][0])["resourceSpans"][0]["scopeSpans"][0]["spans"]

    async def main() -> None:
        async with listening(tmp_path / "a.db") as (made, receiver):
            status, why = await send(receiver.port, export(*odd, *turns("b2", ["hello"])), JSON)
            assert status == 400 and why.startswith(b"expected a trace export")
            assert [await spoken(made, row.id) for row in made.reader.sessions()] == [["hello"]]

    asyncio.run(main())


def test_an_entry_without_a_name_is_no_span() -> None:
    assert from_protobuf(binary(wire(5, 2, b"chat"))) == []
    (odd,) = from_json(json.loads(ODD["time of 40 digits"][0]))
    assert (odd.start, odd.end) == (0, 0)


@pytest.mark.parametrize("body", [b"[]", b"null", b"7", b'{"foo": 1}', b""])
def test_json_that_is_no_trace_is_refused(body: bytes, tmp_path: Path) -> None:
    async def main() -> None:
        async with listening(tmp_path / "a.db") as (_, receiver):
            assert (await send(receiver.port, body, JSON))[0] == 400
            assert (await send(receiver.port, b"{}", JSON))[0] == 200

    asyncio.run(main())


def test_content_encodings_are_case_insensitive_and_must_match_completely(tmp_path: Path) -> None:
    body = gzip.compress(export(*turns("c3", ["hello"])))

    async def main() -> None:
        async with listening(tmp_path / "a.db") as (made, receiver):
            more = ["Content-Encoding: GZIP"]
            assert (await send(receiver.port, gzip.compress(b"")[:-4], PROTOBUF, more=more))[0] == 400
            assert (await send(receiver.port, body, JSON, more=more))[0] == 200
            assert len(made.reader.sessions()) == 1

    asyncio.run(main())


def test_an_oversized_request_is_answered_with_the_reason(tmp_path: Path) -> None:
    def post(port: int) -> tuple[int, str]:
        body = b"a" * (MAX_BODY_BYTES + (6 << 20))
        asked = urllib.request.Request(f"http://127.0.0.1:{port}/v1/traces", body, {"Content-Type": JSON})
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(asked, timeout=30)
        with refused.value as answer:
            return answer.code, answer.headers["Connection"]

    async def main() -> None:
        async with listening(tmp_path / "a.db") as (_, receiver):
            assert await asyncio.to_thread(post, receiver.port) == (413, "close")

    asyncio.run(main())


async def talk(port: int, *requests: bytes) -> bytes:
    """Send requests over one connection and return everything the server replies until it closes it."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for request in requests:
        writer.write(request.replace(b"PORT", str(port).encode()))
    writer.write_eof()
    replies = await asyncio.wait_for(reader.read(), 30)
    writer.close()
    await writer.wait_closed()
    return replies


def test_a_connection_takes_several_requests_and_a_client_may_wait_for_the_permission_to_send(tmp_path: Path) -> None:
    head = b"POST /v1/logs HTTP/1.1\r\nHost: localhost:PORT\r\nContent-Type: application/json\r\nContent-Length: 2\r\n"

    async def main() -> None:
        async with listening(tmp_path / "a.db") as (_, receiver):
            replies = await talk(receiver.port, head + b"\r\n{}", head + b"Expect: 100-continue\r\n\r\n")
            assert replies.count(b"200 OK") == 1 and b"HTTP/1.1 100" in replies

    asyncio.run(main())


@pytest.mark.parametrize(
    "lengths",
    [
        b"Content-Length: 2\r\nContent-Length: 44\r\n",
        b"Content-Length: +2\r\n",
        b"Content-Length: 2\r\nContent-Length : 9\r\n",
        b"Transfer-Encoding: gzip, chunked\r\n",
    ],
)
def test_a_request_whose_length_can_be_read_in_two_ways_is_refused(lengths: bytes, tmp_path: Path) -> None:
    head = b"POST /v1/logs HTTP/1.1\r\nHost: localhost:PORT\r\nContent-Type: application/json\r\n" + lengths

    async def main() -> None:
        async with listening(tmp_path / "a.db") as (_, receiver):
            replies = await talk(receiver.port, head + b"\r\n{}")
            assert replies.startswith((b"HTTP/1.1 400", b"HTTP/1.1 501")) and b"200 OK" not in replies

    asyncio.run(main())


def test_a_retry_after_a_failed_write_neither_loses_nor_duplicates(tmp_path: Path) -> None:
    one, two, three = (export(each) for each in turns("d4", ["alpha", "beta", "gamma"]))
    path, away = tmp_path / "a.db", tmp_path / "away.db"
    told: list[BaseException] = []

    async def main() -> None:
        async with listening(path, told) as (made, receiver):
            assert (await send(receiver.port, one, JSON))[0] == 200
            path.rename(away)
            assert [(await send(receiver.port, body, JSON))[0] for body in (two, two, three)] == [503] * 3
            away.rename(path)
            assert [(await send(receiver.port, body, JSON))[0] for body in (two, three)] == [200, 200]
            (row,) = made.reader.sessions()
            assert await spoken(made, row.id) == ["alpha", "beta", "gamma"]
            assert len([e for e in await made.events(row.id) if isinstance(e, Replied)]) == 3
            assert len(told) == 1

    asyncio.run(main())


def test_the_first_write_may_fail(tmp_path: Path) -> None:
    (one,) = turns("d4", ["alpha"])
    path, away = tmp_path / "a.db", tmp_path / "away.db"

    async def main() -> None:
        async with listening(path, []) as (made, receiver):
            path.rename(away)
            assert (await send(receiver.port, export(one), JSON))[0] == 503
            away.rename(path)
            assert (await send(receiver.port, export(one), JSON))[0] == 200
            (row,) = made.reader.sessions()
            assert await spoken(made, row.id) == ["alpha"]

    asyncio.run(main())


def test_a_trace_whose_session_was_deleted_starts_another(tmp_path: Path) -> None:
    one, two = (export(each) for each in turns("d4", ["alpha", "beta"]))

    async def main() -> None:
        async with listening(tmp_path / "a.db", []) as (made, receiver):
            assert (await send(receiver.port, one, JSON))[0] == 200
            (row,) = made.reader.sessions()
            await purge_sessions(made.database, [row.id], made.journal.prepare_purge)
            assert (await send(receiver.port, two, JSON))[0] == 503
            assert (await send(receiver.port, two, JSON))[0] == 200
            (again,) = made.reader.sessions()
            assert again.id != row.id and await spoken(made, again.id) == ["alpha", "beta"]

    asyncio.run(main())


def test_a_trace_that_returns_continues_its_session(tmp_path: Path) -> None:
    one, two = (from_json(json.loads(export(each))) for each in turns("e5", ["alpha", "beta"]))

    async def main() -> None:
        async with listening(tmp_path / "a.db") as (made, receiver):
            await receiver.ingest(one)
            (row,) = made.reader.sessions()
            others = [each for place in range(receiving.MAX_OPEN_TRACES) for each in turns(f"{place:032x}", ["x"])]
            await receiver.ingest(from_json(json.loads(export(*others))))
            await receiver.ingest(two)
            events = await made.events(row.id)
            assert sum(isinstance(event, SessionCreated) for event in events) == 1
            assert await spoken(made, row.id) == ["alpha", "beta"]
            assert sum(isinstance(event, Replied) for event in events) == 2
            assert len(made.reader.sessions()) == receiving.MAX_OPEN_TRACES + 1

    asyncio.run(main())


def test_a_received_session_of_ours_keeps_its_title(tmp_path: Path) -> None:
    async def main() -> None:
        async with listening(tmp_path / "a.db") as (made, receiver):
            session = await worked(made)
            mine = made.reader.session(session)
            path = tmp_path / "a.json"
            await made.exchange.export(session, "otlp", path, keep_secrets=True)
            assert (await send(receiver.port, path.read_bytes(), JSON))[0] == 200
            row = next(row for row in made.reader.sessions() if row.imported_from)
            assert mine and (row.title, row.folder) == (mine.title, mine.folder)

    asyncio.run(main())
