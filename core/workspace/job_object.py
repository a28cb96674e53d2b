"""Runs commands on Windows in a job object, which limits and kills all their processes but does not sandbox them."""

import ctypes
import struct
import subprocess
import sys
from typing import Any

from core.domain.permissions import SandboxLevel
from core.workspace.launcher import CommandLimits, CommandRequest, ProcessLaunch, clean_environment

_JOB_OBJECT_LIMIT_ACTIVE_PROCESS = 0x8
_JOB_OBJECT_LIMIT_JOB_MEMORY = 0x200
_JOB_OBJECT_LIMIT_DIE_ON_UNHANDLED_EXCEPTION = 0x400
_JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE = 0x2000
_EXTENDED_LIMITS = 9  # the information class JobObjectExtendedLimitInformation


def job_limits(limits: CommandLimits) -> bytes:
    """Return a 64-bit JOBOBJECT_EXTENDED_LIMIT_INFORMATION that also kills the processes when the job is closed."""
    flags = (
        _JOB_OBJECT_LIMIT_ACTIVE_PROCESS
        | _JOB_OBJECT_LIMIT_JOB_MEMORY
        | _JOB_OBJECT_LIMIT_DIE_ON_UNHANDLED_EXCEPTION
        | _JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
    )
    basic = struct.pack("<qqI4xQQI4xQII", 0, 0, flags, 0, 0, limits.processes, 0, 0, 0)
    return basic + bytes(48) + struct.pack("<QQQQ", 0, limits.memory, 0, 0)


def assign_to_job(process: subprocess.Popen[bytes], limits: CommandLimits) -> int:
    """Put a process into a new job and return the job's handle, to pass to `close_job`; raise OSError on failure."""
    kernel, handle = _kernel(), ctypes.c_void_p(vars(process)["_handle"])
    kernel.CreateJobObjectW.restype = ctypes.c_void_p
    job = ctypes.c_void_p(kernel.CreateJobObjectW(None, None))
    body = job_limits(limits)
    is_limited = kernel.SetInformationJobObject(job, _EXTENDED_LIMITS, body, len(body))
    if not is_limited or not kernel.AssignProcessToJobObject(job, handle):
        process.kill()
        raise OSError("the command could not be put into a job object")
    return job.value or 0


def close_job(job: int) -> None:
    """Close the only handle of the job, which kills all its remaining processes."""
    _kernel().CloseHandle(ctypes.c_void_p(job))


def _kernel() -> Any:
    return vars(ctypes)["WinDLL"]("kernel32")  # ctypes has no WinDLL on other systems, which mypy reports


class JobObject:
    """A launcher without a sandbox that limits commands, so the user approves each command."""

    name = "job object"
    level: SandboxLevel = "none"
    profile = "job object"

    def close(self) -> None:
        """Do nothing, because the launcher owns no resources."""

    @property
    def available(self) -> bool:
        return sys.platform == "win32"

    def prepare(self, request: CommandRequest) -> ProcessLaunch:
        return ProcessLaunch(
            argv=request.argv or ("cmd.exe", "/d", "/s", "/c", request.command),
            environment=clean_environment(),
            folder=request.folder,
            scope="job",
        )
