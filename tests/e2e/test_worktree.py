"""The commands `run --worktree` and `worktree`."""

import shutil

import pytest

from tests.core.workspace.test_git_branch import git
from tests.e2e.terminal import Terminal

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def test_a_run_in_a_worktree_names_its_folder(terminal: Terminal) -> None:
    refused = terminal("run", "Go.", "--script", terminal.script({"text": "Done."}), "--worktree")
    assert refused.code == 1 and "is not in a usable git repository" in refused.err
    assert "Journeyman does not run git in /." in terminal("worktree", "list", "-C", "/").err
    git(terminal.folder, "init", "-q", "-b", "main")
    git(terminal.folder, "commit", "-q", "--allow-empty", "-m", "one")
    terminal.script({"calls": [{"name": "write", "arguments": {"path": "a.txt", "content": "new"}}]}, {"text": "Done."})
    done = terminal.run("--worktree")
    assert done.code == 0 and "The work is kept in" in done.out and "Commit the changes:" in done.out
    assert not (terminal.folder / "a.txt").exists()
    [tree] = terminal("worktree", "list", "--json").lines
    assert tree["branch"] in done.out and tree["changed_files"] == 1 and tree["sessions"] == [terminal.session()]
    assert "1 changed, 0 ahead" in terminal("worktree", "list").out
    assert "contains work that would be lost" in terminal("worktree", "remove", tree["branch"]).err
    assert terminal("worktree", "remove", tree["branch"], "--discard").code == 0
    assert "No worktrees" in terminal("worktree", "list").out
