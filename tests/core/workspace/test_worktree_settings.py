"""The settings of a repository make git run no program outside the sandbox, unless the user trusts its folder."""

import os
import subprocess
from functools import partial
from pathlib import Path

import pytest

from core.domain.problems import Problem
from core.workspace.active_commands import note_end, note_start
from core.workspace.git_repository import GitRepository
from core.workspace.worktrees import create_worktree, list_worktrees, remove_worktree, repository_root

COMMIT = ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x")
MISSING = "1" * 40


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def top(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / ".gitattributes").write_text("* filter=x=y\n")
    (folder / "a.txt").write_text("text\n")
    git(folder, "add", "-A")
    git(folder, *COMMIT)
    return folder


def plant(top: Path, marker: Path) -> None:
    """Make git run a program when it reads or writes a file, and when it needs an object that is missing."""
    for key in ("clean", "smudge"):
        git(top, "config", f"filter.x=y.{key}", f"touch {marker}-{key}; cat")
    git(top, "config", "core.fsmonitor", f"touch {marker}-monitor")
    git(top, "config", "core.repositoryformatversion", "1")
    git(top, "config", "extensions.partialClone", "origin")
    git(top, "config", "remote.origin.promisor", "true")
    git(top, "config", "remote.origin.url", f"ext::touch {marker}-fetched")
    git(top, "config", "protocol.ext.allow", "always")


def planted(top: Path) -> list[str]:
    return sorted(path.name for path in top.parent.glob("marker*"))


def test_no_worktree_is_created_if_settings_run_programs(top: Path) -> None:
    plant(top, top.parent / "marker")
    with pytest.raises(Problem, match="settings"):
        create_worktree(top, "task")
    assert planted(top) == [] and not top.with_name("repository.worktrees").exists()


def test_a_trusted_repository_is_checked_out_as_it_is_configured(top: Path) -> None:
    git(top, "config", "filter.x=y.smudge", f"touch {top.parent}/marker; cat")
    create_worktree(top, "task", follow_settings=True)
    assert planted(top) == ["marker"]


def test_a_nested_repository_runs_nothing_either(top: Path) -> None:
    inner, marker = top / "inner", top.parent / "marker"
    inner.mkdir()
    git(inner, "init", "-q")
    (inner / "x").write_text("x")
    (inner / ".gitattributes").write_text("* filter=x=y\n")
    git(inner, "add", "-A")
    git(inner, *COMMIT)
    git(top, "add", "inner")
    git(top, *COMMIT)
    for key in ("filter.x=y.clean", "filter.x=y.process", "core.fsmonitor"):
        git(inner, "config", key, f"touch {marker}; cat")
    (inner / "x").write_text("y")
    tree, _ = create_worktree(top, "task")
    (found,) = list_worktrees(top)
    remove_worktree(found, discard=True)
    assert planted(top) == [] and not Path(tree.folder).exists()


def test_ordinary_settings_need_no_trust(top: Path) -> None:
    git(top, "config", "remote.origin.url", "https://example.org/a.git")
    git(top, "config", "lfs.https://example.org/a.git/info/lfs.access", "basic")
    _, folder = create_worktree(top, "task")
    assert (folder / "a.txt").read_text() == "text\n"


def nested_repository(folder: Path, marker: Path) -> Path:
    """Create a repository in a folder, staged as a submodule. Its settings run a program for each changed file."""
    sub = folder / "sub"
    sub.mkdir()
    git(sub, "init", "-q")
    (sub / ".gitattributes").write_text("* filter=e\n")
    (sub / "x").write_text("x\n")
    git(sub, "add", "-A")
    git(sub, *COMMIT)
    git(folder, "add", "sub")
    for key in ("clean", "smudge"):
        git(sub, "config", f"filter.e.{key}", f"touch {marker}-sub-{key}; cat")
    git(sub, "config", "core.fsmonitor", f"touch {marker}-sub-monitor")
    os.utime(sub / "x", (1, 1))
    return sub


@pytest.mark.parametrize("trusted", [False, True])
def test_a_nested_repository_runs_no_program_when_a_worktree_is_created(top: Path, trusted: bool) -> None:
    nested_repository(top, top.parent / "marker")
    git(top, *COMMIT)
    _, folder = create_worktree(top, "task", follow_settings=trusted)
    assert (folder / "a.txt").exists() and planted(top) == []


def test_a_worktree_with_a_nested_repository_is_listed_and_removed_without_running_its_programs(top: Path) -> None:
    created, folder = create_worktree(top, "task")
    nested_repository(folder, top.parent / "marker")
    git(folder, *COMMIT)
    git(top, "merge", "-q", created.branch)
    (tree,) = list_worktrees(top)
    assert (tree.changed_files, tree.commits_ahead) == (0, 0)
    remove_worktree(tree)
    assert planted(top) == [] and not folder.exists()


def test_changes_made_after_a_worktree_was_listed_are_not_lost(top: Path) -> None:
    _, folder = create_worktree(top, "task")
    (tree,) = list_worktrees(top)
    (folder / "new.txt").touch()
    with pytest.raises(Problem, match="would be lost"):
        remove_worktree(tree)
    assert (folder / "new.txt").exists()


@pytest.mark.parametrize("mark", ["--skip-worktree", "--assume-unchanged"])
def test_changes_that_a_command_hid_from_git_are_not_lost(top: Path, mark: str) -> None:
    _, folder = create_worktree(top, "task")
    git(folder, "update-index", mark, "a.txt", ".gitattributes")
    (folder / "a.txt").write_text("changed\n")
    (folder / ".gitattributes").unlink()
    (tree,) = list_worktrees(top)
    assert tree.changed_files == 1
    with pytest.raises(Problem, match="would be lost"):
        remove_worktree(tree)
    assert (folder / "a.txt").read_text() == "changed\n"


def test_listing_and_removing_worktrees_runs_no_program(top: Path) -> None:
    _, folder = create_worktree(top, "task")
    sub = folder / "sub"
    sub.mkdir()
    git(sub, "init", "-q")
    git(sub, *COMMIT, "--allow-empty")
    git(folder, "add", "sub")
    git(folder, *COMMIT)
    plant(top, top.parent / "marker")
    git(sub, "config", "core.fsmonitor", f"touch {top.parent}/marker-sub")
    (folder / "a.txt").write_text("changed\n")
    (folder / "new.txt").touch()
    (top / ".git" / "refs" / "heads" / "gone").write_text(f"{MISSING}\n")
    (tree,) = list_worktrees(repository_root(top))
    assert (tree.changed_files, tree.commits_ahead) == (2, 1)
    with pytest.raises(Problem, match="would be lost"):
        remove_worktree(tree)
    remove_worktree(tree, discard=True)
    assert planted(top) == [] and not folder.exists()


@pytest.mark.parametrize("place", ["repository", "worktree"])
def test_git_counts_no_changes_while_a_command_can_change_its_settings(top: Path, place: str) -> None:
    """Landlock does not prevent that. All work trees of a repository share its settings."""
    _, folder = create_worktree(top, "task")
    (folder / "new.txt").touch()
    number = note_start(top if place == "repository" else folder)
    try:
        (tree,) = list_worktrees(top)
        assert tree.changed_files is None
        for refused in (partial(remove_worktree, tree), GitRepository(top).status):
            with pytest.raises(Problem, match="was not run"):
                refused()
    finally:
        note_end(number)
    assert folder.is_dir() and list_worktrees(top)[0].changed_files == 1
