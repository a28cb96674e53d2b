"""Two processes on one home: the second works through the first, and neither harms the other."""

import json
import shutil
import signal
import socket
import stat
from pathlib import Path

import pytest

from app import places
from tests.e2e.forked import Forked
from tests.e2e.terminal import BOUND_S, Terminal, ended, eventually, until
from tests.e2e.test_command_line import ASK, SAY, SLEEP

WAIT_FOR = {"name": "run", "arguments": {"command": "while [ ! -e go ]; do sleep 0.02; done"}}
SIGNS = pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])


def owner(terminal: Terminal) -> tuple[str, Forked]:
    """A process that owns the home and runs until the file `go` is there: its session, and itself."""
    terminal.script({"text": "I wait.", "calls": [WAIT_FOR]}, {"text": "Done."}, name="wait.json")
    process = terminal.start("run", "Wait.", "--script", "wait.json", "--mode", "trust", "--json")
    read = until(process, "call_started")
    return json.loads(read[0])["session"], process


def test_k1_the_second_works_through_the_first(terminal: Terminal) -> None:
    session, first = owner(terminal)
    path = places.socket(terminal.home)
    assert stat.S_ISSOCK(path.stat().st_mode) and path.stat().st_mode & 0o777 == 0o600
    assert [row["status"] for row in terminal("sessions", "--json").lines] == ["running"]
    terminal.script(ASK, SAY)
    waiting = terminal.run("--json")
    assert waiting.code == 3 and waiting.kinds()[-1] == "question_asked"
    asked = waiting.lines[-1]["question"]["id"]
    answered = terminal("answer", asked, "--option", "1")
    assert (answered.code, answered.out) == (0, "Answered. The run goes on.\n")
    assert eventually(lambda: terminal("sessions", "--json").lines[0]["status"] == "done")
    wrong = terminal("show", "none")
    assert wrong.code == 1 and wrong.err.startswith("what: There is no session")
    assert terminal("stop", session).out == "Stopped.\n"
    done = ended(first)
    assert done.code == 130 and done.lines[-1]["status"] == "stopped"
    assert not path.exists()


@SIGNS
def test_a_stopped_client_stops_its_run_only(terminal: Terminal, sign: int) -> None:
    _, first = owner(terminal)
    terminal.script(SLEEP)
    client = terminal.start("run", "Go.", "--script", "script.json", "--mode", "trust", "--json")
    until(client, "call_started")
    done = ended(client, sign)
    assert done.code == 130 and done.lines[-1]["status"] == "stopped"
    assert sorted(row["status"] for row in terminal("sessions", "--json").lines) == ["running", "stopped"]
    (terminal.folder / "go").touch()
    assert ended(first).code == 0


def test_a_client_that_vanishes_stops_its_run(terminal: Terminal) -> None:
    _, first = owner(terminal)
    terminal.script(SLEEP)
    client = terminal.start("run", "Go.", "--script", "script.json", "--mode", "trust", "--json")
    until(client, "call_started")
    client.kill()
    statuses = ["running", "stopped"]
    assert eventually(lambda: sorted(row["status"] for row in terminal("sessions", "--json").lines) == statuses)
    (terminal.folder / "go").touch()
    done = ended(first)
    assert (done.code, done.err) == (0, "")


def test_an_owner_waits_for_its_clients(terminal: Terminal) -> None:
    """Two runs side by side: the end of the first is no end of the second."""
    _, first = owner(terminal)
    later = {"name": "run", "arguments": {"command": "while [ ! -e later ]; do sleep 0.02; done"}}
    terminal.script({"calls": [later]}, {"text": "Done too."})
    client = terminal.start("run", "Go.", "--script", "script.json", "--mode", "trust", "--json")
    until(client, "call_started")
    (terminal.folder / "go").touch()
    until(first, '"status":"completed"')
    assert len(terminal("sessions", "--json").lines) == 2
    (terminal.folder / "later").touch()
    done = ended(client)
    assert done.code == 0 and done.lines[-1]["status"] == "completed"
    assert ended(first).code == 0


@SIGNS
def test_an_owner_that_must_end_interrupts_its_clients(terminal: Terminal, sign: int) -> None:
    _, first = owner(terminal)
    terminal.script(SLEEP)
    client = terminal.start("run", "Go.", "--script", "script.json", "--mode", "trust", "--json")
    until(client, "call_started")
    assert ended(first, sign).code == 130
    done = ended(client)
    assert done.code == 3 and done.kinds()[-1] == "run_interrupted"
    assert sorted(row["status"] for row in terminal("sessions", "--json").lines) == ["interrupted", "stopped"]


def test_k2_an_owner_that_was_killed(terminal: Terminal) -> None:
    session, first = owner(terminal)
    terminal.script(SLEEP)
    client = terminal.start("run", "Go.", "--script", "script.json", "--mode", "trust")
    until(client, "Session")
    ended(first, signal.SIGKILL)
    done = ended(client)
    assert done.code == 1 and "went away" in done.err
    assert places.socket(terminal.home).exists()
    assert {row["status"] for row in terminal("sessions", "--json").lines} == {"interrupted"}
    asked = terminal("resume", session)
    assert asked.code == 3 and "may have run" in asked.err and "--skip" in asked.err
    assert terminal("resume", session, "--skip").code == 0
    assert not places.socket(terminal.home).exists()


GARBAGE = [
    b"",
    b"\n",
    b"garbage\n",
    b"[]\n",
    b"{}\n",
    b'{"typed": 3, "folder": "/"}\n',
    b'{"typed": [3], "folder": "/"}\n',
    b"\xff\xfe\n",
    b"[" * 100_000 + b"\n",
    b'{"typed": [], "folder": "/"}\n',
    b'{"typed": ["--help"], "folder": "/"}\n',
    b'{"typed": ["screenshots", "x"], "folder": "/"}\n',
    b"x" * 200_000,
]


def test_garbage_to_the_socket(terminal: Terminal) -> None:
    _, first = owner(terminal)
    idle = socket.socket(socket.AF_UNIX)
    with idle:
        idle.connect(str(places.socket(terminal.home)))  # says nothing, for ever
        for garbage in GARBAGE:
            with socket.socket(socket.AF_UNIX) as client:
                client.settimeout(BOUND_S)
                client.connect(str(places.socket(terminal.home)))
                client.sendall(garbage)
                client.shutdown(socket.SHUT_WR)
                while client.recv(65_536):
                    continue
        assert terminal("sessions").code == 0
        (terminal.folder / "go").touch()
        done = ended(first)
    assert done.code == 0 and "rror" not in done.err


def test_a_home_too_long_for_a_socket(terminal: Terminal) -> None:
    terminal.home = terminal.home.parent / ("long" * 40)
    _, first = owner(terminal)
    path = places.socket(terminal.home)
    assert path.parent != terminal.home and path.stat().st_mode & 0o777 == 0o600
    assert len(terminal("sessions", "--json").lines) == 1
    (terminal.folder / "go").touch()
    assert ended(first).code == 0 and not path.exists()


def test_many_at_once_are_one_after_the_other(terminal: Terminal, tmp_path: Path) -> None:
    terminal.script({"text": "x"})
    started = [terminal.start("run", f"{n}", "--script", "script.json", "--json") for n in range(6)]
    for process in started:
        done = ended(process)
        assert done.code == 0 and done.kinds()[-1] == "run_ended"
    assert len(terminal("sessions", "--json").lines) == 6
    shutil.rmtree(terminal.home)
