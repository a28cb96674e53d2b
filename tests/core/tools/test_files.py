"""Reading and writing stay in the folder, never hang, and say what they changed."""

import asyncio
import os
import socket
import stat
import threading
from pathlib import Path
from typing import Any

import pytest

from core.domain.events import FileChanged, RunEvent, ToolReturned
from core.domain.problems import Problem
from core.engine.acts import act, lines_changed
from core.tools.place import Place
from core.tools.read import READ, Read
from core.tools.tool import Result, Tool
from core.tools.write import WRITE, Write
from core.workspace.broker import READ_LIMIT, SMALL
from core.workspace.paths import workspace
from core.workspace.thread import to_its_end
from tests.core.tools.calls import placed


def acted(tool: Tool, parameters: Any, folder: Path) -> tuple[ToolReturned, list[FileChanged], dict[str, bytes]]:
    async def once() -> tuple[list[RunEvent], dict[str, bytes]]:
        async with placed(folder) as place:
            return await act(tool, "c1", parameters, place, {})

    events, blobs = asyncio.run(once())
    last = events[-1]
    assert isinstance(last, ToolReturned)
    return last, [event for event in events if isinstance(event, FileChanged)], blobs


def read(folder: Path, path: str, start: int = 1, end: int = 0) -> ToolReturned:
    return acted(READ, Read(path, start, end), folder)[0]


def test_a_file_is_read_whole_or_in_part(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"1\r\n2\n\xff3\n4")
    assert read(tmp_path, "a").output.head == "1\r\n2\n\ufffd3\n4"
    assert read(tmp_path, "a", 2, 3).output.head == "2\n\ufffd3\n"
    assert read(tmp_path, "a", 4).output.head == "4"
    beyond = read(tmp_path, "a", 9)
    assert beyond.failed and "4 lines" in beyond.output.head
    (tmp_path / "empty").touch()
    assert read(tmp_path, "empty").output.head == ""


def test_only_a_large_file_is_worth_a_thread(tmp_path: Path) -> None:
    async def test() -> None:
        async with placed(tmp_path) as place:
            for size, at_once in ((SMALL, True), (SMALL + 1, False)):
                (tmp_path / "a").write_bytes(b"x" * size)
                reading = asyncio.ensure_future(READ.run(Read("a"), place))
                await asyncio.sleep(0)
                assert reading.done() == at_once and len((await reading).output) == size

    asyncio.run(test())


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\0\1")
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(READ_LIMIT + 1)
    (tmp_path / "loop").symlink_to("loop")
    for name in ("none", "binary", "huge", ".", "loop", "", "a\0b", "x/" * 3000, "y" * 300):
        assert read(tmp_path, name).failed, name


def test_special_files_do_not_hang(tmp_path: Path) -> None:  # T16
    os.mkfifo(tmp_path / "fifo")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
        for name in ("fifo", "socket"):
            assert "no ordinary file" in read(tmp_path, name).output.head
            assert acted(WRITE, Write(name, "x"), tmp_path)[0].failed
    assert stat.S_ISFIFO((tmp_path / "fifo").stat().st_mode)


@pytest.mark.parametrize(
    "name", ["../out", "/etc/passwd", "a/../../out", "link/out", "file", "chain", "~/x/../../../.."]
)
def test_the_outside_is_refused(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "work"
    (folder / "a").mkdir(parents=True)
    (tmp_path / "out").write_text("canary")
    (folder / "link").symlink_to(tmp_path)
    (folder / "file").symlink_to(tmp_path / "out")
    (folder / "chain").symlink_to("file")
    found = read(folder, name)
    assert found.failed and "outside" in found.output.head
    assert acted(WRITE, Write(name, "x"), folder)[0].failed
    assert (tmp_path / "out").read_text() == "canary"


def test_a_link_inside_is_followed(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    (tmp_path / "b").symlink_to("a")
    assert not acted(WRITE, Write("b", "y"), tmp_path)[0].failed
    assert (tmp_path / "b").is_symlink() and (tmp_path / "a").read_text() == "y"


def test_a_write_is_a_change_with_both_contents(tmp_path: Path) -> None:
    last, [change], blobs = acted(WRITE, Write("deep/er/a", "one\ntwo\n"), tmp_path)
    assert not last.failed and (change.before, change.added, change.removed) == ("", 2, 0)
    assert blobs[change.after] == b"one\ntwo\n"
    (tmp_path / "deep/er/a").chmod(0o750)
    _, [change], blobs = acted(WRITE, Write("deep/er/a", "one\n2\n3\n"), tmp_path)
    assert (blobs[change.before], change.added, change.removed) == (b"one\ntwo\n", 2, 1)
    assert (tmp_path / "deep/er/a").stat().st_mode & 0o777 == 0o750
    assert not acted(WRITE, Write("deep/er/a", "one\n2\n3\n"), tmp_path)[1]
    assert [path.name for path in (tmp_path / "deep/er").iterdir()] == ["a"]


def test_what_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for name in (".", "file/below", "x" * 300, "bad\udcff/\ud800"):
        assert acted(WRITE, Write(name, "x"), tmp_path)[0].failed, name


def test_writes_at_once_keep_the_umask(tmp_path: Path) -> None:
    mask = os.umask(0o022)
    try:
        threads = [threading.Thread(target=acted, args=(WRITE, Write(f"{n}", "x"), tmp_path)) for n in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o644}
    finally:
        assert os.umask(mask) == 0o022


def test_a_bug_in_a_tool_is_told_to_the_model(tmp_path: Path) -> None:
    async def broken(parameters: Any, place: Place) -> Result:
        raise ZeroDivisionError("by nothing")

    tool = Tool("broken", "", Read, "tool", "nothing", str, broken)
    last, _, _ = acted(tool, None, tmp_path)
    assert last.failed and last.output.head == "ZeroDivisionError: by nothing"


def test_L_B9_a_tool_that_fails_is_run_once(tmp_path: Path) -> None:
    ran: list[Any] = []

    async def broken(parameters: Any, place: Place) -> Result:
        ran.append(parameters)
        raise TypeError("not of this kind")

    last, _, _ = acted(Tool("broken", "", Read, "tool", "nothing", str, broken), Read("a"), tmp_path)
    assert last.failed and ran == [Read("a")]


def test_L_B8_a_tool_that_blocks_holds_up_nobody() -> None:
    """The work ends only once the loop has gone on beside it."""

    async def main() -> None:
        gone_on = threading.Event()
        work = asyncio.create_task(to_its_end(gone_on.wait, 10.0))
        await asyncio.sleep(0)
        gone_on.set()
        assert await work

    asyncio.run(main())


@pytest.mark.parametrize(
    ("before", "after", "wanted"),
    [("", "a\nb", (2, 0)), ("a\nb", "", (0, 2)), ("a\nb\nc", "a\nc", (0, 1)), ("a", "b", (1, 1)), ("", "", (0, 0))],
)
def test_lines_are_counted(before: str, after: str, wanted: tuple[int, int]) -> None:
    assert lines_changed(before.encode(), after.encode()) == wanted


def test_a_workspace_must_be_there(tmp_path: Path) -> None:
    assert workspace(tmp_path) == tmp_path
    with pytest.raises(Problem, match="no folder"):
        workspace(tmp_path / "none")
