"""Commands cannot keep changes to trusted files by permissions, links, sizes, kinds of files, or git objects."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from core.domain.problems import Problem
from core.workspace import folder_listing
from core.workspace.committed_files import CommittedFiles, FileVersion
from core.workspace.git_history import GitHistory
from tests.core.tools.test_run import open_harness
from tests.core.workspace.commands import open_sandbox
from tests.core.workspace.ground import Ground, create_ground

EVIL = "'[core]\\n\\tfsmonitor = touch OBEYED; false\\n'"
HOOK = "printf '#!/bin/sh\\ntouch OBEYED\\n'"
GIT = "git init -q . && git commit -q --allow-empty -m one"
STATUS = "git status >/dev/null 2>&1; true"
COMMIT = "git commit -q --allow-empty -m user >/dev/null 2>&1; true"
NO_TASKS = "test ! -e .vscode/tasks.json"
NO_ENVRC = "test ! -e .envrc"
# How the folder is prepared, the command, and what the user then runs: it must succeed and start no program.
ATTACKS = {
    "a repository that was closed": ("true", f"git init -q .; printf {EVIL} >> .git/config; chmod 0111 .git", STATUS),
    "one below that was closed": (
        "true",
        f"git init -q sub; printf {EVIL} >> sub/.git/config; chmod 0111 sub/.git",
        "cd sub; git status >/dev/null 2>&1; true",
    ),
    "hooks that were closed": (
        GIT,
        f"{HOOK} > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit; chmod 0111 .git/hooks",
        COMMIT,
    ),
    "a new folder that was closed": (
        "true",
        "mkdir .vscode; echo evil > .vscode/tasks.json; chmod 0111 .vscode",
        NO_TASKS,
    ),
    "an existing folder that was closed": (
        "mkdir -p a/.vscode",
        "echo evil > a/.vscode/tasks.json; chmod 0111 a/.vscode a",
        "cd a && test ! -e .vscode/tasks.json && ls . .vscode",
    ),
    "a new folder without write permission": (
        "true",
        "mkdir .vscode; echo evil > .vscode/tasks.json; chmod 0555 .vscode",
        NO_TASKS,
    ),
    "a workspace without write permission": (
        "true",
        "mkdir .vscode; echo evil > .vscode/tasks.json; echo evil > .envrc; chmod 0555 .vscode .",
        f"{NO_TASKS} && {NO_ENVRC}",
    ),
    "a workspace that was closed": ("true", "echo evil > .envrc; chmod 0111 .", NO_ENVRC),
    "closed folders in each other": (
        "true",
        "mkdir -p a/b/c/.vscode; echo evil > a/b/c/.vscode/tasks.json; chmod 0 a/b/c/.vscode a/b/c a/b; chmod 0111 a",
        "test ! -e a/b/c/.vscode/tasks.json",
    ),
    "many folders, one of them closed": (
        "for n in $(seq 300); do mkdir -p d$n; for m in 1 2 3 4 5 6 7 8 9; do : > d$n/$m; done; done",
        "for n in $(seq 300); do mkdir d$n/e; done; "
        "mkdir d9/e/.vscode; echo evil > d9/e/.vscode/tasks.json; chmod 0111 d9/e/.vscode d9/e",
        "test ! -e d9/e/.vscode/tasks.json",
    ),
    "an unreadable file": ("true", "echo evil > .envrc; chmod 0 .envrc", NO_ENVRC),
    "an existing file made unreadable": (
        "echo mine > .envrc",
        "echo evil > .envrc; chmod 0 .envrc",
        "test $(cat .envrc) = mine",
    ),
    "a large file": (
        "mkdir a; echo mine > a/.envrc",
        "head -c 3000000 /dev/zero > a/.envrc; mkdir b; cp a/.envrc b/.envrc",
        "test $(cat a/.envrc) = mine && test ! -e b/.envrc",
    ),
    "a large configuration": (
        GIT,
        f"(printf {EVIL}; yes '# comment' | head -c 2000000) >> .git/config; true",
        STATUS,
    ),
    "a FIFO instead of a configuration": (
        GIT,
        "rm .git/config; mkfifo .git/config; rm -f .mcp.json; mkfifo .mcp.json",
        "test ! -p .git/config && test ! -p .mcp.json && git config core.bare",
    ),
    "a folder instead of a file": (
        "echo mine > .envrc",
        "rm .envrc; mkdir -p .envrc/a; echo evil > .envrc/a/b; chmod 0555 .envrc/a .envrc",
        "test $(cat .envrc) = mine",
    ),
    "a file instead of a folder": (
        "mkdir .husky; echo mine > .husky/pre-commit",
        "mv .husky .hidden; echo evil > .husky",
        "test $(cat .husky/pre-commit) = mine",
    ),
    "hooks that became a link": (
        GIT,
        f"mkdir evil; {HOOK} > evil/pre-commit; chmod +x evil/pre-commit; mv .git/hooks .git/h; "
        "ln -s ../evil .git/hooks",
        COMMIT,
    ),
    "a link that leads elsewhere": (
        "mkdir conf evil; echo mine > conf/pre-commit; ln -s conf .husky",
        "echo evil > evil/pre-commit; ln -sfn evil .husky",
        "test $(readlink .husky) = conf",
    ),
    "the target of a link": (
        "mkdir conf; echo mine > conf/tasks.json; ln -s conf .vscode",
        "echo evil > conf/tasks.json; echo evil > conf/launch.json",
        "test $(cat conf/tasks.json) = mine && test ! -e conf/launch.json",
    ),
    "a folder of dependencies": (
        "mkdir -p node_modules/a/.vscode; echo mine > node_modules/a/.vscode/tasks.json",
        "echo evil > node_modules/a/.vscode/tasks.json",
        "test $(cat node_modules/a/.vscode/tasks.json) = mine",
    ),
    "a repository among git objects": (
        GIT,
        f"git init -q --bare .git/objects/zz; printf {EVIL} >> .git/objects/zz/config; "
        "sed -i s/true/false/ .git/objects/zz/config",
        "cd .git/objects/zz; git status >/dev/null 2>&1; true",
    ),
    "a repository deep among git objects": (
        GIT,
        f"mkdir -p .git/objects/ab; git init -q .git/objects/ab/cd; printf {EVIL} >> .git/objects/ab/cd/.git/config",
        "cd .git/objects/ab/cd; git status >/dev/null 2>&1; true",
    ),
    "a repository among git references": (
        GIT,
        f"git init -q --bare .git/refs/heads/zz; printf {EVIL} >> .git/refs/heads/zz/config; "
        "sed -i s/true/false/ .git/refs/heads/zz/config",
        "cd .git/refs/heads/zz; git status >/dev/null 2>&1; true",
    ),
    "a configured hooks folder": (
        f"{GIT} && mkdir -p scripts/git-hooks && git config core.hooksPath scripts/git-hooks",
        f"{HOOK} > scripts/git-hooks/pre-commit; chmod +x scripts/git-hooks/pre-commit",
        COMMIT,
    ),
    "an included configuration": (
        f"{GIT} && mkdir tools && touch tools/gitconfig && git config include.path ../tools/gitconfig",
        f"printf {EVIL} > tools/gitconfig",
        STATUS,
    ),
    "hooks that an included configuration names": (
        f"{GIT} && mkdir -p tools/hooks && printf '[include]\\n\\tpath = tools/inner\\n' > gitconfig"
        " && printf '[core]\\n\\thooksPath = tools/hooks\\n' > tools/inner && git config include.path ../gitconfig",
        f"{HOOK} > tools/hooks/pre-commit; chmod +x tools/hooks/pre-commit",
        COMMIT,
    ),
    "a program that a setting names without its folder": (
        f"{GIT} && echo cat > clean && git config filter.x.clean 'sh clean' && echo '* filter=x' > .gitattributes",
        "echo 'touch OBEYED; cat' > clean",
        "echo new > file; git add file; true",
    ),
    "hooks that the configuration of a submodule names": (
        f"{GIT} && git init -q other && git -C other commit -q --allow-empty -m one"
        " && git -c protocol.file.allow=always submodule -q add ./other deep/sub && rm -rf other"
        " && git -C deep/sub config core.hooksPath tools && mkdir deep/sub/tools",
        f"{HOOK} > deep/sub/tools/pre-commit; chmod +x deep/sub/tools/pre-commit",
        f"cd deep/sub; {COMMIT}",
    ),
    "a file with a name that is not text": (
        "mkdir .husky; echo mine > \"$(printf '.husky/a\\377')\"",
        "echo evil > \"$(printf '.husky/a\\377')\"; echo evil > \"$(printf '.husky/b\\377')\"",
        "test $(cat .husky/a*) = mine && test $(ls .husky | wc -l) = 1",
    ),
    "attributes of the repository": (
        f"{GIT} && git config filter.x.clean 'touch OBEYED; cat' && echo one > file && git add file",
        "echo 2 > file; for name in .git/info/attributes .gitattributes; do echo '* filter=x' > $name; done",
        "git diff >/dev/null 2>&1; git add file; true",
    ),
    "settings of the program of a host": (
        GIT,
        "mkdir -p .git/glab-cli; echo 'hosts: {gitlab.com: {api_host: evil.example}}' > .git/glab-cli/config.yml",
        "test ! -e .git/glab-cli/config.yml",
    ),
    "programs of the system in an environment": (
        "mkdir -p .venv/bin && echo mine > .venv/bin/tool",
        "for name in git ls tool pytest; do echo touch OBEYED > .venv/bin/$name; chmod +x .venv/bin/$name; done",
        "test ! -e .venv/bin/git && test ! -e .venv/bin/ls && grep -q OBEYED .venv/bin/tool .venv/bin/pytest",
    ),
    "a build server that an editor starts": (
        "mkdir .bsp && echo mine > .bsp/sbt.json",
        "echo evil > .bsp/sbt.json; echo evil > .bsp/b.json; echo evil > .lfsconfig; echo evil > rust-analyzer.toml",
        "test $(cat .bsp/sbt.json) = mine && test ! -e .bsp/b.json && "
        "test ! -e .lfsconfig && test ! -e rust-analyzer.toml",
    ),
    "a rename over a file": (
        "echo mine > AGENTS.md; echo mine > .pre-commit-config.yaml",
        "echo evil > x; mv -f x AGENTS.md; echo evil > y; mv -f y .pre-commit-config.yaml; echo evil > CLAUDE.md",
        "test $(cat AGENTS.md) = mine && test $(cat .pre-commit-config.yaml) = mine && test ! -e CLAUDE.md",
    ),
    "an interrupted rebase": (
        GIT,
        "GIT_SEQUENCE_EDITOR='sed -i 1ibreak' git rebase -q -i --root --exec 'touch OBEYED'",
        "test -d .git/rebase-merge && git rebase --continue >/dev/null 2>&1",
    ),
    "the strategy of an interrupted rebase": (
        f"{GIT} && git commit -q --allow-empty -m 2",
        f"GIT_SEQUENCE_EDITOR='sed -i s/pick/edit/' git rebase -q -i HEAD~1; mkdir git-merge-x; "
        f"{HOOK} > git-merge-x/y; chmod +x git-merge-x/y; echo x/y > .git/rebase-merge/strategy; "
        'echo "pick $(git rev-parse HEAD)" > .git/rebase-merge/git-rebase-todo',
        "test -d .git/rebase-merge && ! test -e .git/rebase-merge/strategy && git rebase --continue >/dev/null 2>&1; "
        "test ! -e .git/rebase-merge/strategy",
    ),
    "the strategy of an interrupted cherry-pick": (
        GIT,
        f"mkdir -p .git/sequencer git-merge-x; {HOOK} > git-merge-x/y; chmod +x git-merge-x/y; "
        "printf '[options]\\n\\tstrategy-option = ours\\n[options] strategy = x/y\\n' > .git/sequencer/opts; "
        'echo "pick $(git rev-parse HEAD)" > .git/sequencer/todo; git rev-parse HEAD > .git/sequencer/head',
        "test ! -e .git/sequencer/opts && git cherry-pick --continue >/dev/null 2>&1; test ! -e .git/sequencer/opts",
    ),
    "a link to the state of a rebase": (
        GIT,
        "mkdir state; echo x/y > state/strategy; echo 'exec touch OBEYED' > state/git-rebase-todo; "
        "ln -s ../state .git/rebase-merge",
        "test ! -e .git/rebase-merge",
    ),
    "an unreadable state of a rebase": (
        GIT,
        "mkdir .git/rebase-merge; (echo exec touch OBEYED; head -c 9000000 /dev/zero | tr '\\0' '#') "
        "> .git/rebase-merge/git-rebase-todo",
        "test ! -e .git/rebase-merge/git-rebase-todo",
    ),
    "a remote without settings": (
        GIT,
        "for name in remotes branches; do mkdir -p .git/$name; "
        "echo 'URL: https://evil.example/a' > .git/$name/elsewhere; done",
        "test ! -e .git/remotes/elsewhere && test ! -e .git/branches/elsewhere",
    ),
    "a configured program": (
        f"{GIT} && mkdir tools && printf '#!/bin/sh\\nfalse\\n' > tools/monitor && chmod +x tools/monitor && "
        "git config core.fsmonitor tools/monitor",
        f"{HOOK} > tools/monitor",
        STATUS,
    ),
}
EVIL_TREE = (
    "blob=$(echo evil | git hash-object -w --stdin); "
    "git update-index --add --cacheinfo 100755,$blob,.envrc --cacheinfo 100755,$blob,.husky/pre-commit "
    "--cacheinfo 100644,$blob,.claude/settings.json; tree=$(git write-tree); "
    "git update-ref refs/heads/evil $(git commit-tree -p HEAD -m evil $tree); git read-tree HEAD"
)
# The commands by which objects that were created in the same or in an earlier run get into the folder.
LANDINGS = {
    "merge": ("git merge -q evil",),
    "checkout": ("git checkout -q evil",),
    "switch": ("git switch -q evil",),
    "checkout of files": ("git checkout -q evil -- .",),
    "restore": ("git restore -s evil .",),
    "reset": ("git reset -q --hard evil",),
    "cherry-pick": ("git cherry-pick evil",),
    "rebase": ("git rebase -q evil",),
    "another folder": ("git -C . checkout -q evil",),
    "an index": ("git read-tree evil", "git checkout-index -a"),
    "a stash": ("git read-tree evil", "git checkout -q -- .", "git stash -q", "git stash pop -q"),
    "a stash of new objects": (
        "git stash store $(git commit-tree -p HEAD -p $(git commit-tree -p HEAD -m i HEAD^{tree}) -m s evil^{tree})",
        "git stash apply -q",
    ),
    "a pull": ("git pull -q . evil",),
    "a revert": ("git checkout -q --detach $(git commit-tree -p evil -m x HEAD^{tree})", "git revert --no-edit HEAD"),
    "a patch": ("git diff HEAD evil > p", "git apply p"),
    "a new worktree": ("git worktree add -q tree evil",),
    "a clone": ("git clone -q -b evil . new",),
    "a clean worktree": ("git --work-tree=. --git-dir=.git reset -q --hard evil",),
}


@pytest.fixture
def ground(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ground:
    settings = {"user.name": "a", "user.email": "a@b", "init.defaultBranch": "main", "advice.detachedHead": "false"}
    monkeypatch.setenv("GIT_CONFIG_COUNT", str(len(settings)))
    for number, (key, value) in enumerate(settings.items()):
        monkeypatch.setenv(f"GIT_CONFIG_KEY_{number}", key)
        monkeypatch.setenv(f"GIT_CONFIG_VALUE_{number}", value)
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / ".gitconfig").write_text("[user]\n\tname = a\n\temail = a@b\n[init]\n\tdefaultBranch = main\n")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return create_ground(tmp_path)


def user(folder: Path, command: str) -> subprocess.CompletedProcess[str]:
    """Run a command as the user would, outside the sandbox."""
    return subprocess.run(["sh", "-c", command], cwd=folder, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.parametrize("rung", ["bubblewrap", "landlock"])
@pytest.mark.parametrize("attack", sorted(ATTACKS))
def test_p14_no_change_to_a_trusted_file_is_left(attack: str, rung: str, ground: Ground) -> None:
    prepare, command, check = ATTACKS[attack]
    assert user(ground.folder, prepare).returncode == 0
    with open_sandbox(rung) as sandbox, open_harness(sandbox, ground.folder) as made:
        made.use(command)
        done = user(ground.folder, check)
    assert done.returncode == 0, done
    assert not list(ground.folder.rglob("OBEYED"))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files immutable")
@pytest.mark.parametrize("name", [".envrc", ".vscode/tasks.json"])
def test_p14_immutable_files_are_removed(name: str, ground: Ground) -> None:
    with open_sandbox("landlock") as sandbox, open_harness(sandbox, ground.folder) as made:
        made.use(f"mkdir .vscode; echo evil > {name}; chattr +i {name}; chattr +i .vscode")
        left = user(ground.folder, f"test -e {name} && chattr -i .vscode {name} && rm {name}").returncode == 0
        user(ground.folder, "chattr -i .vscode")
    assert not left


def test_commits_are_searched_once_for_all_links_and_not_for_files(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = "ln -s a .envrc; mkdir .vscode; ln -s b .vscode/tasks.json; ln -s c .vscode/settings.json"
    assert user(ground.folder, f"git init -q .; {make}; git add -A; git commit -qm one").returncode == 0
    point = "rm .envrc .vscode/*; ln -s x .envrc; ln -s x .vscode/tasks.json; ln -s x .vscode/settings.json"
    assert user(ground.folder, f"{point}; git add -A; git commit -qm two").returncode == 0
    (ground.folder / ".mcp.json").write_text("{}")
    searched: list[list[str]] = []
    find = CommittedFiles.find

    def counted(self: CommittedFiles, files: Sequence[FileVersion]) -> set[str]:
        searched.append(sorted(file.path for file in files))
        return find(self, files)

    monkeypatch.setattr(CommittedFiles, "find", counted)
    # Two of the links come from the first commit, one is new, and a file becomes too large to be read.
    command = "git checkout -q HEAD~1; ln -sfn evil .vscode/settings.json; truncate -s 9M .mcp.json"
    with open_sandbox("landlock") as sandbox, open_harness(sandbox, ground.folder) as made:
        made.use(command)
    assert searched == [[".envrc", ".vscode/settings.json", ".vscode/tasks.json"]]
    links = {name: os.readlink(ground.folder / name) for name in searched[0]}  # noqa: PTH115 - for names
    assert links == {".envrc": "a", ".vscode/settings.json": "x", ".vscode/tasks.json": "b"}
    assert (ground.folder / ".mcp.json").read_text() == "{}"


@pytest.mark.parametrize("rung", ["bubblewrap", "landlock"])
@pytest.mark.parametrize("runs", [1, 2])
@pytest.mark.parametrize("landing", sorted(LANDINGS))
def test_p14_only_commits_of_the_user_bring_trusted_files(landing: str, runs: int, rung: str, ground: Ground) -> None:
    """The objects come from commands of this run, or of an earlier one."""
    assert user(ground.folder, GIT).returncode == 0
    steps = [EVIL_TREE, *LANDINGS[landing]]
    with open_sandbox(rung) as sandbox:
        for commands in (steps,) if runs == 1 else (steps[:1], steps[1:]):
            with open_harness(sandbox, ground.folder) as made:
                found = [made.use(command) for command in commands]
    assert any("reverted" in done.output or "Read-only" in done.output for done in found), found
    left = [path for name in (".envrc", ".husky/*", ".claude/*") for path in ground.folder.rglob(name)]
    assert [path for path in left if path.read_bytes() == b"evil\n"] == []


@pytest.mark.parametrize("rung", ["bubblewrap", "landlock"])
@pytest.mark.parametrize("place", [".", "deep/er"])
@pytest.mark.parametrize("scan_limit", [folder_listing.SCAN_LIMIT, 10])
def test_very_many_files_hide_no_trusted_ones(
    rung: str, place: str, scan_limit: int, ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_listing, "FILES", 300)
    monkeypatch.setattr(folder_listing, "SCAN_LIMIT", scan_limit)
    (ground.folder / "b.txt").write_text("b")
    command = f"mkdir -p {place}; cd {place}; for i in $(seq 400); do : > a$i; done; mkdir .vscode named hooks; "
    command += "echo x > .envrc; echo x > .vscode/tasks.json; echo x > AGENTS.md; echo x > hooks/pre-commit; : > HEAD; "
    command += "mkdir -p sub/.git/hooks; echo x > sub/.git/hooks/post-checkout; seq 400 | sed s/^/z/ | xargs touch"
    with open_sandbox(rung) as sandbox, open_harness(sandbox, ground.folder) as made:
        output = made.use(command).output
        top = ground.folder / place
        for name in (".envrc", ".vscode/tasks.json", "AGENTS.md", "sub/.git/hooks/post-checkout"):
            assert not (top / name).exists() and (name in output or name.startswith("sub")), output
        assert (top / "a1").exists() and (ground.folder / "b.txt").read_text() == "b" and "b.txt" not in output
        with pytest.raises(Problem, match="too large to scan"):
            made.use("true")


@pytest.mark.parametrize("rung", ["bubblewrap", "landlock"])
@pytest.mark.parametrize(
    "source", ["refs/remotes/origin/pull", "refs/tags/pull", "refs/notes/pull", "HEAD~1", "main~1", "stash@{0}"]
)
def test_only_commits_that_the_user_works_on_bring_trusted_files(source: str, rung: str, ground: Ground) -> None:
    """A branch that was fetched, and the old history, contain files that the user does not have now."""
    plant = "mkdir -p .vscode; echo evil > .envrc; echo {} > .vscode/tasks.json; git add -A"
    make = f"git init -q .; echo a > a; git add -A; git commit -qm a; {plant}; git commit -qm evil; "
    make += "git rm -rq .envrc .vscode; git commit -qm clean; "
    make += "".join(f"git update-ref refs/{name}/pull HEAD~1; " for name in ("remotes/origin", "tags", "notes"))
    assert user(ground.folder, f"{make}{plant}; git stash -q").returncode == 0
    with open_sandbox(rung) as sandbox, open_harness(sandbox, ground.folder) as made:
        for command in (
            "git show {0}:.envrc > .envrc",
            "git checkout -q {0} -- .envrc .vscode",
            "git restore -s {0} .",
        ):
            output = made.use(command.format(source)).output
            assert not (ground.folder / ".envrc").exists() and not (ground.folder / ".vscode").exists(), output


@pytest.mark.parametrize("rung", ["bubblewrap", "landlock"])
@pytest.mark.parametrize("command", ["git checkout -q HEAD~2", "git switch -q other", "git reset -q --hard HEAD~2"])
def test_an_earlier_commit_that_is_checked_out_brings_its_trusted_files(
    command: str, rung: str, ground: Ground
) -> None:
    make = "git init -q .; echo mine > .envrc; git add -A; git commit -qm one; git branch other; git rm -q .envrc; "
    assert user(ground.folder, f"{make} git commit -qm two; git commit -q --allow-empty -m three").returncode == 0
    with open_sandbox(rung) as sandbox, open_harness(sandbox, ground.folder) as made:
        made.use(command)
    assert (ground.folder / ".envrc").read_text() == "mine\n"


@pytest.mark.parametrize(
    "command",
    [
        "mv templates/.envrc .envrc",
        "mv templates/app/.vscode .vscode",
        "mv web old; mv templates/app web",
        "rm -r web; mv templates/app web",
        'python3 -c \'import os; os.rename("templates/.envrc", ".envrc")\'',
    ],
)
@pytest.mark.parametrize("rung", ["bubblewrap", "landlock"])
def test_a_template_does_not_become_active_by_being_moved(command: str, rung: str, ground: Ground) -> None:
    for name in ("templates/app/.vscode/tasks.json", "templates/.envrc", "web/index.html"):
        (ground.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (ground.folder / name).write_text("text")
    with open_sandbox(rung) as sandbox, open_harness(sandbox, ground.folder) as made:
        made.use(command)
    for name in (".envrc", ".vscode/tasks.json", "web/.vscode/tasks.json"):
        assert not (ground.folder / name).exists(), name


@pytest.mark.parametrize("rung", ["landlock"])
def test_a_renamed_folder_keeps_its_trusted_files(rung: str, ground: Ground) -> None:
    (ground.folder / "app" / ".vscode").mkdir(parents=True)
    (ground.folder / "app" / ".vscode" / "tasks.json").write_text("mine")
    with open_sandbox(rung) as sandbox, open_harness(sandbox, ground.folder) as made:
        made.use("mv app new")
    assert (ground.folder / "new" / ".vscode" / "tasks.json").read_text() == "mine"


SHORT_PACK = """
P=.git/objects/pack; h=$(echo x | git hash-object -w --stdin); n=$(echo $h | git pack-objects -q $P/tmp)
mv $P/tmp-$n.idx $P/pack-a.idx; mv $P/tmp-$n.pack $P/pack-a.pack; git verify-pack $P/pack-a.idx || exit 3
rm -rf .git/objects/?? .git/refs/heads/precious; echo evil > .envrc
"""


@pytest.mark.parametrize("rung", ["bubblewrap", "landlock"])
def test_a_pack_with_a_short_name_prevents_no_revert(rung: str, ground: Ground) -> None:
    user(ground.folder, f"{GIT}; git checkout -q -b precious; git commit -q --allow-empty -m two; git checkout -q -")
    with open_sandbox(rung) as sandbox, open_harness(sandbox, ground.folder) as made:
        done = made.use(command=SHORT_PACK)
    assert "restored" in done.output and done.exit_code == 0
    assert not (ground.folder / ".envrc").exists()
    assert user(ground.folder, "git fsck --strict && git rev-parse precious && git log -2 HEAD").returncode == 0


def test_a_history_that_cannot_be_checked_prevents_no_revert(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a command wrote there: the result says so, and every further call asks."""
    user(ground.folder, GIT)

    def fail(self: GitHistory) -> tuple[str, ...]:
        raise ValueError("broken")

    monkeypatch.setattr(GitHistory, "restore", fail)
    with open_sandbox("bubblewrap") as sandbox, open_harness(sandbox, ground.folder) as made:
        done = made.use(command="echo evil > .envrc")
        assert "could not be checked (ValueError: broken)" in done.output and not (ground.folder / ".envrc").exists()
        assert made.context.unsettled.described()


INDEX = ".git/objects/pack/pack-0123456789012345678901234567890123456789.idx"
HOSTILE = {
    "a FIFO for an index": f"rm -rf .git/objects/??; mkfifo {INDEX}",
    "a link for an index": f"rm -rf .git/objects/??; ln -s /dev/zero {INDEX}",
    "deep folders of references": "cd .git/refs/heads; "
    "python3 -c \"import os; [(os.mkdir('d'), os.chdir('d')) for _ in range(1500)]\"",
    "huge references": "for i in 1 2 3 4 5 6 7 8; do truncate -s 64M .git/refs/heads/x$i; done",
    "a NUL byte in a back link": "mkdir -p s g/wt; echo 'gitdir: ../g/wt' > s/.git; printf 'a\\0b' > g/wt/gitdir; "
    "echo ../.. > g/wt/commondir",
}


@pytest.mark.parametrize("rung", ["bubblewrap", "landlock"])
@pytest.mark.parametrize("trap", sorted(HOSTILE))
def test_no_file_of_a_command_prevents_the_revert(trap: str, rung: str, ground: Ground) -> None:
    user(ground.folder, f"{GIT}; git gc -q --aggressive; git commit -q --allow-empty -m two")
    with open_sandbox(rung) as sandbox, open_harness(sandbox, ground.folder) as made:
        done = made.use(command=f"echo evil > .envrc; echo evil > AGENTS.md; ({HOSTILE[trap]})")
        assert done.exit_code == 0 and "reverted" in done.output, done
        assert made.use(command="true").exit_code == 0
    assert not {".envrc", "AGENTS.md"}.intersection(os.listdir(ground.folder))  # noqa: PTH208 - only the names
    assert user(ground.folder, "rm -rf .git/refs/heads/d; git log HEAD && git rev-list --objects HEAD").returncode == 0


@pytest.mark.parametrize("rung", ["bubblewrap", "landlock"])
def test_many_repositories_do_not_make_commits_of_commands_the_users(rung: str, ground: Ground) -> None:
    assert user(ground.folder, GIT).returncode == 0
    commit = "h=$(echo evil | git hash-object -w --stdin); git update-index --add --cacheinfo 100644,$h,.envrc; "
    commit += "git commit -qm agent; "
    many = "for i in $(seq 10 34); do git init -q \"!$i\"; done; cd '!34'; "
    with open_sandbox(rung) as sandbox:
        for command in (
            f"{commit}{many}{commit}",
            "rm -rf '!1'*",
            "git checkout HEAD -- .envrc; cd '!34'; git checkout HEAD -- .envrc",
        ):
            with open_harness(sandbox, ground.folder) as made:
                done = made.use(command=command)
    assert "reverted" in done.output and not list(ground.folder.rglob(".envrc"))


@pytest.mark.parametrize("rung", ["bubblewrap", "landlock"])
def test_a_repository_in_the_logs_of_git_is_found(rung: str, ground: Ground) -> None:
    """Git accepts links in the place of the folders of objects and references."""
    assert user(ground.folder, GIT).returncode == 0
    hide = "mkdir -p .git/logs/docs; cd .git/logs/docs; ln -s ../../objects ../../refs .; cp ../../HEAD .; "
    hide += f"printf {EVIL} > config; cd ../../..; ln -s .git/logs/docs docs"
    with open_sandbox(rung) as sandbox, open_harness(sandbox, ground.folder) as made:
        made.use(command=hide)
    user(ground.folder, "cd docs; git status; cd ../.git/logs/docs; git status")
    assert not list(ground.folder.rglob("OBEYED"))


def test_a_command_in_a_worktree_leaves_the_main_work_tree_alone(ground: Ground) -> None:
    main = ground.folder.parent / "main"
    main.mkdir()
    assert user(main, f"{GIT}; git worktree add -q '{ground.folder}/tree'").returncode == 0
    user(main, "echo mine > staged; git add staged; echo '*.tmp' > .git/info/exclude")
    before = user(main, "git status --porcelain; cat .git/info/exclude").stdout
    attack = (
        f"rm -f {main}/.git/index; echo '*' > {main}/.git/info/exclude; echo x > new; git add new; git commit -qm two"
    )
    with open_sandbox("bubblewrap") as sandbox, open_harness(sandbox, ground.folder / "tree") as made:
        assert made.use(command=attack).exit_code == 0
    assert user(main, "git status --porcelain; cat .git/info/exclude").stdout == before
    assert user(ground.folder / "tree", "git log -1 --format=%s").stdout == "two\n"


@pytest.mark.parametrize("rung", ["bubblewrap", "landlock"])
@pytest.mark.parametrize("name", ["COMMIT_EDITMSG", "index", "description", "info/exclude"])
def test_a_link_in_place_of_a_file_of_git_is_removed(name: str, rung: str, tmp_path: Path) -> None:
    """Git would write the message of the user's next commit, which the agent chose, into a file of the user."""
    ground = create_ground(tmp_path)
    (mine := tmp_path / "mine").write_text("mine")
    user(ground.folder, f"{GIT}; echo x > x; git add x; git commit -qm two")
    (ground.folder / "link.sh").write_text(f"rm .git/{name}; ln -s {mine} .git/{name}")
    with open_sandbox(rung) as sandbox, open_harness(sandbox, ground.folder) as made:
        done = made.use("sh link.sh")
        reported = "was restored" if name == "index" else "reverted, because"
        assert reported in done.output and not made.context.unsettled.described(), done.output
        assert not (ground.folder / ".git" / name).is_symlink()
    user(ground.folder, "git add -A; git commit -q --amend --no-edit; git commit -q --allow-empty -m three")
    assert mine.read_text() == "mine" and ground.intact()


@pytest.mark.parametrize("rung", ["bubblewrap", "landlock"])
def test_a_link_of_the_user_in_a_git_folder_is_restored(rung: str, tmp_path: Path) -> None:
    ground = create_ground(tmp_path)
    user(ground.folder, f"{GIT}; ln -sf ../notes .git/description")
    with open_sandbox(rung) as sandbox, open_harness(sandbox, ground.folder) as made:
        assert "reverted" not in made.use("true").output
        made.use("ln -sf ../../outside/mine .git/description")
    assert (ground.folder / ".git" / "description").readlink() == Path("../notes")
