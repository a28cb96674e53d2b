"""Splits the arguments of a known command into options and operands, as its program does."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from core.domain.command_tables import KnownCommand
from core.domain.shell_words import GlobPattern


@dataclass(frozen=True, slots=True)
class Recognized:
    """A known command whose arguments after its verb are split into options, with their values, and operands.

    `complete` means that every option is known, so that the operands are certain.
    """

    command: KnownCommand
    options: tuple[str, ...]
    operands: tuple[str, ...]
    complete: bool


def split_arguments(command: KnownCommand, words: Sequence[str]) -> Recognized:
    """Split the words after the verb of a command into options and operands, as its program does."""
    options: list[str] = []
    operands: list[str] = []
    complete = True
    remaining = list(words)
    while remaining:
        word = remaining.pop(0)
        if word == "--":
            unexpected = [argument for argument in remaining if argument not in command.options_after_dashes]
            if command.options_after_dashes and any(argument.startswith("-") for argument in unexpected):
                complete = False
            operands += unexpected if command.options_after_dashes else remaining
            break
        if not word.startswith("-") or word == "-" or isinstance(word, GlobPattern):
            operands.append(word)
            continue
        value_count = _count_values(command, word, remaining)
        options.append(word)
        if value_count is None:
            complete = False
        else:
            options += [remaining.pop(0) for _ in range(value_count)]
    return Recognized(command, tuple(options), tuple(operands), complete)


def _count_values(command: KnownCommand, word: str, following: Sequence[str]) -> int | None:
    """Return how many of the following words are values of an option: 0 or 1; None if the option is unknown."""
    name, equals, value = word.partition("=")
    if word in command.flags or (equals and f"{name}=" in command.flags):
        return 0
    if _takes_value(command, name):
        return _count_separate_values(command, name, value if equals else None, following)
    if command.number and re.fullmatch(r"-\d{1,6}", word):
        return 0
    if word.startswith("--") or command.single_dash:
        return None
    return _count_values_of_letters(command, word[1:], following)


def _count_values_of_letters(command: KnownCommand, letters: str, following: Sequence[str]) -> int | None:
    """Return how many of the following words are values of combined short options (`-xf`); None for an unknown option.

    An option with a value ends the group: the rest of the word, or the next word, is its value.
    """
    for index, letter in enumerate(letters, 1):
        option = f"-{letter}"
        if _takes_value(command, option):
            return _count_separate_values(command, option, letters[index:] or None, following)
        if option not in command.flags:
            return None
    return 0


def _takes_value(command: KnownCommand, option: str) -> bool:
    return option in command.values or option in command.paths or option in command.names


def _count_separate_values(
    command: KnownCommand, option: str, attached: str | None, following: Sequence[str]
) -> int | None:
    """Return 0 if the value is attached to the option, 1 if it is the next word, or None if it is not allowed."""
    if attached is not None:
        return 0 if _allows_value(command, option, attached) else None
    return 1 if following and _allows_value(command, option, following[0]) else None


def _allows_value(command: KnownCommand, option: str, value: str) -> bool:
    if option in command.values:
        return _is_plain_text(value)
    if option in command.names:
        return _is_installed_name(value)
    return is_plain(value)


def _is_plain_text(value: str) -> bool:
    """Return whether an option value is plain text: not a file to read the value from, and not a file name pattern."""
    if value.startswith(("@", "file:", "fileb:")):  # read from a file, by `gh` (`@notes.txt`) or `aws` (`file://x`)
        return False
    if "-file=" in value:  # read from a file, by `kubectl get -o jsonpath-file=x` and its other formats
        return False
    if "%x" in value:  # any byte, such as a control character for the terminal: `git log --format=%x1b`
        return False
    return not isinstance(value, GlobPattern)  # the shell replaces `*.txt` with names, which may look like options


def _is_installed_name(value: str) -> bool:
    """Return whether an option value is a name of something built in or installed, and no file with code to run.

    `eslint --format` takes the name `stylish`, but runs the file `./format.js`.
    """
    return re.fullmatch(r"[A-Za-z][\w-]*", value) is not None


def is_option(option: str, word: str, single_dash: bool = False) -> bool:
    """Return whether a word is this option, also abbreviated, with a value, or combined with other short options.

    `single_dash` is for programs whose long options have one hyphen, which cannot be combined.
    """
    name = word.split("=")[0]
    if name == option:
        return True
    if option.startswith("--") and name.startswith("--"):
        return len(name) > 2 and option.startswith(name)
    single = len(option) == 2 and option[0] == "-" and not single_dash
    return single and word.startswith("-") and not word.startswith("--") and option[1] in word[1:]


def is_plain(word: str) -> bool:
    """Return whether a word can only be a name inside the folder or a revision: no option, URL or outside path."""
    # An option, a path outside (`/etc`, `~/x`, `\\server\x`), a file with more arguments (`@args.txt`), or a prefix
    # with a meaning to git: `+main` forces an update, `^main` excludes a revision, `:/notes` starts at the repository.
    if word.startswith(("-", "/", "~", "@", "+", "^", ":", "\\")):
        return False
    if "=" in word or "://" in word:  # a setting (`core.pager=./x`) or a URL
        return False
    if "::" in word[:5]:  # git runs a command: `ext::sh -c …`; further on, it is a test: `tests/a.py::test_b`
        return False
    if ".." in re.split(r"[/\\]", word):  # a path that leaves the folder; `main..topic` is a range of revisions
        return False
    if re.match(r"[\w.-]+@[\w.-]+:", word):  # a file on another computer: `me@example.org:notes`
        return False
    if re.match(r"[A-Za-z]:[\\/]", word):  # a Windows path with a drive: `C:\notes`
        return False
    return word != ""
