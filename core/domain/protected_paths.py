"""Finds the protected files and folders that a command names or would change; approval makes only these writable."""

import posixpath
import re
from collections.abc import Callable, Iterable, Sequence

from core.domain.command_line import program_name
from core.domain.programs import unsafe_option_reason
from core.domain.sensitive_paths import protected_place


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


READ_ONLY_PROGRAMS = _words("cat head tail wc grep rg diff ls stat file du sort cut jq sha256sum")
GIT_READS = _words("log diff show status blame ls-files ls-tree cat-file grep rev-parse branch shortlog")
# Git subcommands that change Git's configuration, and the arguments with which they only read it.
GIT_CONFIG_COMMANDS = {
    "config": _words("--get --get-all --get-regexp --get-urlmatch --list -l get list --global --system"),
    "remote": _words("-v --verbose show get-url"),
    "submodule": _words("status summary foreach"),
}
HOOKS = frozenset({("pre-commit", "install"), ("pre-commit", "uninstall"), ("lefthook", "install")})


def named_protected_paths(pieces: Iterable[Sequence[str]], resolve: Callable[[str], str]) -> tuple[str, ...]:
    """Return the protected files and folders named in the words of a command.

    `resolve` makes a path relative to the folder, following links. Paths outside the folder are skipped, as the sandbox
    denies them anyway.
    """
    found: dict[str, None] = {}
    for word in (word for words in pieces for word in words):
        for path in (word, *(part for part in re.split(r"[=:,]", word)[1:] if part)):
            for name in (posixpath.normpath(path), resolve(path)):
                if protected := protected_place(name) if not name.startswith(("/", "../")) else "":
                    found[protected] = None
    return tuple(found)


def changed_protected_paths(parts: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """Return the protected files that a command is known to change without naming them, such as `.git/config`."""
    found: dict[str, None] = {}
    for words in parts:
        program, rest = program_name(words[0]), tuple(words[1:])
        if program == "git" and rest and rest[0] in GIT_CONFIG_COMMANDS:
            operands = [word for word in rest[1:] if not word.startswith("-")]
            few = len(operands) < (2 if rest[0] == "config" else 1)
            if not few and not GIT_CONFIG_COMMANDS[rest[0]].intersection(rest[1:]):
                found[".git/config"] = None
        if (program, *rest[:1]) in HOOKS:
            found[".git/hooks"] = None
    return tuple(found)


def all_read_only(parts: Iterable[Sequence[str]]) -> bool:
    """Return whether every command of the line is known to change no file."""
    return all(
        (
            program_name(words[0]) in READ_ONLY_PROGRAMS
            or (program_name(words[0]) == "git" and set(words[1:2]) <= GIT_READS)
        )
        and not unsafe_option_reason(words)
        for words in parts
    )
