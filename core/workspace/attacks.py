"""A script for the self-test of the sandbox: tries fourteen escapes and prints those that succeeded."""

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

_CLONE_NEWUSER = 0x10000000
FEW_PIDS = 64
CREATED_FILE = "created"  # the name of a file that an attack creates outside
_SYS_CLONE = {"x86_64": 56, "aarch64": 220}


@dataclass(frozen=True)
class Target:
    """The targets of the attacks, which the self-test prepares outside the sandbox.

    Attributes:
        outside: a folder that the sandbox hides, with a file `canary` that contains the canary, and a `socket`.
        folder: the working folder, with a `.env` file that contains the canary, and a git repository.
        canary: a random text; an attack that reads it has escaped.
        port: a TCP port on which the self-test listens.
        pid: a process outside the sandbox.
        terminal: the path of the terminal that the process `pid` uses.
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
    Path(target.outside, CREATED_FILE).write_text("escaped")
    return True


def connect(target: Target) -> bool:
    with socket.create_connection(("127.0.0.1", target.port), 2):
        return True


def unix_socket(target: Target) -> bool:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(f"{target.outside}/socket")
        return True


def environment(target: Target) -> bool:
    """Find the canary in the environment of any visible process, or a forbidden variable in that of the launcher."""
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
    """Limit, deprioritize or kill a process outside the sandbox."""
    import resource

    pid = target.pid
    if pid <= FEW_PIDS:  # In a PID namespace, a low number is that of a process in the sandbox itself.
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
    """Change the permissions or the times of a file outside the sandbox."""
    canary = Path(target.outside, "canary")
    return _any_works(lambda: canary.chmod(0o777), lambda: os.utime(canary, (0, 0)))


def terminal(target: Target) -> bool:
    """Open the terminal of a process outside, which would allow reading its input and forging its output."""
    os.close(os.open(target.terminal, os.O_RDWR | os.O_NOCTTY))
    return True


def names(target: Target) -> bool:
    return Path(target.outside, "canary").stat().st_size > 0


def secret(target: Target) -> bool:
    return target.canary in Path(target.folder, ".env").read_text()


def namespace(target: Target) -> bool:
    """Create a user namespace: root in a new namespace reaches kernel code with a history of vulnerabilities."""
    del target
    for attempt in (lambda: libc.unshare(_CLONE_NEWUSER), _clone):
        child = os.fork()
        if child == 0:
            os._exit(0 if attempt() >= 0 else 1)
        if os.waitpid(child, 0)[1] == 0:
            return True
    return False


def _clone() -> int:
    unset = ctypes.c_long(0)
    number = ctypes.c_long(_SYS_CLONE[os.uname().machine])
    pid = int(libc.syscall(number, ctypes.c_long(_CLONE_NEWUSER | signal.SIGCHLD), unset, unset, unset, unset))
    if pid == 0:
        os._exit(0)
    return pid


def kernel(target: Target) -> bool:
    """Open kernel settings for writing, as root can without any capability. `core_pattern` names a program to run."""
    del target
    for path in ("/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger"):
        try:
            os.close(os.open(path, os.O_WRONLY))
        except OSError:
            continue
        return True
    return False


def protected(target: Target) -> bool:
    """Write a git hook, or move the git folder away so that another one can take its place."""
    git = Path(target.folder, ".git")
    hook = git / "hooks" / "pre-commit"
    return _any_works(lambda: hook.write_text("escaped"), lambda: git.rename(git.with_name("old")))


def daemon(target: Target) -> bool:
    """Leave a background process behind; always return False.

    The self-test outside checks the lock on the file `lock` to find out whether that process survives.
    """
    import fcntl

    if os.fork() == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        null = os.open("/dev/null", os.O_RDWR)
        for descriptor in range(3):  # otherwise readers of this script's output would wait for the daemon
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
    """Run all attacks and print the names of the successful ones, as one line of JSON."""
    succeeded = []
    for attack in ALL_ATTACKS:
        try:
            if attack(target):
                succeeded.append(attack.__name__)
        except (OSError, KeyError):  # prevented by the sandbox, or impossible on this machine
            continue
    os.write(1, f"{json.dumps(succeeded)}\n".encode())


if __name__ == "__main__":
    main(Target(**json.loads(sys.argv[1])))
