"""Server processes for tests."""

import sys
from pathlib import Path

from tests.e2e.screen import wait_until
from tests.servers.process import serving

CHATTY = """
import sys, time
print("ready at 1", flush=True)
print("x" * 1_000_000, flush=True)
open(sys.argv[1], "w").close()
time.sleep(600)
"""


def test_a_server_that_logs_much_does_not_stop(tmp_path: Path) -> None:
    done = tmp_path / "done"
    with serving([sys.executable, "-c", CHATTY, str(done)], r"ready at (\d)", tmp_path / "log") as place:
        assert place == "1"
        wait_until(done.exists, "the end of a long output")
