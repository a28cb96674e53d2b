"""The `run` tool: sandbox, exit codes, output for the model, and recorded changes."""

import asyncio
import contextlib
import shlex
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.domain.problems import Problem
from core.tools.run import RunArguments, run
from core.tools.tool import ToolResult
from core.tools.tool_context import NO_GRANT, CallGrant, ToolContext, open_context
from core.workspace.file_change import LINK_MODE, FileChange
from core.workspace.installation import interpreter
from core.workspace.sandbox import Sandbox, choose_sandbox
from tests.core.workspace.commands import open_sandbox
from tests.core.workspace.ground import Ground, create_ground


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return create_ground(tmp_path)


@pytest.fixture(params=["bubblewrap", "landlock"])
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    with open_sandbox(request.param) as made:
        yield made


class RunHarness:
    """A context in which several commands are run."""

    def __init__(self, runner: asyncio.Runner, context: ToolContext, output: list[tuple[str, bytes]]) -> None:
        self._runner, self.context, self.output = runner, context, output

    def use(self, command: str, timeout_s: float = 20, grant: CallGrant = NO_GRANT) -> ToolResult:
        return self._runner.run(run(RunArguments(command, timeout_s), self.context.for_call("c1", grant)))


@contextlib.contextmanager
def open_harness(sandbox: Sandbox, folder: Path) -> Iterator[RunHarness]:
    heard: list[tuple[str, bytes]] = []
    place = open_context(folder, folder.parent, lambda call, piece: heard.append((call, piece)), lambda: sandbox)
    with asyncio.Runner() as runner:
        try:
            yield RunHarness(runner, place, heard)
        finally:
            runner.run(place.close())


def test_changes_are_recorded(sandbox: Sandbox, ground: Ground) -> None:
    with open_harness(sandbox, ground.folder) as made:
        done = made.use("sed -i s/inside/INSIDE/ real/file; echo made > new; echo said")
        assert (done.output, done.failed, done.exit_code) == ("said\n", False, 0) and made.output == [("c1", b"said\n")]
        assert done.changes == (FileChange("new", None, b"made\n"), FileChange("real/file", b"inside", b"INSIDE"))
        assert made.use("rm -r real new; exit 3").changes == (
            FileChange("new", b"made\n", None),
            FileChange("real/file", b"INSIDE", None),
        )


def test_a_deleted_link_is_recorded_with_its_target(sandbox: Sandbox, ground: Ground) -> None:
    for name, target in (("link", "real/file"), ("away", "/etc/hostname"), (".env", "real/file"), ("moved", "real")):
        (ground.folder / name).symlink_to(target)
    with open_harness(sandbox, ground.folder) as made:
        done = made.use("rm link away .env; ln -sfn other moved")
    deleted = [(change.path, change.before, change.after, change.modes.before) for change in done.changes]
    assert deleted == [("away", b"/etc/hostname", None, LINK_MODE), ("link", b"real/file", None, LINK_MODE)]
    assert done.unrestorable == (".env", "moved") and "cannot be reverted: .env, moved" in done.output


def test_failures_say_why(sandbox: Sandbox, ground: Ground) -> None:
    with open_harness(sandbox, ground.folder) as made:
        assert made.use("exit 3").exit_code == 3
        late = made.use("echo before > half; sleep 60", 3)
        assert late.failed and "stopped after 3 s" in late.output
        assert late.changes == (FileChange("half", None, b"before\n"),)
        (ground.folder / "big").write_bytes(b"x" * (2 << 20))
        assert "cannot be reverted: big" in made.use("rm big").output
        assert "protected files: sitecustomize.py" in made.use("echo x > sitecustomize.py").output


def test_a_command_with_a_nul_byte_is_rejected(sandbox: Sandbox, ground: Ground) -> None:
    with open_harness(sandbox, ground.folder) as made, pytest.raises(Problem, match="It contains a NUL byte"):
        made.use("echo a\0b")


def test_protected_files_touched_by_a_command(ground: Ground) -> None:
    subprocess.run(["git", "init", "-q", ground.folder / "deep/er"], check=True)
    (ground.folder / "deep/.env").write_text("KEY=canary")
    command = "cat deep/.env; echo x > deep/er/.git/hooks/pre-commit"
    with open_sandbox("bubblewrap") as sandbox, open_harness(sandbox, ground.folder) as made:
        done = made.use(command)
        assert done.failed and "canary" not in done.output and "read-only here" in done.output and done.changes == ()
        allowed = made.use(command, grant=CallGrant(protected_paths=("deep/er/.git/hooks",), secrets=True))
        assert not allowed.failed and "KEY=canary" in allowed.output
        assert [change.path for change in allowed.changes] == ["deep/er/.git/hooks/pre-commit"]


def test_a_list_of_words_runs_without_a_shell(sandbox: Sandbox, ground: Ground) -> None:
    said = ("printf", "%s|", "$HOME", "a b", "`id`", "; exit 9", "-x", "")
    with open_harness(sandbox, ground.folder) as made:
        assert made.use("not this", grant=CallGrant(argv=said)).output == "$HOME|a b|`id`|; exit 9|-x||"
        assert made.use("echo x", grant=CallGrant(argv=("no-such-program",))).exit_code == 127


def test_without_a_sandbox_a_command_needs_approval(ground: Ground) -> None:
    with contextlib.closing(choose_sandbox(launchers=[])) as none, open_harness(none, ground.folder) as made:
        with pytest.raises(Problem, match="Commands are disabled"):
            made.use("echo x > y")
        assert made.use("echo said", grant=CallGrant(unsandboxed=True)).output == "said\n"
        assert made.context.level == "none" and not (ground.folder / "y").exists()


def test_hosts_allowed_by_the_user(ground: Ground) -> None:
    """Refused hosts are reported; Landlock cannot allow single hosts and says so."""

    with open_sandbox("bubblewrap") as sandbox, open_harness(sandbox, ground.folder) as made:
        assert "PROXY" not in made.use("env").output
        made.context.network_access.allow("example.org")
        asked = f"{shlex.quote(interpreter())} -c 'import urllib.request as u; u.urlopen(\"http://example.com/\")'"
        assert "tried to reach hosts that are not allowed in this run: example.com:80" in made.use(asked).output
    with open_sandbox("landlock") as sandbox, open_harness(sandbox, ground.folder) as made:
        made.context.network_access.allow("example.org")
        with pytest.raises(Problem, match="cannot be given network access"):
            made.use("true")


def test_a_sandbox_is_unproven_before_a_command_runs(ground: Ground) -> None:
    def fail() -> Sandbox:
        raise AssertionError("not yet")

    began = time.perf_counter()
    place = open_context(ground.folder, ground.outside, choose_sandbox=fail)
    assert time.perf_counter() - began < 0.1 and place.broker.read("real/file") == b"inside"
    asyncio.run(place.close())
    with pytest.raises(Problem, match="cannot be opened"):
        open_context(ground.folder / "none", ground.outside)


HOLES = {
    "missing": "printf x > .mcp.json; mkdir .vscode; printf y > .vscode/tasks.json",
    "hidden": "python3 -c \"open('.env'+'rc','w').write('evil')\"; "
    "mkdir -p .agents/skills; echo z > .agents/skills/S.md",
    "husky": "mkdir -p .husky && echo evil > .husky/pre-commit",
    "renamed": "echo evil > x; mv x .envrc",
    "link": "ln -s /etc/passwd .mcp.json",
    "large": "head -c 3000000 /dev/zero > .envrc",
    "nested": "mkdir -p a/.claude; echo evil > a/.claude/settings.json",
    "new hook": "mkdir n && cd n && git init -q && echo evil > .git/hooks/pre-commit",
    "git among others": "git checkout -q HEAD 2>/dev/null; echo evil > .envrc",
}


@pytest.mark.parametrize("case", sorted(HOLES))
def test_p14_new_protected_files_are_removed(case: str, sandbox: Sandbox, ground: Ground) -> None:
    """Files that configure other programs are removed when the command that created them ends; its output says so."""
    with open_harness(sandbox, ground.folder) as made:
        done = made.use(HOLES[case] + "; echo kept > plain.txt")
        left = [path for path in ground.folder.rglob("*") if path.is_file() or path.is_symlink()]
        evil = (".mcp.json", ".envrc", "tasks.json", "S.md", "pre-commit", "settings.json")
        assert [path for path in left if path.name in evil] == [], done.output
        assert (
            "reverted" in done.output and (ground.folder / ("n" if case == "new hook" else "") / "plain.txt").exists()
        )
        assert all(not change.path.endswith(evil) for change in done.changes)


def test_p14_a_protected_file_is_kept_if_approved_or_checked_out_by_git(sandbox: Sandbox, ground: Ground) -> None:
    with open_harness(sandbox, ground.folder) as made:
        done = made.use("echo x > .envrc", grant=CallGrant(protected_paths=(".envrc",)))
        assert (ground.folder / ".envrc").exists() and "reverted" not in done.output
    name = "git -c user.name=a -c user.email=a@b"
    words = f"git init -q . && git add -f .envrc && {name} commit -qm one && git rm -q .envrc && {name} commit -qm two"
    subprocess.run(["sh", "-c", words], cwd=ground.folder, check=True)
    with open_harness(sandbox, ground.folder) as made:
        assert "protected files: .envrc" in made.use("git checkout -q HEAD~1").output
        for command in (
            "git checkout -q -; git -C . checkout -q @{-1}",
            "git rm -q .envrc; git reset -q --hard && true",
        ):
            done = made.use(command)
            assert (ground.folder / ".envrc").read_text() == "x\n" and "reverted" not in done.output, done


def test_p14_landlock_restores_changed_protected_files(ground: Ground) -> None:
    """Landlock cannot protect single existing files, so they are restored when the command has ended."""
    (ground.folder / ".envrc").write_text("old")
    with open_sandbox("landlock") as low, open_harness(low, ground.folder) as made:
        done = made.use("python3 -c \"open('.env'+'rc','w').write('evil')\"")
        assert (ground.folder / ".envrc").read_text() == "old" and "reverted" in done.output


def test_p14_a_command_cannot_change_where_the_user_pushes_to(ground: Ground) -> None:
    """Landlock cannot protect the file, and git itself changes it: only the addresses are restored with it."""
    subprocess.run(["git", "init", "-q", "-b", "main", "."], cwd=ground.folder, check=True)
    subprocess.run(["git", "remote", "add", "origin", "https://example.org/a.git"], cwd=ground.folder, check=True)
    config = ground.folder / ".git" / "config"
    before = config.read_text()
    with open_sandbox("landlock") as low, open_harness(low, ground.folder) as made:
        done = made.use(
            "python3 -c \"p='.g'+'it/con'+'fig'; t=open(p).read(); open(p,'w').write(t.replace('org','evil'))\""
        )
        assert config.read_text() == before and "reverted" in done.output
        done = made.use("git config user.name Bob; git config branch.main.remote origin")
        assert "Bob" in config.read_text() and "reverted" not in done.output
