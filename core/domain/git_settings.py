"""Which lines of a git configuration give no orders: many name programs, and git runs them."""

import re

HEADER = re.compile(r'\[([a-z0-9.-]+)(?: "([^"\\\n]*)")?\]', re.IGNORECASE)
# One plain value: no quotes, no escapes, no comment, no continuation, so that git reads it as it stands here.
ENTRY = re.compile(r"([a-z][a-z0-9-]*)(?:[ \t]*=[ \t]*([^\"\\#;\n]*))?", re.IGNORECASE)
_CORE = (
    "repositoryformatversion filemode bare logallrefupdates ignorecase precomposeunicode symlinks autocrlf eol safecrlf"
    " quotepath sharedrepository abbrev compression preloadindex untrackedcache sparsecheckout sparsecheckoutcone"
    " longpaths whitespace checkstat trustctime protecthfs protectntfs"
)
PLAIN = {
    "core": _CORE, "user": "name email", "remote": "url pushurl fetch push tagopt prune mirror promisor",
    "branch": "remote pushremote merge rebase description", "submodule": "url active branch",
    "extensions": "objectformat refstorage worktreeconfig partialclone compatobjectformat", "init": "defaultbranch",
    "pull": "rebase ff", "push": "default autosetupremote followtags", "fetch": "prune", "merge": "ff conflictstyle",
    "rebase": "autostash autosquash", "rerere": "enabled autoupdate", "gc": "auto", "lfs": "repositoryformatversion",
    "advice": "*", "color": "*", "column": "*", "index": "*", "status": "*", "feature": "*",
}  # fmt: skip
HARMLESS = {section: frozenset(keys.split()) for section, keys in PLAIN.items()}


def is_plain(text: str, known: str = "") -> bool:
    """Has no line that gives orders but those that stand in `known`?"""
    return _lines(text)[1] <= _lines(known)[1]


def plain_lines(text: str) -> str:
    """The lines that give no orders."""
    return "".join(f"{line}\n" for line in _lines(text)[0])


def _lines(text: str) -> tuple[list[str], set[tuple[str, str]]]:
    """Lines that give no orders, and the others with their sections."""
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
    found = ENTRY.fullmatch(line)
    if found is None or not all(sign.isprintable() or sign == "\t" for sign in line):
        return False
    keys = HARMLESS.get(section, frozenset())
    return (found[1].casefold() in keys or "*" in keys) and "::" not in (found[2] or "")
