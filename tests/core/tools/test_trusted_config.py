"""Commands leave no files behind that make the user's git, editor or shell start a program; checked by running git."""

import asyncio
import subprocess
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from core.domain.problems import Problem
from core.tools.background import CommandEnd
from core.tools.revert_unapproved import COPIES_FOLDER
from core.tools.run import RunArguments, run
from core.tools.tool_context import CallGrant, open_context
from core.workspace.sandbox import Sandbox
from tests.core.tools.test_run import open_harness
from tests.core.workspace.commands import OutputRecorder, open_sandbox
from tests.core.workspace.ground import Ground, create_ground

EVIL = "'[core]\\n\\tfsmonitor = touch OBEYED; false\\n'"
COPY = f"mkdir evil; cp -r .git/. evil/; printf {EVIL} >> evil/config; "
NAME = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always")
# The kind of folder, the command, and the folder in which the user then runs `git status`.
REPOSITORIES = {
    "another common folder": ("git", COPY + "echo ../evil > .git/commondir", "."),
    "that of a worktree": ("worktree", COPY + "echo $PWD/evil > .git/worktrees/tree/commondir", "../tree"),
    "settings of one worktree": ("extended", f"printf {EVIL} > .git/config.worktree", "."),
    "a submodule": ("submodule", f"printf {EVIL} >> .git/modules/libs/a/config", "."),
    "a submodule moved": (
        "submodule",
        f"cd .git; mv modules m; cp -r m modules; cd ..; printf {EVIL} >> .git/modules/libs/a/config",
        ".",
    ),
    "a new repository": ("plain", f"git init -q; printf {EVIL} >> .git/config", "."),
    "one below": ("git", f"git init -q new; printf {EVIL} >> new/.git/config", "new"),
    "one moved into place": ("plain", f"git init -q new; printf {EVIL} >> new/.git/config; mv new/.git .git", "."),
    "one below moved away": ("below", f"mv below old; cp -r old below; printf {EVIL} >> below/.git/config", "below"),
    "one without files": ("plain", f"git init -q --bare new; printf {EVIL} >> new/config", "new"),
    "one that gets its head late": (
        "plain",
        f"git init -q --bare new; mv new/HEAD h; printf {EVIL} >> new/config; mv h new/HEAD",
        "new",
    ),
    "a file that leads there": (
        "plain",
        f"git init -q --bare new; printf {EVIL} >> new/config; sed -i s/true/false/ new/config; "
        "echo gitdir: new > .git",
        ".",
    ),
}
PLAIN = "'[core]\\n\\trepositoryformatversion = 0\\n\\tbare = true\\n'"
OBEYED = "'[core]\\n\\trepositoryformatversion = 0\\n\\tworktree = ..\\n\\tfsmonitor = touch OBEYED; false\\n'"
HEAD = "echo ref: refs/heads/main > src/HEAD"
# Commands of which each one alone does no harm; after them, the user runs git in the folder `src`.
STEPS = {
    "a linked configuration": (
        f"mkdir -p src/objects src/refs; printf {PLAIN} > plain; ln -s ../plain src/config",
        HEAD,
        f"printf {OBEYED} > plain",
    ),
    "linked hooks": (
        f"mkdir -p src/objects src/refs scripts; printf {PLAIN} > src/config; {HEAD}; ln -s ../scripts src/hooks",
        "printf '#!/bin/sh\\ntouch OBEYED\\n' > scripts/reference-transaction; chmod +x scripts/reference-transaction",
    ),
    "linked hooks before the head": (
        f"mkdir -p src/objects src/refs scripts; printf {PLAIN} > src/config; ln -s ../scripts src/hooks",
        HEAD,
        "printf '#!/bin/sh\\ntouch OBEYED\\n' > scripts/reference-transaction; chmod +x scripts/reference-transaction",
    ),
    "settings of one worktree": (
        "mkdir -p src/objects src/refs; git config -f src/config extensions.worktreeConfig true; "
        f"git config -f src/config core.repositoryFormatVersion 1; printf {OBEYED} > src/config.worktree",
        HEAD,
    ),
    "parts of two folders": (
        f"mkdir -p old/objects old/refs other; {HEAD.replace('src', 'old')}; printf {OBEYED} > other/config",
        "mkdir src; mv old/* other/config src",
    ),
    "hooks of another folder": (
        "git init -q --bare old; rm -r old/hooks; mkdir -p other/hooks; "
        "printf '#!/bin/sh\\ntouch OBEYED\\n' > other/hooks/reference-transaction; chmod +x other/hooks/*",
        "mv old src; mv other/hooks src",
    ),
}
MAKE = {
    "plain": "true",
    "git": "git init -q . && git commit -q --allow-empty -m one",
    "worktree": "git init -q . && git commit -q --allow-empty -m one && git worktree add -q ../tree",
    "extended": "git init -q . && git commit -q --allow-empty -m one && git config extensions.worktreeConfig true",
    "below": "git init -q . && git init -q below && git -C below commit -q --allow-empty -m one",
    "submodule": "git init -q ../a && git -C ../a commit -q --allow-empty -m x && git init -q . && "
    "git submodule --quiet add --name libs/a ../a sub && git commit -q -m sub",
}


@pytest.fixture
def ground(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ground:
    for number, setting in enumerate(NAME[1::2]):
        key, _, value = setting.partition("=")
        monkeypatch.setenv(f"GIT_CONFIG_KEY_{number}", key)
        monkeypatch.setenv(f"GIT_CONFIG_VALUE_{number}", value)
    monkeypatch.setenv("GIT_CONFIG_COUNT", "3")
    return create_ground(tmp_path)


@pytest.mark.parametrize("rung", ["bubblewrap", "landlock"])
@pytest.mark.parametrize("case", sorted(REPOSITORIES))
def test_p13_git_of_the_user_starts_no_program_that_a_command_configured(case: str, rung: str, ground: Ground) -> None:
    """Each command made `git status`, as run by a prompt or an editor, start a program outside the sandbox."""
    kind, command, place = REPOSITORIES[case]
    subprocess.run(["sh", "-c", MAKE[kind]], cwd=ground.folder, check=True, capture_output=True)
    with open_sandbox(rung) as sandbox, open_harness(sandbox, ground.folder) as made:
        made.use(command)
    folder = ground.folder / place
    if folder.is_dir():
        subprocess.run(["git", "status"], cwd=folder, capture_output=True, check=False)
    assert not list(ground.folder.rglob("OBEYED"))


@pytest.mark.parametrize("rung", ["bubblewrap", "landlock"])
@pytest.mark.parametrize(
    "command", ["sed -i '/remote/,$d' .git/config", "git config --remove-section remote.origin", "rm .git/config"]
)
def test_a_command_removes_no_setting_that_decides_where_a_push_goes(command: str, rung: str, ground: Ground) -> None:
    """Without the setting, `git push origin` would use the folder of that name, and run its hooks."""
    remote = ground.folder.parent / "remote"
    subprocess.run(["sh", "-c", MAKE["git"]], cwd=ground.folder, check=True, capture_output=True)
    for words in (["init", "-q", "--bare", str(remote)], ["remote", "add", "origin", str(remote)]):
        subprocess.run(["git", *words], cwd=ground.folder, check=True)
    subprocess.run(["git", "init", "-q", "--bare", "origin"], cwd=ground.folder, check=True)
    hook = ground.folder / "origin/hooks/pre-receive"
    hook.write_text("#!/bin/sh\ntouch OBEYED\n")
    hook.chmod(0o755)
    settings = (ground.folder / ".git/config").read_bytes()
    with open_sandbox(rung) as sandbox, open_harness(sandbox, ground.folder) as made:
        made.use(command)
    subprocess.run(["git", "push", "-q", "origin", "HEAD"], cwd=ground.folder, check=False)
    assert not list(ground.folder.rglob("OBEYED"))
    assert (ground.folder / ".git/config").read_bytes() == settings


CLOSED = {"chmod 0 .git/config": True, "chmod u-w .git/config": True, "chmod go-r .git/config": False}


@pytest.mark.parametrize("command", CLOSED)
def test_a_configuration_that_its_owner_cannot_use_is_restored(command: str, ground: Ground) -> None:
    subprocess.run(["git", "init", "-q", "."], cwd=ground.folder, check=True)
    config = ground.folder / ".git/config"
    before = config.stat().st_mode
    with open_sandbox("landlock") as sandbox, open_harness(sandbox, ground.folder) as made:
        done = made.use(command)
    assert (config.stat().st_mode == before) == CLOSED[command] == ("reverted" in done.output)


BRANCH = (
    "git branch x && git remote add origin ../o && git remote add fork ../f && git config branch.x.remote origin"
    " && git config branch.x.merge refs/heads/x && git config branch.x.pushRemote fork"
)
# Each command, and whether the settings of the branch are restored after it.
LOSSES = {
    "git config --remove-section branch.x": True,
    "git pack-refs --all; sed -i '/branch/,$d' .git/config": True,
    "git branch -q -D x; git branch x": True,
    "git branch -q -d x": False,
    "git pack-refs --all; git branch -q -D x": False,
    "git branch -m x y": False,
}


@pytest.mark.parametrize("command", LOSSES)
def test_a_branch_that_exists_keeps_where_it_is_pushed(command: str, ground: Ground) -> None:
    """Without the setting, `git push` would send the commits to another remote."""
    subprocess.run(["sh", "-c", f"{MAKE['git']} && {BRANCH}"], cwd=ground.folder, check=True, capture_output=True)
    config = ground.folder / ".git/config"
    settings = config.read_bytes()
    with open_sandbox("landlock") as sandbox, open_harness(sandbox, ground.folder) as made:
        done = made.use(command)
    assert (config.read_bytes() == settings) == LOSSES[command], done.output


@pytest.mark.parametrize("steps", [("git init -q --bare b; {}",), ("mkdir b; {}", "echo ref: refs/heads/x > b/HEAD")])
@pytest.mark.parametrize("place", ["info/attributes", "remotes/origin", "branches/origin"])
def test_a_bare_repository_gets_no_remote_and_no_attributes(steps: tuple[str, ...], place: str, ground: Ground) -> None:
    """They choose where the user's git pushes to, and which of the user's filters and merge programs it runs."""
    file = ground.folder / "b" / place
    with open_sandbox("bubblewrap") as sandbox, open_harness(sandbox, ground.folder) as made:
        for step in steps:
            done = made.use(step.format(f"mkdir -p b/{place.split('/')[0]}; echo x > b/{place}"))
    assert "did not approve it" in done.output
    assert not (file.exists() and (ground.folder / "b/HEAD").exists())


def test_a_branch_of_a_bare_repository_may_have_any_name(ground: Ground) -> None:
    commit = "git -C b commit-tree -m x $(git -C b mktree < /dev/null)"
    names = ("heads/HEAD", "heads/branches/x", "heads/remotes/x", "heads/info/attributes")
    command = "git init -q --bare b; " + "".join(f"git -C b update-ref refs/{name} $({commit}); " for name in names)
    with open_sandbox("bubblewrap") as sandbox, open_harness(sandbox, ground.folder) as made:
        assert "approve" not in made.use(command).output
    assert all((ground.folder / "b/refs" / name).exists() for name in names)


@pytest.mark.parametrize("rung", ["bubblewrap", "landlock"])
@pytest.mark.parametrize("case", sorted(STEPS))
def test_commands_cannot_make_an_ordinary_folder_a_repository_that_starts_a_program(
    case: str, rung: str, ground: Ground
) -> None:
    with open_sandbox(rung) as sandbox, open_harness(sandbox, ground.folder) as made:
        for command in STEPS[case]:
            assert made.use(command).exit_code == 0
    for words in (["status"], ["symbolic-ref", "HEAD", "refs/heads/new"], ["fetch", "-q", ".", "HEAD:refs/heads/new"]):
        subprocess.run(["git", *words], cwd=ground.folder / "src", capture_output=True, check=False)
    commit = "git commit-tree -m x $(git mktree < /dev/null)"
    subprocess.run(["sh", "-c", f"git update-ref refs/heads/new $({commit})"], cwd=ground.folder / "src", check=False)
    assert not list(ground.folder.rglob("OBEYED"))


@pytest.mark.parametrize("rung", ["bubblewrap", "landlock"])
def test_no_log_of_git_leads_to_another_file(rung: str, ground: Ground) -> None:
    """Git appends to the file that a log leads to, such as the settings of the user's shell."""
    subprocess.run(["sh", "-c", MAKE["git"]], cwd=ground.folder, check=True)
    other = ground.folder.parent / "other"
    other.write_text("mine\n")
    (ground.folder / "a").write_text("changed")
    logs = [ground.folder / ".git/logs/refs" / name for name in ("stash", "heads/new", "remotes/origin/HEAD")]
    with open_sandbox(rung) as sandbox, open_harness(sandbox, ground.folder) as made:
        command = "; ".join(f"mkdir -p '{log.parent}'; ln -s '{other}' '{log}'" for log in logs)
        assert "did not approve it" in made.use(command).output
    assert not any(log.is_symlink() for log in logs)
    for words in ("add a", "stash -q", "branch new"):
        subprocess.run(["git", *words.split()], cwd=ground.folder, check=True)
    assert other.read_text() == "mine\n"


def test_a_linked_worktree_leads_to_no_other_settings(ground: Ground) -> None:
    """The git folder of a linked worktree is outside the workspace, so changes in it could not be reverted."""
    subprocess.run(["sh", "-c", MAKE["extended"]], cwd=ground.folder, check=True)
    tree = ground.folder.parent / "tree"
    subprocess.run(["git", "worktree", "add", "-q", str(tree)], cwd=ground.folder, check=True, capture_output=True)
    own = ground.folder / ".git/worktrees/tree"
    with open_sandbox("bubblewrap") as sandbox, open_harness(sandbox, tree) as made:
        for name in ("commondir", "config.worktree"):
            assert made.use(f"printf {EVIL} > '{own}/{name}'").failed
        assert made.use("echo a > a; git add a; git commit -qm two -- a && git status").exit_code in (0, 128)
    subprocess.run(["git", "status"], cwd=tree, capture_output=True, check=False)
    assert not list(tree.rglob("OBEYED")) and (own / "commondir").read_text() == "../..\n"


@pytest.mark.parametrize("rung", ["bubblewrap", "landlock"])
@pytest.mark.parametrize("command", ["mkdir .git/safe", "git init -q n; mkdir n/.git/safe; echo 1 > n/.git/safe/y"])
def test_a_command_does_not_mark_a_repository_as_safe(command: str, rung: str, ground: Ground) -> None:
    """With `.git/safe/../../bin` in PATH, a shell would run programs of the folder in place of those of the system."""
    subprocess.run(["git", "init", "-q", ground.folder], check=True)
    script = ground.folder / "mark"
    script.write_text(command)
    with open_sandbox(rung) as sandbox, open_harness(sandbox, ground.folder) as made:
        done = made.use("sh mark")
        assert not list(ground.folder.glob("**/.git/safe")) and "reverted" in done.output, done.output
        done = made.use("sh mark; while [ -e .git/safe -o -e n/.git/safe ]; do sleep 0.1; done")
        assert done.exit_code == 0, "it is reverted while the command runs"
        done = made.use("mkdir .git/safe", grant=CallGrant(protected_paths=(".git/safe",)))
        assert (ground.folder / ".git/safe").is_dir() and "[reverted" not in done.output
        assert "[reverted" not in made.use("echo > .git/safe/x").output
        assert (ground.folder / ".git/safe").is_dir()


def test_a_command_in_a_worktree_does_not_mark_its_repository_as_safe(ground: Ground) -> None:
    main, tree = ground.folder / "main", ground.folder / "tree"
    subprocess.run(["git", "init", "-q", main], check=True)
    for words in ("commit", "-q", "--allow-empty", "-m", "1"), ("worktree", "add", "-q", str(tree)):
        subprocess.run(["git", "-C", main, *NAME, *words], check=True)
    with open_sandbox("bubblewrap") as sandbox, open_harness(sandbox, tree) as made:
        done = made.use("mkdir -p $(git rev-parse --git-common-dir)/safe/x")
        assert not (main / ".git/safe").exists() and "reverted" in done.output, done.output


def test_worktrees_and_repositories_created_by_a_command_work(ground: Ground) -> None:
    subprocess.run(["sh", "-c", MAKE["git"]], cwd=ground.folder, check=True)
    with open_sandbox("bubblewrap") as sandbox, open_harness(sandbox, ground.folder) as made:
        for command in (
            "git worktree add -q tree && git -C tree status",
            "git -C tree status && git worktree list | grep tree && git worktree remove tree",
            "git init -q new && git -C new remote add origin https://example.org/a.git && git -C new status",
            "git -C new remote -v | grep example && git init -q --bare bare && git -C bare rev-parse --git-dir",
        ):
            done = made.use(command)
            assert not done.failed and "reverted" not in done.output, done.output


def test_p14_a_link_to_a_protected_path_is_protected_too(ground: Ground) -> None:
    (ground.folder / "conf").mkdir()
    (ground.folder / "conf/tasks.json").write_text("mine")
    (ground.folder / ".vscode").symlink_to("conf")
    (ground.folder / "values").write_text("KEY=canary")
    (ground.folder / ".env").symlink_to("values")
    with open_sandbox("bubblewrap") as sandbox, open_harness(sandbox, ground.folder) as made:
        made.use("echo evil > conf/tasks.json; echo evil > .vscode/new.json")
        assert "canary" not in made.use("cat values .e*").output
    assert [path.name for path in (ground.folder / "conf").iterdir()] == ["tasks.json"]
    assert (ground.folder / "conf/tasks.json").read_text() == "mine"


def test_p14_protected_files_created_by_a_command_vanish_while_it_runs(ground: Ground) -> None:
    with open_sandbox("bubblewrap") as sandbox, open_harness(sandbox, ground.folder) as made:
        command = "mkdir .vscode; echo evil > .envrc; echo evil > .vscode/tasks.json; "
        done = made.use(command + "while [ -e .envrc ] || [ -e .vscode/tasks.json ]; do sleep 0.05; done; echo gone")
        assert done.output.startswith("gone\n\n[reverted") and ".envrc, .vscode/tasks.json" in done.output
        copies = sorted((made.context.data / COPIES_FOLDER).iterdir())
        assert [path.read_text() for path in copies] == ["evil\n", "evil\n"]
        assert {path.stat().st_mode & 0o777 for path in copies} == {0o600}


def test_a_moved_folder_keeps_its_contents(ground: Ground) -> None:
    (ground.folder / "one/.vscode").mkdir(parents=True)
    (ground.folder / "one/.vscode/settings.json").write_text("{}")
    with open_sandbox("landlock") as sandbox, open_harness(sandbox, ground.folder) as made:
        assert "reverted" not in made.use("mv one two").output
        assert (ground.folder / "two/.vscode/settings.json").read_text() == "{}"
        assert "reverted" in made.use("mv two one; echo evil > one/.vscode/settings.json").output
    left = [path.read_text() for path in ground.folder.rglob("settings.json")]
    assert left == ["{}"]


def test_an_approval_does_not_apply_while_a_background_command_runs(ground: Ground) -> None:
    """A call that may change trusted files runs only once no other command could use its approval."""
    told: list[CommandEnd] = []

    async def main(sandbox: Sandbox) -> None:
        recorder = OutputRecorder()
        place = open_context(ground.folder, ground.folder.parent, lambda _, piece: recorder(piece), lambda: sandbox)
        tasks: list[asyncio.Task[None]] = []

        def spawn(work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
            tasks.append(asyncio.get_running_loop().create_task(work))
            return tasks[-1]

        async def tell(ended: CommandEnd) -> None:
            told.append(ended)

        place.commands.connect(spawn, tell)
        await run(RunArguments("echo evil > .mcp.json; echo up; sleep 60", background=True), place.for_call("c1"))
        await recorder.wait_for(b"up")
        approved = place.for_call("c2", CallGrant(protected_paths=(".envrc",)))
        with pytest.raises(Problem, match=r"c1 \(echo evil"):
            await run(RunArguments("echo mine > .envrc"), approved)
        assert not (ground.folder / ".envrc").exists()
        await place.commands.get("c1").running.kill_and_wait()
        done = await run(RunArguments("echo mine > .envrc"), approved)
        place.commands.note_foreign_changes(done.changes)
        await place.close()

    with open_sandbox("bubblewrap") as sandbox:
        asyncio.run(main(sandbox))
    assert (ground.folder / ".envrc").read_text() == "mine\n" and not (ground.folder / ".mcp.json").exists()
    (ended,) = told
    assert ended.done and ".mcp.json" in ended.done.output and ".envrc" not in ended.done.output
