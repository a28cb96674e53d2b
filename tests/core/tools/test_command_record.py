"""The record of a running command tells until when the process of Journeyman ran that was killed."""

import subprocess
import sys
from pathlib import Path

import pytest

from core.tools import recover_commands
from tests.core.tools.test_trusted_guard import run_next
from tests.core.workspace.ground import create_ground

KILLED = """
import asyncio, os, sys, time
from pathlib import Path
from core.tools.run import RunArguments, run
from core.tools.tool_context import open_context
from tests.core.workspace.commands import open_sandbox
folder = Path(sys.argv[1])

async def main(sandbox):
    def block(call, printed):
        while not (folder / "written").exists():
            time.sleep(0.05)
        os.kill(os.getpid(), 9)
    context = open_context(folder, Path(sys.argv[2]), block, lambda: sandbox).for_call("c1")
    await run(RunArguments("echo up; sleep 6; echo evil > .envrc; touch written; sleep 60"), context)

with open_sandbox(sys.argv[3]) as sandbox:
    asyncio.run(main(sandbox))
"""


@pytest.mark.parametrize("rung", ["bubblewrap", "landlock"])
def test_what_a_command_changes_while_the_event_loop_is_blocked_is_reverted(
    rung: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Journeyman is killed before its event loop continues, long after the loop last noticed the command."""
    folder, data = create_ground(tmp_path).folder, tmp_path / "data"
    data.mkdir()
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, str(folder), str(data), rung], check=False, capture_output=True, timeout=120
    )
    assert killed.returncode == -9, killed.stderr
    assert (folder / ".envrc").read_text() == "evil\n"
    monkeypatch.setattr(recover_commands, "LATE_S", 3.0)
    assert "an earlier command was interrupted" in run_next(folder, data, rung).output
    assert not (folder / ".envrc").exists()
