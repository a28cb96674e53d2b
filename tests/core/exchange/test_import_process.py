"""Reading a transcript in a separate process gives the same result as reading it in this one."""

import asyncio
import gzip
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core.domain.problems import Problem
from core.exchange import import_process, transcript_importer
from core.exchange.transcript_reader import ImportBatch
from core.store.database import Database
from tests.bench.transcript import write_transcript
from tests.core.exchange.home import Home, home

GOLDEN = Path(__file__).parents[2] / "golden" / "foreign"
SAMPLES = (
    GOLDEN / "claude-code" / "7f3a1c52-0000-4000-8000-000000000001.jsonl",
    next((GOLDEN / "codex").glob("rollout-*.jsonl")),
    GOLDEN / "atif" / "trajectory.json",
)


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_transcript(tmp_path_factory.mktemp("long"), 6_000_000)


async def stored(made: Home, file: Path) -> str:
    """Import a file and return a description of the result that does not depend on the session ids."""
    seen: list[object] = []
    brought = await made.exchange.import_file(file, lambda done, size: seen.append((done, size)))
    for session in brought.sessions:
        row = made.reader.session(session)
        assert row
        seen += [row, made.reader.steps(session, 0, row.rows), await made.entries(session), brought.added_events]
    text = repr(seen)
    for place, session in enumerate(brought.sessions):
        text = text.replace(session, f"session {place}")
    return text


@pytest.mark.parametrize("place", range(4))
def test_the_import_equals_one_in_this_process(
    place: int, long: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = (*SAMPLES, long)[place]

    async def main() -> None:
        async with home(tmp_path / "a.db") as made:
            here = await stored(made, file)
        monkeypatch.setattr(transcript_importer, "LARGE_TRANSCRIPT", 0)
        async with home(tmp_path / "b.db") as made:
            assert await stored(made, file) == here
            assert (await made.exchange.import_file(file)).added_events == 0

    asyncio.run(main())


def test_a_compressed_file_is_read_in_a_process_whatever_its_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = tmp_path / f"{SAMPLES[0].name}.gz"
    packed.write_bytes(gzip.compress(SAMPLES[0].read_bytes()))
    read: list[Path] = []

    def count(path: Path, *rest: Any) -> Iterator[ImportBatch]:
        read.append(path)
        return import_process.read_in_process(path, *rest)

    monkeypatch.setattr(transcript_importer, "read_in_process", count)

    async def main() -> None:
        async with home(tmp_path / "a.db") as made:
            assert (await made.exchange.import_file(packed)).added_events
            await made.exchange.import_file(SAMPLES[1])

    asyncio.run(main())
    assert read == [packed]


def test_an_interrupted_import_continues(long: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcript_importer, "LARGE_TRANSCRIPT", 0)

    async def main() -> None:
        async with home(tmp_path / "a.db") as made:
            begun = asyncio.Event()
            job = asyncio.create_task(made.exchange.import_file(long, on_session=lambda _: begun.set()))
            await begun.wait()
            job.cancel()
            with pytest.raises(asyncio.CancelledError):
                await job
            (row,) = made.reader.sessions()
            assert row.status == "stopped"
            assert (await made.exchange.import_file(long)).added_events > 0
            assert (await made.exchange.import_file(long)).added_events == 0

    asyncio.run(main())


@pytest.mark.parametrize("lines", [b'{"sessionId": 1, "parentUuid": 2}\n', b'{"sessionId", "parentUuid"}\n' * 3])
def test_errors_are_reported_in_the_same_words(lines: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "odd.jsonl"
    file.write_bytes(lines)

    async def main() -> None:
        async with home(tmp_path / "a.db") as made:
            with pytest.raises(Problem) as here:
                await made.exchange.import_file(file)
            monkeypatch.setattr(transcript_importer, "LARGE_TRANSCRIPT", 0)
            with pytest.raises(Problem) as there:
                await made.exchange.import_file(file)
            assert there.value.details == here.value.details

    asyncio.run(main())


def test_a_killed_worker_is_reported(long: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For example, the operating system kills a process when memory runs out."""
    monkeypatch.setattr(transcript_importer, "LARGE_TRANSCRIPT", 0)
    script = tmp_path / "worker.py"
    script.write_text("")
    monkeypatch.setattr(import_process, "SCRIPT", script)

    async def main() -> None:
        async with home(tmp_path / "a.db") as made:
            with pytest.raises(Problem, match=r"only in part.*ended unexpectedly.*again"):
                await made.exchange.import_file(long)

    asyncio.run(main())


@pytest.mark.parametrize("first", [False, True])
def test_the_worker_ends_without_its_parent(first: bool, long: Path, tmp_path: Path) -> None:
    Database(tmp_path / "a.db").close()
    words = (sys.executable, "-I", str(import_process.SCRIPT), str(long), str(tmp_path / "a.db"))
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin and process.stdout and process.stderr
        if first:
            assert process.stdout.read(1)
        process.stdin.close()
        process.stdout.close()
        assert (process.wait(60), process.stderr.read()) == (0, b"")
