"""The `search` tool: the same results with and without ripgrep, and no pattern makes it hang."""

import asyncio
import os
import platform
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import core.tools.bounded_process as bounded_process
from core.domain.problems import Problem
from core.tools.search import MAX_FILE_SIZE, SearchArguments, search
from core.tools.tool import ToolResult
from tests.core.tools.calls import call, create_file, opened_context

RACE_S = float(os.environ.get("JOURNEYMAN_RACE_S", "2"))  # read at import: tests run without this variable
PATIENCE_S = 60.0  # until a search finds the folder in its proper state on a busy machine
RIPGREP = shutil.which("rg")
needs_ripgrep = pytest.mark.skipif(RIPGREP is None, reason="ripgrep is not installed here")
ENGINES = [pytest.param(None, id="ours"), pytest.param(RIPGREP, id="ripgrep", marks=needs_ripgrep)]


def search_lines(folder: Path, pattern: str, engine: str | None, path: str = ".", glob: str = "") -> list[str]:
    async def once() -> ToolResult:
        async with opened_context(folder) as place:
            return await search(SearchArguments(pattern, path, glob), place, engine)

    return asyncio.run(once()).output.splitlines()


@pytest.mark.parametrize("engine", ENGINES)
def test_lines_with_their_numbers(tmp_path: Path, engine: str | None) -> None:
    create_file(tmp_path, "b.py", "import os\n\nx = 1\nimport sys\n")
    create_file(tmp_path, "a/c.txt", b"Import\r\nimport re\r\n")
    create_file(tmp_path, ".git/x", "import me\n")
    create_file(tmp_path, "built.py", "import not\n")
    create_file(tmp_path, ".gitignore", "built.py\n")
    assert search_lines(tmp_path, "^import", engine) == [
        "a/c.txt:2: import re",
        "b.py:1: import os",
        "b.py:4: import sys",
    ]
    assert search_lines(tmp_path, "^import", engine, glob="*.py") == ["b.py:1: import os", "b.py:4: import sys"]
    assert search_lines(tmp_path, "(?i)^import$", engine, path="a") == ["a/c.txt:1: Import"]
    assert search_lines(tmp_path, "sys", engine, path="b.py") == ["b.py:4: import sys"]
    assert search_lines(tmp_path, "nowhere", engine) == ["[no matches]"]
    assert search_lines(tmp_path, "1\\s+import", engine) == ["[no matches]"]


@pytest.mark.parametrize("engine", ENGINES)
def test_files_that_are_too_large_to_search_are_named(tmp_path: Path, engine: str | None) -> None:
    """A match in one of them must not go unnoticed, so the result says how to search it."""
    create_file(tmp_path, "a.txt", "a needle\n")
    note = "not searched, because larger than 8 MiB: {}; use grep in a command]"
    for name in ("b.log", "c.log", "d.log", "ü/e.log"):
        create_file(tmp_path, name, b"needle\n" * (MAX_FILE_SIZE // 7 + 1))
    names = "b.log, c.log, d.log and 1 more"
    assert search_lines(tmp_path, "needle", engine) == ["a.txt:1: a needle", f"[{note.format(names)}"]
    assert search_lines(tmp_path, "needle", engine, path="ü") == [f"[no matches; {note.format('ü/e.log')}"]
    assert search_lines(tmp_path, "needle", engine, path="b.log") == [f"[no matches; {note.format('b.log')}"]
    assert search_lines(tmp_path, "needle", engine, glob="*.txt") == ["a.txt:1: a needle"]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_line_with_colons_is_shown_unchanged(tmp_path: Path, engine: str | None) -> None:
    create_file(tmp_path, "a.py", "if x: y = {1: 2}\n")
    assert search_lines(tmp_path, "x", engine) == ["a.py:1: if x: y = {1: 2}"]


@pytest.mark.parametrize("engine", ENGINES)
def test_patterns_that_ripgrep_does_not_support(tmp_path: Path, engine: str | None) -> None:
    create_file(tmp_path, "a", "foobar\nfoobaz\nabab\n")
    assert search_lines(tmp_path, "foo(?=bar)", engine) == ["a:1: foobar"]
    assert search_lines(tmp_path, r"^(ab)\1$", engine) == ["a:3: abab"]


@pytest.mark.parametrize("engine", ENGINES)
def test_files_with_keys_are_not_searched(tmp_path: Path, engine: str | None) -> None:
    for name in (".env", ".ENV", "sub/id_rsa", ".aws/credentials", "server.pem"):
        create_file(tmp_path, name, "canary\n")
    create_file(tmp_path, ".env.example", "canary\n")
    assert search_lines(tmp_path, "canary", engine) == [".env.example:1: canary"]
    assert search_lines(tmp_path, "canary", engine, path=".env") == ["[no matches]"]


@pytest.mark.parametrize("engine", ENGINES)
def test_hostile_files(tmp_path: Path, engine: str | None) -> None:
    create_file(tmp_path, "outside.txt", "needle\n")
    folder = tmp_path / "inner"
    create_file(folder, "binary", b"needle\0needle\n")
    create_file(folder, "a:1: b\nc.txt", "needle\n")
    create_file(folder, "-rf", "needle\n")
    create_file(folder, "long", "x" * 100_000 + "needle" + "\n")
    create_file(folder, "latin", b"\xff needle\n")
    (folder / os.fsdecode(b"\xff")).write_text("needle\n")
    (folder / "link").symlink_to(tmp_path / "outside.txt")
    os.mkfifo(folder / "pipe")
    lines = search_lines(folder, "needle", engine)
    assert [line[:20] for line in lines if line.startswith(("-rf", "latin"))] == [
        "-rf:1: needle",
        "latin:1: \ufffd needle",
    ]
    assert sum(line.startswith("\\udcff:1:") for line in lines) == 1
    assert any(line.startswith("long:1: ") and len(line) < 500 for line in lines)
    assert not any("outside" in line or line.startswith(("link", "pipe", "binary")) for line in lines)
    with pytest.raises(Problem):
        search_lines(folder, "needle", engine, path="../outside.txt")
    with pytest.raises(Problem):
        search_lines(folder, "needle", engine, path="link")


@pytest.mark.parametrize("engine", ENGINES)
def test_the_number_of_matches_is_limited(tmp_path: Path, engine: str | None) -> None:
    for number in range(300):
        create_file(tmp_path, f"{number:03}.txt", "needle\n" * 10)
    lines = search_lines(tmp_path, "needle", engine)
    assert len(lines) == 201 and lines[0] == "000.txt:1: needle" and "only the first 200" in lines[-1]


def test_a_catastrophic_pattern_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_process, "TIMEOUT_S", 0.5)
    create_file(tmp_path, "a.txt", "a" * 40 + "!\n")
    began = time.monotonic()
    lines = search_lines(tmp_path, "^(a+)+$", None)
    assert time.monotonic() - began < 5 and "the pattern is slow" in lines[-1]


def test_an_invalid_pattern_is_reported(tmp_path: Path) -> None:
    done = call(tmp_path, "search", pattern="(")
    assert done.failed and "not a valid regular expression" in done.output
    assert call(tmp_path, "search", pattern="x", path="nowhere").failed


SWAP = """
import ctypes, sys
libc = ctypes.CDLL(None)
one, two = (name.encode() for name in sys.argv[1:])
swap = lambda: libc.syscall(ctypes.c_long(316), -100, one, -100, two, ctypes.c_uint(2))
print(swap(), flush=True)
while swap() == 0: pass
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the number of renameat2")
@pytest.mark.parametrize("engine", ENGINES)
def test_a_swap_race_shows_nothing_from_outside(tmp_path: Path, engine: str | None) -> None:
    """Case P8 for `find` and `search`; the environment variable JOURNEYMAN_RACE_S prolongs it."""
    folder, outside = tmp_path / "work", tmp_path / "outside"
    create_file(folder, "real/file.txt", "inside\n")
    create_file(outside, "secret-name.txt", "canary\n")
    create_file(outside, "file.txt", "canary\n")
    (folder / "swapped").symlink_to(outside)
    paths = [folder / name for name in ("real", "swapped")]
    told = ""
    with subprocess.Popen([sys.executable, "-IS", "-c", SWAP, *paths], stdout=subprocess.PIPE) as other:
        assert other.stdout and other.stdout.readline() == b"0\n"
        until = time.monotonic() + RACE_S / 2
        while (left := until - time.monotonic()) > 0 or ("inside" not in told and left > -PATIENCE_S):
            told += "\n".join(search_lines(folder, "inside|canary", engine)) + call(folder, "find", pattern="*").output
        other.kill()
    assert "canary" not in told and "secret-name" not in told and "inside" in told
