"""A command changes what git acts on, such as the `commondir` of a linked worktree: it is reverted at once."""

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from core.workspace import git_settings_watch
from core.workspace.git_settings_watch import GitSettingsWatch
from tests.core.tools.test_run import open_harness
from tests.core.workspace.commands import open_sandbox
from tests.core.workspace.ground import Ground, create_ground

NAME, USUAL = ".git/worktrees/tree/commondir", "../..\n"
IDENTITY = ("-c", "user.name=a", "-c", "user.email=a@b")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="inotify")


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    ground = create_ground(tmp_path)
    git(ground.folder, "init", "-q")
    git(ground.folder, *IDENTITY, "commit", "-q", "--allow-empty", "-m", "one")
    return ground


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)


@contextmanager
def watch(folder: Path) -> Iterator[list[str]]:
    """Watch a folder, and yield the paths that are reverted."""
    reverted: list[str] = []
    watching = GitSettingsWatch(folder, [".git"], lambda _: False, reverted.append, lambda _: None)
    try:
        yield reverted
    finally:
        watching.stop()


def wait_for(path: Path, text: str) -> None:
    """Wait until a file contains a text, or until it is gone if the text is empty."""
    deadline = time.monotonic() + 30
    while _text(path) != text:
        assert time.monotonic() < deadline, path
        threading.Event().wait(0.005)  # the watch reports nothing if it overlooks the file


def _text(path: Path) -> str:
    try:
        return "" if path.is_symlink() else path.read_text()
    except FileNotFoundError:
        return ""


@pytest.mark.parametrize(
    "attack",
    [
        "echo ../evil > commondir", "printf x >> commondir", "echo ../evil > new; mv new commondir",
        "ln -sf ../../../evil commondir", "cd ..; mv tree away; mkdir tree; echo ../evil > tree/commondir",
    ],
)  # fmt: skip
@pytest.mark.parametrize("usual", [USUAL, "../../../.git\n"])
def test_the_file_of_a_worktree_is_reverted(usual: str, attack: str, ground: Ground) -> None:
    git(ground.folder, "worktree", "add", "-q", "../tree")
    file = ground.folder / NAME
    file.write_text(usual)
    with watch(ground.folder) as reverted:
        subprocess.run(["sh", "-c", attack], cwd=file.parent, check=True)
        is_new = "mkdir" in attack
        wait_for(file, "" if is_new else usual)
        assert is_new is not file.exists()
    assert set(reverted) == {NAME}


@pytest.mark.parametrize("existing", [False, True])
def test_that_of_a_new_worktree_is_removed(existing: bool, ground: Ground) -> None:
    if existing:
        git(ground.folder, "worktree", "add", "-q", "../other")
    with watch(ground.folder) as reverted:
        (ground.folder / NAME).parent.mkdir(parents=True)
        (ground.folder / NAME).write_text("../evil\n")
        wait_for(ground.folder / NAME, "")
    assert set(reverted) == {NAME}


@pytest.mark.parametrize("rung", ["bubblewrap", "landlock"])
@pytest.mark.parametrize("name", [".git/worktrees", ".git/worktrees/tree"])
def test_a_link_in_place_of_the_folder_is_removed_at_once_and_ends_the_command(
    name: str, rung: str, ground: Ground
) -> None:
    """Git reads the `commondir` that it leads to, which no watch sees."""
    git(ground.folder, "worktree", "add", "-q", "tree")
    attack = f"mkdir -p x/tree; echo ../../evil > x/tree/commondir; echo ../../evil > x/commondir; mv {name} old"
    with open_sandbox(rung) as sandbox, open_harness(sandbox, ground.folder) as made:
        done = made.use(f'{attack}; ln -s "$PWD/x" {name}; sleep 600')
    assert done.failed and f"stopped, because it wrote {name}" in done.output, done.output
    assert not (ground.folder / name).is_symlink()


def test_git_may_add_and_remove_worktrees(ground: Ground) -> None:
    folder = ground.folder
    git(folder, "worktree", "add", "-q", "../old")
    with watch(folder) as reverted:
        for _ in range(3):
            git(folder, "worktree", "add", "-q", "-b", "b", "../tree")
            git(ground.folder.parent / "tree", *IDENTITY, "commit", "-q", "--allow-empty", "-m", "two")
            git(folder, "worktree", "move", "../tree", "../moved")
            git(folder, "worktree", "remove", "../moved")
            git(folder, "branch", "-D", "b")
        git(folder, "worktree", "remove", "../old")
        git(folder, "worktree", "add", "-q", "../tree")
    assert reverted == [] and (folder / NAME).read_text() == USUAL


def test_a_command_cannot_use_up_the_open_files(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(git_settings_watch, "MAX_WATCHED", 12)
    with watch(ground.folder) as reverted:
        before = len(list(Path("/proc/self/fd").iterdir()))
        for number in range(100):
            (ground.folder / f".git/worktrees/t{number}").mkdir(parents=True)
        (ground.folder / ".git/commondir").write_text("../evil\n")
        wait_for(ground.folder / ".git/commondir", "")
        assert len(list(Path("/proc/self/fd").iterdir())) - before <= 12
    assert reverted == [".git/commondir"]


@pytest.mark.parametrize("rung", ["bubblewrap", "landlock"])
def test_the_command_is_ended(rung: str, ground: Ground) -> None:
    """bubblewrap does not protect what a repository keeps of worktrees in the folder, which commands may remove."""
    git(ground.folder, "worktree", "add", "-q", "tree")
    with open_sandbox(rung) as sandbox, open_harness(sandbox, ground.folder) as made:
        done = made.use(f"echo ../../../evil > {NAME}; sleep 600")
    assert done.failed and f"stopped, because it wrote {NAME}" in done.output, done.output
    assert (ground.folder / NAME).read_text() == USUAL
