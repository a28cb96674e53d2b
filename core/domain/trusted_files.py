"""The table of files that other programs act on without being asked, such as Git hooks and instructions for agents."""

import tomllib
from dataclasses import dataclass
from importlib import resources
from typing import Literal


@dataclass(frozen=True, slots=True)
class TrustedProgram:
    """A program, or a group of programs, and the files or folders that it acts on.

    Attributes:
        effect: "revert" if the sandbox protects the files and changes by commands are reverted; "ask" if only file
            tools need approval.
        files: relative paths as the program spells them; `*` and `?` match within one name.
        source: where the names are documented.
    """

    name: str
    effect: Literal["revert", "ask"]
    files: tuple[str, ...]
    source: str


def load_trusted_programs() -> tuple[TrustedProgram, ...]:
    """Read the table."""
    text = (resources.files("resources") / "safety" / "trusted_files.toml").read_text("utf-8")
    return tuple(
        TrustedProgram(row["name"], row["effect"], tuple(row["files"]), row["source"])
        for row in tomllib.loads(text)["program"]
    )


WHY_PROTECTED = "which other programs execute or follow"  # follows the names of such files
TRUSTED_PROGRAMS = load_trusted_programs()
_REVERTED = tuple(file for one in TRUSTED_PROGRAMS if one.effect == "revert" for file in one.files)
_ASKED = tuple(file for one in TRUSTED_PROGRAMS if one.effect == "ask" for file in one.files)
# As tuples of names in lower case.
READ_ONLY_PATHS = tuple(tuple(file.casefold().split("/")) for file in _REVERTED)
PROTECTED = (*READ_ONLY_PATHS, *(tuple(file.casefold().split("/")) for file in _ASKED))
# The paths without wildcards, in their usual spelling.
READ_ONLY_NAMES = tuple(file for file in _REVERTED if not {"*", "?"} & set(file))
