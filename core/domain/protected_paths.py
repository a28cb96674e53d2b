"""Finds the protected files and folders that a command names or would change; approval makes only these writable."""

import posixpath
import re
from collections.abc import Callable, Iterable, Sequence

from core.domain.code_options import unsafe_option_reason
from core.domain.command_line import program_name
from core.domain.command_tables import words_of
from core.domain.sensitive_paths import protected_path

READ_ONLY_PROGRAMS = words_of("cat head tail wc grep rg diff ls stat file du sort cut jq sha256sum")
GIT_READS = words_of("log diff show status blame ls-files ls-tree cat-file grep rev-parse branch shortlog")
# Git subcommands that change `.git/config`, each with the arguments that make them only read it or leave it alone.
GIT_CONFIG_COMMANDS = {
    "config": words_of("--get --get-all --get-regexp --get-urlmatch --list -l get list --global --system"),
    "remote": words_of("-v --verbose show get-url"),
    "submodule": words_of("status summary foreach"),
}
HOOKS = frozenset({("pre-commit", "install"), ("pre-commit", "uninstall"), ("lefthook", "install")})


def named_protected_paths(commands: Iterable[Sequence[str]], resolve: Callable[[str], str]) -> tuple[str, ...]:
    """Return the protected files and folders that the words of commands name.

    `resolve` makes a path relative to the folder and follows links. Paths outside the folder are skipped, because the
    sandbox denies access to them anyway.
    """
    paths: dict[str, None] = {}
    for path in (path for words in commands for word in words for path in _possible_paths(word)):
        for name in (posixpath.normpath(path), resolve(path)):
            is_inside = not name.startswith(("/", "../"))
            if is_inside and (protected := protected_path(name)):
                paths[protected] = None
    return tuple(paths)


def _possible_paths(word: str) -> list[str]:
    """Return a word, and its parts that may be paths, such as the value of an option."""
    return [word, *filter(None, re.split(r"[=:,]", word)[1:])]


def changed_protected_paths(parts: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """Return the protected paths that commands are known to change without naming them, such as `.git/config`."""
    paths: dict[str, None] = {}
    for words in parts:
        program, arguments = program_name(words[0]), tuple(words[1:])
        if program == "git" and arguments and arguments[0] in GIT_CONFIG_COMMANDS:
            operands = [word for word in arguments[1:] if not word.startswith("-")]
            only_reads = len(operands) < (2 if arguments[0] == "config" else 1)
            if not only_reads and not GIT_CONFIG_COMMANDS[arguments[0]].intersection(arguments[1:]):
                paths[".git/config"] = None
        if (program, *arguments[:1]) in HOOKS:
            paths[".git/hooks"] = None
    return tuple(paths)


def all_read_only(parts: Iterable[Sequence[str]]) -> bool:
    """Return whether every command is known to change no file."""
    return all(map(_is_read_only, parts))


def _is_read_only(words: Sequence[str]) -> bool:
    program = program_name(words[0])
    is_reading_git = program == "git" and set(words[1:2]) <= GIT_READS
    return (program in READ_ONLY_PROGRAMS or is_reading_git) and not unsafe_option_reason(words)
