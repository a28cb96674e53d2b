"""Finds the files that a command line may run as scripts, by the words of the command line."""

import posixpath
import re
from collections.abc import Callable, Iterator

from core.domain.command_line import program_name, split_loosely

INTERPRETERS = frozenset({"python", "pypy", "node", "nodejs", "deno", "bun", "perl", "ruby", "php", "lua"})
PROGRAMS = rf"(?:\w*sh|{'|'.join(sorted(INTERPRETERS))})[\d.]*"
MAX_FILES = 50  # paths returned for one command line, because callers read each file
_RUNS_FILE = re.compile(rf"\.|source|{PROGRAMS}")


def script_paths(command: str) -> tuple[str, ...]:
    """Return the paths that a command line may run: arguments of shells and interpreters, and all words with a `/`.

    Paths are relative to the folder, and combined with each folder entered by `cd`. They may not exist.
    """
    return tuple(dict.fromkeys(_paths(command)))[:MAX_FILES]


def marked_scripts(command: str, content_mark: Callable[[str], str]) -> list[str]:
    """Return `MARK PATH` for each existing file that a command line may run, with the digest from `content_mark`."""
    marks = ((path, content_mark(path)) for path in script_paths(command))
    return [f"{mark} {path}" for path, mark in marks if mark]


def _paths(command: str) -> Iterator[str]:
    folders = [""]
    commands = split_loosely(command)
    has_interpreter = any(_runs_file(words[0]) for words in commands)
    for words in commands:
        if words[0] == "cd" and len(words) > 1:
            folders.append(posixpath.join(folders[-1], words[1]))
        is_input = has_interpreter  # The first word may be a script, as `sh < script` was split at `<`.
        is_argument = False
        for word in words:
            if is_input or "/" in word or (is_argument and not word.startswith("-")):
                yield from (posixpath.normpath(posixpath.join(folder, word)) for folder in folders)
            is_input = False
            is_argument = is_argument or _runs_file(word)


def _runs_file(word: str) -> bool:
    """Return whether a word names a shell or an interpreter, which runs a script from its arguments or input."""
    return bool(_RUNS_FILE.fullmatch(program_name(word)))
