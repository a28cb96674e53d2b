"""Measures and kills processes with their descendants. Most functions have no effect on systems without /proc."""

import contextlib
import json
import os
import select
import signal
import sys
import time
from pathlib import Path
from typing import NamedTuple

_PROC = Path("/proc")
GONE_S = 5.0
QUIET_LOOKS = 20  # consecutive scans without a living process before a tree counts as dead


class ProcessUsage(NamedTuple):
    """What the descendants of a process use.

    Attributes:
        processes: their number.
        memory: their private and shared memory in bytes, without mapped files.
    """

    processes: int
    memory: int


def descendants(pid: int) -> list[int]:
    """Return the pids of all descendants, level by level from the children down."""
    pids: list[int] = []
    parents = [pid]
    while parents:
        parents = [child for parent in parents for child in _children(parent)]
        pids += parents
    return pids


def measure_usage(pid: int) -> ProcessUsage:
    processes = memory = 0
    for descendant in descendants(pid):
        try:
            text = (_PROC / str(descendant) / "status").read_text(errors="replace")
        except OSError:
            continue
        processes += 1
        for line in text.splitlines():
            if line.startswith(("RssAnon:", "RssShmem:")):
                memory += int(line.split()[1]) << 10
    return ProcessUsage(processes, memory)


def await_namespace(info_fd: int) -> None:
    """Wait until the first process of a PID namespace has ended, which ends after all others in the namespace.

    `info_fd` is the pipe on which bubblewrap wrote the pid of that process; it is closed. bubblewrap itself ends a
    moment earlier.
    """
    with os.fdopen(info_fd, "rb") as file:
        try:
            first = os.pidfd_open(json.loads(file.read(4096))["child-pid"])
        except (OSError, ValueError, KeyError, TypeError):
            return  # the process has already ended, or never started
    try:
        select.select([first], [], [], GONE_S)
    finally:
        os.close(first)


def kill_tree(pid: int) -> None:
    """Kill all descendants of a subreaper, and then the process itself.

    A scan can miss a child whose parent forks and ends meanwhile, so the tree counts as dead only after several scans.
    """
    if sys.platform == "linux":
        quiet_looks = 0
        deadline = time.monotonic() + GONE_S
        while quiet_looks < QUIET_LOOKS and time.monotonic() < deadline and not _ended(pid):
            quiet_looks = 0 if _kill_below(pid) else quiet_looks + 1
    kill_process(pid)


def _kill_below(pid: int) -> bool:
    """Kill the descendants found in one scan; return whether any was alive.

    Each is stopped as soon as it is found, so that it cannot fork; the newest come first, because they are most likely
    to fork.
    """
    living: list[int] = []
    parents = [pid]
    while parents:
        for child in reversed(_children(parents.pop())):
            _send(child, signal.SIGSTOP)
            if not _ended(child):
                living.append(child)
                parents.append(child)
    for child in living:
        kill_process(child)
    return bool(living)


def kill_process(pid: int) -> None:
    """Kill one process; do nothing if it has ended."""
    _send(pid, signal.SIGKILL)


def kill_group(pid: int) -> None:
    """Kill every process of a process group; do nothing if it is empty."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def kill_marked(needle: bytes) -> None:
    """Kill all processes with this text in their environment, such as ones that left the process group.

    During exec a process shows an empty environment, so empty ones are checked once more.
    """
    if sys.platform != "linux":
        return
    empty_before: set[int] = set()
    for _ in range(10):  # repeated, to find processes that were being forked in the previous pass
        processes = [process for process in _PROC.iterdir() if process.name.isdigit()]
        environments = {int(process.name): _environment(process) for process in processes}
        marked = [pid for pid, environment in environments.items() if environment and needle in environment]
        for pid in marked:
            kill_process(pid)
        empty = {pid for pid, environment in environments.items() if environment == b""}
        if not marked and empty <= empty_before:
            return
        empty_before = empty


def _send(pid: int, signal_number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal_number)


def _children(pid: int) -> list[int]:
    children: list[int] = []
    with contextlib.suppress(OSError):  # the process has ended
        for task in (_PROC / str(pid) / "task").iterdir():
            children += map(int, (task / "children").read_bytes().split())
    return children


def _ended(pid: int) -> bool:
    """Return whether a process is gone or a zombie."""
    try:
        _, _, fields = (_PROC / str(pid) / "stat").read_text(errors="replace").rpartition(")")
    except OSError:
        return True
    return fields.split()[0] == "Z"


def _environment(process: Path) -> bytes | None:
    """Return the initial environment of a process of this user; None for other users' and ended processes."""
    try:
        return (process / "environ").read_bytes() if process.stat().st_uid == os.getuid() else None
    except OSError:
        return None


def kill_orphans(needle: bytes) -> list[int]:
    """Kill half-started bubblewrap processes, left behind by a killed Journeyman, and return their pids.

    If bubblewrap is killed while it sets up its namespace, its child waits forever, as a child of init or systemd, and
    has not run the command. `needle` must occur in its environment.
    """
    if sys.platform != "linux":
        return []
    names = [entry.name for entry in os.scandir(_PROC) if entry.name.isdigit()]
    orphans = [
        int(name) for name in names if _is_orphaned_bubblewrap(name) and needle in (_environment(_PROC / name) or b"")
    ]
    for pid in orphans:
        kill_process(pid)
    return orphans


def _is_orphaned_bubblewrap(pid: str) -> bool:
    try:
        name, _, fields = _read_proc(pid, "stat").rpartition(b")")
        parent = fields.split()[1].decode()
        return name.endswith(b"(bwrap") and (parent == "1" or _read_proc(parent, "comm").strip() == b"systemd")
    except (OSError, IndexError):
        return False


def _read_proc(pid: str, name: str) -> bytes:
    """Return the first 4096 bytes of a file in /proc/PID; without pathlib, because startup reads all processes."""
    file = os.open(f"{_PROC}/{pid}/{name}", os.O_RDONLY)
    try:
        return os.read(file, 4096)
    finally:
        os.close(file)
