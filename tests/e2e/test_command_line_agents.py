"""External agents on the command line: permission requests are decided from another terminal."""

import json
import sys
from pathlib import Path

from tests.e2e.terminal import Terminal, read_until, wait_for_exit

AGENT = Path(__file__).parents[1] / "servers" / "acp_agent.py"


def test_known_agents_are_listed_with_the_command_that_installs_them(terminal: Terminal) -> None:
    listed = terminal("agents", "list")
    assert listed.code == 0
    text = listed.out
    assert "No external agents." in text and "Qwen Code" in text
    assert "npm install -g @qwen-code/qwen-code" in text or "journeyman agents add qwen qwen --acp" in text


def test_a_known_agent_that_is_not_added_is_named_with_the_command_that_adds_it(terminal: Terminal) -> None:
    refused = terminal("run", "hello", "--agent", "opencode")
    assert refused.code == 1
    assert "The external agent opencode is not added." in refused.err
    assert "journeyman agents add opencode opencode acp" in refused.err


def test_a_request_is_approved_from_another_terminal(terminal: Terminal) -> None:
    assert terminal("agents", "add", "box", sys.executable, str(AGENT)).code == 0
    process = terminal.start("run", "ask", "--agent", "box", "--mode", "ask", "--json")
    request = json.loads(read_until(process, "permission_requested")[-1])["request"]["id"]
    assert terminal("approve", request).code == 0
    assert wait_for_exit(process).code == 0
    assert (terminal.folder / "new.txt").read_text("utf-8") == "hello\n"


def test_an_approval_after_the_timeout_takes_effect_on_resume(terminal: Terminal) -> None:
    assert terminal("agents", "add", "box", sys.executable, str(AGENT)).code == 0
    waiting = terminal("run", "ask", "--agent", "box", "--mode", "ask", "--answer-timeout", "0.5s", "--json")
    assert waiting.code == 3
    (request,) = [line["request"]["id"] for line in waiting.lines if line["kind"] == "permission_requested"]
    assert terminal("approve", request).code == 0
    resumed = terminal("resume", terminal.session(), "--json")
    assert resumed.code == 0 and "permission_requested" not in resumed.kinds(), resumed.kinds()
    assert (terminal.folder / "new.txt").read_text("utf-8") == "hello\n"
