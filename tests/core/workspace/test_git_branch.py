"""The branch of a folder, compared with git: repositories, worktrees, detached commits, and other folders."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from core.workspace.git_branch import current_branch

ROOT = Path(__file__).parents[3]
needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=folder, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    return done.stdout.strip()


@needs_git
def test_the_branch_agrees_with_git(tmp_path: Path) -> None:
    work = tmp_path / "work"
    (work / "deep" / "er").mkdir(parents=True)
    git(work, "init", "-q", "-b", "feature/ä-1")
    assert current_branch(work) == current_branch(work / "deep" / "er") == "feature/ä-1"  # even before the first commit
    git(work, "commit", "-q", "--allow-empty", "-m", "one")
    git(work, "worktree", "add", "-q", "-b", "other", str(tmp_path / "tree"))
    assert current_branch(tmp_path / "tree") == "other"
    git(work, "checkout", "-q", "--detach")
    assert current_branch(work) == git(work, "rev-parse", "HEAD")[:8]


def test_without_a_repository_there_is_no_branch(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    assert current_branch(tmp_path) == ""
    (tmp_path / ".git" / "HEAD").write_text("something else")
    assert current_branch(tmp_path) == ""
    (tmp_path / "file").mkdir()
    (tmp_path / "file" / ".git").write_text("no pointer")
    assert current_branch(tmp_path / "file") == ""


@pytest.mark.skipif(sys.platform == "win32", reason="there are no FIFOs")
def test_a_fifo_without_a_writer_does_not_block(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    os.mkfifo(tmp_path / ".git" / "HEAD")
    assert current_branch(tmp_path) == ""


@pytest.mark.parametrize("kind", ["pipe", "endless"])
def test_a_hostile_folder_neither_blocks_nor_fills_memory(kind: str, tmp_path: Path) -> None:
    """Commands and archives can replace a git file by a FIFO without a writer or a link to an endless device."""
    if sys.platform == "win32":
        pytest.skip("there are none")
    (tmp_path / "own").mkdir()
    for place in (tmp_path / ".git", tmp_path / "own" / "gitdir"):
        os.mkfifo(place) if kind == "pipe" else place.symlink_to("/dev/zero")
        look = "from core.workspace.git_branch import worktree_git_folders as of; from pathlib import Path; "
        look += f"print(of(Path({str(tmp_path)!r})))"
        limits = "import resource as r; r.setrlimit(r.RLIMIT_AS, (1 << 30, 1 << 30)); "
        words = [sys.executable, "-c", limits + look]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False, cwd=ROOT)
        assert done.stdout.strip() == "None", done.stderr[-300:]
        place.unlink()
        (tmp_path / ".git").write_text("gitdir: own\n")


@pytest.mark.skipif(sys.platform == "win32", reason="there are no FIFOs")
@pytest.mark.parametrize("kind", ["pipe", "endless"])
@pytest.mark.parametrize(
    ("name", "look"),
    [
        (
            ".git",
            "from core.workspace.committed_files import CommittedFiles as Files; "
            "Files(folder, folder / 'data').begin(['sub/.git'])",
        ),
        (
            "settings.json",
            "from core.engine.policy.permission_lists import read_permission_list as read; "
            "assert not read(folder / 'sub' / 'settings.json', 'folder', '', 0).entries",
        ),
    ],
)
def test_no_file_of_a_folder_blocks_its_reader(name: str, look: str, kind: str, tmp_path: Path) -> None:
    place = tmp_path / "sub" / name
    place.parent.mkdir()
    os.mkfifo(place) if kind == "pipe" else place.symlink_to("/dev/zero")
    limits = "import resource as r; r.setrlimit(r.RLIMIT_AS, (1 << 30, 1 << 30)); "
    code = f"{limits}from pathlib import Path; folder = Path({str(tmp_path)!r}); {look}"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr[-300:]
