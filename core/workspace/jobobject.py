"""Run commands on Windows in a job object: limits, and one end for all; no walls around files and network."""

import ctypes
import struct
import subprocess
import sys
from typing import Any

from core.domain.consent import Level
from core.workspace.launch import Asked, Launch, Limits, clean_environment

_ACTIVE, _JOB_MEMORY, _DIE_UNHANDLED, _KILL_ON_CLOSE = 0x8, 0x200, 0x400, 0x2000
_EXTENDED = 9  # JobObjectExtendedLimitInformation


def job_limits(limits: Limits) -> bytes:
    """JOBOBJECT_EXTENDED_LIMIT_INFORMATION of 64 bit. Closing the last handle of the job ends every process in it."""
    flags = _ACTIVE | _JOB_MEMORY | _DIE_UNHANDLED | _KILL_ON_CLOSE
    basic = struct.pack("<qqI4xQQI4xQII", 0, 0, flags, 0, 0, limits.processes, 0, 0, 0)
    return basic + bytes(48) + struct.pack("<QQQQ", 0, limits.memory, 0, 0)


def hold(process: "subprocess.Popen[bytes]", limits: Limits) -> int:
    """Put a process into a job of its own; the handle of the job, to be closed when the command has ended."""
    kernel, held = _kernel(), ctypes.c_void_p(vars(process)["_handle"])
    kernel.CreateJobObjectW.restype = ctypes.c_void_p
    job = ctypes.c_void_p(kernel.CreateJobObjectW(None, None))
    body = job_limits(limits)
    if not kernel.SetInformationJobObject(job, _EXTENDED, body, len(body)) or not kernel.AssignProcessToJobObject(
        job, held
    ):
        process.kill()
        raise OSError("the command could not be put into a job object")
    return job.value or 0


def let_go(job: int) -> None:
    """End all that is left in the job."""
    _kernel().CloseHandle(ctypes.c_void_p(job))


def _kernel() -> Any:
    return vars(ctypes)["WinDLL"]("kernel32")  # other systems have no such name


class JobObject:
    """It limits and ends, and does not confine: the level is none, and a person allows each command."""

    name = "job object"
    level: Level = "none"
    profile = "job object"

    def close(self) -> None:
        """Nothing is held."""

    @property
    def possible(self) -> bool:
        return sys.platform == "win32"

    def prepare(self, asked: Asked) -> Launch:
        words = asked.argv or ("cmd.exe", "/d", "/s", "/c", asked.command)
        return Launch(words, clean_environment(), asked.folder, "job")
