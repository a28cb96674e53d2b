"""`read` and `write` stay in the folder, never hang, and report their changes."""

import asyncio
import os
import socket
import stat
import threading
from pathlib import Path
from typing import Any

import pytest

from core.domain.events import FileChanged, SessionEvent, ToolReturned
from core.domain.problems import Problem
from core.engine.run.execute import count_changed_lines, execute_call
from core.tools.read import READ, ReadArguments
from core.tools.tool import Tool, ToolResult
from core.tools.tool_context import ToolContext
from core.tools.write import WRITE, WriteArguments
from core.workspace.broker import READ_LIMIT, SMALL
from core.workspace.paths import check_workspace
from core.workspace.threads import run_to_completion
from tests.core.tools.calls import opened_context


def acted(tool: Tool, parameters: Any, folder: Path) -> tuple[ToolReturned, list[FileChanged], dict[str, bytes]]:
    async def once() -> tuple[list[SessionEvent], dict[str, bytes]]:
        async with opened_context(folder) as place:
            return await execute_call(tool, "c1", parameters, place, {})

    events, blobs = asyncio.run(once())
    last = events[-1]
    assert isinstance(last, ToolReturned)
    return last, [event for event in events if isinstance(event, FileChanged)], blobs


def read(folder: Path, path: str, start: int = 1, end: int = 0) -> ToolReturned:
    return acted(READ, ReadArguments(path, start, end), folder)[0]


def test_a_file_is_read_completely_or_in_part(tmp_path: Path) -> None:
    last = "4" * 2_000
    (tmp_path / "a").write_bytes(b"1\r\n2\n\xff3\n" + last.encode())
    assert read(tmp_path, "a").output.head.startswith("1\r\n2\n\ufffd3\n4")
    assert read(tmp_path, "a", 2, 3).output.head == "2\n\ufffd3\n"
    assert read(tmp_path, "a", 4).output.head.startswith("444")
    beyond = read(tmp_path, "a", 9)
    assert beyond.failed and "4 lines" in beyond.output.head
    (tmp_path / "empty").touch()
    assert read(tmp_path, "empty").output.head == ""


def test_only_large_files_are_read_in_a_thread(tmp_path: Path) -> None:
    async def test() -> None:
        async with opened_context(tmp_path) as place:
            for size, at_once in ((SMALL, True), (SMALL + 1, False)):
                (tmp_path / "a").write_bytes(b"x" * size)
                reading = asyncio.ensure_future(READ.run(ReadArguments("a"), place))
                await asyncio.sleep(0)
                assert reading.done() == at_once and len((await reading).output) == size

    asyncio.run(test())


def test_unreadable_files_are_reported(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\0\1")
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(READ_LIMIT + 1)
    (tmp_path / "loop").symlink_to("loop")
    for name in ("none", "binary", "huge", ".", "loop", "", "a\0b", "x/" * 3000, "y" * 300):
        assert read(tmp_path, name).failed, name


def test_special_files_do_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
        for name in ("fifo", "socket"):
            assert "not a regular file" in read(tmp_path, name).output.head
            assert acted(WRITE, WriteArguments(name, "x"), tmp_path)[0].failed
    assert stat.S_ISFIFO((tmp_path / "fifo").stat().st_mode)


@pytest.mark.parametrize(
    "name", ["../out", "/etc/passwd", "a/../../out", "link/out", "file", "chain", "~/x/../../../.."]
)
def test_paths_outside_are_refused(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "work"
    (folder / "a").mkdir(parents=True)
    (tmp_path / "out").write_text("canary")
    (folder / "link").symlink_to(tmp_path)
    (folder / "file").symlink_to(tmp_path / "out")
    (folder / "chain").symlink_to("file")
    found = read(folder, name)
    assert found.failed and "outside" in found.output.head
    assert acted(WRITE, WriteArguments(name, "x"), folder)[0].failed
    assert (tmp_path / "out").read_text() == "canary"


def test_a_link_inside_is_followed(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    (tmp_path / "b").symlink_to("a")
    assert not acted(WRITE, WriteArguments("b", "y"), tmp_path)[0].failed
    assert (tmp_path / "b").is_symlink() and (tmp_path / "a").read_text() == "y"


def test_a_write_records_both_contents(tmp_path: Path) -> None:
    last, [change], blobs = acted(WRITE, WriteArguments("deep/er/a", "one\ntwo\n"), tmp_path)
    assert not last.failed and (change.before, change.added, change.removed) == ("", 2, 0)
    assert blobs[change.after] == b"one\ntwo\n"
    (tmp_path / "deep/er/a").chmod(0o750)
    _, [change], blobs = acted(WRITE, WriteArguments("deep/er/a", "one\n2\n3\n"), tmp_path)
    assert (blobs[change.before], change.added, change.removed) == (b"one\ntwo\n", 2, 1)
    assert (tmp_path / "deep/er/a").stat().st_mode & 0o777 == 0o750
    assert not acted(WRITE, WriteArguments("deep/er/a", "one\n2\n3\n"), tmp_path)[1]
    assert [path.name for path in (tmp_path / "deep/er").iterdir()] == ["a"]


def test_unwritable_files_are_reported(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for name in (".", "file/below", "x" * 300, "bad\udcff/\ud800"):
        assert acted(WRITE, WriteArguments(name, "x"), tmp_path)[0].failed, name


def test_concurrent_writes_keep_the_umask(tmp_path: Path) -> None:
    mask = os.umask(0o022)
    try:
        threads = [
            threading.Thread(target=acted, args=(WRITE, WriteArguments(f"{n}", "x"), tmp_path)) for n in range(16)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o644}
    finally:
        assert os.umask(mask) == 0o022


def test_an_internal_error_in_a_tool_is_reported_to_the_model(tmp_path: Path) -> None:
    async def broken(parameters: Any, place: ToolContext) -> ToolResult:
        raise ZeroDivisionError("by nothing")

    tool = Tool("broken", "", ReadArguments, "tool", "none", str, broken)
    last, _, _ = acted(tool, None, tmp_path)
    assert last.failed and last.output.head == "ZeroDivisionError: by nothing"


def test_L_B9_a_failing_tool_is_run_once(tmp_path: Path) -> None:
    ran: list[Any] = []

    async def broken(parameters: Any, place: ToolContext) -> ToolResult:
        ran.append(parameters)
        raise TypeError("not of this kind")

    last, _, _ = acted(Tool("broken", "", ReadArguments, "tool", "none", str, broken), ReadArguments("a"), tmp_path)
    assert last.failed and ran == [ReadArguments("a")]


def test_L_B8_a_blocking_tool_does_not_block_the_event_loop() -> None:
    """The work in the thread ends only once the event loop has continued."""

    async def main() -> None:
        gone_on = threading.Event()
        work = asyncio.create_task(run_to_completion(gone_on.wait, 10.0))
        await asyncio.sleep(0)
        gone_on.set()
        assert await work

    asyncio.run(main())


@pytest.mark.parametrize(
    ("before", "after", "wanted"),
    [("", "a\nb", (2, 0)), ("a\nb", "", (0, 2)), ("a\nb\nc", "a\nc", (0, 1)), ("a", "b", (1, 1)), ("", "", (0, 0))],
)
def test_lines_are_counted(before: str, after: str, wanted: tuple[int, int]) -> None:
    assert count_changed_lines(before.encode(), after.encode()) == wanted


def test_the_workspace_must_exist(tmp_path: Path) -> None:
    assert check_workspace(tmp_path) == tmp_path
    with pytest.raises(Problem, match="no folder"):
        check_workspace(tmp_path / "none")
