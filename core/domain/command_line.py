"""A strict parser for shell command lines.

It accepts only what means the same to every shell: plain words, quotes around plain text, and the operators that join
commands. Anything a shell would expand, redirect, define or look up is rejected with a reason; the user is then asked
about the command instead.
"""

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

MAX_LENGTH = 4_000
MAX_COMMANDS = 20
MAX_DEPTH = 3

PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-^~")
OPERATORS = ("&&", "||", ";", "|", "\n")
NAME = re.compile(r"[A-Za-z0-9_.+-]+(/[A-Za-z0-9_.+-]+)*|/[A-Za-z0-9_.+/-]+|\./[A-Za-z0-9_.+/-]+")
ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\[.*\])?\+?=")
NAMES_WITH_DIGITS = frozenset({"sha256", "md5", "base64", "base32", "7z", "k9s", "s3"})
SHELLS = frozenset({"sh", "bash", "dash"})
WRAPPERS = frozenset({"timeout", "nice", "nohup", "env", "time"})
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
class ParsedLine:
    """A fully understood command line: the words of each command it runs.

    `single` means that it is one command without a wrapper such as `timeout`, which can be executed without a shell.
    """

    parts: tuple[tuple[str, ...], ...]
    single: bool


@dataclass(frozen=True, slots=True)
class UnclearLine:
    """A command line that is not fully understood. `reason` is a clause such as "it runs a script"."""

    reason: str


class _Rejected(Exception):
    """Raised with the reason why a command line cannot be parsed."""


@lru_cache(maxsize=1024)
def parse_line(text: str) -> ParsedLine | UnclearLine:
    """Return the commands that a line runs, including those behind wrappers such as `timeout`, or why it is unclear."""
    try:
        parts = _parts(text, 0)
    except _Rejected as refused:
        return UnclearLine(str(refused))
    plain = _split(text)
    return ParsedLine(tuple(parts), len(plain) == 1 and parts == plain)


def _parts(text: str, depth: int) -> list[tuple[str, ...]]:
    """Return the words of every command, including those run by wrappers and inner shells."""
    if depth > MAX_DEPTH:
        raise _Rejected("it nests shells too deeply")
    commands: list[tuple[str, ...]] = []
    for words in _split(text):
        commands += _unwrap(words, depth)
    if len(commands) > MAX_COMMANDS:
        raise _Rejected(f"it has more than {MAX_COMMANDS} parts")
    return commands


def _split(text: str) -> list[tuple[str, ...]]:
    """Return the words of each command as written, wrappers included."""
    if len(text) > MAX_LENGTH:
        raise _Rejected(f"it is longer than {MAX_LENGTH} characters")
    commands: list[list[str]] = [[]]
    joined = False
    at = 0
    text = text.strip(" \t\n")
    while at < len(text):
        join = next((join for join in OPERATORS if text.startswith(join, at)), "")
        if text[at] in " \t":
            at += 1
        elif join:
            if not commands[-1]:
                raise _Rejected("two operators follow each other")
            commands.append([])
            joined = True
            at += len(join)
        else:
            word, at = _word(text, at)
            commands[-1].append(word)
    if joined and not commands[-1] and text.endswith(";"):
        commands.pop()
    if not all(commands):
        raise _Rejected("a command is missing" if joined else "it is empty")
    return [tuple(words) for words in commands]


def _word(text: str, at: int) -> tuple[str, int]:
    """Return the word that begins at `at`, and the position after it."""
    word = ""
    begin = at
    while at < len(text) and text[at] not in " \t\n;|&":
        char = text[at]
        if char in "'\"":
            end = text.find(char, at + 1)
            if end < 0:
                raise _Rejected("a quote is not closed")
            word += _quoted(text[at + 1 : end], char)
            at = end + 1
        else:
            _plain(char, begin == at, word)
            word += char
            at += 1
    if at < len(text) and text[at] == "&" and not text.startswith("&&", at):
        raise _Rejected("& starts something in the background")
    return word, at


def _quoted(inner: str, quote: str) -> str:
    """Return the text between quotes, if no shell would change it."""
    special = sorted(set(inner) & set("$`\\!")) if quote == '"' else []
    if special:
        raise _Rejected(f"a shell would expand {special[0]}")
    if not all(char.isprintable() for char in inner):
        raise _Rejected(HIDDEN)
    return inner


def _plain(char: str, first: bool, before: str) -> None:
    """Reject a character outside quotes that has a meaning to a shell. `before` is the word so far."""
    if char in PLAIN:
        if char == "~" and (first or before.endswith((":", "="))):
            raise _Rejected("~ expands to a home folder")
        return
    if char.isascii():
        reason = SPECIAL_CHARACTERS.get(
            char, f"{char!r} has a special meaning to a shell" if char.isprintable() else HIDDEN
        )
        raise _Rejected(reason)
    if unicodedata.category(char)[0] != "L" or unicodedata.normalize("NFKC", char) != char:
        raise _Rejected(f"U+{ord(char):04X} is not a plain letter")


HIDDEN = "it contains invisible characters"
SPECIAL_CHARACTERS = {
    "$": "a shell would expand $",
    "`": "a shell would run the text between backticks",
    "\\": "a backslash changes the meaning of the next character",
    "<": "it redirects input with <",
    ">": "it redirects output with >",
    "(": "it contains a group in ( )",
    ")": "it contains a group in ( )",
    "{": "it contains a list in { }",
    "}": "it contains a list in { }",
    "*": "* expands to file names that cannot be known in advance",
    "?": "? expands to file names that cannot be known in advance",
    "[": "[ expands to file names that cannot be known in advance",
    "]": "] expands to file names that cannot be known in advance",
    "#": "# turns the rest of the line into a comment",
    "!": "! changes the meaning of a command",
}


def _unwrap(words: tuple[str, ...], depth: int) -> list[tuple[str, ...]]:
    """Return the commands that `words` really run, looking through wrappers and inner shells."""
    name = words[0]
    program = program_name(name)
    if ASSIGNMENT.match(name):
        raise _Rejected("it sets an environment variable for the command")
    if not NAME.fullmatch(name) or name.startswith("-"):
        raise _Rejected(f"{name!r} is not a plain command name")
    if program in SHELL_WORDS:
        raise _Rejected(f"{program} is part of the shell")
    if program in LAUNCHERS:
        raise _Rejected(f"{program} runs another command in a way of its own")
    if program in SHELLS:
        if len(words) != 3 or words[1] != "-c":
            raise _Rejected(f"{program} runs a script")
        return _parts(words[2], depth + 1)
    if program not in WRAPPERS:
        return [words]
    inner = _behind(program, words)
    if not inner:
        raise _Rejected(f"{program} is used in a way that is not understood")
    return _unwrap(inner, depth + 1)


def _behind(program: str, words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the command that a wrapper runs, or an empty tuple if the wrapper has unknown options."""
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


def program_name(name: str) -> str:
    """Return the name of a program: `/usr/bin/git` and `git.exe` are git, `python3.12` is python."""
    program = re.split(r"[/\\]", name)[-1].casefold().removesuffix(".exe")
    return re.sub(r"(?<=[a-z])-?\d+(\.\d+)*$", "", program) if program not in NAMES_WITH_DIGITS else program


def split_loosely(text: str) -> list[list[str]]:
    """Split any text at shell operators into lists of words, ignoring quotes and escapes. *Deny* rules match these."""
    bare = re.sub(r"\$\{?IFS\}?|\\\r?\n", " ", text)
    bare = re.sub(r"['\"\\]", "", unicodedata.normalize("NFKC", bare))
    pieces = re.split(r"[;&|\n(){}`<>]|\$\(", bare)
    return [words for piece in pieces if (words := piece.split())]
