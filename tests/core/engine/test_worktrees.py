"""Sessions in git worktrees: on a branch of their own, refused if the worktree would differ from what the user sees."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from core.domain.events import RunStarted
from core.domain.problems import Problem
from core.domain.text import Text
from core.domain.worktree import WorktreeCreated
from core.models.catalog import SCRIPTED
from tests.core.engine.harness import EngineHarness, call_reply, open_engine, run_bounded, scripted_replies
from tests.core.workspace.test_git_branch import git

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

WRITES = scripted_replies(call_reply("write", path="a.txt", content="new\n"), {"text": "Done."})


def repository(folder: Path) -> Path:
    """Create a repository with one file in one commit."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    (folder / "a.txt").write_text("old\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "one")
    return folder


def there(place: Path, pattern: str = "") -> bool:
    return any(place.glob(pattern)) if pattern else place.exists()


async def start(scene: EngineHarness, folder: Path, script: str = WRITES) -> str:
    began = RunStarted(SCRIPTED, 9, Text(script), mode="auto")
    session = await scene.engine.start("Fix it: all!", folder, began, worktree=True)
    await scene.engine.wait_idle(session)
    return session


def test_work_happens_beside_the_repository_and_is_kept(tmp_path: Path) -> None:
    async def main() -> None:
        top = repository(tmp_path / "work")
        async with open_engine(tmp_path / "home", tmp_path / "else") as scene:
            session = await start(scene, top)
            made = (await scene.events(session))[1]
            assert isinstance(made, WorktreeCreated)
            assert made.branch.startswith("journeyman/fix-it-all-") and made.base_commit == git(
                top, "rev-parse", "HEAD"
            )
            place = Path(made.folder)
            assert place.parent == tmp_path / "work.worktrees"
            assert (place / "a.txt").read_text() == "new\n" and (top / "a.txt").read_text() == "old\n"
            row = scene.engine.session(session)
            assert (row.status, row.folder) == ("done", made.folder)
            assert await scene.engine.branch(row.folder) == f"{made.branch} · worktree"
            assert await scene.engine.branch(str(top)) == "main"
            assert made.branch in scene.engine.timeline_steps(row)[0].object
            [held] = await scene.engine.worktrees.in_repository(top)
            assert (held.tree.changed_files, held.tree.commits_ahead) == (1, 0) and [
                one.id for one in held.sessions
            ] == [session]

    run_bounded(main())


def test_unmerged_work_is_not_removed_without_asking(tmp_path: Path) -> None:
    """Neither changed files nor commits are lost; a worktree whose work was merged is removed."""

    async def main() -> None:
        top = repository(tmp_path / "work")
        async with open_engine(tmp_path / "home", tmp_path / "else") as scene:
            trees = scene.engine.worktrees
            made = (await scene.events(await start(scene, top)))[1]
            assert isinstance(made, WorktreeCreated)
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
            await start(
                scene, top, scripted_replies(call_reply("write", path="b.txt", content="lost"), {"text": "Done."})
            )
            [held] = await trees.in_repository(top)
            await trees.remove(top, held.tree.branch, discard=True)
            assert await trees.in_repository(top) == []
            with pytest.raises(Problem, match="no worktree"):
                await trees.remove(top, "")

    run_bounded(main())


def test_a_running_session_keeps_its_worktree(tmp_path: Path) -> None:
    async def main() -> None:
        top = repository(tmp_path / "work")
        async with open_engine(tmp_path / "home", tmp_path / "else") as scene:
            script = scripted_replies(call_reply("ask_user", question="Which?"))
            began = RunStarted(SCRIPTED, 9, Text(script), mode="auto")
            session = await scene.engine.start("Go.", top, began, worktree=True)
            await scene.when(lambda: scene.status(session) == "waiting")
            [held] = await scene.engine.worktrees.in_repository(top)
            with pytest.raises(Problem, match="is active in this worktree"):
                await scene.engine.worktrees.remove(top, held.tree.branch, discard=True)
            await scene.engine.stop(session)
            await scene.engine.worktrees.remove(top, held.tree.branch)

    run_bounded(main())


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
        (_nothing, "is not in a usable git repository"),
        (_no_commit, "has no commit yet"),
        (_changed, "has uncommitted changes"),
        (_merging, "A merge is in progress"),
    ],
)
def test_an_invalid_worktree_is_refused_and_leaves_nothing(
    tmp_path: Path, spoil: Callable[[Path], None], says: str
) -> None:
    async def main() -> None:
        top = repository(tmp_path / "work")
        spoil(top)
        async with open_engine(tmp_path / "home", tmp_path / "else") as scene:
            with pytest.raises(Problem, match=says):
                await start(scene, top)
            assert scene.engine.sessions() == [] and not (tmp_path / "work.worktrees").exists()

    run_bounded(main())


def test_trust_and_rules_of_the_folder_apply_to_its_worktree(tmp_path: Path) -> None:
    async def main() -> None:
        top = repository(tmp_path / "work")
        (top / "AGENTS.md").write_text("Say please.\n")
        git(top, "add", "-A")
        git(top, "commit", "-q", "-m", "two")
        async with open_engine(tmp_path / "home", tmp_path / "else") as scene:
            await scene.engine.trust(top, True)
            row = scene.engine.session(await start(scene, top))
            trust = await scene.engine.folder_trust(Path(row.folder))
            assert trust.trusted and trust.changed == ()
            [held] = await scene.engine.worktrees.in_repository(top)
            await scene.engine.worktrees.remove(top, held.tree.branch, discard=True)
            said = scene.services.rules.read().rules
            assert said is not None and [rule.scope_id for rule in said] == [str(top.resolve())]
            await scene.engine.trust(top, False)
            with pytest.raises(Problem, match="do not trust"):
                await start(scene, top)

    run_bounded(main())


def test_a_subfolder_of_the_repository_and_a_failed_start(tmp_path: Path) -> None:
    """A session in a subfolder works in that subfolder of the worktree. If it cannot start, no worktree is left."""

    async def main() -> None:
        top = repository(tmp_path / "work")
        (top / "deep").mkdir()
        (top / "hook").write_text("#!/bin/sh\ntouch ran\n")
        (top / "hook").chmod(0o755)
        (top / "hook").rename(top / ".git" / "hooks" / "post-checkout")
        async with open_engine(tmp_path / "home", tmp_path / "else") as scene:
            with pytest.raises(Problem, match="is not committed"):
                await start(scene, top / "deep")
            (top / "deep" / "b.txt").write_text("b")
            git(top, "add", "-A")
            git(top, "commit", "-q", "-m", "two")
            row = scene.engine.session(await start(scene, top / "deep"))
            assert Path(row.folder).name == "deep" and (Path(row.folder) / "a.txt").exists()
            assert not there(tmp_path, "**/ran")  # Nothing from the repository is executed.
            with pytest.raises(Problem):
                await scene.engine.start("Go.", top, RunStarted("nope/x"), worktree=True)
            with pytest.raises(Problem):
                await scene.engine.start("Go.", top, RunStarted(SCRIPTED, profile="nobody"), worktree=True)
            assert len(await scene.engine.worktrees.in_repository(top)) == 1

    run_bounded(main())
