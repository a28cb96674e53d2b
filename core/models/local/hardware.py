"""The memory and the processor cores of this computer."""

import ctypes
import os
import re
import sys
from pathlib import Path


class _MemoryStatus(ctypes.Structure):
    """MEMORYSTATUSEX of the Windows API."""

    _fields_ = (
        ("length", ctypes.c_ulong),
        ("load", ctypes.c_ulong),
        *((name, ctypes.c_ulonglong) for name in ("total", "available", "a", "b", "c", "d", "e")),
    )


def available_memory() -> int:
    """Return the memory in bytes that programs can still use. On macOS, where it is unknown, return all memory."""
    if sys.platform == "win32":
        return int(_windows_memory().available)
    if sys.platform == "linux":
        match = re.search(r"^MemAvailable:\s*(\d+) kB", Path("/proc/meminfo").read_text("ascii"), re.MULTILINE)
        if match:
            return int(match[1]) << 10
    return total_memory()


def total_memory() -> int:
    """Return the memory of this computer in bytes."""
    if sys.platform == "win32":
        return int(_windows_memory().total)
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def physical_cores() -> int:
    """Return the number of physical processor cores that this process may use; outside Linux, of logical ones."""
    if sys.platform != "linux":
        return os.cpu_count() or 1
    cores = set()
    for cpu in os.sched_getaffinity(0):
        siblings = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
        cores.add(siblings.read_text("ascii") if siblings.exists() else str(cpu))
    return len(cores)


def _windows_memory() -> _MemoryStatus:
    status = _MemoryStatus(length=ctypes.sizeof(_MemoryStatus))
    if sys.platform == "win32":
        ctypes.windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status))
    return status
