"""Recognizes commands whose effect is known from the tables, and the words that saved rules may cover."""

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase

from core.domain.awk_programs import only_prints
from core.domain.command_arguments import Recognized, is_option, is_plain, split_arguments
from core.domain.command_line import program_name
from core.domain.command_tables import KnownCommand, known_programs
from core.domain.query_commands import reads_database, reads_loopback
from core.domain.shell_words import GlobPattern

MAX_OPTION_VALUE = 20  # characters after a required option, in the same word


def without_harmless_globals(argv: Sequence[str]) -> tuple[str, ...]:
    """Return a command without harmless options before its verb, such as `--no-pager` in `git --no-pager log`."""
    program = known_programs().get(program_name(argv[0]))
    arguments = list(argv[1:])
    while program and program.before_flags and arguments and arguments[0] in program.before_flags:
        arguments.pop(0)
    return (argv[0], *arguments)


def recognize(argv: Sequence[str]) -> Recognized | None:
    """Return a command with its arguments split; None if it is not in the table or its entry excludes an option."""
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
            recognized = split_arguments(command, arguments[len(verb) :])
            return recognized if applies(recognized) else None
    return None


def is_harmless(argv: Sequence[str]) -> bool:
    """Return whether all options of a command are known, and all operands are plain names or as the table permits."""
    recognized = recognize(argv)
    if recognized is None:
        return reads_loopback(argv) or reads_database(argv)
    pattern = recognized.command.operands
    has_plain_operands = all(is_plain(word) or (pattern and pattern.fullmatch(word)) for word in recognized.operands)
    return recognized.complete and has_plain_operands


def only_reads(argv: Sequence[str]) -> bool:
    """Return whether a command is known to change nothing. It may reach the network."""
    recognized = recognize(argv)
    if recognized is not None:
        return recognized.complete and changes_nothing(recognized)
    return reads_loopback(argv) or reads_database(argv)


def changes_nothing(recognized: Recognized) -> bool:
    """Return whether the entry of a command is read-only, and no operand makes this command write or run code."""
    command = recognized.command
    further = further_operands(command, recognized.operands)
    if command.effect != "reads" or further is None:
        return False
    if not further or not command.operands_need:
        return True
    return any(is_option(option, word) for word in recognized.options for option in command.operands_need)


def covers(prefix: Sequence[str], words: Sequence[str]) -> bool:
    """Return whether a `*` at the end of a rule pattern may stand for these words after the prefix."""
    command = known_command(prefix)
    if command is None:
        return all(is_plain(word) for word in words)
    recognized = split_arguments(command, [*prefix[len(command.words) :], *words])
    if not (recognized.complete and applies(recognized)):
        return False
    return are_plain(command, recognized.operands)


def are_plain(command: KnownCommand, words: Sequence[str]) -> bool:
    """Return whether the operands fit the table entry of the command, and are otherwise plain names."""
    further = further_operands(command, words)
    return further is not None and all(is_plain(word) or word in command.after | command.flags for word in further)


def further_operands(command: KnownCommand, words: Sequence[str]) -> list[str] | None:
    """Return the operands that the table entry does not describe; None if the command does not accept the operands."""
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
    """Return the table entry for the program and verb with which a command or rule pattern begins; None without one."""
    words = (program_name(prefix[0]), *prefix[1:])
    program = known_programs().get(words[0])
    if program is None:
        return None
    for command in program.commands:
        if len(words) >= len(command.words) and all(map(fnmatchcase, words, command.words)):
            return command
    return None


def applies(recognized: Recognized) -> bool:
    """Return whether a command has the options that its table entry requires, and none that the entry excludes."""
    command = recognized.command
    words = (*recognized.options, *recognized.operands)
    if any(is_option(option, word, command.single_dash) for word in words for option in command.unless):
        return False
    if command.secret_words and any(_names_one(word, command.secret_words) for word in words):
        return False
    if not command.needs:
        return True
    negations = [f"--{word.removeprefix('--no-')}" for word in words if word.startswith("--no-")]
    is_negated = any(need.startswith(negation) for need in command.needs for negation in negations)
    has_needed_option = any(
        is_option(option, word, command.single_dash)
        for word in recognized.options
        for option in command.needs
        if len(word) <= len(option) + MAX_OPTION_VALUE
    )
    return recognized.complete and not is_negated and has_needed_option


def _names_one(word: str, secret_words: frozenset[str]) -> bool:
    """Return whether a word of a command is one of these words, or contains one as a name."""
    names = re.findall(r"[\w-]+", word.casefold())
    functions = re.findall(r"\w+(?=\s*\()", word.casefold())
    return not secret_words.isdisjoint((word, word.split("=")[0], *names, *functions))
