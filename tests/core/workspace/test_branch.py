"""The branch of a folder: as git itself would say, for repositories, worktrees, commits, and what is none."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from core.workspace.branch import branch

ROOT = Path(__file__).parents[3]
needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=folder, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    return done.stdout.strip()


@needs_git
def test_it_says_what_git_says(tmp_path: Path) -> None:
    work = tmp_path / "work"
    (work / "deep" / "er").mkdir(parents=True)
    git(work, "init", "-q", "-b", "feature/ä-1")
    assert branch(work) == branch(work / "deep" / "er") == "feature/ä-1"  # before there is any commit, too
    git(work, "commit", "-q", "--allow-empty", "-m", "one")
    git(work, "worktree", "add", "-q", "-b", "other", str(tmp_path / "tree"))
    assert branch(tmp_path / "tree") == "other"
    git(work, "checkout", "-q", "--detach")
    assert branch(work) == git(work, "rev-parse", "HEAD")[:8]


def test_no_repository_no_branch(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    assert branch(tmp_path) == ""
    (tmp_path / ".git" / "HEAD").write_text("something else")
    assert branch(tmp_path) == ""
    (tmp_path / "file").mkdir()
    (tmp_path / "file" / ".git").write_text("no pointer")
    assert branch(tmp_path / "file") == ""


@pytest.mark.skipif(sys.platform == "win32", reason="there are no FIFOs")
def test_a_pipe_that_nobody_fills_holds_up_nothing(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    os.mkfifo(tmp_path / ".git" / "HEAD")
    assert branch(tmp_path) == ""


@pytest.mark.parametrize("kind", ["pipe", "endless"])
def test_a_hostile_folder_neither_holds_nor_fills_us(kind: str, tmp_path: Path) -> None:
    """Commands make such things, and archives hold them: a pipe that nobody fills, a link to a device without end."""
    if sys.platform == "win32":
        pytest.skip("there are none")
    (tmp_path / "own").mkdir()
    for place in (tmp_path / ".git", tmp_path / "own" / "gitdir"):
        os.mkfifo(place) if kind == "pipe" else place.symlink_to("/dev/zero")
        look = "from core.workspace.toolchains import git_folder_of as of; from pathlib import Path; "
        look += f"print(of(Path({str(tmp_path)!r})))"
        limits = "import resource as r; r.setrlimit(r.RLIMIT_AS, (1 << 30, 1 << 30)); "
        words = [sys.executable, "-c", limits + look]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False, cwd=ROOT)
        assert done.stdout.strip() == "None", done.stderr[-300:]
        place.unlink()
        (tmp_path / ".git").write_text("gitdir: own\n")
