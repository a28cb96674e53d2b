"""A command line read so strictly that what is understood means the same to every shell; everything else is not.

Only plain words, quotes around plain text, and the signs that join commands are understood. Whatever a shell would
expand, redirect, define or look up is refused with the reason, and a person is asked.
"""

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

LONGEST = 4_000
PARTS = 20
DEEPEST = 3

PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-^~")
JOINS = ("&&", "||", ";", "|", "\n")
NAME = re.compile(r"[A-Za-z0-9_.+-]+(/[A-Za-z0-9_.+-]+)*|/[A-Za-z0-9_.+/-]+|\./[A-Za-z0-9_.+/-]+")
ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\[.*\])?\+?=")
KEPT_NUMBERS = frozenset({"sha256", "md5", "base64", "base32", "7z", "k9s", "s3"})
SHELLS = frozenset({"sh", "bash", "dash"})
LOOKED_THROUGH = frozenset({"timeout", "nice", "nohup", "env", "time"})
DURATION = re.compile(r"\d{1,6}(\.\d+)?[smhd]?")


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


SHELL_WORDS = _set(
    "if then else elif fi for while until do done case esac select function in { } [[ ]] ! : . source eval exec"
    " command builtin alias unalias export set unset shift trap cd pushd popd dirs read readonly declare typeset local"
    " let getopts hash enable shopt ulimit umask wait jobs fg bg disown return exit break continue coproc mapfile"
    " readarray caller complete compgen history fc bind logout suspend times"
)
LAUNCHERS = _set(
    "sudo su doas pkexec runuser setpriv xargs parallel watch entr ssh slogin rsh mosh chroot unshare nsenter setsid"
    " stdbuf ionice chrt taskset flock script expect unbuffer strace ltrace gdb lldb valgrind perf busybox toybox"
    " ld.so systemd-run at batch crontab screen tmux dbus-run-session xvfb-run firejail bwrap proot fakeroot"
    " zsh ksh mksh fish csh tcsh rbash ash pwsh powershell cmd cmd.exe wsl start rundll32 mshta osascript open xdg-open"
    " run-parts start-stop-daemon daemonize socat ncat nc netcat telnet"
)


@dataclass(frozen=True, slots=True)
class Understood:
    """Each part is the words of one command. `single` when it is one command that needs no shell."""

    parts: tuple[tuple[str, ...], ...]
    single: bool


@dataclass(frozen=True, slots=True)
class Unclear:
    """Why the line is not understood."""

    why: str


class _Refused(Exception):
    """The line is not understood; the words say why."""


@lru_cache(maxsize=1024)
def read_line(text: str) -> Understood | Unclear:
    """The commands a line runs, wrappers looked through; or why that cannot be told for certain."""
    try:
        parts = _parts(text, 0)
    except _Refused as refused:
        return Unclear(str(refused))
    plain = _split(text)
    return Understood(tuple(parts), len(plain) == 1 and parts == plain)


def _parts(text: str, depth: int) -> list[tuple[str, ...]]:
    """Every command of a line, also those that wrappers and inner shells run."""
    if depth > DEEPEST:
        raise _Refused("it nests shells too deep")
    found: list[tuple[str, ...]] = []
    for words in _split(text):
        found += _unwrap(words, depth)
    if len(found) > PARTS:
        raise _Refused(f"it has more than {PARTS} parts")
    return found


def _split(text: str) -> list[tuple[str, ...]]:
    """The words of each command as they are written."""
    if len(text) > LONGEST:
        raise _Refused(f"it is longer than {LONGEST} characters")
    commands: list[list[str]] = [[]]
    joined = False
    at = 0
    text = text.strip(" \t\n")
    while at < len(text):
        join = next((join for join in JOINS if text.startswith(join, at)), "")
        if text[at] in " \t":
            at += 1
        elif join:
            if not commands[-1]:
                raise _Refused("two signs that join commands follow each other")
            commands.append([])
            joined = True
            at += len(join)
        else:
            word, at = _word(text, at)
            commands[-1].append(word)
    if joined and not commands[-1] and text.endswith(";"):
        commands.pop()
    if not all(commands):
        raise _Refused("a command is missing" if joined else "it is empty")
    return [tuple(words) for words in commands]


def _word(text: str, at: int) -> tuple[str, int]:
    """One word from `at` on, and where it ends."""
    word = ""
    begin = at
    while at < len(text) and text[at] not in " \t\n;|&":
        sign = text[at]
        if sign in "'\"":
            end = text.find(sign, at + 1)
            if end < 0:
                raise _Refused("a quote is not closed")
            word += _quoted(text[at + 1 : end], sign)
            at = end + 1
        else:
            _plain(sign, begin == at, word)
            word += sign
            at += 1
    if at < len(text) and text[at] == "&" and not text.startswith("&&", at):
        raise _Refused("& starts something in the background")
    return word, at


def _quoted(inner: str, quote: str) -> str:
    """Text between quotes that no shell would change."""
    special = sorted(set(inner) & set("$`\\!")) if quote == '"' else []
    if special:
        raise _Refused(f"a shell would expand {special[0]}")
    if not all(sign.isprintable() for sign in inner):
        raise _Refused("it holds characters that do not show")
    return inner


def _plain(sign: str, first: bool, before: str) -> None:
    """A sign outside of quotes."""
    if sign in PLAIN:
        if sign == "~" and (first or before.endswith((":", "="))):
            raise _Refused("~ stands for a folder")
        return
    if sign.isascii():
        why = SIGNS.get(sign, f"{sign!r} means something to a shell" if sign.isprintable() else HIDDEN)
        raise _Refused(why)
    if unicodedata.category(sign)[0] != "L" or unicodedata.normalize("NFKC", sign) != sign:
        raise _Refused(f"U+{ord(sign):04X} is no plain letter")


HIDDEN = "it holds characters that do not show"
SIGNS = {
    "$": "a shell would expand $",
    "`": "a shell would run what stands in `…`",
    "\\": "a backslash changes the next sign",
    "<": "it reads from another place with <",
    ">": "it writes to another place with >",
    "(": "it has a group in ( )",
    ")": "it has a group in ( )",
    "{": "it has a list in { }",
    "}": "it has a list in { }",
    "*": "* stands for names that are not seen here",
    "?": "? stands for names that are not seen here",
    "[": "[ stands for names that are not seen here",
    "]": "] stands for names that are not seen here",
    "#": "# hides what follows",
    "!": "! changes what a command means",
}


def _unwrap(words: tuple[str, ...], depth: int) -> list[tuple[str, ...]]:
    """The command that really runs."""
    name = words[0]
    program = program_of(name)
    if ASSIGNMENT.match(name):
        raise _Refused("it sets a variable for the command")
    if not NAME.fullmatch(name) or name.startswith("-"):
        raise _Refused(f"{name!r} is no plain name of a command")
    if program in SHELL_WORDS:
        raise _Refused(f"{program} belongs to the shell")
    if program in LAUNCHERS:
        raise _Refused(f"{program} runs another command in its own way")
    if program in SHELLS:
        if len(words) != 3 or words[1] != "-c":
            raise _Refused(f"{program} runs a script")
        return _parts(words[2], depth + 1)
    if program not in LOOKED_THROUGH:
        return [words]
    inner = _behind(program, words)
    if not inner:
        raise _Refused(f"{program} is used in a way that is not understood")
    return _unwrap(inner, depth + 1)


def _behind(program: str, words: tuple[str, ...]) -> tuple[str, ...]:
    """The words of the command that a wrapper runs; none where the wrapper has options that are not known here."""
    match program, words[1:]:
        case "timeout", [duration, *rest] if DURATION.fullmatch(duration):
            return tuple(rest)
        case "nice", ["-n", level, *rest] if re.fullmatch(r"-?\d{1,2}", level):
            return tuple(rest)
        case (("nice" | "nohup" | "time"), rest) if rest and not rest[0].startswith("-"):
            return tuple(rest)
        case "env", rest if rest and not rest[0].startswith("-") and "=" not in rest[0]:
            return tuple(rest)
        case _:
            return ()


def program_of(name: str) -> str:
    """`/usr/bin/git` and `git.exe` are git, `python3.12` is python."""
    program = re.split(r"[/\\]", name)[-1].casefold().removesuffix(".exe")
    return re.sub(r"(?<=[a-z])-?\d+(\.\d+)*$", "", program) if program not in KEPT_NUMBERS else program


def loose_words(text: str) -> list[list[str]]:
    """The words of each piece of any text, quotes and escapes taken away: what a *deny* is compared with."""
    bare = re.sub(r"\$\{?IFS\}?|\\\r?\n", " ", text)
    bare = re.sub(r"['\"\\]", "", unicodedata.normalize("NFKC", bare))
    pieces = re.split(r"[;&|\n(){}`<>]|\$\(", bare)
    return [words for piece in pieces if (words := piece.split())]
