"""`read` and `write`: the result for the model, and the recorded changes."""

import asyncio
import os
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from core.domain.problems import Problem
from core.tools.patch import PATCH, PatchArguments
from core.tools.read import READ, ReadArguments
from core.tools.tool import Tool, ToolResult
from core.tools.write import WRITE, WriteArguments
from core.workspace.broker import READ_LIMIT
from core.workspace.file_change import FileChange
from tests.core.tools import calls
from tests.core.workspace.ground import Ground, create_ground, odd_spellings, set_traps


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return create_ground(tmp_path)


def use(tool: Tool, parameters: object, folder: Path) -> ToolResult:
    return asyncio.run(calls.use(tool, parameters, folder))


def test_a_write_is_recorded_and_read(ground: Ground) -> None:
    made = use(WRITE, WriteArguments("notes/a.txt", "one\ntwo\nthree\n"), ground.folder)
    assert made.changes == (FileChange("notes/a.txt", None, b"one\ntwo\nthree\n"),)
    assert use(READ, ReadArguments("notes/a.txt"), ground.folder).output == "one\ntwo\nthree\n"
    again = use(WRITE, WriteArguments("notes/a.txt", "one\n"), ground.folder)
    assert again.changes == (FileChange("notes/a.txt", b"one\ntwo\nthree\n", b"one\n"),)
    assert use(WRITE, WriteArguments("notes/a.txt", "one\n"), ground.folder).changes == ()


def test_a_write_keeps_the_newline_at_the_end_of_the_file(ground: Ground) -> None:
    use(WRITE, WriteArguments("a.txt", "one\ntwo\n"), ground.folder)
    made = use(WRITE, WriteArguments("a.txt", "three"), ground.folder)
    assert made.changes[0].after == b"three\n" and "newline at its end was kept" in made.output
    assert use(WRITE, WriteArguments("b.txt", "one"), ground.folder).changes[0].after == b"one"
    assert use(WRITE, WriteArguments("a.txt", ""), ground.folder).changes[0].after == b""


def test_a_missing_file_is_answered_with_the_names_most_like_it(ground: Ground) -> None:
    use(WRITE, WriteArguments("billing/grand_total.py", "1"), ground.folder)
    use(WRITE, WriteArguments("main.py", "1"), ground.folder)
    with pytest.raises(
        Problem, match=r"There is no file total\.py\. The folder has: billing/grand_total\.py, main\.py"
    ):
        use(READ, ReadArguments("total.py"), ground.folder)


@pytest.mark.parametrize(
    ("tool", "arguments", "missing"),
    [
        ("edit", {"path": "total.py", "old_string": "1", "new_string": "2"}, "file total.py. The folder has: {}"),
        (
            "patch",
            {"diff": "--- a/total.py\n+++ b/total.py\n@@ -1 +1 @@\n-1\n+2\n"},
            "file total.py. The folder has: {}",
        ),
        ("search", {"pattern": "1", "path": "bill/total.py"}, "file or folder bill/total.py. The folder has: {}"),
        ("find", {"pattern": "*", "path": "bill"}, "folder bill. The folder has: billing"),
    ],
)
def test_every_tool_answers_a_missing_path_with_the_paths_most_like_it(
    ground: Ground, tool: str, arguments: dict[str, Any], missing: str
) -> None:
    use(WRITE, WriteArguments("billing/grand_total.py", "1"), ground.folder)
    result = calls.call(ground.folder, tool, **arguments)
    assert result.failed and f"There is no {missing.format('billing/grand_total.py')}" in result.output


def test_a_line_range_that_ends_before_its_start_is_an_error(ground: Ground) -> None:
    use(WRITE, WriteArguments("notes/a.txt", "one\ntwo\nthree\n"), ground.folder)
    read = use(READ, ReadArguments("notes/a.txt", 5, 2), ground.folder)
    assert read.failed and read.output == "Nothing was read: start 5 is after end 2."


def test_a_short_file_is_read_whole_and_a_part_of_a_long_one(ground: Ground) -> None:
    use(WRITE, WriteArguments("notes/a.txt", "one\ntwo\nthree\n"), ground.folder)
    whole = use(READ, ReadArguments("notes/a.txt", 2, 2), ground.folder)
    assert whole.output == "[The whole file, because it is short]\none\ntwo\nthree\n" and whole.known_files
    use(WRITE, WriteArguments("notes/b.txt", "one\ntwo\n" + "x" * 1_000), ground.folder)
    assert use(READ, ReadArguments("notes/b.txt", 2, 2), ground.folder).output == "two\n"


LARGE_LINES = 400_000


def write_large(path: Path, ending: bytes = b"") -> None:
    """Write a file of 30 MB, in which each line has its number and 75 bytes."""
    path.write_bytes(b"".join(b"%07d %s\n" % (number, b"x" * 66) for number in range(1, LARGE_LINES + 1)) + ending)


def test_a_part_of_a_file_is_read_that_is_too_large_to_be_read_whole(ground: Ground) -> None:
    write_large(ground.folder / "log")
    for number in (1, 2, 13_981, 13_982, 399_999, 400_000):  # the first mebibyte ends in line 13,982
        read = use(READ, ReadArguments("log", number, number), ground.folder)
        assert read.output == f"{number:07} {'x' * 66}\n" and not read.failed and not read.known_files
    end = use(READ, ReadArguments("log", 399_998), ground.folder).output
    assert [line[:7] for line in end.splitlines()] == ["0399998", "0399999", "0400000"]
    for start in (400_001, 10**9):
        beyond = use(READ, ReadArguments("log", start), ground.folder)
        assert beyond.failed and beyond.output == "log has 400,000 lines."
    with pytest.raises(Problem, match=r"too large.*8,388,608.*start and end"):
        use(READ, ReadArguments("log"), ground.folder)


def test_the_last_line_of_a_large_file_needs_no_newline(ground: Ground) -> None:
    write_large(ground.folder / "log", b"end")
    assert use(READ, ReadArguments("log", 400_001), ground.folder).output == "end"
    assert use(READ, ReadArguments("log", 400_002), ground.folder).output == "log has 400,001 lines."


def test_a_large_part_of_a_large_file_is_read_up_to_a_limit_which_is_stated(ground: Ground) -> None:
    write_large(ground.folder / "log")
    (ground.folder / "one_line").write_bytes(b"{" + b"x" * (READ_LIMIT + 10))
    tracemalloc.start()
    log = use(READ, ReadArguments("log", 2), ground.folder).output
    line = use(READ, ReadArguments("one_line", 1, 1), ground.folder).output
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert log.startswith("0000002 ") and log.endswith(
        "[Only the first 1,048,576 bytes of these lines were read, up to line 13,983.]"
    )
    assert line.startswith("{xxx") and line.endswith("of these lines were read, up to line 1.]")
    assert peak < READ_LIMIT


def test_large_files_that_are_not_text_are_not_read_in_part(ground: Ground) -> None:
    body = b"x" * (READ_LIMIT + 1)
    for name, beginning, message in (
        ("image", b"\x89PNG\r\n\x1a\n", "too large to view: image/png, 8,388,617 bytes"),
        ("data", b"x\0", "not a text file (8,388,611 bytes)"),
    ):
        (ground.folder / name).write_bytes(beginning + body)
        read = use(READ, ReadArguments(name, 2, 3), ground.folder)
        assert read.failed and message in read.output


def test_no_path_leads_outside_by_read_or_write(ground: Ground) -> None:
    """Cases P1–P7, P10 and P11 with the tools."""
    for name in set_traps(ground) + odd_spellings(ground):
        with pytest.raises(Problem):
            use(READ, ReadArguments(name), ground.folder)
    for name in set_traps_again(ground):
        with pytest.raises(Problem):
            use(WRITE, WriteArguments(name, "mine"), ground.folder)
    assert ground.intact()


def test_nothing_is_written_or_removed_under_a_name_that_is_not_text(ground: Ground) -> None:
    """The change could not be recorded and therefore not be reverted."""
    odd = ground.folder / os.fsdecode(b"q\xff")
    odd.write_text("original\n")
    removal = f"--- {odd.name}\n+++ /dev/null\n@@ -1 +0,0 @@\n-original\n"
    for tool, parameters in ((WRITE, WriteArguments(odd.name, "x")), (PATCH, PatchArguments(removal))):
        with pytest.raises(Problem) as raised:
            use(tool, parameters, ground.folder)
        assert "UTF-8" in str(raised.value) and "q⟦U+DCFF⟧" in str(raised.value)
    assert odd.read_text() == "original\n" and not (ground.folder / "q?").exists()


def set_traps_again(ground: Ground) -> list[str]:
    """Set the same traps again, after removing their links."""
    for path in ground.folder.iterdir():
        if path.is_symlink():
            path.unlink()
    return set_traps(ground)


def test_protected_and_linked_files(ground: Ground) -> None:
    with pytest.raises(Problem, match="protected"):
        use(WRITE, WriteArguments(".git/hooks/pre-commit", "#!/bin/sh\n"), ground.folder)
    os.link(ground.canary, ground.folder / "twin")
    assert "Another hard link" in use(WRITE, WriteArguments("twin", "mine"), ground.folder).output
    assert ground.intact()


def test_binary_contents(ground: Ground) -> None:
    (ground.folder / "picture").write_bytes(b"\x89PNG\0\0")
    told = use(READ, ReadArguments("picture"), ground.folder)
    assert told.failed and "not a text file (6 bytes)" in told.output
    os.mkfifo(ground.folder / "fifo")
    with pytest.raises(Problem, match="not a regular file"):
        use(READ, ReadArguments("fifo"), ground.folder)
