"""Requests stay within 80% of the context window, whatever the sizes of results and attachments."""

import asyncio
import struct
import tempfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from core.domain.events import RequestSent, SessionEvent, ToolReturned
from core.domain.message_files import AttachedFile
from core.domain.text import Attachment
from core.models.token_estimate import attachment_tokens
from tests.core.engine.harness import EngineHarness, call_reply, open_engine, run_bounded, scripted_replies
from tests.core.engine.test_mcp_servers import added

SUMMARY_ROLE = {"summary": [{"text": "The agent read many files and found nothing of interest so far."}]}


def png(number: int) -> bytes:
    """Return a PNG of one pixel, different for each number."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    pixel = zlib.compress(b"\0" + number.to_bytes(3, "big"))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixel) + chunk(b"IEND", b"")


def request_sizes(events: Sequence[SessionEvent]) -> list[tuple[int, int]]:
    return [
        (sum(event.tokens.values()), event.context_window)
        for event in events
        if isinstance(event, RequestSent) and not event.purpose
    ]


def test_a_large_file_is_sent_as_an_excerpt_and_its_middle_can_be_read(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            lines = [f"Line {number} of the log, with some text.\n" for number in range(1, 9_001)]
            (scene.folder / "log.txt").write_text("".join(lines))
            session = await scene.run(
                scripted_replies(
                    call_reply("read", path="log.txt"),
                    call_reply("recall_dropped", id="r1c1", start=4_000, end=4_001),
                    {"text": "done"},
                    window=200_000,
                )
            )
            events = await scene.events(session)
            first, recalled = (event for event in events if isinstance(event, ToolReturned))
            conversation = await scene.engine._runs.conversation(session)
            results = [message for message in conversation.messages if message.role == "tool"]
            text = scene.engine._reader.blob(results[0].text.blob).decode()
            assert text.startswith("Line 1 of") and text.endswith(lines[-1]) and "characters left out" in text
            assert first.output.size == sum(map(len, lines)), "the event keeps the whole result"
            assert recalled.output.head.startswith("Line 4000 of the log")
            assert max(size for size, _ in request_sizes(events)) < 40_000

    run_bounded(main())


def test_old_images_are_retired_and_can_be_viewed_again(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            for number in range(40):
                (scene.folder / f"{number}.png").write_bytes(png(number))
            replies = [call_reply("read", path=f"{number}.png") for number in range(40)]
            script = scripted_replies(*replies, {"text": "done"}, window=16_000, roles=SUMMARY_ROLE)
            session = await scene.run(script, max_turns=0)
            sizes = request_sizes(await scene.events(session))
            assert len(sizes) == 41 and all(size <= 0.8 * window for size, window in sizes)
            conversation = await scene.engine._runs.conversation(session)
            sent = [item for message in conversation.messages for item in message.attachments if not item.retired]
            assert sent[-1].name == "39.png" and conversation.retired_attachments

    run_bounded(main())


def test_many_images_in_one_message_fit(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session = await scene.run(scripted_replies({"text": "Ready."}, {"text": "done"}, window=16_000))
            files = [AttachedFile(f"{number}.png", "image/png", png(number)) for number in range(40)]
            await scene.engine.send_message(session, "Compare them.", files=files)
            await scene.engine.wait_idle(session)
            size, window = request_sizes(await scene.events(session))[-1]
            assert 4_000 < size <= 0.8 * window

    run_bounded(main())


def test_an_attachment_counts_by_its_type_and_size() -> None:
    note = Attachment("note.txt", "text/plain", "b", 38)
    archive = Attachment("a.zip", "application/zip", "b", 9_000_000)
    assert attachment_tokens(note) < 100 and attachment_tokens(archive) < 100
    assert attachment_tokens(Attachment("book.pdf", "application/pdf", "b", 600_000)) >= 10_000
    assert attachment_tokens(Attachment("log.txt", "text/plain", "b", 350_000)) > 90_000


TURN = st.lists(
    st.one_of(
        st.tuples(st.just("file"), st.sampled_from([10, 2_000, 20_000, 333_000])),
        st.tuples(st.just("output"), st.sampled_from([100, 60_000])),
        st.tuples(st.just("mcp"), st.sampled_from([100, 30_000, 300_000])),
        st.tuples(st.just("image"), st.integers(0, 9)),
    ),
    min_size=1,
    max_size=9,
)


def calls_of(turn: list[tuple[str, int]], folder: Path) -> list[dict[str, Any]]:
    """Return the calls of a reply, and write the files that they read."""
    calls = []
    for kind, size in turn:
        if kind == "output":
            calls += call_reply("run", command=f"yes some words | head -c {size}")["calls"]
        elif kind == "mcp":
            calls += call_reply("box__long", length=size)["calls"]
        else:
            name = f"{kind}{size}"
            body = png(size) if kind == "image" else b"Some words, 12 times.\n" * (size // 22 + 1)
            (folder / name).write_bytes(body)
            calls += call_reply("read", path=name)["calls"]
    return calls


async def run_approved(scene: EngineHarness, script: str) -> str:
    """Run a session and approve its requests: those of MCP calls, and of commands that follow their results."""
    session = await scene.start(script, max_turns=0)
    while scene.status(session) != "done":
        await scene.when(lambda: scene.engine.permission_requests() or scene.status(session) == "done")
        for _, each in scene.engine.permission_requests():
            await scene.engine.allow(each.request.id)
    await scene.engine.wait_idle(session)
    return session


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(TURN, min_size=1, max_size=8), st.sampled_from([16_000, 40_000]))
@example([[("file", 333_000)]] * 4, 16_000)
@example([[("mcp", 300_000), ("image", 1), ("file", 333_000), ("mcp", 30_000), ("output", 60_000)]] * 3, 16_000)
def test_requests_stay_within_80_percent_of_the_window(turns: list[list[tuple[str, int]]], window: int) -> None:
    async def main(home: Path) -> None:
        async with open_engine(home) as scene:
            if any(kind == "mcp" for turn in turns for kind, _ in turn):
                await added(scene, home)
            replies = [{"calls": calls_of(turn, scene.folder)} for turn in turns]
            script = scripted_replies(*replies, {"text": "done"}, window=window, roles=SUMMARY_ROLE)
            sizes = request_sizes(await scene.events(await run_approved(scene, script)))
            assert len(sizes) == len(turns) + 1
            assert all(size <= 0.8 * window for size, window in sizes), sizes

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(main(Path(folder)))
