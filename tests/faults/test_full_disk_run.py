"""A run on a full disk: it is interrupted, not failed, and goes on once there is space again."""

from pathlib import Path

import pytest

from tests.faults.test_full_disk import needs_small_file_system, on_small_disk

WORK = """
import asyncio, os, sys
from pathlib import Path
from core.domain.events import RunInterrupted, ToolReturned
from core.domain.problems import Problem
from tests.core.engine.harness import EngineHarness, call_reply, open_engine, scripted_replies

home = Path(sys.argv[1]) / "data"

def fill_up():
    with (home.parent / "theirs").open("ab", buffering=0) as file:  # append: truncating would free space
        try:
            while file.write(bytes(65536)):
                pass
        except OSError:
            pass

def leave_little():
    fill_up()
    if sys.argv[3] == "little":  # enough for the end of the run, but not for the result
        os.truncate(home.parent / "theirs", (home.parent / "theirs").stat().st_size - 400_000)

def tell(scene, session):
    print(scene.status(session), sorted(file.name for file in scene.folder.iterdir()))

async def main():
    async with open_engine(home, home.parent / "work") as scene:
        script = scripted_replies(
            call_reply("write", path="a.txt", content="first"),
            call_reply("read", path="long.txt"),
            call_reply("write", path="b.txt", content="second"),
            {"text": "Done."},
        )
        (scene.folder / "long.txt").write_text(os.urandom(3_500_000).hex())
        scene.services.opened.ballast.on_release = leave_little

        def hear(told):
            if isinstance(told.entry.event, ToolReturned):
                forget()
                fill_up()

        forget = scene.engine.subscribe(hear)
        session = await scene.start(script)
        await scene.engine.wait_idle(session)
        tell(scene, session)
        print(len([None for event in await scene.events(session) if isinstance(event, ToolReturned)]))
        print([error.details.message for error in scene.bugs if isinstance(error, Problem)])
        (home.parent / "theirs").unlink()
        if sys.argv[2] == "restart":
            return session
        await go_on(scene, session)

async def go_on(scene, session):
    doubted = await scene.engine.unresolved_calls(session)
    await scene.engine.resume(session, "retry" if doubted else "")
    await scene.engine.wait_idle(session)
    tell(scene, session)
    print(len([None for event in await scene.events(session) if isinstance(event, ToolReturned)]))

async def restart(session):
    async with open_engine(home, home.parent / "work") as scene:
        await go_on(scene, session)

if session := asyncio.run(main()):
    asyncio.run(restart(session))
"""


@pytest.mark.parametrize("left", ["little", "nothing"])
@pytest.mark.parametrize("when", ["at once", "restart"])
def test_a_run_goes_on_once_there_is_space(tmp_path: Path, when: str, left: str) -> None:
    needs_small_file_system()
    done = on_small_disk(tmp_path, 220, WORK, when, left)
    assert done.stderr == ""
    before, effects, said, after, results = done.stdout.splitlines()
    assert before in ("interrupted ['a.txt', 'long.txt']", "running ['a.txt', 'long.txt']"), (
        "the run was ended, so that it cannot go on"
    )
    assert effects == "1" and "The disk is full" in said
    assert after == "done ['a.txt', 'b.txt', 'long.txt']" and results == "3", "a step was lost or repeated"
