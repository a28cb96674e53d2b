"""A very large transcript is read in a process of its own: nobody sees a difference."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from core.domain.problems import Problem
from core.exchange import apart, imports
from core.store.database import Database
from tests.bench.transcript import transcript
from tests.core.exchange.home import Home, home

GOLDEN = Path(__file__).parents[2] / "golden" / "foreign"
SAMPLES = (
    GOLDEN / "claude-code" / "7f3a1c52-0000-4000-8000-000000000001.jsonl",
    next((GOLDEN / "codex").iterdir()),
    GOLDEN / "atif" / "trajectory.json",
)


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return transcript(tmp_path_factory.mktemp("long"), 6_000_000)


async def stored(made: Home, file: Path) -> str:
    """What became of it, but for the names that sessions get."""
    seen: list[object] = []
    brought = await made.desk.bring(file, lambda done, size: seen.append((done, size)))
    for session in brought.sessions:
        row = made.reader.session(session)
        assert row
        seen += [row, made.reader.steps(session, 0, row.rows), await made.entries(session), brought.added]
    text = repr(seen)
    for place, session in enumerate(brought.sessions):
        text = text.replace(session, f"session {place}")
    return text


@pytest.mark.parametrize("place", range(4))
def test_the_same_as_here(place: int, long: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = (*SAMPLES, long)[place]

    async def main() -> None:
        async with home(tmp_path / "a.db") as made:
            here = await stored(made, file)
        monkeypatch.setattr(imports, "LARGE", 0)
        async with home(tmp_path / "b.db") as made:
            assert await stored(made, file) == here
            assert (await made.desk.bring(file)).added == 0

    asyncio.run(main())


def test_a_cut_goes_on_where_it_was(long: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(imports, "LARGE", 0)

    async def main() -> None:
        async with home(tmp_path / "a.db") as made:
            begun = asyncio.Event()
            job = asyncio.create_task(made.desk.bring(long, begun=lambda _: begun.set()))
            await begun.wait()
            job.cancel()
            with pytest.raises(asyncio.CancelledError):
                await job
            (row,) = made.reader.sessions()
            assert row.status == "stopped"
            assert (await made.desk.bring(long)).added > 0
            assert (await made.desk.bring(long)).added == 0

    asyncio.run(main())


@pytest.mark.parametrize("lines", [b'{"sessionId": 1, "parentUuid": 2}\n', b'{"sessionId", "parentUuid"}\n' * 3])
def test_what_is_wrong_is_said_in_the_same_words(lines: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "odd.jsonl"
    file.write_bytes(lines)

    async def main() -> None:
        async with home(tmp_path / "a.db") as made:
            with pytest.raises(Problem) as here:
                await made.desk.bring(file)
            monkeypatch.setattr(imports, "LARGE", 0)
            with pytest.raises(Problem) as there:
                await made.desk.bring(file)
            assert there.value.trouble == here.value.trouble

    asyncio.run(main())


def test_a_process_that_is_killed_is_told(long: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As by a system that has no memory left."""
    monkeypatch.setattr(imports, "LARGE", 0)
    script = tmp_path / "teller.py"
    script.write_text("")
    monkeypatch.setattr(apart, "SCRIPT", script)

    async def main() -> None:
        async with home(tmp_path / "a.db") as made:
            with pytest.raises(Problem, match=r"only in part.*has ended.*once more"):
                await made.desk.bring(long)

    asyncio.run(main())


@pytest.mark.parametrize("first", [False, True])
def test_it_ends_when_nobody_listens(first: bool, long: Path, tmp_path: Path) -> None:
    Database(tmp_path / "a.db").close()
    words = (sys.executable, "-I", str(apart.SCRIPT), str(long), str(tmp_path / "a.db"))
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin and process.stdout and process.stderr
        if first:
            assert process.stdout.read(1)
        process.stdin.close()
        process.stdout.close()
        assert (process.wait(60), process.stderr.read()) == (0, b"")
