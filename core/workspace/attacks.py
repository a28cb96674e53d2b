"""Tries fourteen ways to escape from the sandbox it is run in, as a script of its own, and prints those that worked."""

import ctypes
import json
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

_NEW_USER = 0x10000000
FEW_PIDS = 64
_CLONE = {"x86_64": 56, "aarch64": 220}


@dataclass(frozen=True)
class Target:
    """What the attacks aim at. The test prepares it outside the sandbox.

    Attributes:
        outside: a folder that the sandbox hides, with a file `canary` that contains `canary`, and a `socket`.
        folder: the working folder, with a `.env` file that contains `canary`, and a git repository.
        port: a TCP port on which a server of the test listens.
        pid: a process outside the sandbox.
        terminal: the terminal of that process.
        names: the names of environment variables that commands may have.
    """

    outside: str
    folder: str
    canary: str
    port: int
    pid: int
    terminal: str
    names: Sequence[str]


libc = ctypes.CDLL(None if os.name == "posix" else "msvcrt", use_errno=True)


def read_outside(target: Target) -> bool:
    return target.canary in Path(target.outside, "canary").read_text()


def write_outside(target: Target) -> bool:
    Path(target.outside, "mine").write_text("mine")
    return True


def connect(target: Target) -> bool:
    with socket.create_connection(("127.0.0.1", target.port), 2):
        return True


def unix_socket(target: Target) -> bool:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(f"{target.outside}/socket")
        return True


def environment(target: Target) -> bool:
    """Read the environment of any visible process, also of the first one, which is the launcher itself."""
    for file in Path("/proc").glob("[0-9]*/environ"):
        try:
            body = file.read_bytes()
        except OSError:
            continue
        names = {line.split(b"=")[0].decode(errors="replace") for line in body.split(b"\0") if line}
        if target.canary.encode() in body or (file.parent.name == "1" and names - set(target.names)):
            return True
    return False


def other_process(target: Target) -> bool:
    """Change the limits and the priority of another program, or end it."""
    import resource

    pid = target.pid
    if pid <= FEW_PIDS:  # in a PID namespace the number may be that of a process of ours
        return False
    return _any_works(
        lambda: resource.prlimit(pid, resource.RLIMIT_CPU, (0, 0)),
        lambda: os.setpriority(os.PRIO_PROCESS, pid, 19),
        lambda: os.sched_setaffinity(pid, {0}),
        lambda: os.kill(pid, signal.SIGKILL),
    )


def _any_works(*attempts: Callable[[], object]) -> bool:
    for attempt in attempts:
        try:
            attempt()
        except OSError:
            continue
        return True
    return False


def metadata(target: Target) -> bool:
    """Change the permissions or the times of a file outside."""
    canary = Path(target.outside, "canary")
    return _any_works(lambda: canary.chmod(0o777), lambda: os.utime(canary, (0, 0)))


def terminal(target: Target) -> bool:
    """Open the terminal of another program: what is typed there can be read, and what is shown can be forged."""
    os.close(os.open(target.terminal, os.O_RDWR | os.O_NOCTTY))
    return True


def names(target: Target) -> bool:
    return Path(target.outside, "canary").stat().st_size > 0


def secret(target: Target) -> bool:
    return target.canary in Path(target.folder, ".env").read_text()


def namespace(target: Target) -> bool:
    """Create a user namespace: root inside it reaches parts of the kernel with many vulnerabilities."""
    del target
    for attempt in (lambda: libc.unshare(_NEW_USER), _clone):
        child = os.fork()
        if child == 0:
            os._exit(0 if attempt() >= 0 else 1)
        if os.waitpid(child, 0)[1] == 0:
            return True
    return False


def _clone() -> int:
    unset = ctypes.c_long(0)
    number = ctypes.c_long(_CLONE[os.uname().machine])
    pid = int(libc.syscall(number, ctypes.c_long(_NEW_USER | signal.SIGCHLD), unset, unset, unset, unset))
    if pid == 0:
        os._exit(0)
    return pid


def kernel(target: Target) -> bool:
    """Open kernel settings for writing. Root owns them and needs no capability; one of them names a program to run."""
    del target
    for path in ("/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger"):
        try:
            os.close(os.open(path, os.O_WRONLY))
        except OSError:
            continue
        return True
    return False


def protected(target: Target) -> bool:
    """Write a git hook directly, or move the git folder away so that it can be replaced."""
    git = Path(target.folder, ".git")
    return _any_works(lambda: (git / "hooks" / "mine").write_text("mine"), lambda: git.rename(git.with_name("old")))


def daemon(target: Target) -> bool:
    """Leave a process behind. The parent detects from outside, by the lock it holds, whether it survives."""
    import fcntl

    if os.fork() == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        null = os.open("/dev/null", os.O_RDWR)
        for descriptor in range(3):  # so that nobody who reads our output waits for this process
            os.dup2(null, descriptor)
        with Path(target.folder, "lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            Path(target.folder, "locked").touch()
            signal.alarm(10)
            signal.pause()
    deadline = time.monotonic() + 5
    while not Path(target.folder, "locked").exists() and time.monotonic() < deadline:
        os.sched_yield()
    return False


ALL_ATTACKS: tuple[Callable[[Target], bool], ...] = (
    read_outside,
    write_outside,
    connect,
    unix_socket,
    environment,
    other_process,
    metadata,
    terminal,
    names,
    secret,
    namespace,
    kernel,
    protected,
    daemon,
)


def main(target: Target) -> None:
    """Print the names of the attacks that worked, as one line of JSON."""
    succeeded = []
    for attack in ALL_ATTACKS:
        try:
            if attack(target):
                succeeded.append(attack.__name__)
        except (OSError, KeyError):  # prevented, or not possible on this kind of machine
            continue
    os.write(1, f"{json.dumps(succeeded)}\n".encode())


if __name__ == "__main__":
    main(Target(**json.loads(sys.argv[1])))
