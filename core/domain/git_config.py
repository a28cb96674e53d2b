"""Distinguishes harmless lines of a git configuration from those that can make git run programs."""

import re
import shlex
from collections.abc import Iterator

HEADER = re.compile(r'\[([a-z0-9.-]+)(?: "([^"\\\n]*)")?\]', re.IGNORECASE)
# One plain value: no quotes, escapes, comments or continuations, so that git reads it exactly as written.
ENTRY = re.compile(r"([a-z][a-z0-9-]*)(?:[ \t]*=[ \t]*([^\"\\#;\n]*))?", re.IGNORECASE)
_CORE = (
    "repositoryformatversion filemode bare logallrefupdates ignorecase precomposeunicode symlinks autocrlf eol safecrlf"
    " quotepath sharedrepository abbrev compression preloadindex untrackedcache sparsecheckout sparsecheckoutcone"
    " longpaths whitespace checkstat trustctime protecthfs protectntfs"
)
# An allow-list, because every version of git adds settings. It names those that git itself and its usual commands write
# and that neither name a program nor a file that git executes or includes; "*" stands for all keys of a section.
_HARMLESS_KEYS = {
    "core": _CORE, "user": "name email", "remote": "url pushurl fetch push tagopt prune mirror promisor",
    "branch": "remote pushremote merge rebase description", "submodule": "url active branch",
    "extensions": "objectformat refstorage worktreeconfig partialclone compatobjectformat", "init": "defaultbranch",
    "pull": "rebase ff", "push": "default autosetupremote followtags", "fetch": "prune", "merge": "ff conflictstyle",
    "rebase": "autostash autosquash", "rerere": "enabled autoupdate", "gc": "auto",
    "lfs": "repositoryformatversion access locksverify",
    "advice": "*", "color": "*", "column": "*", "index": "*", "status": "*", "feature": "*",
}  # fmt: skip
# Settings that run no program, but decide what the user's next command does: where it sends what, in whose name.
ADDRESSES = {
    "remote": ("url", "pushurl", "push", "fetch", "mirror"), "branch": ("remote", "pushremote"), "submodule": ("url",),
    "push": ("default",), "user": ("name", "email"), "core": ("sharedrepository", "protecthfs", "protectntfs"),
}  # fmt: skip
_USUAL_FETCH = re.compile(r"\+?refs/(?:heads|tags)/[^:]+:refs/(?:remotes|tags)/[^:]+")
_HARMLESS = {section: frozenset(keys.split()) for section, keys in _HARMLESS_KEYS.items()}
_Section = tuple[str, str]  # the name in lower case and the subsection, or ("", the line) for an unusual header


def is_harmless(text: str, trusted: str = "") -> bool:
    """Return whether each line is harmless, or occurs in the same section of the configuration `trusted`."""
    return _split_lines(text)[1] <= _split_lines(trusted)[1]


def leads_elsewhere(text: str, former: str) -> bool:
    """Return whether a configuration makes git fetch or push something else, or elsewhere, than the former one.

    That includes another name of the author, and who else may write the repository. Both have to be harmless otherwise.
    A branch may use any remote of the former configuration, and the author may be named if nobody was.
    """
    known = _addresses(former)
    usable = {".", *(name for (section, name), _, _ in known if section == "remote")}
    has_author = any(section == "user" for (section, _), _, _ in known)
    return any(
        address not in known
        and not (address[0][0] == "branch" and address[2] in usable)
        and (has_author or address[0][0] != "user")
        for address in _addresses(text)
    )


def is_harmless_setting(key: str, value: str) -> bool:
    """Return whether a setting such as `core.bare`, as git reports it, cannot make git run a program."""
    section, name = key.partition(".")[0].casefold(), key.rpartition(".")[2].casefold()
    keys = _HARMLESS.get(section, frozenset())
    return (name in keys or "*" in keys) and "::" not in value


def harmless_lines(text: str) -> str:
    """Return the configuration without the lines that can make git run programs."""
    return "".join(f"{line}\n" for line in _split_lines(text)[0])


def named_files(text: str) -> list[tuple[str, str]]:
    """Return the words of a configuration that can name a file that git reads or executes, each with its key.

    The key is in lower case, such as `core.hookspath`. Values are split into words as a shell does.
    """
    named_words: list[tuple[str, str]] = []
    section = ""
    for _, line in _logical_lines(text):
        entry = re.sub(r"\\\r?\n", "", line).strip(" \t\r")
        if header := re.match(r"\[([a-z0-9.-]+)[^\]]*\]\s*", entry, re.IGNORECASE):
            section, entry = header[1].casefold(), entry[header.end() :]
        name, equals, value = entry.partition("=")
        if not equals or _is_harmless_line(section, entry):
            continue
        lexer = shlex.shlex(value, posix=True, punctuation_chars=";|&()<>")
        lexer.whitespace_split, lexer.commenters = True, "#"
        try:
            named_words += [(f"{section}.{name.strip().casefold()}", word.lstrip("!")) for word in lexer]
        except ValueError:  # an open quote
            named_words += [(f"{section}.{name.strip().casefold()}", word.strip("\"'!")) for word in value.split()]
    return named_words


def _addresses(text: str) -> set[tuple[_Section, str, str]]:
    """Return the section, the key and the value of each setting that names a place."""
    found: set[tuple[_Section, str, str]] = set()
    for section, line in _logical_lines(text):
        setting = ENTRY.fullmatch(line.strip(" \t\r"))
        if setting and setting[1].casefold() in ADDRESSES.get(section[0], ()):
            key, value = setting[1].casefold(), (setting[2] or "").strip()
            if key != "fetch" or not _USUAL_FETCH.fullmatch(value):
                found.add((section, key, value))
    return found


def _split_lines(text: str) -> tuple[list[str], set[tuple[_Section, str]]]:
    """Return the harmless lines in order, and the other lines with their sections."""
    harmless: list[str] = []
    unsafe: set[tuple[_Section, str]] = set()
    for section, line in _logical_lines(text):
        entry = line.strip(" \t\r")
        if HEADER.fullmatch(entry) or _is_harmless_line(section[0], entry):
            harmless.append(line)
        elif entry:
            unsafe.add((section, line))
    return harmless, unsafe


def _logical_lines(text: str) -> Iterator[tuple[_Section, str]]:
    """Yield each line with the section that git reads it in; a header is in its own section.

    A line that ends with a backslash includes the next one, which is part of its value even if it looks like a header.
    After an unusual header, such as one with a comment, lines are in a section of their own: none of them is harmless.
    """
    section = ("", "")
    parts: list[str] = []
    in_quotes = False
    for part in text.split("\n"):
        parts.append(part)
        value = part if len(parts) > 1 else _value(part)
        is_continued, in_quotes = _scan_value(value.removesuffix("\r"), in_quotes)
        if is_continued:
            continue
        line = "\n".join(parts)
        parts, in_quotes = [], False
        entry = line.strip(" \t\r")
        if header := HEADER.fullmatch(entry):
            section = (header[1].casefold(), header[2] or "")
        elif entry.startswith("["):
            section = ("", entry)
        yield section, line
    if parts:
        yield section, "\n".join(parts)


def _value(line: str) -> str:
    """Return what follows the equals sign; nothing for a comment."""
    return "" if line.lstrip(" \t\r").startswith(("#", ";")) else line.partition("=")[2]


def _scan_value(part: str, in_quotes: bool) -> tuple[bool, bool]:
    """Return whether a line of a value ends with a backslash outside a comment, and whether it ends within quotes."""
    escaped = False
    for character in part:
        if escaped:
            escaped = False
        elif character == "\\":
            escaped = True
        elif character == '"':
            in_quotes = not in_quotes
        elif character in "#;" and not in_quotes:
            return False, False
    return escaped, in_quotes


def _is_harmless_line(section: str, line: str) -> bool:
    entry = ENTRY.fullmatch(line)
    if entry is None or not all(char.isprintable() or char == "\t" for char in line):
        return False
    keys = _HARMLESS.get(section, frozenset())
    return (entry[1].casefold() in keys or "*" in keys) and "::" not in (entry[2] or "")
