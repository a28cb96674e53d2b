"""What the `run` tool reports and reverts when another program replaces a protected or hidden file meanwhile."""

import asyncio
from pathlib import Path

import pytest

from core.tools.check import CheckArguments
from core.tools.check import run as check
from core.tools.shared_repository import SharedRepository
from core.workspace.sandbox import Sandbox
from tests.core.tools.test_shared_repository import git
from tests.core.tools.test_trusted_guard import running, until
from tests.core.workspace.commands import await_, open_sandbox
from tests.core.workspace.ground import Ground, create_ground
from tests.core.workspace.test_mount_watch import SECRET, put

EVIL = "[core]\n\tfsmonitor = touch OBEYED; false\n"
# Writes to the settings as soon as they are not protected, and prints the secret as soon as it is not hidden.
LURK = "echo up; until [ -w .git/config ] || [ -s .env ]; do :; done; printf '{}' >> .git/config; cat .env; sleep 600"


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    ground = create_ground(tmp_path)
    git(ground.outside, "init", "-q", str(ground.folder))
    (ground.folder / ".env").write_text("A=1")
    return ground


@pytest.mark.parametrize("background", [False, True])
def test_the_command_ends_and_what_it_wrote_is_reverted(background: bool, ground: Ground) -> None:
    folder = ground.folder

    async def main(sandbox: Sandbox) -> str:
        async with running(sandbox, folder) as scene:
            command = LURK.format(EVIL.replace("\n", "\\n"))
            call = asyncio.ensure_future(scene.use(command, "c1", background=background))
            await scene.recorder.wait_for(b"up")
            git(folder, "config", "core.pager", "mine")
            result = await call
            if background:
                await until(lambda: bool(scene.ends))
                return (await check(CheckArguments("c1"), scene.place)).output
            assert result.failed
            return result.output

    with open_sandbox("bubblewrap") as sandbox:
        output = await_(main(sandbox))
    assert "another program replaced .git/config" in output
    assert "fsmonitor" not in (folder / ".git/config").read_text()


@pytest.mark.parametrize("background", [False, True])
def test_no_one_is_given_the_secret(background: bool, ground: Ground) -> None:
    folder = ground.folder

    async def main(sandbox: Sandbox) -> str:
        async with running(sandbox, folder) as scene:
            call = asyncio.ensure_future(scene.use(LURK.format(""), "c1", background=background))
            await scene.recorder.wait_for(b"up")
            put(folder / ".env", SECRET)
            result = await call
            if background:
                await until(lambda: bool(scene.ends))
                result = await check(CheckArguments("c1"), scene.place)
            ended = [end.done.output + end.output for end in scene.ends if end.done]
            return "".join([result.output, scene.recorder.output.decode(), *ended])

    with open_sandbox("bubblewrap") as sandbox:
        output = await_(main(sandbox))
    assert "another program replaced .env" in output and SECRET not in output


def test_the_replaced_settings_of_a_shared_repository_are_checked(ground: Ground, tmp_path: Path) -> None:
    """The sandbox protects only the file that was there: a command can have changed the one in its place."""
    folder, tree = ground.folder, tmp_path / "tree"
    git(folder, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "1")
    git(folder, "worktree", "add", "-q", str(tree))
    config = folder / ".git/config"
    shared = SharedRepository(tree)
    shared.keep()
    with config.open("a") as settings:
        settings.write(EVIL)  # in place, as only the user can
    assert shared.revert() == () and "fsmonitor" in config.read_text()
    put(config, config.read_text().replace(EVIL, ""))
    shared.keep()
    put(config, config.read_text() + EVIL)
    assert shared.revert() == (str(config),) and "fsmonitor" not in config.read_text()
