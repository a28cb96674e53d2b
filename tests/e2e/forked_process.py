"""Starts the program by forking a process that has done the imports, which saves half a second of CPU time per start.

One server process imports the program. For each start it forks a child that becomes the program, with its own
arguments, folder, environment, output, signals and exit code. Tests of kills, faults, windows and editors start the
program from scratch instead, with the command of `killed_run.program_command`.
"""

import atexit
import gc
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
LONGEST = 1 << 18  # bytes of arguments and environment
NUMBER = 8  # bytes
CompletedProgram = subprocess.CompletedProcess[str]


class ForkedProcess:
    """A forked program, with the part of the interface of `subprocess.Popen` that tests use."""

    def __init__(self, words: Sequence[str], folder: Path, environ: dict[str, str]) -> None:
        read, write = zip(*(os.pipe() for _ in range(3)), strict=True)
        request = json.dumps([list(words), str(folder), environ]).encode()
        socket.send_fds(_server(), [request], write)
        for each in write:
            os.close(each)
        self.stdout, self.stderr = (os.fdopen(each, encoding="utf-8") for each in read[:2])
        self._status = read[2]
        self.pid = self._read_number()
        self.returncode: int | None = None

    def poll(self) -> int | None:
        return self.returncode if self.returncode is not None or not self._ready(0) else self.wait()

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            if not self._ready(timeout):
                raise subprocess.TimeoutExpired(str(self.pid), timeout or 0)
            self.returncode = os.waitstatus_to_exitcode(self._read_number())
            os.close(self._status)
        return self.returncode

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Read the remaining output and wait for the exit."""
        with ThreadPoolExecutor(2) as threads, self.stdout, self.stderr:
            reading = [threads.submit(stream.read) for stream in (self.stdout, self.stderr)]
            try:
                out, err = (each.result(timeout) for each in reading)
            except TimeoutError:
                self.kill()
                raise
        self.wait(timeout)
        return out, err

    def kill(self) -> None:
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)

    def close(self) -> None:
        """Kill the process if it still runs, and close its files."""
        self.kill()
        self.wait()
        self.stdout.close()
        self.stderr.close()

    def _ready(self, timeout: float | None) -> bool:
        return bool(select.select([self._status], [], [], timeout)[0])

    def _read_number(self) -> int:
        number = os.read(self._status, NUMBER)
        assert number, "the fork server has exited"
        return int.from_bytes(number, "big")


def run_forked(words: Sequence[str], folder: Path, environ: dict[str, str], bound: float) -> CompletedProgram:
    """Run the program to its end."""
    process = ForkedProcess(words, folder, environ)
    out, err = process.communicate(bound)
    return subprocess.CompletedProcess(words, process.wait(), out, err)


@cache
def _server() -> socket.socket:
    """Start the fork server and return the socket to it; the server exits when the socket is closed."""
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with its:
        words = [sys.executable, "-P", "-m", "tests.e2e.forked_process", str(its.fileno())]
        environ = os.environ | {"PYTHONPATH": str(ROOT)}
        server = subprocess.Popen(words, cwd=ROOT, env=environ, pass_fds=[its.fileno()], stdin=subprocess.DEVNULL)
    atexit.register(server.wait)
    atexit.register(ours.close)  # runs first: atexit handlers run in reverse order
    return ours


def _serve(line: socket.socket) -> None:
    _import_program()
    gc.freeze()  # keep memory pages shared with the children
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # reap the watcher processes automatically
    while True:
        request, files, _, _ = socket.recv_fds(line, LONGEST, 3)
        if not request:
            return
        if not os.fork():
            line.close()
            _watch(json.loads(request), files)
        for each in files:
            os.close(each)


def _import_program() -> None:
    import importlib

    from app.commands.command_table import COMMANDS, command_function
    from core.domain.events import EVENT_CLASSES
    from core.store.codec import type_adapter

    for name in (
        "app.cli.arguments",
        "app.dispatch",
        "app.cli.inputs",
        "app.cli.run_defaults",
        "app.commands.owner_process",
        "app.process.command_server",
        "app.commands.command_runner",
        "app.process.services",
        "zstandard",
        "zoneinfo",
    ):
        importlib.import_module(name)
    for name in COMMANDS:
        command_function(name)
    for kind in EVENT_CLASSES:
        type_adapter(kind)


def _watch(request: tuple[list[str], str, dict[str, str]], files: Sequence[int]) -> None:
    """Fork the program, write its process id, wait for it, and write its exit status."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    out, err, said = files
    process = os.fork()
    if not process:
        os.close(said)
        _become_program(*request, out, err)
    os.close(out)
    os.close(err)
    os.write(said, process.to_bytes(NUMBER, "big"))
    _, status = os.waitpid(process, 0)
    os.write(said, status.to_bytes(NUMBER, "big"))
    os._exit(0)


def _become_program(words: list[str], folder: str, environ: dict[str, str], out: int, err: int) -> None:
    """Become the program."""
    os.dup2(out, 1)
    os.dup2(err, 2)
    os.closerange(3, max(out, err) + 1)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environ)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.argv = ["journeyman", *words]
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(2, "w", 1, "utf-8", "backslashreplace", closefd=False)
    from app.main import main

    sys.exit(main())


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
