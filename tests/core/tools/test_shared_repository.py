"""In a linked worktree, no command makes git run a program in the repository that the worktree belongs to."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.core.tools.test_run import open_harness
from tests.core.workspace.commands import open_sandbox

COMMON = "common=$(git rev-parse --path-format=absolute --git-common-dir); "
COPY = (
    "mkdir fake; cp -r $common/objects $common/refs fake; "
    "printf '[core]\\n\\tfsmonitor = touch OBEYED; false\\n' > fake/config; "
)
# What a command writes to the shared git folder, and the file that must not be left there.
PLANTED = {
    "another common folder": (f'{COPY} echo "$PWD/fake" > $common/commondir', "commondir"),
    "attributes": (
        "rm -rf $common/info; mkdir $common/info; echo '* filter=x' > $common/info/attributes",
        "info/attributes",
    ),
    "a strategy": ("mkdir $common/rebase-merge; echo x/y > $common/rebase-merge/strategy", "rebase-merge/strategy"),
    "a linked state": ("mkdir s; touch s/strategy; ln -s $PWD/s $common/rebase-merge", "rebase-merge"),
    "a log that leads elsewhere": (
        "mkdir -p $common/logs/refs; ln -s /etc/x $common/logs/refs/stash",
        "logs/refs/stash",
    ),
    "a repository among the objects": (
        f"git init -q --bare $common/objects/new; {COPY} cat fake/config >> $common/objects/new/config; "
        "mkdir -p $common/objects/new/hooks; touch $common/objects/new/hooks/pre-commit",
        "objects/new/hooks/pre-commit",
    ),
    "a remote": ("mkdir -p $common/remotes; echo 'URL: /x' > $common/remotes/origin", "remotes/origin"),
    "a submodule": (
        "git init -q --bare $common/modules/refs; "
        "git config -f $common/modules/refs/config core.fsmonitor 'touch OBEYED'; "
        "mkdir -p $common/modules/refs/hooks; touch $common/modules/refs/hooks/pre-commit",
        "modules/refs/hooks/pre-commit",
    ),
}


@pytest.fixture
def main(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for number, (key, value) in enumerate((("user.name", "a"), ("user.email", "a@b"))):
        monkeypatch.setenv(f"GIT_CONFIG_KEY_{number}", key)
        monkeypatch.setenv(f"GIT_CONFIG_VALUE_{number}", value)
    monkeypatch.setenv("GIT_CONFIG_COUNT", "2")
    folder = tmp_path / "main"
    git(tmp_path, "init", "-q", str(folder))
    git(folder, "commit", "-q", "--allow-empty", "-m", "1")
    git(folder, "worktree", "add", "-q", str(tmp_path / "tree"))
    return folder


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.parametrize("planted", sorted(PLANTED))
def test_what_git_would_obey_in_the_shared_folder_is_removed_and_named(planted: str, main: Path) -> None:
    command, path = PLANTED[planted]
    shared = main / ".git"
    with open_sandbox("bubblewrap") as sandbox, open_harness(sandbox, main.parent / "tree") as made:
        done = made.use(COMMON + command)
    assert not os.path.lexists(shared / path), done.output
    reason = "Read-only file system" if path.startswith("info/") else "did not approve it"
    assert f"{shared / path}" in done.output and reason in done.output
    assert "rebasing" not in git(main, "status")
    assert not list(main.parent.rglob("OBEYED"))
    modules = shared / "modules" / "refs" / "config"
    assert not modules.exists() or "OBEYED" not in modules.read_text()


def test_no_number_of_files_hides_what_git_would_obey(main: Path) -> None:
    shared = main / ".git"
    for number in range(21_000):
        os.close(os.open(shared / f"a{number}", os.O_CREAT))
    with open_sandbox("bubblewrap") as sandbox, open_harness(sandbox, main.parent / "tree") as made:
        done = made.use(f'{COMMON}{COPY} echo "$PWD/fake" > $common/commondir')
    assert not (shared / "commondir").exists() and "did not approve it" in done.output


def test_the_other_work_trees_keep_what_the_user_does_there(main: Path) -> None:
    git(main, "worktree", "add", "-q", str(main.parent / "other"))
    shared = main / ".git"
    kept = ["index", "HEAD", "info/exclude", "ORIG_HEAD", "worktrees/other/index", "worktrees/other/HEAD"]
    (main / "staged").write_text("")
    git(main, "add", "staged")
    git(main, "update-ref", "ORIG_HEAD", "HEAD")
    before = {name: (shared / name).read_bytes() for name in kept}
    with open_sandbox("bubblewrap") as sandbox, open_harness(sandbox, main.parent / "tree") as made:
        for name in kept:
            made.use(f"{COMMON} echo x >> $common/{name}; rm -f $common/{name}; mv $common/packed-refs $common/{name}")
        done = made.use(f"{COMMON} rm -rf $common/worktrees/other; git worktree prune; git add -A; git stash list")
    assert {name: (shared / name).read_bytes() for name in kept} == before, done.output
    assert git(main, "status", "--porcelain") == "A  staged"


def test_work_in_the_worktree_and_what_the_user_does_meanwhile_stay(main: Path) -> None:
    tree, hook = main.parent / "tree", main / ".git" / "hooks" / "pre-push"
    with open_sandbox("bubblewrap") as sandbox, open_harness(sandbox, tree) as made:
        made.use("true")
        hook.parent.mkdir(exist_ok=True)
        hook.write_text("#!/bin/sh\n")
        git(main, "config", "core.pager", "less")
        done = made.use(
            "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a; "
            "git commit -q --allow-empty -m 2 && git branch other && git branch -q -D other && "
            "echo 1 > a && git add a && git stash -q && git stash pop -q && git rm -qf a && "
            "GIT_SEQUENCE_EDITOR='sed -i s/pick/edit/' git rebase -q -i HEAD~1"
        )
        assert not done.failed and "approve" not in done.output, done.output
        assert hook.exists() and "less" in git(main, "config", "core.pager")
        done = made.use("git rebase --continue")
        assert not done.failed and "approve" not in done.output, done.output
    assert git(tree, "log", "--format=%s") == "2\n1"
