"""What Journeyman itself writes while a command runs, on approval or to revert, is not taken for a change by it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from core.domain.events import FileChanged, ToolReturned
from core.domain.permissions import PermissionRequested
from core.tools.background import CommandEnd
from core.workspace.broker import FileBroker
from core.workspace.sandbox import Sandbox
from core.workspace.threads import run_to_completion
from tests.core.engine.harness import call_reply, open_engine, run_bounded, scripted_replies
from tests.core.tools.test_trusted_guard import run_next, running, until
from tests.core.workspace.commands import await_, open_sandbox
from tests.core.workspace.ground import Ground, create_ground

NEW, REPLACED, REMOVED = "real/.envrc", "AGENTS.md", ".mcp.json"
WAIT = "echo up; until [ -e {0} ]; do sleep 0.02; done; "
LATER = WAIT.format("go")


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    ground = create_ground(tmp_path)
    for name in (REPLACED, REMOVED):
        (ground.folder / name).write_text("old")
    return ground


def run_during(command: str, ground: Ground, rung: str) -> CommandEnd:
    """Run a command in the background, let Journeyman write files once it is up, and return the end of the command."""

    async def main(sandbox: Sandbox) -> CommandEnd:
        async with running(sandbox, ground.folder) as scene:
            await scene.use(command, "c1", background=True)
            await scene.recorder.wait_for(b"up")
            with FileBroker(ground.folder) as broker:
                broker.write(NEW, b"mine", allow_protected=True)
                broker.write(REPLACED, b"mine", allow_protected=True)
                broker.write("plain", b"mine")
                broker.remove(REMOVED, allow_protected=True)
            await run_to_completion(scene.place.commands.revert_changes)
            assert contents(ground.folder) == ("mine", "mine", "")
            (ground.folder / "go").touch()
            await until(lambda: bool(scene.ends))
            return scene.ends[0]

    with open_sandbox(rung) as sandbox:
        return await_(main(sandbox))


def contents(folder: Path) -> tuple[str, ...]:
    places = [folder / name for name in (NEW, REPLACED, REMOVED)]
    return tuple(place.read_text() if place.exists() else "" for place in places)


@pytest.mark.parametrize("rung", ["bubblewrap", "landlock"])
def test_they_stay_and_the_command_goes_on(rung: str, ground: Ground) -> None:
    end = run_during(f"{LATER}cat {NEW} {REPLACED} && echo fine", ground, rung)
    assert end.done and not end.done.killed_because and end.done.output == "up\nminemine" + "fine\n"
    assert [change.path for change in end.changes] == ["go"] and end.unrestorable == ()
    assert contents(ground.folder) == ("mine", "mine", "")


@pytest.mark.parametrize("rung", ["bubblewrap", "landlock"])
@pytest.mark.parametrize(
    "change",
    [
        "echo evil > {0}", "rm -f {0}; ln -s plain {0}", "rm -f {0}; cp go {0}; chmod 600 {0}",
        "rm -f {0}; cp plain p; ln -s p {0}; echo evil > p",
    ],
)  # fmt: skip
def test_what_the_command_then_changes_is_reverted_to_them(change: str, rung: str, ground: Ground) -> None:
    lines = "; ".join(change.format(name) for name in (NEW, REPLACED, REMOVED))
    end = run_during(f"{LATER}{{ {lines}; }} 2>/dev/null; true", ground, rung)
    assert contents(ground.folder) == ("mine", "mine", "") and not (ground.folder / NEW).is_symlink()
    assert end.done and "reverted" in end.done.output and NEW in end.done.output
    assert not os.path.lexists(ground.folder / REMOVED)


KILLED = """
import asyncio, os, sys
from pathlib import Path
from core.tools.run import RunArguments, run
from core.tools.tool_context import open_context
from core.workspace.broker import FileBroker
from tests.core.workspace.commands import open_sandbox
folder = Path(sys.argv[1])

async def main(sandbox):
    def hear(call, printed):
        if b"evil" in printed:
            os.kill(os.getpid(), 9)
        with FileBroker(folder) as broker:
            for name in sys.argv[5:]:
                broker.write(name, b"mine", allow_protected=True)
            broker.remove(".mcp.json", allow_protected=True)
        (folder / "go").touch()
    context = open_context(folder, Path(sys.argv[2]), hear, lambda: sandbox).for_call("c1")
    await run(RunArguments(sys.argv[4]), context)

with open_sandbox(sys.argv[3]) as sandbox:
    asyncio.run(main(sandbox))
"""


@pytest.mark.parametrize("rung", ["bubblewrap", "landlock"])
@pytest.mark.parametrize("change", ["true", "rm -f {0}; echo evil > {0}"])
def test_they_stay_if_journeyman_is_killed_while_the_command_runs(change: str, rung: str, ground: Ground) -> None:
    """The next start reverts what the command changed to what Journeyman wrote, on approval in another session."""
    folder, data = ground.folder, ground.folder.parent / "data"
    data.mkdir()
    lines = "; ".join(change.format(name) for name in (NEW, REPLACED, "sub/.envrc"))
    command = f"{LATER}mkdir -p sub; {{ {lines}; echo evil > .lazygit.yml; }} 2>/dev/null; echo evil; sleep 60"
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, str(folder), str(data), rung, command, NEW, REPLACED],
        check=False, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert killed.returncode == -9, killed.stderr
    assert "an earlier command was interrupted" in run_next(folder, data, rung).output
    assert contents(folder) == ("mine", "mine", "")
    assert not (folder / ".lazygit.yml").exists() and not (folder / "sub/.envrc").exists()


@pytest.mark.parametrize("act", ["a revert by the user", "an approved call"])
def test_a_session_does_not_undo_what_the_user_decides_in_another_one(act: str, tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            file, engine = scene.folder / "AGENTS.md", scene.engine

            async def write(text: str, count: int) -> str:
                script = scripted_replies(call_reply("write", path="AGENTS.md", content=text), {"text": "Done."})
                session = await scene.start(script)
                await engine.allow((await scene.until(PermissionRequested, count)).event.request.id)  # type: ignore[union-attr]
                await engine.wait_idle(session)
                return session

            first = await write("one", 1)
            command = "touch up; until [ -e go ]; do sleep 0.02; done; sleep 0.5"
            other = await scene.start(scripted_replies(call_reply("run", command=command), {"text": "Done."}))
            await until((scene.folder / "up").exists)
            if act == "an approved call":
                await write("two", 2)
            else:
                await engine.history.rewind(first, await engine.history.plan_rewind(first, 1))
            (scene.folder / "go").touch()
            await engine.wait_idle(other)
            assert (file.read_text() if file.exists() else "") == ("two" if act == "an approved call" else "")
            events = await scene.events(other)
            (done,) = [event for event in events if isinstance(event, ToolReturned)]
            assert not done.failed and "AGENTS.md" not in done.output.head, done
            assert "AGENTS.md" not in {event.path for event in events if isinstance(event, FileChanged)}

    run_bounded(main())
