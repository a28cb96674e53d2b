"""Determines which files a command can print, to tell whether its output may contain an untrusted file."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from core.domain.command_arguments import is_option
from core.domain.command_line import ParsedLine, parse_line, program_name
from core.domain.command_tables import words_of
from core.domain.known_commands import recognize

PRINT_NO_CONTENTS = words_of(
    "ls pwd echo printf true false test mkdir rmdir touch rm mv cp ln chmod which whoami uname id sleep"
)
PRINT_NAMED_FILES = words_of("cat head tail nl wc cmp diff sort uniq cut md5sum sha1sum sha256sum stat")
SEARCH_PROGRAMS = frozenset({"grep", "egrep", "fgrep"})  # without a file after the pattern, these may search any file
# Commands that print names or facts but no contents, each with the options that make it print contents.
PRINTS_MORE: Mapping[tuple[str, ...], tuple[str, ...]] = MappingProxyType(
    {
        ("date",): ("-f", "--file"),
        ("git", "status"): ("-v", "--verbose"),
        ("git", "rev-parse"): (),
        ("git", "branch"): ("-v", "--verbose", "--format"),
        ("git", "tag"): ("-n", "--format"),
        ("git", "remote"): (),
        ("git", "add"): ("-p", "-i", "-e", "--patch", "--interactive", "--edit"),
        ("git", "ls-files"): (),
    }
)
SHOW_REFERENCES = frozenset({("git", "status"), ("git", "rev-parse"), ("git", "branch"), ("git", "tag")})
GIT_FOLDER = ".git"
SHELL_SYNTAX = frozenset("<>*?[]{}()$`\\~!#&\n")
NAMES_FILES_ELSEWHERE = ("--files0-from", "--file", "--recursive", "--verbose", "--patch", "--output")


def printed_files(command: str) -> tuple[str, ...] | None:
    """Return the files and folders whose contents a command line can print; None if it could be any file.

    The tuple may contain words that are not paths, such as the line count for `head`, and contains `GIT_FOLDER` if the
    names of branches or tags are printed.
    """
    line = parse_line(command)
    if not isinstance(line, ParsedLine) or SHELL_SYNTAX.intersection(command.replace("&&", "")):
        return None
    paths: list[str] = []
    for words in line.parts:
        program, arguments = program_name(words[0]), words[1:]
        operands = [word for word in arguments if not word.startswith("-")]
        if any(word.startswith(NAMES_FILES_ELSEWHERE) for word in arguments):
            return None
        if _prints_no_contents(program, arguments):
            if (program, *arguments[:1]) in SHOW_REFERENCES:
                paths.append(GIT_FOLDER)
        elif program in SEARCH_PROGRAMS and (searched := _searched_files(words)):
            paths += searched
        elif program in PRINT_NAMED_FILES:  # also by options such as `diff --from-file=a`
            paths += (*operands, *(word.partition("=")[2] for word in arguments if "=" in word))
        else:
            return None
    return tuple(paths)


def _prints_no_contents(program: str, arguments: Sequence[str]) -> bool:
    """Return whether a command prints only names and facts. `git status` does, but `git status -v` prints a diff."""
    if program in PRINT_NO_CONTENTS:
        return True
    more = PRINTS_MORE.get((program, *arguments[:1]), PRINTS_MORE.get((program,)))
    return more is not None and not any(is_option(option, word) for word in arguments for option in more)


def _searched_files(words: Sequence[str]) -> Sequence[str]:
    """Return the files and folders that a grep command searches; an empty sequence if they are not certain."""
    recognized = recognize(words)
    if recognized is None or not recognized.complete:
        return ()
    has_pattern = any(is_option(option, word) for word in recognized.options for option in ("-e", "--regexp"))
    return recognized.operands if has_pattern else recognized.operands[1:]
