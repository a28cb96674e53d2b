"""The `find` tool: patterns, ignored files, hostile names and limits."""

import os
from pathlib import Path

import pytest

from core.domain.globs import matches, pattern_parts
from core.tools.folder_walk import FolderWalk
from core.tools.gitignore import is_ignored, parse_gitignore
from tests.core.tools.calls import call, create_file


def found(folder: Path, pattern: str, path: str = ".") -> list[str]:
    return call(folder, "find", pattern=pattern, path=path).output.splitlines()


def test_names_and_paths(tmp_path: Path) -> None:
    for name in ("a.py", "src/b.py", "src/deep/c.py", "src/deep/c.txt", ".git/config", ".hidden"):
        create_file(tmp_path, name, "")
    assert found(tmp_path, "*.py") == ["a.py", "src/b.py", "src/deep/c.py"]
    assert found(tmp_path, "src/*.py") == ["src/b.py"]
    assert found(tmp_path, "src/**/*.py") == ["src/b.py", "src/deep/c.py"]
    assert found(tmp_path, "./a.py") == ["a.py"]
    assert found(tmp_path, "*.py", "src/deep") == ["src/deep/c.py"]
    assert found(tmp_path, "**") == [".hidden", "a.py", "src/b.py", "src/deep/c.py", "src/deep/c.txt"]
    assert found(tmp_path, "no*") == ["[no matches]"]


def test_ignored_files_are_omitted(tmp_path: Path) -> None:
    for name in (
        "a.log",
        "keep.log",
        "build/x.py",
        "src/build",
        "src/a.log",
        "src/keep.me",
        "top",
        "src/top",
        "src/n/q",
    ):
        create_file(tmp_path, name, "")
    create_file(tmp_path, ".gitignore", "# logs\n*.log\n!keep.log\nbuild/\n/top\nsrc/*/q\n")
    create_file(tmp_path, "src/.gitignore", "*.me\n!a.log\n")
    assert found(tmp_path, "**") == [
        ".gitignore", "keep.log", "src/.gitignore", "src/a.log", "src/build", "src/top",
    ]  # fmt: skip


def test_links_pipes_and_bad_names(tmp_path: Path) -> None:
    create_file(tmp_path, "outer/secret.py", "")
    folder = tmp_path / "inner"
    create_file(folder, "a\nb.py", "")
    create_file(folder, "\u202egpj.py", "")
    (folder / os.fsdecode(b"bad\xff.py")).touch()
    (folder / "link").symlink_to(tmp_path / "outer")
    (folder / "loop").symlink_to(folder)
    os.mkfifo(folder / "pipe.py")
    os.mkfifo(folder / ".gitignore")
    assert found(folder, "*.py") == ["a\\nb.py", "bad\\udcff.py", "\\u202egpj.py"]
    assert call(folder, "find", pattern="*.py", path="link").failed
    assert call(folder, "find", pattern="*.py", path="..").failed
    assert call(folder, "find", pattern="*.py", path="/etc").failed
    assert call(folder, "find", pattern="").failed and call(folder, "find", pattern="x" * 2_000).failed


def test_the_number_of_results_is_limited(tmp_path: Path) -> None:
    for number in range(600):
        create_file(tmp_path, f"{number:03}.txt", "")
    lines = found(tmp_path, "*.txt")
    assert len(lines) == 501 and lines[-1] == "[100 more]"
    walk = FolderWalk(tmp_path, max_entries=100)
    assert len(list(walk.files())) <= 100 and walk.incomplete
    deep = tmp_path / "/".join(["d"] * 70)
    deep.mkdir(parents=True)
    (deep / "x").touch()
    assert any("levels deep" in line for line in found(tmp_path, "x"))


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("**/a/**/b", "x/a/y/z/b", True),
        ("**/a/**/b", "a/b", True),
        ("**/a/**/b", "a/c", False),
        ("a/**", "a/b/c", True),
        ("[ab]?.txt", "b1.txt", True),
        ("a/*/c", "a/b/b/c", False),
    ],
)
def test_patterns(pattern: str, path: str, fits: bool) -> None:
    assert matches(pattern_parts(pattern), path.split("/")) is fits


def test_no_pattern_takes_long() -> None:
    nasty = "a*" * 200 + "b"
    assert not matches((nasty,), ("a" * 250,))
    assert not matches(("**", "a") * 200, ("a",) * 150 + ("b",))
    assert not is_ignored(("a" * 250,), False, [parse_gitignore(f"{nasty}\n" * 50, ())])
