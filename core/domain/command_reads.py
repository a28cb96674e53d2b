"""Determines which files a command can print, so that only commands that may show an untrusted file count as such."""

from core.domain.command_line import ParsedLine, parse_line, program_name

PRINT_NO_CONTENTS = frozenset(
    [
        "ls",
        "pwd",
        "echo",
        "printf",
        "date",
        "true",
        "false",
        "test",
        "mkdir",
        "rmdir",
        "touch",
        "rm",
        "mv",
        "cp",
        "ln",
        "chmod",
        "which",
        "whoami",
        "uname",
        "id",
        "sleep",
    ]
)
PRINT_NAMED_FILES = frozenset(
    ["cat", "head", "tail", "nl", "wc", "cmp", "diff", "sort", "uniq", "cut", "md5sum", "sha1sum", "sha256sum", "stat"]
)
SEARCH_PROGRAMS = frozenset({"grep", "egrep", "fgrep"})  # without a file after the pattern they may search everything
GIT_PRINTS_NAMES = frozenset({"status", "branch", "add", "rev-parse", "ls-files", "remote", "tag"})
SHELL_SYNTAX = frozenset("<>*?[]{}()$`\\~!#&\n")
NAMES_FILES_ELSEWHERE = ("--files0-from", "--file", "--recursive", "--verbose", "--patch", "--output")


def printed_files(command: str) -> tuple[str, ...] | None:
    """Return the files and folders whose contents a command can print, or None if it could be any file.

    A tuple may contain words that are not paths, such as the number of lines for `head`.
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
        if program in PRINT_NO_CONTENTS or (program == "git" and _prints_names(arguments)):
            continue
        if program in SEARCH_PROGRAMS and len(operands) >= 2:
            paths += operands[1:]
        elif program in PRINT_NAMED_FILES:
            paths += operands
        else:
            return None
    return tuple(paths)


def _prints_names(arguments: tuple[str, ...]) -> bool:
    """Return whether git is asked only for names: `git status`, but not `git status -v`, which prints a diff."""
    return arguments[:1] != () and arguments[0] in GIT_PRINTS_NAMES and "-v" not in arguments and "-vv" not in arguments
