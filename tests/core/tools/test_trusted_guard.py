"""Trusted files are guarded while commands run; sockets, privileges, and what cannot be checked are contained."""

import asyncio
import contextlib
import os
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from core.domain.events import ToolReturned
from core.domain.permissions import PermissionRequested
from core.domain.problems import Problem
from core.engine.run.execute import execute_call
from core.tools.background import CommandEnd
from core.tools.catalogue import tool_named
from core.tools.recover_commands import record_command
from core.tools.revert_unapproved import TrustedFilesGuard
from core.tools.run import RunArguments, run
from core.tools.tool import ToolResult
from core.tools.tool_context import NO_GRANT, CallGrant, ToolContext, open_context
from core.tools.write import WRITE
from core.workspace.command_record import RECORDS_FOLDER
from core.workspace.folder_listing import FolderListing, GitTrees, take_snapshot
from core.workspace.folder_scan import FolderScan
from core.workspace.sandbox import Sandbox
from core.workspace.threads import run_to_completion
from tests.core.engine.harness import call_reply, open_engine, run_bounded, scripted_replies
from tests.core.tools.test_run import open_harness
from tests.core.workspace.commands import OutputRecorder, await_, open_sandbox
from tests.core.workspace.ground import Ground, create_ground

DEEP = "import os\nfor n in range(30):\n os.mkdir('x' * 200)\n os.chdir('x' * 200)\nopen('.envrc', 'w').write('evil')"
CONNECT = "python3 -c \"import socket; s = socket.socket(socket.AF_UNIX); s.connect('{}'); print('connected')\""
SERVE = (
    "python3 -c \"import socket, time; s = socket.socket(socket.AF_UNIX); s.bind('own.sock'); s.listen(); "
    "print('up', flush=True); time.sleep(60)\""
)


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return create_ground(tmp_path)


class Running:
    """A context with background commands; `ends` collects what was recorded about their ends."""

    def __init__(self, place: ToolContext, recorder: OutputRecorder, ends: list[CommandEnd]) -> None:
        self.place, self.recorder, self.ends = place, recorder, ends

    async def use(
        self, command: str, call: str, grant: CallGrant = NO_GRANT, *, background: bool = False
    ) -> ToolResult:
        """Run a command as the engine does."""
        done = await run(RunArguments(command, 30, background=background), self.place.for_call(call, grant))
        self.place.commands.note_foreign_changes((change.path, change.after) for change in done.changes)
        return done


@contextlib.asynccontextmanager
async def running(sandbox: Sandbox, folder: Path) -> AsyncIterator[Running]:
    recorder, ends = OutputRecorder(), list[CommandEnd]()
    tasks: list[asyncio.Task[None]] = []

    def spawn(work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        tasks.append(asyncio.get_running_loop().create_task(work))
        return tasks[-1]

    async def tell(ended: CommandEnd) -> None:
        ends.append(ended)

    place = open_context(folder, folder.parent, lambda _, piece: recorder(piece), lambda: sandbox)
    place.commands.connect(spawn, tell)
    try:
        yield Running(place, recorder, ends)
    finally:
        await place.close()


def _is_missing(path: Path) -> bool:
    return not path.exists()


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not condition():  # noqa: ASYNC110 - the file system sends no event
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("rung", ["bubblewrap", "landlock"])
def test_p14_a_background_command_is_guarded_while_it_runs(rung: str, ground: Ground) -> None:
    """At the top of the folder and deep in it; the output says so before the command ends."""
    folder = ground.folder
    (folder / "real/.vscode").mkdir()
    (folder / "real/.vscode/tasks.json").write_text("mine")

    async def main(sandbox: Sandbox) -> None:
        async with running(sandbox, folder) as scene:
            command = "chmod -R u+w real; rm -rf real/.vscode; mkdir -p real/new/.vscode; echo evil > .envrc; "
            command += "echo evil > real/new/.vscode/tasks.json; chmod 0111 real/new; echo up; sleep 600"
            await scene.use(command, "c1", background=True)
            await scene.recorder.wait_for(b"reverted")
            await until(lambda: not (folder / ".envrc").exists() and not (folder / "real/new/.vscode").exists())
            assert (folder / "real/.vscode/tasks.json").read_text() == "mine"
            one = scene.place.commands.get("c1")
            assert one.running.finished is None and "reverted" in one.take_output()
        assert scene.ends[0].done and ".envrc" in scene.ends[0].done.output

    with open_sandbox(rung) as sandbox:
        await_(main(sandbox))


@pytest.mark.parametrize("background", [False, True])
@pytest.mark.parametrize("rung", ["bubblewrap", "landlock"])
def test_a_command_that_keeps_changing_a_trusted_file_is_ended(rung: str, background: bool, ground: Ground) -> None:
    """Otherwise the file would be there nearly all the time, for as long as the command runs."""
    folder = ground.folder
    (folder / ".git/objects").mkdir(parents=True)
    (folder / ".git/refs").mkdir()
    (folder / ".git/HEAD").write_text("ref: refs/heads/main")
    (folder / ".git/config").write_text("[core]")

    async def main(sandbox: Sandbox) -> None:
        async with running(sandbox, folder) as scene:
            command = "while :; do [ -e {0} ] || {{ mkdir -p real/n; echo evil > {0}; }}; sleep 0.02; done"
            reasons = {".envrc": "kept changing .envrc", ".git/commondir": "wrote .git/commondir"}
            for number, (name, reason) in enumerate(reasons.items()):
                done = await scene.use(command.format(name), f"c{number}", background=background)
                if background:
                    finished = await scene.place.commands.get(f"c{number}").running.wait()
                    assert reason in finished.killed_because
                else:
                    assert done.failed and reason in done.output
                await until(partial(_is_missing, folder / name))

    with open_sandbox(rung) as sandbox:
        await_(main(sandbox))


def test_p13_a_commondir_is_removed_at_once_and_not_only_by_the_next_scan(ground: Ground) -> None:
    """Also in the repository of a linked worktree. Git of the user would follow the settings that it leads to."""
    (ground.folder.parent / "data").mkdir()
    repository, tree = ground.folder, ground.folder.parent / "tree"
    make = "git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m one"
    subprocess.run(["sh", "-c", f"{make} && git worktree add -q ../tree"], cwd=repository, check=True)

    async def main(folder: Path, grant: CallGrant) -> tuple[str, set[str]]:
        place = open_context(folder, ground.folder.parent / "data").for_call("c1", grant)
        place.scan.scan_before()
        guard = TrustedFilesGuard(place)
        with place.scan.lock:  # no scan can take place
            (repository / "evil").write_text("../evil\n")
            (repository / "evil").rename(repository / ".git/commondir")
            if not grant.protected_paths:
                await until(partial(_is_missing, repository / ".git/commondir"))
        await guard.stop()
        why = guard.check()
        guard.close()
        await place.close()
        return why, guard.reverted

    assert await_(main(repository, CallGrant(protected_paths=(".git/commondir",)))) == ("", set())
    assert (repository / ".git/commondir").exists(), "the user approved it"
    (repository / ".git/commondir").unlink()
    for folder, name in ((repository, ".git/commondir"), (tree, f"{repository}/.git/commondir")):
        why, reverted = await_(main(folder, NO_GRANT))
        assert "wrote" in why and reverted == {name}


@pytest.mark.parametrize("rung", ["bubblewrap", "landlock"])
def test_p14_another_call_sees_no_change_of_a_background_command(rung: str, ground: Ground) -> None:
    """What a background command changed never counts as the original that the revert of another call restores."""
    folder = ground.folder

    async def main(sandbox: Sandbox) -> None:
        async with running(sandbox, folder) as scene:
            loop = "while true; do mkdir -p a/b; echo evil > a/b/.envrc; echo evil > .mcp.json; echo up; done"
            await scene.use(loop, "c1", background=True)
            await scene.recorder.wait_for(b"up")
            for number in range(4):
                await scene.use("true", f"d{number}")
        assert not (folder / "a/b/.envrc").exists() and not (folder / ".mcp.json").exists()

    with open_sandbox(rung) as sandbox:
        await_(main(sandbox))


def test_p14_a_scan_after_the_end_of_a_command_restores_nothing(ground: Ground) -> None:
    """Another call that begins just then still scans for the command, whose last scan has seen what it left."""
    folder = ground.folder

    async def main(sandbox: Sandbox) -> None:
        async with running(sandbox, folder) as scene:
            await scene.use("echo evil > .envrc", "c1", background=True)
            await until(lambda: bool(scene.ends))
            guard = scene.place.commands.get("c1").guard
            await run_to_completion(guard.scan)
            assert not (folder / ".envrc").exists() and guard.counts[".envrc"] == 1

    with open_sandbox("bubblewrap") as sandbox:
        await_(main(sandbox))


def test_p14_a_change_that_another_call_saw_is_not_taken_for_an_approved_one(ground: Ground) -> None:
    """A scan can see a change of a background command that could not be reverted in that moment."""
    folder = ground.folder

    async def main(sandbox: Sandbox) -> None:
        async with running(sandbox, folder) as scene:
            await scene.use("until [ -e go ]; do sleep 0.02; done; echo evil > .envrc", "c1", background=True)
            scene.place.commands.note_foreign_changes([(".envrc", b"evil\n")])
            (folder / "go").touch()
            await until(lambda: bool(scene.ends))
            done = scene.ends[0].done
            assert done and "reverted" in done.output and not (folder / ".envrc").exists()

    with open_sandbox("bubblewrap") as sandbox:
        await_(main(sandbox))


def test_p8_folders_renamed_during_scans_hide_nothing(ground: Ground) -> None:
    folder = ground.folder
    outside = ground.outside / "inner"

    async def main(sandbox: Sandbox) -> None:
        async with running(sandbox, folder) as scene:
            command = f"mkdir evil; echo evil > evil/tasks.json; ln -s {str(outside)!r} away; echo up; "
            command += "while true; do mv evil .vscode; mv .vscode evil; mv -T away .vscode; mv .vscode away; done"
            await scene.use(command, "c1", background=True)
            await scene.recorder.wait_for(b"up")
            for number in range(6):
                await scene.use("true", f"d{number}")
        assert not (folder / ".vscode/tasks.json").exists() and not (folder / ".vscode").is_symlink()

    with open_sandbox("bubblewrap") as sandbox:
        await_(main(sandbox))
    assert ground.intact()


def test_calls_that_only_read_list_no_folder_for_a_background_command(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed: list[Path] = []

    def counted(folder: Path, trees: GitTrees, is_notable: Callable[[bytes], object]) -> FolderListing:
        listed.append(folder)
        return take_snapshot(folder, trees, is_notable)

    monkeypatch.setattr("core.workspace.folder_scan.take_snapshot", counted)
    monkeypatch.setattr("core.tools.revert_unapproved.MIN_INTERVAL_S", 3_600)
    (ground.folder / "a.txt").write_text("text")

    async def listings(scene: Running, name: str, parameters: dict[str, Any]) -> int:
        tool = tool_named(name)
        assert tool is not None
        before = len(listed)
        events, _ = await execute_call(tool, "d1", tool.parameters(**parameters), scene.place.for_call("d1"), {})
        assert not any(event.failed for event in events if isinstance(event, ToolReturned))
        return len(listed) - before

    async def main(sandbox: Sandbox) -> None:
        async with running(sandbox, ground.folder) as scene:
            await scene.use("echo up; sleep 600", "c1", background=True)
            await scene.recorder.wait_for(b"up")
            assert await listings(scene, "read", {"path": "a.txt"}) == 0
            assert await listings(scene, "check", {"id": "c1"}) == 0
            assert await listings(scene, "write", {"path": "b.txt", "content": "b"}) == 1
            assert await listings(scene, "run", {"command": "true"}) == 3, "before, for the other command, and after"

    with open_sandbox("bubblewrap") as sandbox:
        await_(main(sandbox))


@pytest.mark.parametrize("rung", ["bubblewrap", "landlock"])
def test_an_approved_write_waits_until_no_background_command_can_use_it(rung: str, ground: Ground) -> None:
    """The approval covers one call, and neither a command that already runs nor a later one inherits it."""
    file, grant = ground.folder / ".vscode/tasks.json", CallGrant(protected_paths=(".vscode/tasks.json",))

    async def write(scene: Running, call: str) -> ToolReturned:
        parameters = WRITE.parameters(path=".vscode/tasks.json", content="mine")
        events, _ = await execute_call(WRITE, call, parameters, scene.place.for_call(call, grant), {})
        return next(event for event in events if isinstance(event, ToolReturned))

    async def main(sandbox: Sandbox) -> None:
        async with running(sandbox, ground.folder) as scene:
            wait = "echo up; until [ -e .vscode/tasks.json ]; do sleep 0.02; done; echo evil > .vscode/tasks.json"
            await scene.use(wait, "c1", background=True)
            await scene.recorder.wait_for(b"up")
            refused = await write(scene, "c2")
            assert refused.failed and "c1 (echo up" in refused.output.head and not file.exists()
            await scene.place.commands.get("c1").running.kill_and_wait()
            assert not (await write(scene, "c3")).failed
            await scene.use(
                "true; echo evil > .vscode/tasks.json; echo evil > .vscode/launch.json", "c4", background=True
            )
            await until(lambda: bool(scene.ends[1:]))
            assert file.read_text() == "mine" and not file.with_name("launch.json").exists()

    with open_sandbox(rung) as sandbox:
        await_(main(sandbox))


def test_history_is_deleted_only_while_no_other_command_runs(ground: Ground) -> None:
    """An approved `git branch -D` neither lets a command in the background delete more, nor runs there itself."""
    folder, grant = ground.folder, CallGrant(irreversible=True)
    commit = "git init -q . && git -c user.name=U -c user.email=u@x commit -q --allow-empty -m 1 && git branch "
    subprocess.run(f"{commit} tmp && git branch kept", shell=True, cwd=folder, check=True)

    async def main(sandbox: Sandbox) -> None:
        async with running(sandbox, folder) as scene:
            wait = "echo up; while [ -e .git/refs/heads/tmp ]; do sleep 0.02; done; rm -r .git/refs/heads/kept"
            await scene.use(wait, "c1", background=True)
            await scene.recorder.wait_for(b"up")
            with pytest.raises(Problem, match=r"c1 \(echo up"):
                await scene.use("git branch -D tmp", "c2", grant)
            assert (folder / ".git/refs/heads/tmp").exists()
            await scene.place.commands.get("c1").running.kill_and_wait()
            with pytest.raises(Problem, match="without background"):
                await scene.use("git branch -D tmp", "c3", grant, background=True)
            await scene.use("git branch -D tmp", "c4", grant)
        assert not (folder / ".git/refs/heads/tmp").exists() and (folder / ".git/refs/heads/kept").exists()

    with open_sandbox("bubblewrap") as sandbox:
        await_(main(sandbox))


@pytest.mark.parametrize("rung", ["bubblewrap", "landlock"])
def test_a_command_reaches_no_socket_that_lies_in_the_folder(rung: str, ground: Ground) -> None:
    """Programs of the user listen there, outside the sandbox."""
    with tempfile.TemporaryDirectory(prefix="jm-") as short, open_sandbox(rung) as sandbox:
        folder = Path(short, "w")
        (folder / "run").mkdir(parents=True)
        with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as deep:
            for one, name in ((server, "s.sock"), (deep, "run/s.sock")):
                one.bind(str(folder / name))
                one.listen()
            with open_harness(sandbox, folder) as made:
                for name in ("s.sock", "run/s.sock"):
                    done = made.use(f"{CONNECT.format(name)}; cp {name} copy; {CONNECT.format('copy')}")
                    assert "connected" not in done.output, done
            assert stat.S_ISSOCK((folder / "s.sock").stat().st_mode)


def test_commands_reach_sockets_of_background_commands() -> None:
    async def main(sandbox: Sandbox, folder: Path) -> None:
        async with running(sandbox, folder) as scene:
            await scene.use(SERVE, "c1", background=True)
            await scene.recorder.wait_for(b"up")
            for number in range(2):
                done = await scene.use(CONNECT.format("own.sock"), f"d{number}")
                assert "connected" in done.output, done

    with tempfile.TemporaryDirectory(prefix="jm-") as short, open_sandbox("bubblewrap") as sandbox:
        (folder := Path(short, "w")).mkdir()
        await_(main(sandbox, folder))


@pytest.mark.parametrize("rung", ["bubblewrap", "landlock"])
def test_a_command_leaves_no_program_with_the_rights_of_its_owner(rung: str, ground: Ground) -> None:
    own = ground.folder / "own"
    own.write_text("#!/bin/sh\n")
    own.chmod(0o6755)
    with open_sandbox(rung) as sandbox, open_harness(sandbox, ground.folder) as made:
        made.use("mkdir d; cp /bin/true d/x; chmod 4755 d/x; cp /bin/true y; chmod 2711 y; chmod 0111 d")
    kept = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (ground.folder / "d/x", ground.folder / "y", own)}
    assert (kept["x"] | kept["y"]) & 0o6000 == 0 and kept["own"] == 0o6755


@pytest.mark.parametrize("rung", ["bubblewrap", "landlock"])
def test_what_cannot_be_checked_is_named_until_it_is_gone(rung: str, ground: Ground) -> None:
    """No program can list a path of more than 4,096 bytes at once."""
    with open_sandbox(rung) as sandbox, open_harness(sandbox, ground.folder) as made:
        done = made.use(f'python3 -c "{DEEP}"')
        assert "cannot be checked or reverted" in done.output, done
        assert made.context.unsettled.remaining() and "x" * 300 not in done.output
    with open_sandbox(rung) as sandbox, open_harness(sandbox, ground.folder) as made:
        made.use("true")
        assert made.context.unsettled.remaining(), "another run asks, too"
        made.use("rm -rf xxx*")
        assert made.context.unsettled.remaining() == ()


def test_every_further_call_asks_while_something_cannot_be_checked(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session = await scene.start(
                scripted_replies(
                    call_reply("write", path="deep.py", content=DEEP),
                    call_reply("run", command="python3 deep.py"),
                    call_reply("read", path="deep.py"),
                    call_reply("run", command="rm -rf xxx*"),
                    call_reply("run", command="echo free"),
                    {"text": "Done."},
                ),
                mode="auto",
            )
            for count in (1, 2):
                request = (await scene.until(PermissionRequested, count)).event.request  # type: ignore[union-attr]
                assert "cannot be checked" in request.reason and request.patterns == ()
                await scene.engine.allow(request.id)
            await scene.engine.wait_idle(session)
            asked = [event for event in await scene.events(session) if isinstance(event, PermissionRequested)]
            returned = [event for event in await scene.events(session) if isinstance(event, ToolReturned)]
            assert len(asked) == 2 and "free" in returned[-1].output.head

    run_bounded(main())


KILLED = """
import asyncio, os, sys
from pathlib import Path
from core.tools.revert_unapproved import TrustedFilesGuard
from core.tools.run import RunArguments, run
from core.tools.tool_context import CallGrant, open_context
from core.workspace.sandbox import Sandbox
from tests.core.workspace.commands import open_sandbox

async def main(sandbox):
    def hear(call, printed):
        if b"planted" in printed:
            os.kill(os.getpid(), 9)
    grant = CallGrant(protected_paths=(".mcp.json",), irreversible=True)
    context = open_context(Path(sys.argv[1]), Path(sys.argv[2]), hear, lambda: sandbox).for_call("c1", grant)
    await run(RunArguments(sys.argv[4]), context)

with open_sandbox(sys.argv[3]) as sandbox:
    asyncio.run(main(sandbox))
"""


def kill_during(command: str, folder: Path, data: Path, rung: str) -> None:
    """Run a command in a Journeyman that is killed once the command has printed "planted"."""
    data.mkdir(exist_ok=True)
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, str(folder), str(data), rung, command],
        check=False, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert killed.returncode == -9, killed.stderr


def run_next(folder: Path, data: Path, rung: str) -> ToolResult:
    """Run the next command in the folder."""

    async def main(sandbox: Sandbox) -> ToolResult:
        place = open_context(folder, data, None, lambda: sandbox)
        try:
            return await run(RunArguments("true"), place.for_call("c1"))
        finally:
            await place.close()

    with open_sandbox(rung) as sandbox:
        return await_(main(sandbox))


PLANT = (
    "rm -f old/.envrc; mkdir -p .vscode n/.git/hooks; for f in .envrc AGENTS.md .vscode/tasks.json .mcp.json plain; "
    "do echo evil > $f; done; echo planted; sleep 60"
)


@pytest.mark.parametrize("rung", ["bubblewrap", "landlock"])
def test_what_a_command_planted_before_journeyman_was_killed_is_reverted(rung: str, ground: Ground) -> None:
    folder, data = ground.folder, ground.folder.parent / "data"
    (folder / "AGENTS.md").write_text("mine")
    (folder / "old").mkdir()
    (folder / "old" / ".envrc").write_text("mine")
    kill_during(PLANT, folder, data, rung)
    assert (folder / ".envrc").exists()
    done = run_next(folder, data, rung)
    assert "an earlier command was interrupted" in done.output
    assert not (folder / ".envrc").exists() and not (folder / ".vscode/tasks.json").exists()
    assert (folder / "AGENTS.md").read_text() == (folder / "old/.envrc").read_text() == "mine"
    assert (folder / ".mcp.json").read_text() == (folder / "plain").read_text() == "evil\n", "approved, and not trusted"
    assert not list((data / RECORDS_FOLDER).iterdir())


@pytest.mark.parametrize("repository", [False, True])
def test_a_removed_data_folder_is_not_made_anew_by_a_command(repository: bool, ground: Ground) -> None:
    """The user moved it away, and would find a second one in its place."""
    folder, data = ground.folder, ground.folder.parent / "data"
    if repository:
        subprocess.run(["git", "init", "-q", "."], cwd=folder, check=True)
    with pytest.raises(FileNotFoundError):
        run_next(folder, data, "bubblewrap")
    assert not data.exists()


def test_what_the_user_changed_after_journeyman_was_killed_stays(ground: Ground) -> None:
    """What changed long after the command was last seen running."""
    folder, data = ground.folder, ground.folder.parent / "data"
    data.mkdir()

    async def main(sandbox: Sandbox) -> ToolResult:
        place = open_context(folder, data, None, lambda: sandbox)
        scan = FolderScan(folder)
        scan.scan_before()
        record = record_command(place, scan)
        assert record
        record._closed.set()  # as when the process is gone
        record._thread.join()
        os.utime(record._path, (time.time() - 60, time.time() - 60))
        os.close(record._file)
        (folder / ".envrc").write_text("mine")
        try:
            return await run(RunArguments("true"), place.for_call("c1"))
        finally:
            await place.close()

    with open_sandbox("bubblewrap") as sandbox:
        done = await_(main(sandbox))
    assert "interrupted" not in done.output and (folder / ".envrc").read_text() == "mine"


@pytest.mark.parametrize("rung", ["bubblewrap", "landlock"])
def test_a_command_cannot_let_other_users_write_to_trusted_folders(rung: str, ground: Ground) -> None:
    folder = ground.folder
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    (folder / ".vscode").mkdir(0o755)
    (folder / "plain").mkdir(0o755)
    places = (".git", ".git/hooks", ".git/objects", ".git/HEAD", ".vscode", "plain")
    before = {place: stat.S_IMODE((folder / place).stat().st_mode) for place in places}
    with open_sandbox(rung) as sandbox, open_harness(sandbox, folder) as made:
        done = made.use(f"chmod 777 {' '.join(places)}; true")
        allowed = made.use("chmod 777 .vscode", grant=CallGrant(protected_paths=(".vscode",)))
    after = {place: stat.S_IMODE((folder / place).stat().st_mode) for place in places}
    assert after == before | {"plain": 0o777, ".vscode": 0o777} and "reverted" in done.output
    assert "reverted" not in allowed.output


def test_what_a_command_planted_is_reverted_when_journeyman_starts_again(ground: Ground) -> None:
    """Before the user opens a shell or an editor in the folder, which would act on it."""
    folder, data = ground.folder, ground.folder.parent / "data"
    kill_during(PLANT, folder, data, "landlock")
    assert (folder / ".envrc").exists()

    async def main() -> None:
        async with open_engine(data, folder):
            assert not (folder / ".envrc").exists() and not (folder / ".vscode/tasks.json").exists()
            assert (folder / "plain").exists() and not list((data / RECORDS_FOLDER).iterdir())

    run_bounded(main())
