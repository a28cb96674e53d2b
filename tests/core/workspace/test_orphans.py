"""Half-started sandboxes that a killed process leaves behind are killed by the next one."""

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from core.workspace.command_process import MARKER_VARIABLE
from core.workspace.process_tree import descendants, kill_orphans
from tests.e2e.screen import wait_until


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="only bubblewrap sets up in two halves")
def test_a_half_created_sandbox_of_a_dead_process_is_ended_and_no_other() -> None:
    """bubblewrap is blocked while it waits for the user namespace, and killed there."""
    reading, writing = os.pipe()
    words = ["bwrap", "--unshare-user", "--unshare-pid", "--die-with-parent", "--ro-bind", "/", "/"]
    words += ["--userns-block-fd", str(reading), "--info-fd", "1", "sleep", "60"]
    marked = {**os.environ, MARKER_VARIABLE: "of-a-test"}
    needle = f"{MARKER_VARIABLE}=of-a-test".encode()
    outer = subprocess.Popen(words, env=marked, pass_fds=(reading,), stdout=subprocess.DEVNULL)
    try:
        (inner,) = wait_until(lambda: descendants(outer.pid), "the child of bubblewrap")
        assert kill_orphans(needle) == [], "its parent is alive"
        outer.send_signal(signal.SIGKILL)
        outer.wait()
        wait_until(lambda: _parent(inner) == 1 or None, "it is an orphan")
        assert kill_orphans(needle) == [inner]
        wait_until(lambda: not Path(f"/proc/{inner}").exists() or _state(inner) == "Z", "it is gone")
    finally:
        os.close(reading)
        os.close(writing)


def _parent(pid: int) -> int:
    return int(_fields(pid)[1])


def _state(pid: int) -> str:
    return _fields(pid)[0]


def _fields(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
