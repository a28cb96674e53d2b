"""A command that the user allowed to change protected files or history runs alone in its folder."""

import asyncio
import subprocess
from pathlib import Path

import pytest

from core.domain.problems import Problem
from core.tools import command_turn
from core.tools.command_turn import begin_turn
from core.tools.run import RunArguments, run
from core.tools.tool import ToolResult
from core.tools.tool_context import NO_GRANT, CallGrant, ToolContext
from core.workspace.sandbox import Sandbox
from tests.core.tools.test_trusted_guard import Running, running, until
from tests.core.workspace.commands import await_, open_sandbox
from tests.core.workspace.ground import Ground, create_ground

APPROVED = CallGrant(protected_paths=(".envrc",), unsandboxed=True)


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return create_ground(tmp_path)


def start(place: ToolContext, command: str, grant: CallGrant = NO_GRANT) -> asyncio.Task[ToolResult]:
    return asyncio.get_running_loop().create_task(run(RunArguments(command, 60), place.for_call("c1", grant)))


@pytest.mark.parametrize("rung", ["bubblewrap", "landlock"])
@pytest.mark.parametrize("is_first", [True, False])
def test_what_an_approved_command_changes_stays_while_another_session_runs_one(
    rung: str, is_first: bool, ground: Ground
) -> None:
    """Whichever of the two begins first: the other one waits."""
    folder = ground.folder
    approved = "touch approved; sleep 1; echo mine > .envrc; rm approved"
    other = "touch other; for i in 1 2 3 4 5 6; do [ -e approved ] && echo together; sleep 0.5; done; rm other"

    async def main(sandbox: Sandbox) -> None:
        async with running(sandbox, folder) as own, running(sandbox, folder) as others:
            if is_first:
                mine = start(own.place, approved, APPROVED)
                await until(lambda: (folder / "approved").exists())
                theirs = start(others.place, other)
            else:
                theirs = start(others.place, other)
                await until(lambda: (folder / "other").exists())
                mine = start(own.place, approved, APPROVED)
            done = [await mine, await theirs]
            assert [each.failed for each in done] == [False, False]
            assert not any("together" in each.output or "reverted" in each.output for each in done), done
            assert (folder / ".envrc").read_text() == "mine\n"

    with open_sandbox(rung) as sandbox:
        await_(main(sandbox))


def test_history_that_the_user_let_a_command_delete_stays_deleted(ground: Ground) -> None:
    folder = ground.folder
    make = "git init -q -b main . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m one"
    make += " && git checkout -q -b x && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m two"
    subprocess.run(["sh", "-c", f"{make} && git checkout -q main"], cwd=folder, check=True)

    async def main(sandbox: Sandbox) -> None:
        async with running(sandbox, folder) as own, running(sandbox, folder) as others:
            theirs = start(others.place, "touch other; sleep 2")
            await until(lambda: (folder / "other").exists())
            done = await start(own.place, "git branch -D x", CallGrant(irreversible=True, unsandboxed=True))
            assert not done.failed and theirs.done(), done.output
            assert "restored" not in (await theirs).output

    with open_sandbox("bubblewrap") as sandbox:
        await_(main(sandbox))
    found = subprocess.run(["git", "branch"], cwd=folder, capture_output=True, text=True, check=True)
    assert found.stdout == "* main\n"


def test_of_two_commands_that_have_to_be_alone_the_first_one_goes_first(ground: Ground) -> None:
    async def main() -> None:
        first, second = [await begin_turn(ground.folder, command) for command in ("one", "two")]
        waiting = asyncio.get_running_loop().create_task(second.run_alone())
        await asyncio.sleep(0)
        assert second.alone
        await first.run_alone()
        assert not waiting.done()
        first.end()
        await waiting
        second.end()
        (await begin_turn(ground.folder, "three")).end()

    await_(main())


def test_a_call_that_would_wait_too_long_is_refused_and_names_the_other_command(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, sub = ground.folder, ground.folder / "sub"
    sub.mkdir()
    monkeypatch.setattr(command_turn, "WAIT_S", 0.2)

    async def main(sandbox: Sandbox) -> None:
        async with running(sandbox, folder) as own, running(sandbox, sub) as below:
            await below.use("echo up; sleep 600", "c1", background=True)
            await below.recorder.wait_for(b"up")
            with pytest.raises(Problem, match="echo up; sleep 600"):
                await own.use("echo mine > .envrc", "c2", APPROVED)
            assert not (folder / ".envrc").exists()
            await assert_runs(own)  # a command without such an approval waits for none
            below.place.commands.get("c1").running.kill("test")
            await own.use("echo mine > .envrc", "c3", APPROVED)
            assert (folder / ".envrc").read_text() == "mine\n"
            await assert_runs(below)

    with open_sandbox("bubblewrap") as sandbox:
        await_(main(sandbox))


def test_a_refused_or_failed_call_keeps_no_other_waiting(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command_turn, "WAIT_S", 0.2)

    async def main(sandbox: Sandbox) -> None:
        async with running(sandbox, ground.folder) as own, running(sandbox, ground.folder) as others:
            stopped = start(own.place, "touch begun; sleep 600", APPROVED)
            await until(lambda: (ground.folder / "begun").exists())
            with pytest.raises(Problem, match="touch begun"):
                await others.use("true", "c1")
            stopped.cancel()
            with pytest.raises(asyncio.CancelledError):
                await stopped
            await assert_runs(others)
            with pytest.raises(Problem, match="background"):
                await own.use("git branch -D x", "c2", CallGrant(irreversible=True), background=True)
            await own.use("echo up", "c3", APPROVED, background=True)
            await until(lambda: not own.place.commands.is_any_running())
            await assert_runs(others)

    with open_sandbox("bubblewrap") as sandbox:
        await_(main(sandbox))


async def assert_runs(scene: Running) -> None:
    done = await scene.use("echo ran", "r1")
    assert done.output == "ran\n"
