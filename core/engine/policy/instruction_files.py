"""Finds the project instructions that apply in a folder: its own, those of its parents, and the files they import.

Parents count up to the top folder of the repository, unless they belong to another user. A file imports another with
`@path`, relative to itself.
"""

import os
import posixpath
import re
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from core.domain.problems import Problem
from core.workspace.broker import FileBroker
from core.workspace.paths import is_own

NAMES = ("AGENTS.md", "CLAUDE.md")
MAX_PARENTS = 8
MAX_IMPORTS = 20  # imported files in each folder
MAX_IMPORT_DEPTH = 4  # levels of imports within imported files
MAX_FILE_SIZE = 4 << 20  # in bytes; a larger file is reported as unreadable
_CODE = re.compile(r"^(```|~~~).*?(?:^\1|\Z)|`[^`\n]*`", re.MULTILINE | re.DOTALL)
_IMPORT = re.compile(r"(?<!\S)@([^\s@`]+)")


@dataclass(frozen=True, slots=True)
class FoundInstructions:
    """A file with instructions. `name` is its path relative to the folder of the run, such as `../AGENTS.md`.

    `error` says why it cannot be read. `importer` is the name of the file that imports it, or "".
    """

    name: str
    contents: bytes = b""
    error: str = ""
    importer: str = ""


def instruction_files(folder: Path) -> Iterator[FoundInstructions]:
    """Yield the instruction files in prompt order: from the outermost folder inward, each followed by its imports."""
    for prefix in parent_prefixes(folder):
        try:
            with FileBroker(folder / prefix if prefix else folder) as broker:
                yield from _in_folder(broker, prefix)
        except (Problem, OSError) as error:
            if not prefix:
                yield FoundInstructions(NAMES[0], error=str(error))


def parent_prefixes(folder: Path) -> list[str]:
    """Return the prefixes (such as `../`) of the folders whose instructions apply: outermost first, "" for `folder`.

    Outside a git repository, and in a repository owned by another user, only the folder itself counts.
    """
    for levels, parent in enumerate((folder, *folder.parents[:MAX_PARENTS])):
        if os.path.lexists(parent / ".git"):
            folders = [parent / ".git", parent] if levels else []
            return ["../" * level for level in range(levels, -1, -1)] if all(map(_is_own, folders)) else [""]
    return [""]


def _is_own(path: Path) -> bool:
    with suppress(OSError):
        return is_own(path.lstat())
    return False


def imported_names(text: str, name: str) -> list[str]:
    """Return the paths that the instruction file `name` imports with `@path`. All paths are relative to one folder.

    `text` is the contents of the file. Code in it is skipped, and paths outside the folder are not imports.
    """
    words = (match.rstrip(".,;:!?)") for match in _IMPORT.findall(_CODE.sub("", text)))
    paths = (
        posixpath.normpath(posixpath.join(posixpath.dirname(name), word))
        for word in words
        if word and word[0] not in "~/"
    )
    return [path for path in dict.fromkeys(paths) if not path.startswith("../") and path not in (".", "..")]


def _in_folder(broker: FileBroker, prefix: str) -> Iterator[FoundInstructions]:
    seen: set[str] = set(NAMES)
    for name in NAMES:
        if broker.stat(name) is not None:
            yield from _with_imports(broker, prefix, name, "", seen, 0)


def _with_imports(
    broker: FileBroker, prefix: str, name: str, importer: str, seen: set[str], depth: int
) -> Iterator[FoundInstructions]:
    try:
        if prefix and (status := broker.stat(name)) and not is_own(status):
            raise Problem(f"{prefix}{name} belongs to another user.", "", "")
        contents = broker.read(name, MAX_FILE_SIZE, allow_secrets=False)
    except (Problem, OSError) as error:
        yield FoundInstructions(prefix + name, error=str(error), importer=importer)
        return
    yield FoundInstructions(prefix + name, contents, importer=importer)
    for path in imported_names(contents.decode("utf-8", "replace"), name):
        is_new = path not in seen and len(seen) < MAX_IMPORTS + len(NAMES) and depth < MAX_IMPORT_DEPTH
        if is_new and _is_file(broker, path):
            seen.add(path)
            yield from _with_imports(broker, prefix, path, prefix + name, seen, depth + 1)


def _is_file(broker: FileBroker, path: str) -> bool:
    try:
        status = broker.stat(path)
    except Problem:
        return False
    return status is not None and not stat.S_ISDIR(status.st_mode)
