"""Distinguishes harmless git settings from those that can make git run programs."""

import re
import shlex
from typing import NamedTuple

from core.domain.git_config_lines import ENTRY, ConfigLine, config_lines

_CORE = (
    "repositoryformatversion filemode bare logallrefupdates ignorecase precomposeunicode symlinks autocrlf eol safecrlf"
    " quotepath sharedrepository abbrev compression preloadindex untrackedcache sparsecheckout sparsecheckoutcone"
    " longpaths whitespace checkstat trustctime protecthfs protectntfs"
)
# The harmless keys by section; "*" means all keys. An allow-list, because every git version adds settings: those that
# git and common commands write, and that name neither a program nor a file that git executes or includes.
_HARMLESS_KEYS = {
    "core": _CORE,
    "user": "name email",
    "remote": "url pushurl fetch push tagopt prune mirror promisor",
    "branch": "remote pushremote merge rebase description",
    "submodule": "url active branch",
    "extensions": "objectformat refstorage worktreeconfig partialclone compatobjectformat",
    "init": "defaultbranch",
    "pull": "rebase ff",
    "push": "default autosetupremote followtags",
    "fetch": "prune",
    "merge": "ff conflictstyle",
    "rebase": "autostash autosquash",
    "rerere": "enabled autoupdate",
    "gc": "auto",
    "lfs": "repositoryformatversion access locksverify",
    "advice": "*",
    "color": "*",
    "column": "*",
    "index": "*",
    "status": "*",
    "feature": "*",
}
_HARMLESS = {section: frozenset(keys.split()) for section, keys in _HARMLESS_KEYS.items()}
_ANY_HEADER = re.compile(r"\[([a-z0-9.-]+)[^\]]*\]\s*", re.IGNORECASE)


class SettingWord(NamedTuple):
    """A word of a setting's value. The key is in lowercase, such as `core.hookspath`."""

    key: str
    word: str


def is_harmless(text: str, trusted: str = "") -> bool:
    """Return whether every line is harmless, or is in the same section of the configuration `trusted` as well."""
    return unsafe_lines(text) <= unsafe_lines(trusted)


def harmless_lines(text: str) -> str:
    """Return a configuration without the lines that are not known to be harmless."""
    return "".join(f"{line.text}\n" for line in config_lines(text) if _is_harmless_line(line))


def is_harmless_setting(key: str, value: str) -> bool:
    """Return whether a setting cannot make git run a program. `key` is as git prints it, such as `core.bare`."""
    return _is_allowed(key.partition(".")[0].casefold(), key.rpartition(".")[2], value)


def words_naming_files(text: str) -> list[SettingWord]:
    """Return the words of a configuration that may name a file which git reads or executes.

    Values are split into words as a shell does.
    """
    words: list[SettingWord] = []
    section = ""
    for line in config_lines(text):
        entry = re.sub(r"\\\r?\n", "", line.text).strip(" \t\r")
        if header := _ANY_HEADER.match(entry):
            section, entry = header[1].casefold(), entry[header.end() :]
        name, equals, value = entry.partition("=")
        if equals and not _is_harmless_entry(section, entry):
            key = f"{section}.{name.strip().casefold()}"
            words += [SettingWord(key, word) for word in _shell_words(value)]
    return words


def unsafe_lines(text: str) -> set[ConfigLine]:
    """Return the lines of a configuration that are not known to be harmless."""
    return {line for line in config_lines(text) if line.entry and not _is_harmless_line(line)}


def _is_harmless_line(line: ConfigLine) -> bool:
    return line.is_header or _is_harmless_entry(line.section, line.entry)


def _is_harmless_entry(section: str, entry: str) -> bool:
    setting = ENTRY.fullmatch(entry)
    if setting is None or not all(char.isprintable() or char == "\t" for char in entry):
        return False
    return _is_allowed(section, setting[1], setting[2] or "")


def _is_allowed(section: str, key: str, value: str) -> bool:
    """Return whether a key is on the allow-list and its value does not name a remote helper, as `ext::sh -c x` does."""
    keys = _HARMLESS.get(section, frozenset())
    return (key.casefold() in keys or "*" in keys) and "::" not in value


def _shell_words(value: str) -> list[str]:
    """Split a value into words as a shell does, or at spaces if a quote is not closed."""
    lexer = shlex.shlex(value, posix=True, punctuation_chars=";|&()<>")
    lexer.whitespace_split, lexer.commenters = True, "#"
    try:
        return [word.lstrip("!") for word in lexer]
    except ValueError:  # a quote is not closed
        return [word.strip("\"'!") for word in value.split()]
