"""A task: a prompt, files, a check, and a script that solves it and thereby proves the check."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from core.workspace.launcher import CommandLimits, CommandRequest
from core.workspace.readable_system import interpreter
from core.workspace.sandbox import machine_sandbox

SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class TaskResult:
    """The result of a run: the folder, the last reply, and the number of questions to the user."""

    folder: Path
    reply: str
    questions: int

    def text(self, name: str) -> str:
        """Return the text of a file, or an empty string if it does not exist."""
        path = self.folder / name
        return path.read_text("utf-8", "replace") if path.is_file() else ""

    def runs(self, code: str) -> bool:
        """Return whether this Python code succeeds in the folder; sandboxed, because it runs the model's code."""
        asked = CommandRequest("python", self.folder, CommandLimits(time_s=SECONDS), argv=(interpreter(), "-c", code))
        return asyncio.run(machine_sandbox().run(asked)).exit_code == 0

    def names(self) -> set[str]:
        return {str(path.relative_to(self.folder)) for path in self.folder.rglob("*") if path.is_file()}


Check = Callable[[TaskResult], bool]
Reply = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Task:
    """A task. `solution` is what a good model would reply, `answer` the user's answer to every question."""

    name: str
    prompt: str
    check: Check
    solution: tuple[Reply, ...]
    files: Mapping[str, str] = field(default_factory=dict)
    answer: str = ""


def calls(tool: str, **arguments: object) -> Reply:
    return {"calls": [{"name": tool, "arguments": arguments}]}


def says(text: str) -> Reply:
    return {"text": text}
