"""Git may record the upstream of a branch in its settings, for a push or a new branch, and nothing else."""

import subprocess
from pathlib import Path

import pytest

from core.tools.tool_context import CallGrant
from core.workspace.sandbox import Sandbox
from tests.core.tools.test_run import open_harness
from tests.core.tools.test_trusted_guard import running, until
from tests.core.workspace.commands import await_, open_sandbox
from tests.core.workspace.ground import Ground, create_ground


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return create_ground(tmp_path)


PUSH = "git push -q -u origin b"
HOSTILE_SETTINGS = {
    "core.fsmonitor": "git config core.fsmonitor evil", "core.hooksPath": "git config core.hooksPath evil",
    "core.sshCommand": "git config core.sshCommand evil", "core.pager": "git config core.pager evil",
    "filter": "git config filter.x.clean evil", "alias": "git config alias.st '!evil'",
    "diff": "git config diff.external evil", "credentials": "git config credential.helper '!evil'",
    "include": "git config include.path ../evil", "in place": "printf '[core]\\n\\tfsmonitor = evil\\n' >> .git/config",
    "another remote": "git config remote.origin.url ../evil",
    "a program of the remote": "git config remote.origin.receivepack evil",
    "of the worktree": "git config extensions.worktreeConfig true; git config --worktree core.fsmonitor evil",
    "a link": "mv .git/config evil; echo '[core] fsmonitor = evil' >> evil; ln -s ../evil .git/config",
}  # fmt: skip


@pytest.mark.parametrize("rung", ["bubblewrap", "landlock"])
def test_a_push_may_set_its_upstream_branch_and_nothing_else(rung: str, ground: Ground) -> None:
    """Hostile settings next to it are reverted at once, not only after the command or by the next scan."""
    folder = ground.folder
    make = "git init -q -b main . && git init -q --bare remote.git && git remote add origin ./remote.git"
    make += " && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m one && git checkout -q -b b"
    subprocess.run(["sh", "-c", make], cwd=folder, check=True)
    git_folder, pushing = folder / ".git", CallGrant(irreversible=True)

    def settings() -> str:
        return "".join(path.read_text() for path in git_folder.glob("config*") if not path.is_symlink())

    with open_sandbox(rung) as sandbox, open_harness(sandbox, folder) as made:
        before = settings()
        done = made.use(f"{PUSH}; git rev-parse --abbrev-ref b@{{u}}", grant=pushing)
        assert not done.failed and "origin/b" in done.output and "error" not in done.output, done.output
        assert settings() == before + '[branch "b"]\n\tremote = origin\n\tmerge = refs/heads/b\n'
        for name, attack in HOSTILE_SETTINGS.items():
            seen = "! grep -qs evil .git/config .git/config.worktree && [ ! -L .git/config ]"
            wait = f"for i in 1 2 3 4 5; do {seen} && echo gone && break; sleep 0.1; done"
            done = made.use(f"{PUSH}; {attack}; {wait}", grant=pushing)
            assert "gone" in done.output and "reverted" in done.output, (name, done.output)
            assert "evil" not in settings() and not (git_folder / "config").is_symlink(), name


MAKE = (
    "git init -q -b main . && mkdir sub && echo one > sub/one && git add . && git init -q --bare ../remote.git"
    " && git remote add origin ../remote.git && git -c user.name=a -c user.email=a@b commit -q -m one"
    " && git push -q origin main main:x && git fetch -q"
)
BRANCHED = '[branch "x"]\n\tremote = origin\n\tmerge = refs/heads/x\n'


@pytest.mark.parametrize("rung", ["bubblewrap", "landlock"])
@pytest.mark.parametrize(
    ("command", "records"),
    [
        ("git checkout -q -b x origin/x", True),
        ("git checkout -q x", True),
        ("cd sub && git switch -q -c x --track origin/x && git status -sb", True),
        ("git branch -q x origin/x; git branch -vv", True),
        ("git branch -q x; git branch -q --set-upstream-to=origin/x x", True),
        ("git checkout -q -b x origin/x && sh evil.sh", False),
        ("git -c core.pager='sh evil.sh' branch -q x origin/x; sh evil.sh", False),
        ("git checkout -q -b x origin/x; git config core.fsmonitor evil", False),
        ("git branch -q x origin/x; git grep --open-files-in-pager='sh evil.sh' one", False),
    ],
)
def test_a_new_branch_may_record_its_upstream_if_no_other_program_runs(
    rung: str, command: str, records: bool, ground: Ground
) -> None:
    folder = ground.folder
    subprocess.run(["sh", "-c", MAKE], cwd=folder, check=True)
    (folder / "evil.sh").write_text("git config core.pager evil; echo $?\n")
    config = folder / ".git" / "config"
    with open_sandbox(rung) as sandbox, open_harness(sandbox, folder) as made:
        before = config.read_text()
        done = made.use(command)
        assert "evil" not in config.read_text()
        if records:
            assert not done.failed and "error" not in done.output, done.output
            assert config.read_text() == before + BRANCHED
        elif rung == "bubblewrap":
            assert config.read_text() == before, done.output


def test_no_upstream_is_recorded_while_another_command_runs(ground: Ground) -> None:
    """Git replaces its settings then, and the kernel would drop their protection from the other command."""
    folder = ground.folder
    subprocess.run(["sh", "-c", MAKE], cwd=folder, check=True)
    config = folder / ".git" / "config"

    async def main(sandbox: Sandbox) -> None:
        async with running(sandbox, folder) as scene:
            attack = "echo up; while sleep 0.02; do echo '[core] fsmonitor = evil' >> .git/config; done 2>/dev/null"
            await scene.use(attack, "c1", background=True)
            await scene.recorder.wait_for(b"up")
            before = config.read_text()
            done = await scene.use("git checkout -q -b x origin/x", "c2")
            assert "reverted" not in done.output and config.read_text() == before
            assert scene.place.commands.get("c1").running.finished is None
            scene.place.commands.get("c1").running.kill("test")
            await until(lambda: not scene.place.commands.is_any_running())
            await scene.use("git branch -q --set-upstream-to=origin/x x", "c3")
            assert config.read_text() == before + BRANCHED

    with open_sandbox("bubblewrap") as sandbox:
        await_(main(sandbox))


@pytest.mark.parametrize("rung", ["bubblewrap", "landlock"])
def test_a_hostile_command_in_the_background_gains_nothing_from_an_approved_push(rung: str, ground: Ground) -> None:
    """Git replaces its settings, and with them the file that the sandbox of the other command protected."""
    folder = ground.folder
    config = folder / ".git/config"
    evil = "for i in $(seq 60); do (echo '[core] fsmonitor = evil' >> .git/config) 2>/dev/null; sleep 0.02; done"

    async def main(sandbox: Sandbox) -> None:
        async with running(sandbox, folder) as scene:
            await scene.use(evil, "c1", background=True)
            done = await scene.use("git push -q -u origin main", "c2", CallGrant(irreversible=True))
            assert not done.failed, done.output
            await until(lambda: not scene.place.commands.is_any_running())
        text = config.read_text()
        assert "evil" not in text and '[remote "origin"]' in text

    make = f"{MAKE} && git clone -q --bare ../remote.git remote.git && git remote set-url origin ./remote.git"
    subprocess.run(["sh", "-c", make], cwd=folder, check=True)
    with open_sandbox(rung) as sandbox:
        await_(main(sandbox))
