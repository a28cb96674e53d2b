"""Run commands on Windows in a job object: limits, and one end for all; no walls around files and network."""

import sys
from dataclasses import dataclass

from core.workspace.launch import Asked, Launch, Level, Limits, clean_environment

_ACTIVE, _JOB_MEMORY, _DIE_UNHANDLED, _KILL_ON_CLOSE = 0x8, 0x200, 0x400, 0x2000
_CLOSED_UI = 0xFF  # handles, clipboard, desktop, settings and shutdown of the person's session


@dataclass(frozen=True, slots=True)
class JobLimits:
    """What is set on the job, as the numbers Windows takes."""

    flags: int
    processes: int
    memory: int
    interface: int


def job_limits(limits: Limits) -> JobLimits:
    """Committed memory is what Windows can hold down; closing our handle ends every process of the job."""
    flags = _ACTIVE | _JOB_MEMORY | _DIE_UNHANDLED | _KILL_ON_CLOSE
    return JobLimits(flags, limits.processes, limits.memory, _CLOSED_UI)


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
        return Launch(words, clean_environment(), asked.folder, "group")
