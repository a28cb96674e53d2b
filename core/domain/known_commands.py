"""Recognizes commands that the tables describe, and reports which of them only read or are covered by a saved rule.

- A *program* of the tables has one *entry* for each of its verbs, or a single entry. *Global options* precede the verb.
- An entry *applies* to a command that has one of the options that the entry requires, and none that it excludes.
- *Operands* are the arguments that are neither options nor values of options. The entry may describe some of them, such
  as an expression of `sed`. It *accepts* the operands if the described first one is as described, and if there are not
  too many others.
- A *plain* operand can only be a name inside the folder or a revision.
- An entry *only reads* if it has the effect "reads" and no operand makes the command write or run code.
"""

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase

from core.domain.awk_programs import only_prints
from core.domain.command_arguments import Recognized, is_option, is_plain, split_arguments
from core.domain.command_line import program_name
from core.domain.command_tables import KnownCommand, KnownProgram, known_programs
from core.domain.query_commands import reads_database, reads_loopback
from core.domain.shell_words import GlobPattern

MAX_OPTION_VALUE = 20  # characters after a required option, in the same word


def without_harmless_globals(argv: Sequence[str]) -> tuple[str, ...]:
    """Return a command without harmless global options, such as `--no-pager` in `git --no-pager log`.

    Global options with a value are kept: a rule for `git log` must not cover `git -C FOLDER log`.
    """
    program = _known_program(argv)
    return (argv[0], *_skip_globals(program, argv[1:], with_values=False)) if program else tuple(argv)


def recognize(argv: Sequence[str]) -> Recognized | None:
    """Return a command with its arguments split, None without an entry that applies. Global options are skipped."""
    program = _known_program(argv)
    if program is None:
        return None
    arguments = _skip_globals(program, argv[1:], with_values=True)
    command = _find_entry(program, arguments)
    if command is None:
        return None
    recognized = split_arguments(command, arguments[len(command.words) - 1 :])
    return recognized if entry_applies(recognized) else None


def known_command(prefix: Sequence[str]) -> KnownCommand | None:
    """Return the entry for the program and verb with which a command or rule pattern begins; None without one."""
    program = _known_program(prefix)
    return _find_entry(program, prefix[1:]) if program else None


def _known_program(argv: Sequence[str]) -> KnownProgram | None:
    return known_programs().get(program_name(argv[0])) if argv else None


def _skip_globals(program: KnownProgram, arguments: Sequence[str], *, with_values: bool) -> list[str]:
    """Return the arguments after the global options. Without `with_values`, one that has a value is not skipped."""
    remaining = list(arguments)
    while remaining:
        option, equals, _ = remaining[0].partition("=")
        if with_values and option in program.before_values:
            del remaining[: 1 if equals else 2]
        elif remaining[0] in program.before_flags:
            remaining.pop(0)
        else:
            break
    return remaining


def _find_entry(program: KnownProgram, arguments: Sequence[str]) -> KnownCommand | None:
    """Return the entry with the most specific verb with which the arguments begin."""
    for command in program.commands:
        verb = command.words[1:]
        if len(arguments) >= len(verb) and all(map(fnmatchcase, arguments, verb)):
            return command
    return None


def has_only_known_arguments(argv: Sequence[str]) -> bool:
    """Return whether all options of a command are known, and all operands are plain or described by its entry."""
    recognized = recognize(argv)
    if recognized is None:
        return reads_loopback(argv) or reads_database(argv)
    pattern = recognized.command.operands
    has_known_operands = all(is_plain(word) or (pattern and pattern.fullmatch(word)) for word in recognized.operands)
    return recognized.complete and has_known_operands


def only_reads(argv: Sequence[str]) -> bool:
    """Return whether a command is known to change nothing. It may reach the network."""
    recognized = recognize(argv)
    if recognized is not None:
        return recognized.complete and entry_only_reads(recognized)
    return reads_loopback(argv) or reads_database(argv)


def entry_only_reads(recognized: Recognized) -> bool:
    """Return whether the entry of a command only reads, given its operands. Unknown options are not considered."""
    command = recognized.command
    if command.effect != "reads" or not accepts_operands(command, recognized.operands):
        return False
    if not command.operands_require or not undescribed_operands(command, recognized.operands):
        return True
    return any(is_option(option, word) for word in recognized.options for option in command.operands_require)


def rule_covers(prefix: Sequence[str], words: Sequence[str]) -> bool:
    """Return whether a `*` at the end of a rule pattern may stand for these words after the prefix."""
    command = known_command(prefix)
    if command is None:
        return all(is_plain(word) for word in words)
    recognized = split_arguments(command, [*prefix[len(command.words) :], *words])
    if not (recognized.complete and entry_applies(recognized)):
        return False
    return accepts_plain_operands(command, recognized.operands)


def accepts_plain_operands(command: KnownCommand, operands: Sequence[str]) -> bool:
    """Return whether the entry accepts the operands, and each is described by it, plain, or an option after `--`."""
    if not accepts_operands(command, operands):
        return False
    options = command.options_after_dashes | command.flags
    return all(is_plain(word) or word in options for word in undescribed_operands(command, operands))


def accepts_operands(command: KnownCommand, operands: Sequence[str]) -> bool:
    """Return whether the first operand is as the entry describes it, and the entry allows as many others."""
    if command.first_operand:
        if not operands or isinstance(operands[0], GlobPattern) or not command.first_operand.fullmatch(operands[0]):
            return False
        if command.awk_program and not only_prints(operands[0]):
            return False
    if command.max_operands is None:
        return True
    undescribed = undescribed_operands(command, operands)
    stands_for_several = any(isinstance(word, GlobPattern) for word in undescribed)
    return not stands_for_several and len(undescribed) <= command.max_operands


def undescribed_operands(command: KnownCommand, operands: Sequence[str]) -> list[str]:
    """Return the operands that the entry does not describe, of operands that it accepts."""
    others = operands[1:] if command.first_operand else operands
    return [word for word in others if not (command.operands and command.operands.fullmatch(word))]


def entry_applies(recognized: Recognized) -> bool:
    """Return whether a command has an option that its entry requires, and no option or word that the entry excludes."""
    command = recognized.command
    words = (*recognized.options, *recognized.operands)
    if any(is_option(option, word, command.single_dash) for word in words for option in command.excluded_options):
        return False
    if command.secret_words and any(_mentions_secret(word, command.secret_words) for word in words):
        return False
    if not command.required_options:
        return True
    negations = [f"--{word.removeprefix('--no-')}" for word in words if word.startswith("--no-")]
    is_negated = any(option.startswith(negation) for option in command.required_options for negation in negations)
    has_required_option = any(
        is_option(option, word, command.single_dash)
        for word in recognized.options
        for option in command.required_options
        if len(word) <= len(option) + MAX_OPTION_VALUE
    )
    return recognized.complete and not is_negated and has_required_option


def _mentions_secret(word: str, secret_words: frozenset[str]) -> bool:
    """Return whether a word of a command is one of these words, or contains one as a name."""
    names = re.findall(r"[\w-]+", word.casefold())
    functions = re.findall(r"\w+(?=\s*\()", word.casefold())
    return not secret_words.isdisjoint((word, word.split("=")[0], *names, *functions))
