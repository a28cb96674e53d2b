"""The table of files that other programs act on unasked, such as git hooks and instructions for agents."""

import tomllib
from dataclasses import dataclass
from importlib import resources
from typing import Literal


@dataclass(frozen=True, slots=True)
class TrustedProgram:
    """A program, or a group of programs, and the files or folders that it acts on unasked.

    Attributes:
        effect: "revert" if commands cannot change the files, or their changes are reverted; "ask" if only changes by
            file tools need approval.
        files: relative paths in the program's spelling; `*` and `?` match within one component.
        source: the documentation of the program that names the files.
    """

    name: str
    effect: Literal["revert", "ask"]
    files: tuple[str, ...]
    source: str


def load_trusted_programs() -> tuple[TrustedProgram, ...]:
    """Load the table from `resources/safety/trusted_files.toml`."""
    text = (resources.files("resources") / "safety" / "trusted_files.toml").read_text("utf-8")
    return tuple(
        TrustedProgram(name=row["name"], effect=row["effect"], files=tuple(row["files"]), source=row["source"])
        for row in tomllib.loads(text)["program"]
    )


WHY_PROTECTED = "which other programs execute or follow"  # a clause for messages, after the names of files
TRUSTED_PROGRAMS = load_trusted_programs()
_REVERTED = tuple(file for program in TRUSTED_PROGRAMS if program.effect == "revert" for file in program.files)
_ASKED = tuple(file for program in TRUSTED_PROGRAMS if program.effect == "ask" for file in program.files)
# Paths as tuples of lowercase components.
READ_ONLY_PATHS = tuple(tuple(file.casefold().split("/")) for file in _REVERTED)
PROTECTED = (*READ_ONLY_PATHS, *(tuple(file.casefold().split("/")) for file in _ASKED))
# The paths without wildcards to which changes by commands are reverted. Upper and lower case are as in the list.
READ_ONLY_NAMES = tuple(file for file in _REVERTED if not {"*", "?"} & set(file))
