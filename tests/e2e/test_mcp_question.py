"""An MCP server asks a question during a tool call, and the user answers it in the real window."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.screen import ROOT, Screen, running_program, virtual_screen, wait_until

TOOLS = ("Xvfb", "openbox", "xdotool", "xprop")
PROGRAM = ROOT / "tests" / "servers" / "asking.py"
REPLIES = [{"calls": [{"name": "who__word", "arguments": {}}]}, {"text": "Done."}]

pytestmark = pytest.mark.skipif(
    not all(map(shutil.which, TOOLS)), reason="needs a virtual display, which `packaging/dev.py test` installs"
)


@pytest.fixture
def display(tmp_path: Path) -> Iterator[Screen]:
    folder = tmp_path / "screen"
    folder.mkdir()
    with virtual_screen(folder) as made:
        yield made


def run_command(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command line, whether or not a window is open on the data folder."""
    command = [sys.executable, "-m", "app", "--data-dir", str(home), *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)


def test_a_question_of_an_mcp_server_is_answered_in_its_dialog(display: Screen, tmp_path: Path, home: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"replies": REPLIES}))
    added = run_command(home, "mcp", "add", "who", sys.executable, str(PROGRAM))
    assert added.returncode == 0, added.stderr
    with running_program(display, home) as program:
        (folder := tmp_path / "work").mkdir()
        run = ("run", "Ask me", "--script", str(script), "-C", str(folder), "--allow", "who__word", "--json")
        began = run_command(home, *run)
        assert began.returncode == 3, began.stderr
        wait_until(lambda: display.waiting_in_title() == 1, "the question in the title")
        asked = json.loads(run_command(home, "pending", "--json").stdout)
        assert asked["mcp_server"] == "who" and asked["text"] == "Which word?"
        display.keys("ctrl+j")
        display.keys("m", "o", "s", "s", "Return")
        program.wait_for_status("done")
        shown = run_command(home, "show", asked["session"], "--json").stdout
        assert "The word is moss." in shown
        unknown = run_command(home, "run", "Again", "--script", str(script), "--allow", "who__nothing")
        assert unknown.returncode == 1 and "There is no tool 'who__nothing' to allow." in unknown.stderr
        program.kill()
