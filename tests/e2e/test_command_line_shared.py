"""Two processes on one data folder: the second works through the first, and neither harms the other."""

import json
import shutil
import signal
import socket
import stat
from pathlib import Path

import pytest

from app.process import data_folder
from tests.e2e.forked_process import ForkedProcess
from tests.e2e.terminal import BOUND_S, Terminal, read_until, wait_for_exit, wait_until
from tests.e2e.test_command_line import ASK, SAY, SLEEP

WAIT_FOR = {"name": "run", "arguments": {"command": "while [ ! -e go ]; do sleep 0.02; done"}}
SIGNS = pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])


def owner(terminal: Terminal) -> tuple[str, ForkedProcess]:
    """Start a process that owns the data folder until a file `go` exists; return its session and the process."""
    terminal.script({"text": "I wait.", "calls": [WAIT_FOR]}, {"text": "Done."}, name="wait.json")
    process = terminal.start("run", "Wait.", "--script", "wait.json", "--mode", "auto", "--json")
    read = read_until(process, "call_started")
    return json.loads(read[0])["session"], process


def test_k1_a_second_command_works_through_the_first(terminal: Terminal) -> None:
    session, first = owner(terminal)
    path = data_folder.socket_path(terminal.home)
    assert stat.S_ISSOCK(path.stat().st_mode) and path.stat().st_mode & 0o777 == 0o600
    assert [row["status"] for row in terminal("sessions", "--json").lines] == ["running"]
    terminal.script(ASK, SAY)
    waiting = terminal.run("--json")
    assert waiting.code == 3 and waiting.kinds()[-1] == "question_asked"
    asked = waiting.lines[-1]["question"]["id"]
    answered = terminal("answer", asked, "--option", "1")
    assert (answered.code, answered.out) == (0, "Answered. The run continues.\n")
    assert wait_until(lambda: terminal("sessions", "--json").lines[0]["status"] == "done")
    wrong = terminal("show", "none")
    assert wrong.code == 1 and wrong.err.startswith("error: There is no session")
    assert terminal("stop", session).out == "Stopped.\n"
    done = wait_for_exit(first)
    assert done.code == 130 and done.lines[-1]["status"] == "stopped"
    assert not path.exists()


@SIGNS
def test_a_stopped_client_stops_only_its_run(terminal: Terminal, sign: int) -> None:
    _, first = owner(terminal)
    terminal.script(SLEEP)
    client = terminal.start("run", "Go.", "--script", "script.json", "--mode", "auto", "--json")
    read_until(client, "call_started")
    done = wait_for_exit(client, sign)
    assert done.code == 130 and done.lines[-1]["status"] == "stopped"
    assert sorted(row["status"] for row in terminal("sessions", "--json").lines) == ["running", "stopped"]
    (terminal.folder / "go").touch()
    assert wait_for_exit(first).code == 0


def test_a_client_that_vanishes_stops_its_run(terminal: Terminal) -> None:
    _, first = owner(terminal)
    terminal.script(SLEEP)
    client = terminal.start("run", "Go.", "--script", "script.json", "--mode", "auto", "--json")
    read_until(client, "call_started")
    client.kill()
    statuses = ["running", "stopped"]
    assert wait_until(lambda: sorted(row["status"] for row in terminal("sessions", "--json").lines) == statuses)
    (terminal.folder / "go").touch()
    done = wait_for_exit(first)
    assert (done.code, done.err) == (0, "")


def test_an_owner_waits_for_its_clients(terminal: Terminal) -> None:
    """The owner ends its own run first, and exits when the other command is done."""
    _, first = owner(terminal)
    later = {"name": "run", "arguments": {"command": "while [ ! -e later ]; do sleep 0.02; done"}}
    terminal.script({"calls": [later]}, {"text": "Done too."})
    client = terminal.start("run", "Go.", "--script", "script.json", "--mode", "auto", "--json")
    read_until(client, "call_started")
    (terminal.folder / "go").touch()
    read_until(first, '"status":"completed"')
    assert len(terminal("sessions", "--json").lines) == 2
    (terminal.folder / "later").touch()
    done = wait_for_exit(client)
    assert done.code == 0 and done.lines[-1]["status"] == "completed"
    assert wait_for_exit(first).code == 0


@SIGNS
def test_an_owner_that_must_exit_interrupts_its_clients(terminal: Terminal, sign: int) -> None:
    _, first = owner(terminal)
    terminal.script(SLEEP)
    client = terminal.start("run", "Go.", "--script", "script.json", "--mode", "auto", "--json")
    read_until(client, "call_started")
    assert wait_for_exit(first, sign).code == 130
    done = wait_for_exit(client)
    assert done.code == 3 and done.kinds()[-1] == "run_interrupted"
    assert sorted(row["status"] for row in terminal("sessions", "--json").lines) == ["interrupted", "stopped"]


def test_k2_a_killed_owner_is_replaced(terminal: Terminal) -> None:
    session, first = owner(terminal)
    terminal.script(SLEEP)
    client = terminal.start("run", "Go.", "--script", "script.json", "--mode", "auto")
    read_until(client, "Session")
    wait_for_exit(first, signal.SIGKILL)
    done = wait_for_exit(client)
    assert done.code == 1 and "went away" in done.err
    assert data_folder.socket_path(terminal.home).exists()
    assert {row["status"] for row in terminal("sessions", "--json").lines} == {"interrupted"}
    asked = terminal("resume", session)
    assert asked.code == 3 and "may have run" in asked.err and "--skip" in asked.err
    assert terminal("resume", session, "--skip").code == 0
    assert not data_folder.socket_path(terminal.home).exists()


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
        idle.connect(str(data_folder.socket_path(terminal.home)))  # never sends anything
        for garbage in GARBAGE:
            with socket.socket(socket.AF_UNIX) as client:
                client.settimeout(BOUND_S)
                client.connect(str(data_folder.socket_path(terminal.home)))
                client.sendall(garbage)
                client.shutdown(socket.SHUT_WR)
                while client.recv(65_536):
                    continue
        assert terminal("sessions").code == 0
        (terminal.folder / "go").touch()
        done = wait_for_exit(first)
    assert done.code == 0 and "rror" not in done.err


def test_a_data_folder_path_too_long_for_a_socket(terminal: Terminal) -> None:
    terminal.home = terminal.home.parent / ("long" * 40)
    _, first = owner(terminal)
    path = data_folder.socket_path(terminal.home)
    assert path.parent != terminal.home and path.stat().st_mode & 0o777 == 0o600
    assert len(terminal("sessions", "--json").lines) == 1
    (terminal.folder / "go").touch()
    assert wait_for_exit(first).code == 0 and not path.exists()


def test_many_concurrent_commands_run_one_after_the_other(terminal: Terminal, tmp_path: Path) -> None:
    terminal.script({"text": "x"})
    started = [terminal.start("run", f"{n}", "--script", "script.json", "--json") for n in range(6)]
    for process in started:
        done = wait_for_exit(process)
        assert done.code == 0 and done.kinds()[-1] == "run_ended"
    assert len(terminal("sessions", "--json").lines) == 6
    shutil.rmtree(terminal.home)
