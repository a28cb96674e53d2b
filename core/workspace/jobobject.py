"""Run commands on Windows in a job object: limits, and one end for all; no walls around files and network."""

import struct
import subprocess
import sys

from core.workspace.launch import Asked, Launch, Level, Limits, clean_environment

_ACTIVE, _JOB_MEMORY, _DIE_UNHANDLED, _KILL_ON_CLOSE = 0x8, 0x200, 0x400, 0x2000
_EXTENDED = 9  # JobObjectExtendedLimitInformation


def job_limits(limits: Limits) -> bytes:
    """JOBOBJECT_EXTENDED_LIMIT_INFORMATION of 64 bit. Closing the last handle of the job ends every process in it."""
    flags = _ACTIVE | _JOB_MEMORY | _DIE_UNHANDLED | _KILL_ON_CLOSE
    basic = struct.pack("<qqI4xQQI4xQII", 0, 0, flags, 0, 0, limits.processes, 0, 0, 0)
    return basic + bytes(48) + struct.pack("<QQQQ", 0, limits.memory, 0, 0)


def hold(process: "subprocess.Popen[bytes]", limits: Limits) -> int:
    """Put a process into a job of its own; the handle of the job, to be closed when the command has ended."""
    if sys.platform == "win32":
        return _hold(process, limits)
    raise OSError("only Windows has job objects")


def _hold(process: "subprocess.Popen[bytes]", limits: Limits) -> int:
    assert sys.platform == "win32"
    import ctypes

    kernel = ctypes.WinDLL("kernel32", use_last_error=True)
    kernel.CreateJobObjectW.restype = ctypes.c_void_p
    job = kernel.CreateJobObjectW(None, None)
    body = job_limits(limits)
    done = kernel.SetInformationJobObject(ctypes.c_void_p(job), _EXTENDED, body, len(body))
    if not done or not kernel.AssignProcessToJobObject(ctypes.c_void_p(job), ctypes.c_void_p(int(process._handle))):
        process.kill()
        raise ctypes.WinError(ctypes.get_last_error())
    return int(job)


def let_go(job: int) -> None:
    """End all that is left in the job."""
    if sys.platform == "win32":
        import ctypes

        ctypes.WinDLL("kernel32").CloseHandle(ctypes.c_void_p(job))


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
        words = ("cmd.exe", "/d", "/s", "/c", asked.command)
        return Launch(words, clean_environment(), asked.folder, "job")
