"""Tries fourteen ways to escape from the sandbox it is run in, as a script of its own, and prints those that worked."""

import ctypes
import json
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path

_NEW_USER = 0x10000000
FEW_PIDS = 64
_CLONE = {"x86_64": 56, "aarch64": 220}
libc = ctypes.CDLL(None if os.name == "posix" else "msvcrt", use_errno=True)


def read_outside(order: dict[str, str]) -> bool:
    return order["canary"] in Path(order["outside"], "canary").read_text()


def write_outside(order: dict[str, str]) -> bool:
    Path(order["outside"], "mine").write_text("mine")
    return True


def connect(order: dict[str, str]) -> bool:
    with socket.create_connection(("127.0.0.1", int(order["port"])), 2):
        return True


def unix_socket(order: dict[str, str]) -> bool:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(f"{order['outside']}/socket")
        return True


def environment(order: dict[str, str]) -> bool:
    """Read the environment of any visible process, also of the first one, which is the launcher itself."""
    for file in Path("/proc").glob("[0-9]*/environ"):
        try:
            body = file.read_bytes()
        except OSError:
            continue
        names = {line.split(b"=")[0].decode(errors="replace") for line in body.split(b"\0") if line}
        if order["canary"].encode() in body or (file.parent.name == "1" and names - set(order["names"].split())):
            return True
    return False


def other_process(order: dict[str, str]) -> bool:
    """Change the limits and the priority of another program, or end it."""
    import resource

    pid = int(order["pid"])
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


def metadata(order: dict[str, str]) -> bool:
    """Change the permissions or the times of a file outside."""
    canary = Path(order["outside"], "canary")
    return _any_works(lambda: canary.chmod(0o777), lambda: os.utime(canary, (0, 0)))


def terminal(order: dict[str, str]) -> bool:
    """Open the terminal of another program: what is typed there can be read, and what is shown can be forged."""
    os.close(os.open(order["terminal"], os.O_RDWR | os.O_NOCTTY))
    return True


def names(order: dict[str, str]) -> bool:
    return Path(order["outside"], "canary").stat().st_size > 0


def secret(order: dict[str, str]) -> bool:
    return order["canary"] in Path(order["folder"], ".env").read_text()


def namespace(order: dict[str, str]) -> bool:
    """Create a user namespace: root inside it reaches parts of the kernel with many vulnerabilities."""
    del order
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


def kernel(order: dict[str, str]) -> bool:
    """Open kernel settings for writing. Root owns them and needs no capability; one of them names a program to run."""
    del order
    for path in ("/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger"):
        try:
            os.close(os.open(path, os.O_WRONLY))
        except OSError:
            continue
        return True
    return False


def protected(order: dict[str, str]) -> bool:
    """Write a git hook directly, or move the git folder away so that it can be replaced."""
    git = Path(order["folder"], ".git")
    return _any_works(lambda: (git / "hooks" / "mine").write_text("mine"), lambda: git.rename(git.with_name("old")))


def daemon(order: dict[str, str]) -> bool:
    """Leave a process behind. The parent detects from outside, by the lock it holds, whether it survives."""
    import fcntl

    if os.fork() == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        null = os.open("/dev/null", os.O_RDWR)
        for descriptor in range(3):  # so that nobody who reads our output waits for this process
            os.dup2(null, descriptor)
        with Path(order["folder"], "lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            Path(order["folder"], "locked").touch()
            signal.alarm(10)
            signal.pause()
    deadline = time.monotonic() + 5
    while not Path(order["folder"], "locked").exists() and time.monotonic() < deadline:
        os.sched_yield()
    return False


ALL_ATTACKS: tuple[Callable[[dict[str, str]], bool], ...] = (
    *(read_outside, write_outside, connect, unix_socket, environment, other_process, metadata, terminal, names, secret),
    *(namespace, kernel, protected, daemon),
)


def main(order: dict[str, str]) -> None:
    """Print the names of the attacks that worked, as one line of JSON."""
    succeeded = []
    for attack in ALL_ATTACKS:
        try:
            if attack(order):
                succeeded.append(attack.__name__)
        except OSError:
            continue
    os.write(1, f"{json.dumps(succeeded)}\n".encode())


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
