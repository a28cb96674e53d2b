"""What a task is: words, files, a check that can fail, and a script that solves it, by which the check is proven."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from core.workspace.launch import Asked, Limits
from core.workspace.sandbox import of_this_machine
from core.workspace.toolchains import python

SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Left:
    """What a run left: the folder, its last words, and whether it asked the person."""

    folder: Path
    said: str
    asked: int

    def text(self, name: str) -> str:
        """A file, or nothing where there is none."""
        path = self.folder / name
        return path.read_text("utf-8", "replace") if path.is_file() else ""

    def runs(self, code: str) -> bool:
        """Whether this Python runs there to its end. A model wrote what it runs, so it is behind the walls of a run."""
        asked = Asked("python", self.folder, Limits(time_s=SECONDS), argv=(python(), "-c", code))
        return asyncio.run(of_this_machine().run(asked)).exit_code == 0

    def names(self) -> set[str]:
        return {str(path.relative_to(self.folder)) for path in self.folder.rglob("*") if path.is_file()}


Check = Callable[[Left], bool]
Reply = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Task:
    """`solution` is what a good model would reply, `answer` what the person says to every question."""

    name: str
    words: str
    check: Check
    solution: tuple[Reply, ...]
    files: Mapping[str, str] = field(default_factory=dict)
    answer: str = ""


def calls(tool: str, **arguments: object) -> Reply:
    return {"calls": [{"name": tool, "arguments": arguments}]}


def says(text: str) -> Reply:
    return {"text": text}
