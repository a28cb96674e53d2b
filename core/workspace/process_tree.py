"""Measuring and killing a process with its descendants. Without /proc, most functions have no effect."""

import contextlib
import json
import os
import select
import signal
import sys
import time
from pathlib import Path

_PROC = Path("/proc")
GONE_S = 5.0
QUIET_LOOKS = 20  # looks in a row that find no living process, after which a tree counts as dead


def descendants(pid: int) -> list[int]:
    """Return the pids of all descendants, children first."""
    pids: list[int] = []
    parents = [pid]
    while parents:
        parents = [child for parent in parents for child in _children(parent)]
        pids += parents
    return pids


def measure_usage(pid: int) -> tuple[int, int]:
    """Return the number of descendants and the memory in bytes that they use without sharing it."""
    processes, memory = 0, 0
    for descendant in descendants(pid):
        try:
            text = (_PROC / str(descendant) / "status").read_text(errors="replace")
        except OSError:
            continue
        processes += 1
        for line in text.splitlines():
            if line.startswith(("RssAnon:", "RssShmem:")):
                memory += int(line.split()[1]) << 10
    return processes, memory


def await_namespace(info: int) -> None:
    """Wait until the first process of a PID namespace has ended. All other processes in the namespace end before it.

    bubblewrap itself ends a moment earlier, so waiting for bubblewrap is not enough.
    """
    with os.fdopen(info, "rb") as file:
        try:
            first = os.pidfd_open(json.loads(file.read(4096))["child-pid"])
        except (OSError, ValueError, KeyError, TypeError):
            return  # it has ended or was never started
    try:
        select.select([first], [], [], GONE_S)
    finally:
        os.close(first)


def kill_tree(pid: int) -> None:
    """Kill all descendants of a process, which adopts orphans, then the process itself.

    A process can fork and end while its parent is looked at, so that its child is missed. Therefore the tree counts as
    dead only after several looks.
    """
    if sys.platform == "linux":
        quiet_looks = 0
        end = time.monotonic() + GONE_S
        while quiet_looks < QUIET_LOOKS and time.monotonic() < end and not _ended(pid):
            quiet_looks = 0 if _kill_below(pid) else quiet_looks + 1
    kill_process(pid)


def _kill_below(pid: int) -> bool:
    """Kill the descendants that are found, and return whether one was living.

    Each is stopped at once, so that it cannot fork; the newest come first, as they may be about to.
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
    """Kill one process, if it still exists."""
    _send(pid, signal.SIGKILL)


def kill_group(pid: int) -> None:
    """Kill every process of a group, if it still exists."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def kill_marked(needle: bytes) -> None:
    """Kill processes that left the group: all with this marker in their environment.

    During exec a process shows an empty environment, so such processes are checked once more.
    """
    if sys.platform != "linux":
        return
    empty: set[int] = set()
    for _ in range(10):  # a process that is just being forked is found in the next pass
        processes = [process for process in _PROC.iterdir() if process.name.isdigit()]
        environments = {int(process.name): _environment(process) for process in processes}
        marked = [pid for pid, environment in environments.items() if environment and needle in environment]
        for pid in marked:
            kill_process(pid)
        before, empty = empty, {pid for pid, environment in environments.items() if environment == b""}
        if not marked and empty <= before:
            return


def _send(pid: int, sign: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, sign)


def _children(pid: int) -> list[int]:
    children: list[int] = []
    with contextlib.suppress(OSError):  # it has ended meanwhile
        for task in (_PROC / str(pid) / "task").iterdir():
            children += map(int, (task / "children").read_bytes().split())
    return children


def _ended(pid: int) -> bool:
    try:
        return (_PROC / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def _environment(process: Path) -> bytes | None:
    """Return the initial environment of a process of this user; None for other users and ended processes."""
    try:
        return (process / "environ").read_bytes() if process.stat().st_uid == os.getuid() else None
    except OSError:
        return None


def kill_orphans(needle: bytes) -> list[int]:
    """Kill half-started bubblewrap processes that a killed Journeyman left behind; return their pids.

    If bubblewrap is killed while it sets up its namespace, its child waits forever. It has run nothing yet, and its
    parent is the first process or systemd.
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
    """Return the beginning of a file of a process. Fast, because a start reads those of all processes."""
    file = os.open(f"{_PROC}/{pid}/{name}", os.O_RDONLY)
    try:
        return os.read(file, 4096)
    finally:
        os.close(file)
