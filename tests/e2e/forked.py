"""Programs that begin where their imports end: half a second of the processor for each start, and tests start hundreds.

One process has read the program. For each start it forks what then is the program: its own arguments, folder,
environment, output, signals and exit. A start from nothing is what `killing.program` names: the kills, the faults, the
windows and the editors are begun so.
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
Ended = subprocess.CompletedProcess[str]


class Forked:
    """What tests use of `subprocess.Popen`."""

    def __init__(self, words: Sequence[str], folder: Path, environ: dict[str, str]) -> None:
        read, write = zip(*(os.pipe() for _ in range(3)), strict=True)
        request = json.dumps([list(words), str(folder), environ]).encode()
        socket.send_fds(_server(), [request], write)
        for each in write:
            os.close(each)
        self.stdout, self.stderr = (os.fdopen(each, encoding="utf-8") for each in read[:2])
        self._said = read[2]
        self.pid = self._hear()
        self.returncode: int | None = None

    def poll(self) -> int | None:
        return self.returncode if self.returncode is not None or not self._ready(0) else self.wait()

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            if not self._ready(timeout):
                raise subprocess.TimeoutExpired(str(self.pid), timeout or 0)
            self.returncode = os.waitstatus_to_exitcode(self._hear())
            os.close(self._said)
        return self.returncode

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """All that is still said, and the end."""
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
        """Whatever it does: it has ended, and nothing of it is open."""
        self.kill()
        self.wait()
        self.stdout.close()
        self.stderr.close()

    def _ready(self, timeout: float | None) -> bool:
        return bool(select.select([self._said], [], [], timeout)[0])

    def _hear(self) -> int:
        told = os.read(self._said, NUMBER)
        assert told, "the process that forks programs has ended"
        return int.from_bytes(told, "big")


def finished(words: Sequence[str], folder: Path, environ: dict[str, str], bound: float) -> Ended:
    """A program to its end."""
    process = Forked(words, folder, environ)
    out, err = process.communicate(bound)
    return subprocess.CompletedProcess(words, process.wait(), out, err)


@cache
def _server() -> socket.socket:
    """It ends when nobody is at the other end of its line."""
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with its:
        words = [sys.executable, "-P", "-m", "tests.e2e.forked", str(its.fileno())]
        environ = os.environ | {"PYTHONPATH": str(ROOT)}
        server = subprocess.Popen(words, cwd=ROOT, env=environ, pass_fds=[its.fileno()], stdin=subprocess.DEVNULL)
    atexit.register(server.wait)
    atexit.register(ours.close)  # before it: the last one is the first
    return ours


def _serve(line: socket.socket) -> None:
    _read_the_program()
    gc.freeze()  # what is shared stays so
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # those who watch a program end by themselves
    while True:
        request, files, _, _ = socket.recv_fds(line, LONGEST, 3)
        if not request:
            return
        if not os.fork():
            line.close()
            _watch(json.loads(request), files)
        for each in files:
            os.close(each)


def _read_the_program() -> None:
    import importlib

    from core.domain.events import KINDS
    from core.store.codec import adapter

    for name in ("app.owner", "app.perform", "app.assemble", "app.commands.table", "zstandard", "zoneinfo"):
        importlib.import_module(name)
    for kind in KINDS:
        adapter(kind)


def _watch(request: tuple[list[str], str, dict[str, str]], files: Sequence[int]) -> None:
    """Say the number of the program, then how it ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    out, err, said = files
    process = os.fork()
    if not process:
        os.close(said)
        _be(*request, out, err)
    os.close(out)
    os.close(err)
    os.write(said, process.to_bytes(NUMBER, "big"))
    _, status = os.waitpid(process, 0)
    os.write(said, status.to_bytes(NUMBER, "big"))
    os._exit(0)


def _be(words: list[str], folder: str, environ: dict[str, str], out: int, err: int) -> None:
    """From here on it is the program."""
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
