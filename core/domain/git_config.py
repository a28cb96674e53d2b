"""Distinguishes harmless lines of a git configuration from those that can make git run programs."""

import re
import shlex

HEADER = re.compile(r'\[([a-z0-9.-]+)(?: "([^"\\\n]*)")?\]', re.IGNORECASE)
# One plain value: no quotes, escapes, comments or continuations, so that git reads it exactly as written.
ENTRY = re.compile(r"([a-z][a-z0-9-]*)(?:[ \t]*=[ \t]*([^\"\\#;\n]*))?", re.IGNORECASE)
_CORE = (
    "repositoryformatversion filemode bare logallrefupdates ignorecase precomposeunicode symlinks autocrlf eol safecrlf"
    " quotepath sharedrepository abbrev compression preloadindex untrackedcache sparsecheckout sparsecheckoutcone"
    " longpaths whitespace checkstat trustctime protecthfs protectntfs"
)
HARMLESS_KEYS = {
    "core": _CORE, "user": "name email", "remote": "url pushurl fetch push tagopt prune mirror promisor",
    "branch": "remote pushremote merge rebase description", "submodule": "url active branch",
    "extensions": "objectformat refstorage worktreeconfig partialclone compatobjectformat", "init": "defaultbranch",
    "pull": "rebase ff", "push": "default autosetupremote followtags", "fetch": "prune", "merge": "ff conflictstyle",
    "rebase": "autostash autosquash", "rerere": "enabled autoupdate", "gc": "auto", "lfs": "repositoryformatversion",
    "advice": "*", "color": "*", "column": "*", "index": "*", "status": "*", "feature": "*",
}  # fmt: skip
HARMLESS = {section: frozenset(keys.split()) for section, keys in HARMLESS_KEYS.items()}


def is_harmless(text: str, known: str = "") -> bool:
    """Return whether each line is harmless, or occurs in the same section of the configuration `known`."""
    return _lines(text)[1] <= _lines(known)[1]


def harmless_lines(text: str) -> str:
    """Return the configuration without the lines that can make git run programs."""
    return "".join(f"{line}\n" for line in _lines(text)[0])


def named_files(text: str) -> list[tuple[str, str]]:
    """Return the words of a configuration that can name a file that git reads or executes, each with its key.

    The key is in lower case, such as `core.hookspath`. Values are split into words as a shell does.
    """
    found: list[tuple[str, str]] = []
    section = ""
    for line in text.replace("\\\n", "").split("\n"):
        bare = line.strip(" \t\r")
        if header := re.match(r"\[([a-z0-9.-]+)[^\]]*\]\s*", bare, re.IGNORECASE):
            section, bare = header[1].casefold(), bare[header.end() :]
        name, equals, value = bare.partition("=")
        if not equals or _harmless(section, bare):
            continue
        words = shlex.shlex(value, posix=True, punctuation_chars=";|&()<>")
        words.whitespace_split, words.commenters = True, "#"
        try:
            found += [(f"{section}.{name.strip().casefold()}", word.lstrip("!")) for word in words]
        except ValueError:  # an open quote
            found += [(f"{section}.{name.strip().casefold()}", word.strip("\"'!")) for word in value.split()]
    return found


def _lines(text: str) -> tuple[list[str], set[tuple[str, str]]]:
    """Return the harmless lines in order, and the other lines as (section, line)."""
    plain: list[str] = []
    others: set[tuple[str, str]] = set()
    section = ""
    for line in text.split("\n"):
        bare = line.strip(" \t\r")
        if not bare:
            continue
        if header := HEADER.fullmatch(bare):
            section = header[1].casefold()
        if header or _harmless(section, bare):
            plain.append(line)
        else:
            others.add((section, line))
    return plain, others


def _harmless(section: str, line: str) -> bool:
    entry = ENTRY.fullmatch(line)
    if entry is None or not all(char.isprintable() or char == "\t" for char in line):
        return False
    keys = HARMLESS.get(section, frozenset())
    return (entry[1].casefold() in keys or "*" in keys) and "::" not in (entry[2] or "")
