"""A session in a git worktree: on a branch of its own, refused where it would not be what the person sees, kept."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from core.domain.events import RunStarted
from core.domain.problems import Problem
from core.domain.text import Text
from core.domain.worktree import WorktreeMade
from core.models.catalogue import SCRIPTED
from tests.core.engine.scenes import Scene, bounded, calling, opened, played
from tests.core.workspace.test_branch import git

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

WRITES = played(calling("write", path="a.txt", content="new\n"), {"text": "Done."})


def repository(folder: Path) -> Path:
    """With one file in one commit."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    (folder / "a.txt").write_text("old\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "one")
    return folder


def there(place: Path, pattern: str = "") -> bool:
    return any(place.glob(pattern)) if pattern else place.exists()


async def start(scene: Scene, folder: Path, script: str = WRITES) -> str:
    began = RunStarted(SCRIPTED, 9, Text(script), mode="trust")
    session = await scene.engine.start("Fix it: all!", folder, began, worktree=True)
    await scene.engine.wait(session)
    return session


def test_the_work_is_beside_the_repository_and_kept(tmp_path: Path) -> None:
    async def main() -> None:
        top = repository(tmp_path / "work")
        async with opened(tmp_path / "home", tmp_path / "else") as scene:
            session = await start(scene, top)
            made = (await scene.events(session))[1]
            assert isinstance(made, WorktreeMade)
            assert made.branch.startswith("journeyman/fix-it-all-") and made.base == git(top, "rev-parse", "HEAD")
            place = Path(made.folder)
            assert place.parent == tmp_path / "work.worktrees"
            assert (place / "a.txt").read_text() == "new\n" and (top / "a.txt").read_text() == "old\n"
            row = scene.engine.session(session)
            assert (row.status, row.folder) == ("done", made.folder)
            assert await scene.engine.branch(row.folder) == f"{made.branch} · worktree"
            assert await scene.engine.branch(str(top)) == "main"
            assert made.branch in scene.engine.steps(row)[0].object
            [held] = await scene.engine.worktrees.of(top)
            assert (held.tree.changed, held.tree.ahead) == (1, 0) and [one.id for one in held.sessions] == [session]

    bounded(main())


def test_what_is_nowhere_else_is_not_removed_unasked(tmp_path: Path) -> None:
    """Neither changed files nor commits, also when the worktree itself is named; what was taken over goes."""

    async def main() -> None:
        top = repository(tmp_path / "work")
        async with opened(tmp_path / "home", tmp_path / "else") as scene:
            trees = scene.engine.worktrees
            made = (await scene.events(await start(scene, top)))[1]
            assert isinstance(made, WorktreeMade)
            place, name = Path(made.folder), made.branch[-4:]
            with pytest.raises(Problem, match="1 changed file"):
                await trees.remove(top, name)
            git(place, "commit", "-q", "-am", "two")
            for folder in (top, place):
                with pytest.raises(Problem, match="1 commit"):
                    await trees.remove(folder, name)
            git(top, "merge", "-q", made.branch)
            await trees.remove(top, name)
            assert not there(place) and git(top, "branch", "--list", "journeyman/*") == ""
            assert (top / "a.txt").read_text() == "new\n"
            await start(scene, top, played(calling("write", path="b.txt", content="lost"), {"text": "Done."}))
            [held] = await trees.of(top)
            await trees.remove(top, held.tree.branch, lose=True)
            assert await trees.of(top) == []
            with pytest.raises(Problem, match="no worktree"):
                await trees.remove(top, "")

    bounded(main())


def test_a_session_at_work_keeps_its_worktree(tmp_path: Path) -> None:
    async def main() -> None:
        top = repository(tmp_path / "work")
        async with opened(tmp_path / "home", tmp_path / "else") as scene:
            script = played(calling("ask_user", question="Which?"))
            began = RunStarted(SCRIPTED, 9, Text(script), mode="trust")
            session = await scene.engine.start("Go.", top, began, worktree=True)
            await scene.when(lambda: scene.status(session) == "waiting")
            [held] = await scene.engine.worktrees.of(top)
            with pytest.raises(Problem, match="is at work in it"):
                await scene.engine.worktrees.remove(top, held.tree.branch, lose=True)
            await scene.engine.stop(session)
            await scene.engine.worktrees.remove(top, held.tree.branch)

    bounded(main())


def _nothing(top: Path) -> None:
    shutil.rmtree(top / ".git")


def _no_commit(top: Path) -> None:
    _nothing(top)
    git(top, "init", "-q")


def _changed(top: Path) -> None:
    (top / "a.txt").write_text("changed\n")


def _merging(top: Path) -> None:
    git(top, "checkout", "-q", "-b", "other")
    git(top, "commit", "-q", "--allow-empty", "-m", "theirs")
    git(top, "checkout", "-q", "main")
    git(top, "commit", "-q", "--allow-empty", "-m", "ours")
    git(top, "merge", "-q", "--no-commit", "--no-ff", "other")


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (_nothing, "is in no git repository"),
        (_no_commit, "has no commit yet"),
        (_changed, "has changes that are in no commit"),
        (_merging, "A merge is going on"),
    ],
)
def test_it_is_refused_in_words_and_leaves_nothing(tmp_path: Path, spoil: Callable[[Path], None], says: str) -> None:
    async def main() -> None:
        top = repository(tmp_path / "work")
        spoil(top)
        async with opened(tmp_path / "home", tmp_path / "else") as scene:
            with pytest.raises(Problem, match=says):
                await start(scene, top)
            assert scene.engine.sessions() == [] and not (tmp_path / "work.worktrees").exists()

    bounded(main())


def test_what_was_said_of_the_folder_holds_for_its_worktree(tmp_path: Path) -> None:
    async def main() -> None:
        top = repository(tmp_path / "work")
        (top / "AGENTS.md").write_text("Say please.\n")
        git(top, "add", "-A")
        git(top, "commit", "-q", "-m", "two")
        async with opened(tmp_path / "home", tmp_path / "else") as scene:
            await scene.engine.trust(top, True)
            row = scene.engine.session(await start(scene, top))
            trust = await scene.engine.folder_trust(Path(row.folder))
            assert trust.trusted and trust.changed == ()
            [held] = await scene.engine.worktrees.of(top)
            await scene.engine.worktrees.remove(top, held.tree.branch, lose=True)
            said = scene.services.rules.read().rules
            assert said is not None and [rule.where for rule in said] == [str(top.resolve())]
            await scene.engine.trust(top, False)
            with pytest.raises(Problem, match="do not trust"):
                await start(scene, top)

    bounded(main())


def test_a_folder_of_the_repository_and_one_that_cannot_begin(tmp_path: Path) -> None:
    """The same folder in the worktree; a session that was not begun leaves no worktree."""

    async def main() -> None:
        top = repository(tmp_path / "work")
        (top / "deep").mkdir()
        (top / "hook").write_text("#!/bin/sh\ntouch ran\n")
        (top / "hook").chmod(0o755)
        (top / "hook").rename(top / ".git" / "hooks" / "post-checkout")
        async with opened(tmp_path / "home", tmp_path / "else") as scene:
            with pytest.raises(Problem, match="is in no commit"):
                await start(scene, top / "deep")
            (top / "deep" / "b.txt").write_text("b")
            git(top, "add", "-A")
            git(top, "commit", "-q", "-m", "two")
            row = scene.engine.session(await start(scene, top / "deep"))
            assert Path(row.folder).name == "deep" and (Path(row.folder) / "a.txt").exists()
            assert not there(tmp_path, "**/ran")  # nothing of the repository is run by us
            with pytest.raises(Problem):
                await scene.engine.start("Go.", top, RunStarted("nope/x"), worktree=True)
            with pytest.raises(Problem):
                await scene.engine.start("Go.", top, RunStarted(SCRIPTED, agent="nobody"), worktree=True)
            assert len(await scene.engine.worktrees.of(top)) == 1

    bounded(main())
