"""Recognizes commands that only read, either files in the folder that their arguments name, or a network service."""

import re
from collections.abc import Sequence

from core.domain.command_arguments import Recognized, is_option, is_plain, split_arguments
from core.domain.command_tables import folder_reads
from core.domain.known_commands import (
    accepts_plain_operands,
    entry_applies,
    entry_only_reads,
    known_command,
    recognize,
    undescribed_operands,
    without_harmless_globals,
)
from core.domain.query_commands import reads_database, reads_loopback
from core.domain.shell_words import GlobPattern

# A jq filter of only these characters, without quotes, cannot name a file.
JQ_PATHS = re.compile(r"[A-Za-z0-9_.|\[\] ,()?-]+")
PROGRAM_FIRST = frozenset({"awk", "sed"})  # programs whose first operand is a program text


def only_reads_folder(argv: Sequence[str], *, enforced: bool = False) -> bool:
    """Return whether a command only reads files that it names in the folder, or facts about the computer.

    Such a command reaches no network and no service. `enforced`: the sandbox prevents anything but reading, so the
    command may also run code in the folder, such as plugins of a package manager.
    """
    words = without_harmless_globals(argv)
    if words[0] == "[" and words[-1] == "]":
        words = ("test", *words[1:-1])
    if enforced and names_folder_of_git(words):
        words = ("git", *words[3:])
    if "/" in words[0]:
        return False
    if (words[0],) in folder_reads().text:
        sets_variable = words[0] == "printf" and len(words) > 1 and words[1].startswith("-")
        return not sets_variable
    if reads_database(words) or (enforced and _reads_version(words)):
        return True
    command = known_command(words)
    if command is None or (words[0] != command.words[0] and not enforced):
        return False
    recognized = split_arguments(command, words[len(command.words) :])
    if not (recognized.complete and entry_applies(recognized) and entry_only_reads(recognized)):
        return False
    return _has_safe_options(recognized) and _reads_named_files(recognized, words, enforced=enforced)


def _has_safe_options(recognized: Recognized) -> bool:
    """Return whether the options contain neither file name patterns nor git options that read outside the folder."""
    unsafe_options = folder_reads().git_unless if recognized.command.words[0] == "git" else ()
    return not any(
        isinstance(word, GlobPattern) or any(is_option(option, word) for option in unsafe_options)
        for word in recognized.options
    )


def _reads_named_files(recognized: Recognized, words: Sequence[str], *, enforced: bool) -> bool:
    """Return whether the operands of a read-only command are patterns, or files that it names in the folder."""
    command, operands, reads = recognized.command, recognized.operands, folder_reads()
    if command.words in reads.no_operands:
        needs_option_for_operands = bool(command.operands_require)  # which `entry_only_reads` has looked for
        return needs_option_for_operands or not undescribed_operands(command, operands)
    if command.words in reads.pattern_only:
        return enforced and _searches_work_tree(words, operands)
    if command.words in reads.pattern_first:
        if _has_pattern(recognized):
            return accepts_plain_operands(command, operands)
        return bool(operands) and _is_pattern(words[0], operands[0]) and accepts_plain_operands(command, operands[1:])
    is_listed = command.words in reads.paths or (enforced and command.words in reads.enforced)
    return is_listed and accepts_plain_operands(command, operands)


def _is_pattern(program: str, word: str) -> bool:
    """Return whether an operand is only a search pattern, or for jq and yq a filter that reads no further file."""
    return not isinstance(word, GlobPattern) and (program not in ("jq", "yq") or bool(JQ_PATHS.fullmatch(word)))


def words_without_pattern(argv: Sequence[str]) -> list[str]:
    """Return the words of a command without its first operand, if that is a search pattern or program text."""
    words = list(argv)
    recognized = recognize(argv)
    if recognized is None or not recognized.operands or not recognized.complete:
        return words
    command = recognized.command
    if command.words[0] in PROGRAM_FIRST or (
        command.words in folder_reads().pattern_first and not _has_pattern(recognized)
    ):
        del words[words.index(recognized.operands[0], 1)]
    return words


def _has_pattern(recognized: Recognized) -> bool:
    """Return whether an option such as `-e` contains the search pattern, so that the first operand is a file."""
    return any(is_option(option, word) for word in recognized.options for option in ("-e", "--regexp"))


def names_folder_of_git(argv: Sequence[str]) -> bool:
    """Return whether this is `git -C FOLDER …` with a folder inside the workspace."""
    return tuple(argv[:2]) == ("git", "-C") and len(argv) > 3 and is_plain(argv[2])


def is_reading_client(argv: Sequence[str]) -> bool:
    """Return whether a command is known to only read, but from a network or a service instead of the folder.

    In the sandbox it fails, because the sandbox blocks network and services even for approved commands.
    """
    if "/" in argv[0]:
        return False
    recognized = recognize(argv)
    if recognized is None:
        return reads_loopback(argv)
    command = recognized.command
    return (
        command.words[0] != "git"
        and command.contents == "none"
        and not folder_reads().lists(command.words)
        and recognized.complete
        and entry_only_reads(recognized)
        and accepts_plain_operands(command, recognized.operands)
    )


def _searches_work_tree(words: Sequence[str], operands: Sequence[str]) -> bool:
    """Return whether `git grep` has one pattern and otherwise only paths after `--`, so no revision to search."""
    paths = words[words.index("--") + 1 :] if "--" in words else ()
    return len(operands) == len(paths) + 1 and not isinstance(operands[0], GlobPattern) and all(map(is_plain, paths))


def _reads_version(words: Sequence[str]) -> bool:
    """Return whether a command only prints the version or the help of an installed program."""
    return len(words) == 2 and words[1] in ("--version", "-version", "-V", "--help")
