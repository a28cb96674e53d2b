"""A command that deletes the history of a repository, such as a script, loses nothing."""

import os
import subprocess
from pathlib import Path

import pytest

from core.workspace import git_history
from core.workspace.git_history import PREFIX, GitHistory
from tests.core.tools.test_run import open_harness
from tests.core.workspace.commands import open_sandbox
from tests.core.workspace.ground import Ground, create_ground

GIT = {"GIT_CONFIG_GLOBAL": os.devnull, "PATH": os.environ["PATH"], "HOME": "/nonexistent"}
SETTINGS = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "gc.auto=0")
# What scripts do; none of these lines asks, as the first word is a program of the folder.
LOSSES = [
    "rm -rf ./.git/* ../work*",
    "rm -rf .git/objects",
    "rm -rf .git/refs .git/packed-refs .git/HEAD",
    "find .git -type f -delete",
    "rm -f .git/objects/pack/*",
    "rm -f .git/objects/??/*; chmod 0 .git/objects",
    "rm -rf .git/objects; ln -s ../../outside .git/objects",
    "rm -rf .git/refs .git/HEAD; ln -s ../../outside .git/refs",
]


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", *SETTINGS, *words], cwd=folder, env=GIT, capture_output=True, text=True, check=False)
    return done.stdout.strip()


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    """Create a repository with packed and loose objects, a branch and a tag."""
    ground = create_ground(tmp_path)
    git(ground.folder, "init", "-q", "-b", "main")
    for number in (1, 2, 3):
        (ground.folder / "file").write_text(f"{number}\n")
        git(ground.folder, "add", "-A")
        git(ground.folder, "commit", "-qm", str(number))
        git(ground.folder, *(("repack", "-adq") if number == 2 else ("branch", f"b{number}")))
    return ground


def script(ground: Ground, text: str) -> str:
    """Write a script of the folder and return the command that runs it."""
    (ground.folder / "clean.sh").write_text(f"{text}\ntrue\n")
    return "sh clean.sh"


@pytest.mark.parametrize("rung", ["bubblewrap", "landlock"])
@pytest.mark.parametrize("loss", LOSSES)
def test_a_deleted_history_is_restored(loss: str, rung: str, ground: Ground) -> None:
    tips = git(ground.folder, "show-ref", "--head")
    assert tips.count("\n") >= 3
    with open_sandbox(rung) as sandbox, open_harness(sandbox, ground.folder) as made:
        done = made.use(script(ground, loss))
        assert "which was restored" in done.output, done.output
        assert git(ground.folder, "show-ref", "--head") == tips
        assert git(ground.folder, "log", "--format=%s", "main") == "3\n2\n1"
        assert "dangling" not in git(ground.folder, "fsck", "--full") and git(ground.folder, "show", "main:file") == "3"
    assert ground.intact() and not list(ground.folder.parent.glob(f"{PREFIX}*"))


def test_ordinary_work_is_not_undone(ground: Ground) -> None:
    with open_sandbox("bubblewrap") as sandbox, open_harness(sandbox, ground.folder) as made:
        for command in (
            "git commit -q --allow-empty -m 4 && git branch -D b3",
            "git gc -q --prune=now && git pack-refs --all",
            "git checkout -q -b new && git commit -q --allow-empty -m 5",
            "git repack -adq",
        ):
            done = made.use(
                f"export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a; {command}"
            )
            assert not done.failed and "restored" not in done.output, done.output
        assert git(ground.folder, "log", "--format=%s") == "5\n4\n3\n2\n1"
        assert "b3" not in git(ground.folder, "branch", "--all")
        assert "restored" in made.use(script(ground, "rm -rf .git/objects")).output
        assert git(ground.folder, "log", "--format=%s") == "5\n4\n3\n2\n1"


def test_a_deletion_that_the_user_approved_stays(ground: Ground) -> None:
    with open_sandbox("landlock") as sandbox, open_harness(sandbox, ground.folder) as made:
        assert "restored" not in made.use("rm -rf .git").output
        assert "restored" not in made.use("true").output
    assert not (ground.folder / ".git" / "objects").exists()


def test_where_files_cannot_be_linked_they_are_copied_up_to_a_limit(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(18, "another disk")

    monkeypatch.setattr(os, "link", refuse)
    data = ground.folder.parent / "data"
    for limit, kept in ((git_history.MAX_COPIED, True), (100, False)):
        monkeypatch.setattr(git_history, "MAX_COPIED", limit)
        history = GitHistory(ground.folder, data)
        history.keep()
        for path in (ground.folder / ".git" / "objects").rglob("*"):
            path.unlink() if path.is_file() else None
        root = os.open(ground.folder, os.O_RDONLY)
        assert history.restore(root) is kept
        os.close(root)
        assert (git(ground.folder, "log", "--format=%s") == "3\n2\n1") is kept
        history.drop()
    assert not list(data.iterdir())
