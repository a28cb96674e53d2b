"""Sealed files: whatever changes them, the run is not done until they are as they were."""

import sys
from pathlib import Path
from typing import Any

import pytest

from core.domain.events import HarnessMessage, RunEnded, RunStarted
from core.domain.text import Text
from tests.core.engine.harness import EngineHarness, call_reply, open_engine, run_bounded, scripted_replies

DONE = {"text": "It is done."}
REMOVE = "mv tests/a.py c.py"
LINK = "ln -sf ../b.py tests/a.py"


async def sealed_run(scene: EngineHarness, script: str) -> list[HarnessMessage]:
    """Run a script in a folder whose tests are sealed, and return the messages of the harness."""
    (scene.folder / "tests").mkdir()
    (scene.folder / "tests/a.py").write_text("assert False\n")
    (scene.folder / "b.py").write_text("assert False\n")
    await scene.engine.trust(scene.folder)
    began = RunStarted("scripted", 20, Text(script), mode="auto", allow=("run",), sealed=("tests",))
    session = await scene.engine.start("Go.", scene.folder, began)
    await scene.engine.wait_idle(session)
    return [event for event in await scene.events(session) if isinstance(event, HarnessMessage)]


@pytest.mark.skipif(sys.platform == "win32", reason="the commands are for a POSIX shell")
@pytest.mark.parametrize(
    ("reply", "change"),
    [
        (call_reply("run", command="echo pass > tests/a.py"), "changed"),
        (call_reply("run", command=REMOVE), "removed"),
        (call_reply("run", command=LINK), "removed"),
        (call_reply("run", command="echo '*' > tests/.gitignore; echo pass > tests/a.py"), "removed"),
        (call_reply("delegate", task="Change it."), "changed"),
    ],
)
def test_a_change_by_a_command_or_a_sub_agent_is_noticed(tmp_path: Path, reply: dict[str, Any], change: str) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            helper = [call_reply("write", path="tests/a.py", content="assert True\n"), DONE]
            messages = await sealed_run(scene, scripted_replies(reply, *[DONE] * 3, roles={"agent:helper": helper}))
            assert messages and all(f"tests/a.py ({change})" in message.text.head for message in messages)

    run_bounded(main())


def test_a_change_that_was_reverted_breaks_no_seal(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            writes = [call_reply("write", path="tests/a.py", content=f"assert {word}\n") for word in ("True", "False")]
            assert await sealed_run(scene, scripted_replies(*writes, DONE)) == []

    run_bounded(main())


def test_after_a_run_that_removed_every_sealed_file_a_message_can_be_sent(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            diff = "--- a/tests/a.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-assert False\n"
            await sealed_run(scene, scripted_replies(call_reply("patch", diff=diff), *[DONE] * 3))
            (session,) = [row.id for row in scene.engine.sessions() if not row.parent]
            assert scene.status(session) == "failed"
            await scene.engine.send_message(session, "Restore it.")
            await scene.engine.wait_idle(session)
            ends = [event.status for event in await scene.events(session) if isinstance(event, RunEnded)]
            assert len(ends) == 2 and ends[0] == "failed"

    run_bounded(main())
