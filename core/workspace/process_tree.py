"""Measuring and killing a process with its descendants. Without /proc, most functions have no effect."""

import json
import os
import select
import signal
import sys
from pathlib import Path

_PROC = Path("/proc")
GONE_S = 5.0


def descendants(pid: int) -> list[int]:
    """Return the pids of all descendants, children first."""
    found: list[int] = []
    near = [pid]
    while near:
        below: list[int] = []
        for one in near:
            try:
                places = list((_PROC / str(one) / "task").glob("*/children"))
                below += [int(child) for place in places for child in place.read_text().split()]
            except OSError:
                continue  # it has ended meanwhile
        near = below
        found += below
    return found


def measure_usage(pid: int) -> tuple[int, int]:
    """Return the number of descendants and the memory in bytes that they use without sharing it."""
    processes, memory = 0, 0
    for one in descendants(pid):
        try:
            text = (_PROC / str(one) / "status").read_text(errors="replace")
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
    """Kill all descendants of a process, which adopts orphans, then the process itself."""
    if sys.platform == "linux":
        for _ in range(20):
            found = [one for one in descendants(pid) if not _ended(one)]
            if not found:
                break
            for one in found:
                kill_process(one)
    kill_process(pid)


def kill_process(pid: int) -> None:
    """Kill one process, if it still exists."""
    try:
        os.kill(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


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
    bare: set[int] = set()
    for _ in range(10):  # a process that is just being forked is found in the next pass
        shown = {int(place.name): _environment(place) for place in _PROC.iterdir() if place.name.isdigit()}
        found = [pid for pid, environment in shown.items() if environment and needle in environment]
        for pid in found:
            kill_process(pid)
        before, bare = bare, {pid for pid, environment in shown.items() if environment == b""}
        if not found and bare <= before:
            return


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
    found = [
        int(place.name)
        for place in _PROC.iterdir()
        if place.name.isdigit() and _is_left(place) and needle in (_environment(place) or b"")
    ]
    for pid in found:
        kill_process(pid)
    return found


def _is_left(process: Path) -> bool:
    try:
        name, _, rest = (process / "stat").read_text(errors="replace").rpartition(")")
        parent = _PROC / rest.split()[1]
        return name.endswith("(bwrap") and (parent.name == "1" or (parent / "comm").read_text().strip() == "systemd")
    except OSError:
        return False
