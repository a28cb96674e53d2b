"""What a process and all that descend from it use, and how they are ended; Linux tells, other systems do not."""

import json
import os
import select
import signal
import sys
from pathlib import Path

_PROC = Path("/proc")
GONE_S = 5.0


def descendants(pid: int) -> list[int]:
    """Every process below this one, near ones first."""
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


def used(pid: int) -> tuple[int, int]:
    """How many processes there are below this one, and the memory of their own that they fill, in bytes."""
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


def await_namespace(told: int) -> None:
    """Until the first process of a namespace is gone, and all others before it. Its launcher ends a moment sooner."""
    with os.fdopen(told, "rb") as file:
        try:
            first = os.pidfd_open(json.loads(file.read(4096))["child-pid"])
        except (OSError, ValueError, KeyError, TypeError):
            return  # it has gone, or never came
    try:
        select.select([first], [], [], GONE_S)
    finally:
        os.close(first)


def end_tree(pid: int) -> None:
    """Kill all below this process, which takes the orphans, then itself."""
    if sys.platform == "linux":
        for _ in range(20):
            found = [one for one in descendants(pid) if not _ended(one)]
            if not found:
                break
            for one in found:
                end(one)
    end(pid)


def end(pid: int) -> None:
    """Kill one process; it may be gone already."""
    try:
        os.kill(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def end_group(pid: int) -> None:
    """Kill every process of the group; the group may be gone already."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def end_marked(needle: bytes) -> None:
    """End what left the group: every process that still carries this mark in its environment.

    While one turns into another program it shows none at all, so who shows none is looked at once more.
    """
    if sys.platform != "linux":
        return
    bare: set[int] = set()
    for _ in range(10):  # one that is just being made is found the next time
        shown = {int(place.name): _environment(place) for place in _PROC.iterdir() if place.name.isdigit()}
        found = [pid for pid, told in shown.items() if told and needle in told]
        for pid in found:
            end(pid)
        before, bare = bare, {pid for pid, told in shown.items() if told == b""}
        if not found and bare <= before:
            return


def _ended(pid: int) -> bool:
    try:
        return (_PROC / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def _environment(process: Path) -> bytes | None:
    """As it was given to a process of ours; None for another's, and for one that is gone."""
    try:
        return (process / "environ").read_bytes() if process.stat().st_uid == os.getuid() else None
    except OSError:
        return None


def end_orphans(needle: bytes) -> list[int]:
    """End what a program that was killed left: a bubblewrap that dies while it sets up its namespace leaves the half
    inside waiting for it for ever. It has run nothing, and nobody but the first process is its parent."""
    if sys.platform != "linux":
        return []
    found = [
        int(place.name)
        for place in _PROC.iterdir()
        if place.name.isdigit() and _is_left(place) and needle in (_environment(place) or b"")
    ]
    for pid in found:
        end(pid)
    return found


def _is_left(process: Path) -> bool:
    try:
        name, _, rest = (process / "stat").read_text(errors="replace").rpartition(")")
        parent = _PROC / rest.split()[1]
        return name.endswith("(bwrap") and (parent.name == "1" or (parent / "comm").read_text().strip() == "systemd")
    except OSError:
        return False
