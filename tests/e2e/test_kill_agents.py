"""`kill -9` of the real program while an external agent works: `resume` continues, and nothing happens twice."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.process.exit_codes import DONE, WAITING
from core.store.partial_reply import FOLDER
from tests.e2e.killed_run import program_command, program_environment
from tests.e2e.terminal import Terminal, wait_until

AGENT = Path(__file__).parents[1] / "servers" / "acp_agent.py"


@pytest.fixture(autouse=True)
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the scripted agent load its sessions after a restart."""
    (folder := tmp_path / "memory").mkdir()
    monkeypatch.setenv("ACP_MEMORY", str(folder))


def kill_during(
    terminal: Terminal, task: str, *kinds: str, before_kill: Callable[[dict[str, Any]], object] = lambda line: None
) -> dict[str, Any]:
    """Start the scripted agent with a task; kill Journeyman once it has printed events of these kinds, in this order.

    `before_kill` is called with the last of these events, which is also returned.
    """
    words = ("run", task, "--agent", f"{sys.executable} {AGENT}", "--mode", "ask", "--json")
    event: dict[str, Any] = {}
    with subprocess.Popen(
        program_command(*words),
        cwd=terminal.folder,
        env=program_environment(terminal.home),
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            events = map(json.loads, process.stdout)
            for kind in kinds:
                event = next(each for each in events if each["kind"] == kind)
            before_kill(event)
        finally:
            process.kill()
    return event


def partial_replies(terminal: Terminal) -> str:
    return "".join(file.read_text("utf-8") for file in (terminal.home / FOLDER).glob("*"))


def test_the_part_of_a_reply_that_had_arrived_is_kept(terminal: Terminal) -> None:
    def saved(_event: dict[str, Any]) -> None:
        assert wait_until(lambda: partial_replies(terminal) == "Slowly. ")

    session = kill_during(terminal, "slow", "request_sent", before_kill=saved)["session"]
    kept = terminal("show", session, "--json")
    assert kept.kinds()[-2:] == ["reply_interrupted", "run_interrupted"] and kept.lines[-2]["text"] == "Slowly. "
    assert terminal("resume", session, "--json").code == DONE
    after = terminal("show", session, "--json")
    assert after.kinds().count("reply_interrupted") == 1 and partial_replies(terminal) == ""
    assert "Continue with the task" in after.lines[-2]["text"], after.lines[-2]


def test_a_recorded_reply_is_not_repeated_as_an_interrupted_one(terminal: Terminal) -> None:
    """The agent has replied, its call has ended, and its next reply has not begun."""
    session = kill_during(terminal, "mute", "request_sent", "replied", "tool_returned", "request_sent")["session"]
    kept = terminal("show", session, "--json")
    assert [line["text"] for line in kept.lines if line["kind"] == "replied"] == ["I look first."]
    assert "reply_interrupted" not in kept.kinds(), kept.lines[-2]
    assert terminal("resume", session, "--json").code == DONE


@pytest.mark.parametrize(("task", "file", "text"), [("ask", "new.txt", "hello\n"), ("started", "appended", "x")])
def test_a_request_that_waited_is_approved_after_the_kill_and_takes_effect_once(
    terminal: Terminal, task: str, file: str, text: str
) -> None:
    """Some agents report a call as started before they ask for permission."""
    line = kill_during(terminal, task, "permission_requested")
    assert terminal("approve", line["request"]["id"]).code == 0 and not (terminal.folder / file).exists()
    resumed = terminal("resume", line["session"], "--json")
    assert resumed.code == DONE and "permission_requested" not in resumed.kinds(), resumed.err
    assert resumed.kinds().count("file_changed") == 1
    assert (terminal.folder / file).read_text("utf-8") == text


def test_a_call_whose_approval_the_agent_has_received_may_have_run(terminal: Terminal) -> None:
    """It is not run again unless the user says so."""

    def approve(line: dict[str, Any]) -> None:
        assert terminal("approve", line["request"]["id"]).code == 0
        assert wait_until(lambda: (terminal.folder / "appended").exists())

    (terminal.folder / "hang").touch()
    session = kill_during(terminal, "started", "permission_requested", before_kill=approve)["session"]
    asked = terminal("resume", session)
    assert asked.code == WAITING and "append may have run" in asked.err
    assert terminal("resume", session, "--skip", "--json").code == DONE
    assert (terminal.folder / "appended").read_text("utf-8") == "x"
