"""Finds scripts whose contents an agent has computed after it had read untrusted content, such as by decoding them.

Neither the command that creates such a script nor the one that runs it contains what is run.
"""

import posixpath
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import PurePosixPath
from typing import NamedTuple

from core.domain.events import FileChanged, Replied
from core.domain.problems import Problem
from core.domain.text import Text
from core.domain.untrusted_file import UntrustedFile
from core.domain.visible import visible_name
from core.engine.policy.dictation import dictated_command
from core.engine.policy.script_paths import MAX_FILES, imported_suffixes, script_paths
from core.engine.run.run_context import RunContext
from core.engine.run.untrusted_files import matching_files
from core.store.untrusted_files import absolute_path
from core.workspace.folder_scan import DERIVED

SHELL_SUFFIXES = frozenset({"", ".sh", ".bash", ".zsh", ".ksh"})
MAX_SCRIPT_BYTES = 1 << 20
PROGRAM_FOLDERS = frozenset({"bin", ".bin", "Scripts"})  # where package managers install scripts
_WORD = re.compile(r"\w+")
_SHELL_LINE = re.compile(r"#!.{0,80}sh\b")


COMPUTED_SCRIPT = (
    "It may run {}, whose contents an agent has computed after reading untrusted content, so that no call shows them."
)
DICTATED_SCRIPT = (
    "It may run {}, in which an agent wrote “{}”. You have not written that, but untrusted content contains it."
)


class Script(NamedTuple):
    """A file that a command runs and whose contents untrusted content may have dictated.

    `text` is the contents if the file is a shell script, otherwise "". `computed` says whether the file contains words
    that occur in none of the calls with which the agent wrote it.
    """

    path: str
    text: str
    computed: bool


async def find_scripts(run: RunContext, command: str) -> list[Script]:
    """Return the files that a command runs as scripts and that were written by a run with untrusted content."""
    if run.is_replay or not run.reader.has_untrusted_files():
        return []
    scripts: list[Script] = []
    for path in (*script_paths(command), *_imported(run, command)):
        parts = PurePosixPath(path).parts
        if not DERIVED.isdisjoint(parts) and not PROGRAM_FOLDERS.isdisjoint(parts[-2:-1]):
            continue
        text = _text(run, path)
        for row in matching_files(run, [path]) if text else ():
            is_computed = bool(set(_WORD.findall(text)) - await _written_words(run, row, path))
            is_shell = bool(_SHELL_LINE.match(text)) or PurePosixPath(path).suffix in SHELL_SUFFIXES
            scripts.append(Script(path, text if is_shell else "", is_computed))
    return scripts


def _imported(run: RunContext, command: str) -> list[str]:
    """Return the untrusted files in the folder that the programs of a command may run without naming them."""
    suffixes = imported_suffixes(command)
    folder = absolute_path(str(run.tool_context.folder), "")
    rows = run.reader.untrusted_files(folder) if suffixes else ()
    return [posixpath.relpath(row.path, folder) for row in rows if row.path.endswith(suffixes)][:MAX_FILES]


def _text(run: RunContext, path: str) -> str:
    """Return the contents of a file if it is text, else "". A shell also runs text that contains NUL bytes."""
    with suppress(Problem, OSError, ValueError):
        body = run.tool_context.broker.read(path, MAX_SCRIPT_BYTES)
        is_script = body.startswith(b"#!") or PurePosixPath(path).suffix in SHELL_SUFFIXES - {""}
        return "" if b"\0" in body and not is_script else body.decode("utf-8", "replace")
    return ""


async def _written_words(run: RunContext, row: UntrustedFile, path: str) -> set[str]:
    """Return the words that the file contained before, and those in the calls with which the session changed it.

    The session in `row` had read untrusted content. A word of the file that is in neither must have been computed.
    """
    arguments: dict[str, Text] = {}
    words = set(_WORD.findall(_blob(run, row.earlier)))
    async for entry in run.journal.read(row.session):
        match entry.event:
            case Replied(calls=calls):
                arguments |= {call.id: call.arguments for call in calls}
            case FileChanged(call_id=call, path=changed) if changed == path and call in arguments:
                words |= set(_WORD.findall(_plain(run.full_text(arguments[call]))))
            case _:
                pass
    return words


def _plain(arguments: str) -> str:
    """Decode the escapes in the JSON arguments of a call; `\\n` becomes a space, so that words are split correctly."""
    return re.sub(r"\\u([0-9a-fA-F]{4})", lambda match: chr(int(match[1], 16)), re.sub(r"\\[nrtbf]", " ", arguments))


def _blob(run: RunContext, name: str) -> str:
    return (run.reader.find_blob(name) or b"").decode("utf-8", "replace") if name else ""


def script_reason(scripts: Sequence[Script], untrusted_texts: Sequence[str], user_words: Sequence[str]) -> str:
    """Return why a command that runs these scripts needs the user's approval; "" if it does not because of them."""
    for script in scripts:
        if script.computed:
            return COMPUTED_SCRIPT.format(visible_name(script.path))
        if command := dictated_command(script.text, untrusted_texts, user_words):
            return DICTATED_SCRIPT.format(visible_name(script.path), visible_name(command))
    return ""
