"""Which protected places a command names or would change: a person's yes opens these, and no others."""

import posixpath
import re
from collections.abc import Callable, Iterable, Sequence

from core.domain.command_line import program_of
from core.domain.programs import never_remembered
from core.domain.sensitive import protected_in


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


READERS = _words("cat head tail wc grep rg diff ls stat file du sort cut jq sha256sum")
GIT_READS = _words("log diff show status blame ls-files ls-tree cat-file grep rev-parse branch shortlog")
# What git writes into its settings, by subcommand: the words that only read them.
GIT_SETS = {
    "config": _words("--get --get-all --get-regexp --get-urlmatch --list -l get list --global --system"),
    "remote": _words("-v --verbose show get-url"),
    "submodule": _words("status summary foreach"),
}
HOOKS = frozenset({("pre-commit", "install"), ("pre-commit", "uninstall"), ("lefthook", "install")})


def named(pieces: Iterable[Sequence[str]], real: Callable[[str], str]) -> tuple[str, ...]:
    """The protected places that words of a command name. `real` gives a path as it lies in the folder, links followed.

    A path that leads out of the folder is none: the walls are there.
    """
    found: dict[str, None] = {}
    for word in (word for words in pieces for word in words):
        for path in (word, *(part for part in re.split(r"[=:,]", word)[1:] if part)):
            for place in (posixpath.normpath(path), real(path)):
                if kept := protected_in(place) if not place.startswith(("/", "../")) else "":
                    found[kept] = None
    return tuple(found)


def changed(parts: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """The protected places that a program is known to change, without their being named."""
    found: dict[str, None] = {}
    for words in parts:
        program, rest = program_of(words[0]), tuple(words[1:])
        if program == "git" and rest and rest[0] in GIT_SETS:
            told = [word for word in rest[1:] if not word.startswith("-")]
            few = len(told) < (2 if rest[0] == "config" else 1)
            if not few and not GIT_SETS[rest[0]].intersection(rest[1:]):
                found[".git/config"] = None
        if (program, *rest[:1]) in HOOKS:
            found[".git/hooks"] = None
    return tuple(found)


def only_reads(parts: Iterable[Sequence[str]]) -> bool:
    """Is every command of the line one that changes no file?"""
    return all(
        (program_of(words[0]) in READERS or (program_of(words[0]) == "git" and set(words[1:2]) <= GIT_READS))
        and not never_remembered(words)
        for words in parts
    )
