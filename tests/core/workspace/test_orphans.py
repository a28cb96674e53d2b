"""What a killed program can leave of a command that had not begun yet, and how the next one ends it."""

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from core.workspace.process import MARK
from core.workspace.usage import descendants, end_orphans
from tests.e2e.screen import until


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="only bubblewrap sets up in two halves")
def test_a_half_made_sandbox_of_a_dead_program_is_ended_and_no_other() -> None:
    """Held where its outer half waits for the user namespace, and killed there."""
    reading, writing = os.pipe()
    words = ["bwrap", "--unshare-user", "--unshare-pid", "--die-with-parent", "--ro-bind", "/", "/"]
    words += ["--userns-block-fd", str(reading), "--info-fd", "1", "sleep", "60"]
    marked = {**os.environ, MARK: "of-a-test"}
    needle = f"{MARK}=of-a-test".encode()
    outer = subprocess.Popen(words, env=marked, pass_fds=(reading,), stdout=subprocess.DEVNULL)
    try:
        (inner,) = until(lambda: descendants(outer.pid), "the half inside")
        assert end_orphans(needle) == [], "one whose program lives is none of these"
        outer.send_signal(signal.SIGKILL)
        outer.wait()
        until(lambda: _parent(inner) == 1 or None, "it is left")
        assert end_orphans(needle) == [inner]
        until(lambda: not Path(f"/proc/{inner}").exists() or _state(inner) == "Z", "it is gone")
    finally:
        os.close(reading)
        os.close(writing)


def _parent(pid: int) -> int:
    return int(_fields(pid)[1])


def _state(pid: int) -> str:
    return _fields(pid)[0]


def _fields(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
