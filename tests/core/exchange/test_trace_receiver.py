"""Received traces: protobuf and JSON, chunked and compressed; sessions grow live; other computers are refused."""

import asyncio
import gzip
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from core.domain.events import Replied, RunEnded, SessionEvent, ToolReturned, UserMessage
from core.exchange.otlp_spans import from_json, from_protobuf
from core.exchange.trace_receiver import TraceReceiver
from tests.core.exchange.home import Home, home
from tests.core.exchange.test_exporters import worked
from tests.core.exchange.test_importers import FOREIGN

PLACE = FOREIGN / "opentelemetry"
ANSWERS = {  # words, replies, calls, results, tokens in and out
    "pydantic-ai.pb": (1, 2, 1, 1, 132, 26),
    "oai_agents.pb": (1, 2, 1, 1, 132, 26),
}


async def send(port: int, body: bytes, kind: str, *, path: str = "/v1/traces", more: Sequence[str] = (),
               host: str = "", chunks: int = 0) -> tuple[int, bytes]:  # fmt: skip
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = [f"POST {path} HTTP/1.1", f"Host: {host or f'127.0.0.1:{port}'}", f"Content-Type: {kind}", *more]
    head.append("Transfer-Encoding: chunked" if chunks else f"Content-Length: {len(body)}")
    writer.write("\r\n".join([*head, "Connection: close", "", ""]).encode())
    for at in range(0, len(body), chunks) if chunks else ():
        part = body[at : at + chunks]
        writer.write(f"{len(part):x};x=y\r\n".encode() + part + b"\r\n")
    writer.write(b"0\r\n\r\n" if chunks else body)
    await writer.drain()
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    head_, _, rest = answer.partition(b"\r\n\r\n")
    return int(head_.split()[1]), rest


async def counted(made: Home, session: str) -> tuple[int, ...]:
    events = await made.events(session)
    replies = [event for event in events if isinstance(event, Replied)]
    return (
        sum(isinstance(event, UserMessage) for event in events), len(replies), sum(len(e.calls) for e in replies),
        sum(isinstance(event, ToolReturned) for event in events), sum(e.usage.input for e in replies),
        sum(e.usage.output for e in replies),
    )  # fmt: skip


def test_both_encodings_give_the_same() -> None:
    told = from_json(json.loads((PLACE / "pydantic-ai.json").read_text()))
    assert told == from_protobuf((PLACE / "pydantic-ai.pb").read_bytes()) and len(told) == 4


@pytest.mark.parametrize("name", ANSWERS)
def test_a_real_trace_becomes_a_session(name: str, tmp_path: Path) -> None:
    body = (PLACE / name).read_bytes()

    async def main() -> None:
        async with home(tmp_path / "a.db") as made:
            receiver = TraceReceiver(made.journal)
            await receiver.listen(0)
            try:
                assert await send(receiver.port, body, "application/x-protobuf") == (200, b"")
                assert (await send(receiver.port, body, "application/x-protobuf"))[0] == 200  # sent twice by mistake
                (row,) = made.reader.sessions()
                assert await counted(made, row.id) == ANSWERS[name]
                assert row.imported_from.startswith("OpenTelemetry:") and row.status == "done"
            finally:
                await receiver.close()

    asyncio.run(main())


@pytest.mark.parametrize("chunks", [0, 7])
@pytest.mark.parametrize("packed", [False, True])
def test_a_trace_grows_span_by_span(chunks: int, packed: bool, tmp_path: Path) -> None:
    whole = json.loads((PLACE / "pydantic-ai.json").read_text())

    async def main() -> None:
        async with home(tmp_path / "a.db") as made:
            receiver = TraceReceiver(made.journal)
            await receiver.listen(0)
            try:
                spans = whole["resourceSpans"][0]["scopeSpans"][0]["spans"]
                seen = []
                for span in spans:
                    plain = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}).encode()
                    more = ["Content-Encoding: gzip"] if packed else []
                    body = gzip.compress(plain) if packed else plain
                    told = await send(receiver.port, body, "application/json", more=more, chunks=chunks)
                    assert told == (200, b"{}")
                    (row,) = made.reader.sessions()
                    seen.append((row.status, row.steps))
                assert [status for status, _ in seen] == ["running"] * (len(spans) - 1) + ["done"]
                assert [steps for _, steps in seen] == sorted(steps for _, steps in seen) and seen[0][1] < seen[-1][1]
            finally:
                await receiver.close()

    asyncio.run(main())


def calls_of(events: Sequence[SessionEvent]) -> list[tuple[str, object]]:
    replies = [event for event in events if isinstance(event, Replied)]
    return [(call.tool, json.loads(call.arguments.head)) for reply in replies for call in reply.calls]


def test_what_we_export_we_read_back_equal(tmp_path: Path) -> None:
    async def main() -> None:
        async with home(tmp_path / "a.db") as made:
            session = await worked(made)
            told = (await made.export_text(session, "otlp", keep_secrets=True)).encode()
            receiver = TraceReceiver(made.journal)
            await receiver.listen(0)
            try:
                assert (await send(receiver.port, told, "application/json"))[0] == 200
                back = next(row for row in made.reader.sessions() if row.imported_from)
                before, after = await made.events(session), await made.events(back.id)
                replies = [(e.text.head, e.reasoning.head, e.usage, e.cost) for e in before if isinstance(e, Replied)]
                again = [(e.text.head, e.reasoning.head, e.usage, e.cost) for e in after if isinstance(e, Replied)]
                assert [each for each in again if each[0] != "Seen."] == replies
                asked = [
                    (c.tool, json.loads(c.arguments.head)) for e in before if isinstance(e, Replied) for c in e.calls
                ]
                assert asked == [
                    (c.tool, json.loads(c.arguments.head)) for e in after if isinstance(e, Replied) for c in e.calls
                ]
                returned = {(e.output.head, e.failed) for e in before if isinstance(e, ToolReturned)}
                assert returned <= {(e.output.head, e.failed) for e in after if isinstance(e, ToolReturned)}
                assert isinstance(after[-1], RunEnded) and after[-1].status == "completed"
            finally:
                await receiver.close()

    asyncio.run(main())


def test_only_local_programs_are_accepted_and_invalid_data_is_answered(tmp_path: Path) -> None:
    async def main() -> None:
        async with home(tmp_path / "a.db") as made:
            receiver = TraceReceiver(made.journal)
            await receiver.listen(0)
            port, kind = receiver.port, "application/json"
            try:
                assert (await send(port, b"{}", kind, host="evil.example"))[0] == 403
                assert (await send(port, b"{}", "text/plain"))[0] == 415
                assert (await send(port, b"{}", kind, path="/"))[0] == 404
                assert (await send(port, b"[" * 100_000, kind))[0] == 400
                assert (await send(port, b"\xff\xff", "application/x-protobuf"))[0] == 400
                assert (await send(port, b"x", kind, more=["Content-Encoding: gzip"]))[0] == 400
                assert (await send(port, b"", kind, more=["Content-Length: 99999999999"]))[0] in {400, 413}
                bomb = gzip.compress(b" " * (70 << 20))
                assert (await send(port, bomb, kind, more=["Content-Encoding: gzip"]))[0] == 413
                assert await send(port, b"{}", kind, path="/v1/logs") == (200, b"{}")
                assert await send(port, b'{"resourceSpans": [7, {"scopeSpans": null}]}', kind) == (200, b"{}")
                assert made.reader.sessions() == []
            finally:
                await receiver.close()

    asyncio.run(main())
