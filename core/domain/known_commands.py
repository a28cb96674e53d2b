"""Recognizes commands whose effect is known, and options that saved rules may cover."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from core.domain.awk_programs import only_prints
from core.domain.command_line import program_name
from core.domain.command_tables import KnownCommand, folder_reads, known_programs, words_of
from core.domain.shell_words import GlobPattern

LOOPBACK_URL = re.compile(
    r"(https?://)?(localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\])(:\d{1,5})?(/[A-Za-z0-9._~/%=&+,:?;-]*)?"
)
CURL_FLAGS = words_of(
    "-s -S -i -I -v -f -k -g -G -4 -6 -N --silent --show-error --include --head --verbose --fail --insecure --get"
    " --compressed --no-buffer --ipv4 --ipv6 --http1.1 --http2 --globoff --fail-with-body"
)
CURL_VALUES = words_of("-H -A -m -w -e --header --user-agent --max-time --connect-timeout --write-out --retry")
SELECT = re.compile(r"\s*(select|explain|with|pragma\s+\w+\s*(\(\s*\w+\s*\))?\s*;?\s*$)\b[^;]*;?\s*", re.IGNORECASE)
SQLITE_READS = re.compile(r"\.(schema|tables|indexes|indices|databases|fullschema|dbinfo|version)( [A-Za-z0-9_]+)?")
SQLITE_CODE = re.compile(
    r"readfile|writefile|edit|load_extension|fsdir|zipfile|tokenizer|attach|insert|update|delete|eval", re.IGNORECASE
)
JQ_PATHS = re.compile(r"[A-Za-z0-9_.|\[\] ,()?-]+")  # without quotes, a filter of jq can name no file
PROGRAM_FIRST = frozenset({"awk", "sed"})  # their first operand is a program
SQLITE_FLAGS = words_of("-readonly -safe -batch -header -noheader -column -csv -json -line -list -markdown -box -table")


@dataclass(frozen=True, slots=True)
class Recognized:
    """A command in the table, with the words that follow its verb split into options and operands.

    `complete` means that every option is in the table, so that the operands are certain.
    """

    command: KnownCommand
    options: tuple[str, ...]
    operands: tuple[str, ...]
    complete: bool


def without_harmless_globals(argv: Sequence[str]) -> tuple[str, ...]:
    """Return a command without the options before its verb that change nothing, such as `git --no-pager`."""
    program = known_programs().get(program_name(argv[0]))
    arguments = list(argv[1:])
    while program and program.before_flags and arguments and arguments[0] in program.before_flags:
        arguments.pop(0)
    return (argv[0], *arguments)


def recognize(argv: Sequence[str]) -> Recognized | None:
    """Return what the table says about a command, or None if its verb is not in the table or it does not apply."""
    name = program_name(argv[0])
    program = known_programs().get(name)
    if program is None:
        return None
    arguments = list(argv[1:])
    while arguments and arguments[0].startswith("-"):
        option, equals, _ = arguments[0].partition("=")
        if option in program.before_values:
            del arguments[: 1 if equals else 2]
        elif arguments[0] in program.before_flags:
            arguments.pop(0)
        else:
            break
    for command in program.commands:
        verb = command.words[1:]
        if len(arguments) >= len(verb) and all(map(fnmatchcase, arguments, verb)):
            recognized = _split(command, arguments[len(verb) :])
            return recognized if _applies(recognized) else None
    return None


def is_harmless(argv: Sequence[str]) -> bool:
    """Return whether all options of a command are known, and its operands are plain names."""
    recognized = recognize(argv)
    if recognized is None:
        return _reads_loopback(argv) or _reads_database(argv)
    operand_pattern = recognized.command.operands
    return recognized.complete and all(
        is_plain(word) or (operand_pattern and operand_pattern.fullmatch(word)) for word in recognized.operands
    )


def only_reads(argv: Sequence[str]) -> bool:
    """Return whether a command is known to change nothing."""
    recognized = recognize(argv)
    if recognized is not None:
        return recognized.complete and changes_nothing(recognized)
    return _reads_loopback(argv) or _reads_database(argv)


def changes_nothing(recognized: Recognized) -> bool:
    """Return whether a command only reads and takes no operands that would make it write or run code."""
    command = recognized.command
    further = _further_operands(command, recognized.operands)
    if command.effect != "reads" or further is None:
        return False
    return not (further and command.operands_need) or any(
        is_option(option, word) for word in recognized.options for option in command.operands_need
    )


def only_reads_folder(argv: Sequence[str], *, enforced: bool = False) -> bool:
    """Return whether a command only reads files that it names in the folder, or facts about the computer.

    It reaches no network and no service. Only if `enforced`, because the sandbox prevents everything but reading, may
    it run code that the folder contains, such as the plugins of a package manager.
    """
    words = without_harmless_globals(argv)
    reads = folder_reads()
    if words[0] == "[":
        words = ("test", *words[1:-1])
    if enforced and names_folder_of_git(words):
        words = ("git", *words[3:])
    if "/" in words[0]:
        return False
    if (words[0],) in reads.text:
        return words[0] == "echo" or not words[1:2] or not words[1].startswith("-")  # printf -v sets a variable
    if _reads_database(words) or (enforced and _reads_version(words)):
        return True
    command = known_command(words)
    if command is None or (words[0] != command.words[0] and not enforced):
        return False
    recognized = _split(command, words[len(command.words) :])
    unless = reads.git_unless if words[0] == "git" else ()
    if (
        not (recognized.complete and _applies(recognized) and changes_nothing(recognized))
        or any(isinstance(word, GlobPattern) for word in recognized.options)
        or any(is_option(option, word) for word in recognized.options for option in unless)
    ):
        return False
    operands = list(recognized.operands)
    if command.words in reads.no_operands:
        return not _further_operands(command, operands) or bool(command.operands_need)
    if command.words in reads.pattern_only:
        return enforced and _searches_work_tree(words, operands)
    if command.words in reads.pattern_first:
        if not _has_pattern(recognized):
            pattern = operands.pop(0) if operands else GlobPattern()
            if isinstance(pattern, GlobPattern) or (words[0] in ("jq", "yq") and not JQ_PATHS.fullmatch(pattern)):
                return False
    elif command.words not in reads.paths and not (enforced and command.words in reads.enforced):
        return False
    return _are_plain(command, operands)


def words_without_pattern(argv: Sequence[str]) -> list[str]:
    """Return the words of a command without the pattern or the program that is its first operand."""
    words = list(argv)
    recognized = recognize(argv)
    if recognized is None or not recognized.operands or not recognized.complete:
        return words
    command = recognized.command
    if command.words[0] in PROGRAM_FIRST or (
        command.words in folder_reads().pattern_first and not _has_pattern(recognized)
    ):
        words.remove(recognized.operands[0])
    return words


def _has_pattern(recognized: Recognized) -> bool:
    """Return whether an option has given the pattern to search for."""
    return any(is_option(option, word) for word in recognized.options for option in ("-e", "--regexp"))


def names_folder_of_git(argv: Sequence[str]) -> bool:
    """Return whether a command of git begins with the folder in which it is to run."""
    return tuple(argv[:2]) == ("git", "-C") and len(argv) > 3 and is_plain(argv[2])


def is_reading_client(argv: Sequence[str]) -> bool:
    """Return whether a command is known to only read, but from a network or a service instead of the folder.

    The sandbox lets it reach neither, whether the user approves it or not.
    """
    if "/" in argv[0]:
        return False
    recognized = recognize(argv)
    if recognized is None:
        return _reads_loopback(argv)
    command = recognized.command
    return (
        command.words[0] != "git"
        and command.contents == "none"
        and not folder_reads().lists(command.words)
        and recognized.complete
        and changes_nothing(recognized)
        and _are_plain(command, recognized.operands)
    )


def _searches_work_tree(words: Sequence[str], operands: Sequence[str]) -> bool:
    """Return whether a search by git has a pattern and paths after `--`, but no revision."""
    paths = words[words.index("--") + 1 :] if "--" in words else ()
    return len(operands) == len(paths) + 1 and not isinstance(operands[0], GlobPattern) and all(map(is_plain, paths))


def _reads_version(words: Sequence[str]) -> bool:
    """Return whether an installed program is only asked for its version or its help."""
    return len(words) == 2 and words[1] in ("--version", "-version", "-V", "--help")


def covers(prefix: Sequence[str], words: Sequence[str]) -> bool:
    """Return whether the `*` of a rule pattern may stand for these words after the prefix."""
    command = known_command(prefix)
    if command is None:
        return all(is_plain(word) for word in words)
    recognized = _split(command, [*prefix[len(command.words) :], *words])
    if not (recognized.complete and _applies(recognized)):
        return False
    return _are_plain(command, recognized.operands)


def _are_plain(command: KnownCommand, words: Sequence[str]) -> bool:
    """Return whether operands are those that the command takes, and otherwise plain names."""
    further = _further_operands(command, words)
    return further is not None and all(is_plain(word) or word in command.after | command.flags for word in further)


def _further_operands(command: KnownCommand, words: Sequence[str]) -> list[str] | None:
    """Return the operands that the table does not describe, or None if the command does not take these operands."""
    operands = list(words)
    if command.first_operand:
        if not operands or isinstance(operands[0], GlobPattern) or not command.first_operand.fullmatch(operands[0]):
            return None
        if command.words[0] == "awk" and not only_prints(operands[0]):
            return None
        operands.pop(0)
    further = [word for word in operands if not (command.operands and command.operands.fullmatch(word))]
    several = any(isinstance(word, GlobPattern) for word in further)
    if command.most_operands is not None and (several or len(further) > command.most_operands):
        return None
    return further


def known_command(prefix: Sequence[str]) -> KnownCommand | None:
    """Return the command in the table that a rule pattern begins with."""
    words = (program_name(prefix[0]), *prefix[1:])
    program = known_programs().get(words[0])
    for command in program.commands if program else ():
        if len(words) >= len(command.words) and all(map(fnmatchcase, words, command.words)):
            return command
    return None


def is_plain(word: str) -> bool:
    """Return whether a word is a name in the folder or a revision, as opposed to an option or an address."""
    if word.startswith(("-", "/", "~", "@", "+", "^", ":", "\\")) or "=" in word or "://" in word or "::" in word[:5]:
        return False
    if ".." in re.split(r"[/\\]", word) or re.match(r"[\w.-]+@[\w.-]+:|[A-Za-z]:[\\/]", word):
        return False
    return word != ""


def _split(command: KnownCommand, words: Sequence[str]) -> Recognized:
    """Split words into options and operands as the program does."""
    options: list[str] = []
    operands: list[str] = []
    complete = True
    remaining = list(words)
    while remaining:
        word = remaining.pop(0)
        if word == "--":
            unexpected = [argument for argument in remaining if argument not in command.after]
            if command.after and any(argument.startswith("-") for argument in unexpected):
                complete = False
            operands += unexpected if command.after else remaining
            break
        if not word.startswith("-") or word == "-" or isinstance(word, GlobPattern):
            operands.append(word)
            continue
        value_count = _option(command, word, remaining)
        options.append(word)
        if value_count is None:
            complete = False
        else:
            options += [remaining.pop(0) for _ in range(value_count)]
    return Recognized(command, tuple(options), tuple(operands), complete)


def _option(command: KnownCommand, word: str, following: Sequence[str]) -> int | None:
    """Return how many further words an option takes, or None if it is not in the table."""
    name, equals, value = word.partition("=")
    if word in command.flags or (equals and f"{name}=" in command.flags):
        return 0
    for options, check in ((command.values, _any_value), (command.paths, is_plain)):
        if name in options:
            if equals:
                return 0 if check(value) else None
            return 1 if following and check(following[0]) else None
    if command.number and re.fullmatch(r"-\d{1,6}", word):
        return 0
    if word.startswith("--") or command.single_dash:
        return None
    for index, letter in enumerate(word[1:], 1):
        option = f"-{letter}"
        if option in command.values or option in command.paths:
            check = _any_value if option in command.values else is_plain
            attached = word[index + 1 :]
            if attached:
                return 0 if check(attached) else None
            return 1 if following and check(following[0]) else None
        if option not in command.flags:
            return None
    return 0


def _any_value(value: str) -> bool:
    """Return whether a value is only text: no control characters, no file to read it from."""
    return (
        not value.startswith(("@", "file:", "fileb:"))
        and "%x" not in value
        and "-file=" not in value
        and not isinstance(value, GlobPattern)
    )


def _applies(recognized: Recognized) -> bool:
    """Return whether the command has the options that it needs and none that change what it does."""
    command = recognized.command
    words = (*recognized.options, *recognized.operands)
    if any(is_option(option, word, command.single_dash) for word in words for option in command.unless):
        return False
    if command.secret_words and any(_names_one(word, command.secret_words) for word in words):
        return False
    if not command.needs:
        return True
    negated = any(
        word.startswith("--no-") and any(need.startswith(f"--{word[5:]}") for need in command.needs) for word in words
    )
    return (
        recognized.complete
        and not negated
        and any(
            is_option(option, word, command.single_dash)
            for word in recognized.options
            for option in command.needs
            if len(word) <= len(option) + 20
        )
    )


def is_option(option: str, word: str, single_dash: bool = False) -> bool:
    """Return whether a word is this option: also abbreviated, with a value, or among other letters."""
    name = word.split("=")[0]
    if name == option:
        return True
    if option.startswith("--") and name.startswith("--"):
        return len(name) > 2 and option.startswith(name)
    single = len(option) == 2 and option[0] == "-" and not single_dash
    return single and word.startswith("-") and not word.startswith("--") and option[1] in word[1:]


def _names_one(word: str, secret_words: frozenset[str]) -> bool:
    names = re.findall(r"[\w-]+", word.casefold())
    functions = re.findall(r"\w+(?=\s*\()", word.casefold())
    return not secret_words.isdisjoint((word, word.split("=")[0], *names, *functions))


def _reads_loopback(argv: Sequence[str]) -> bool:
    """Return whether this is curl reading from a server on this computer."""
    if program_name(argv[0]) != "curl":
        return False
    urls: list[str] = []
    remaining = list(argv[1:])
    while remaining:
        word = remaining.pop(0)
        name, equals, _ = word.partition("=")
        following = remaining[0] if remaining else "@"
        if (
            (word in ("-o", "--output") and following == "/dev/null")
            or (word in ("-X", "--request") and following in ("GET", "HEAD"))
            or (name in CURL_VALUES and not equals and not following.startswith("@") and "%output" not in following)
        ):
            remaining.pop(0)
        elif (
            word.startswith("-")
            and not word.startswith("--")
            and all(f"-{letter}" in CURL_FLAGS for letter in word[1:])
        ):
            continue
        elif word.startswith("-"):
            if word not in CURL_FLAGS:
                return False
        else:
            urls.append(word)
    return bool(urls) and all(LOOPBACK_URL.fullmatch(url) and not isinstance(url, GlobPattern) for url in urls)


def _reads_database(argv: Sequence[str]) -> bool:
    """Return whether this is sqlite3 with one query of a database that it opens read-only."""
    options = [word for word in argv[1:] if word.startswith("-")]
    operands = [word for word in argv[1:] if not word.startswith("-")]
    if program_name(argv[0]) != "sqlite3" or len(operands) != 2 or not SQLITE_FLAGS.issuperset(options):
        return False
    query = operands[1]
    reads = SQLITE_READS.fullmatch(query) or (SELECT.fullmatch(query) and not SQLITE_CODE.search(query))
    return "-readonly" in options and bool(reads) and "\n" not in query and not isinstance(operands[0], GlobPattern)
