"""Reading and writing as tools: what the model is told, and what is recorded as changed."""

import asyncio
import os
from pathlib import Path

import pytest

from core.domain.problems import Problem
from core.tools.patch import PATCH, Patch
from core.tools.read import READ, Read
from core.tools.tool import Change, Result, Tool
from core.tools.write import WRITE, Write
from tests.core.tools import calls
from tests.core.workspace.ground import Ground, lay, odd_spellings, set_traps


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return lay(tmp_path)


def use(tool: Tool, parameters: object, folder: Path) -> Result:
    return asyncio.run(calls.use(tool, parameters, folder))


def test_a_write_is_recorded_and_read(ground: Ground) -> None:
    made = use(WRITE, Write("notes/a.txt", "one\ntwo\nthree\n"), ground.folder)
    assert made.changes == (Change("notes/a.txt", None, b"one\ntwo\nthree\n"),)
    assert use(READ, Read("notes/a.txt"), ground.folder).output == "one\ntwo\nthree\n"
    assert use(READ, Read("notes/a.txt", 2, 3), ground.folder).output == "two\nthree\n"
    again = use(WRITE, Write("notes/a.txt", "one\n"), ground.folder)
    assert again.changes == (Change("notes/a.txt", b"one\ntwo\nthree\n", b"one\n"),)
    assert use(WRITE, Write("notes/a.txt", "one\n"), ground.folder).changes == ()


def test_lines_that_end_before_they_start_are_a_fault_and_not_an_empty_file(ground: Ground) -> None:
    use(WRITE, Write("notes/a.txt", "one\ntwo\nthree\n"), ground.folder)
    read = use(READ, Read("notes/a.txt", 5, 2), ground.folder)
    assert read.failed and read.output == "Nothing was read: start 5 is after end 2."
    assert use(READ, Read("notes/a.txt", 2, 2), ground.folder).output == "two\n"
    assert use(READ, Read("notes/a.txt", 2, 0), ground.folder).output == "two\nthree\n"


def test_no_way_out(ground: Ground) -> None:
    """P1–P7, P10, P11 by the tools."""
    for name in set_traps(ground) + odd_spellings(ground):
        with pytest.raises(Problem):
            use(READ, Read(name), ground.folder)
    for name in set_traps_again(ground):
        with pytest.raises(Problem):
            use(WRITE, Write(name, "mine"), ground.folder)
    assert ground.intact()


def test_nothing_is_written_or_removed_under_a_name_that_is_no_text(ground: Ground) -> None:
    """It could not be recorded, so it could not be taken back."""
    odd = ground.folder / os.fsdecode(b"q\xff")
    odd.write_text("original\n")
    removal = f"--- {odd.name}\n+++ /dev/null\n@@ -1 +0,0 @@\n-original\n"
    for tool, parameters in ((WRITE, Write(odd.name, "x")), (PATCH, Patch(removal))):
        with pytest.raises(Problem) as raised:
            use(tool, parameters, ground.folder)
        assert "UTF-8" in str(raised.value) and "q⟦U+DCFF⟧" in str(raised.value)
    assert odd.read_text() == "original\n" and not (ground.folder / "q?").exists()


def set_traps_again(ground: Ground) -> list[str]:
    """The same names; their links are there already."""
    for path in ground.folder.iterdir():
        if path.is_symlink():
            path.unlink()
    return set_traps(ground)


def test_protected_and_linked_files(ground: Ground) -> None:
    with pytest.raises(Problem, match="protected"):
        use(WRITE, Write(".git/hooks/pre-commit", "#!/bin/sh\n"), ground.folder)
    os.link(ground.canary, ground.folder / "twin")
    assert "another name" in use(WRITE, Write("twin", "mine"), ground.folder).output
    assert ground.intact()


def test_what_is_no_text(ground: Ground) -> None:
    (ground.folder / "picture").write_bytes(b"\x89PNG\0\0")
    told = use(READ, Read("picture"), ground.folder)
    assert told.failed and "no text file (6 bytes)" in told.output
    os.mkfifo(ground.folder / "fifo")
    with pytest.raises(Problem, match="no ordinary file"):
        use(READ, Read("fifo"), ground.folder)
