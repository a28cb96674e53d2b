"""What Journeyman itself writes while a command runs, on approval or to revert, is not taken for a change by it."""

import os
from pathlib import Path

import pytest

from core.domain.events import FileChanged, ToolReturned
from core.domain.permissions import PermissionRequested
from core.tools.background import CommandEnd
from core.workspace.broker import FileBroker
from core.workspace.sandbox import Sandbox
from core.workspace.threads import run_to_completion
from tests.core.engine.harness import call_reply, open_engine, run_bounded, scripted_replies
from tests.core.tools.test_trusted_guard import running, until
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
