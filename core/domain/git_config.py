"""Distinguishes harmless lines of a git configuration from those that can make git run programs."""

import re

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
