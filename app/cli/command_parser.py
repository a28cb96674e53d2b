"""The argument parser of every command: short usage lines, grouped help, and suggestions for misspelled words."""

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import get_close_matches
from shutil import get_terminal_size
from textwrap import fill
from typing import Any, NamedTuple, NoReturn, TypeAlias

from core.domain.problems import ErrorDetails

ALTERNATIVES = re.compile("one of the arguments (.+) is required")  # the message of argparse for a required group

AddCommand: TypeAlias = "Callable[[str, str], CommandParser]"


class HelpSection(NamedTuple):
    """A section of `--help` that lists subcommands."""

    title: str
    commands: Sequence[str]


class ExclusiveGroup(NamedTuple):
    """Arguments of which at most one may be given; exactly one if the group is required."""

    required: bool
    actions: list[argparse.Action]


class UsageError(Exception):
    """Raised for invalid arguments. `details` is the error to print, `usage` the usage line of the command."""

    def __init__(self, message: str, hint: str, usage: str) -> None:
        super().__init__(message)
        self.details = ErrorDetails(message, cause="", fix=hint)
        self.usage = usage


class CommandParser(argparse.ArgumentParser):
    """An argument parser that raises UsageError instead of exiting.

    The process that holds the data folder also parses commands of other terminals, so it must survive a typo.

    An empty value is refused, because in a script it mostly comes from a variable that is not set. An argument with
    `type=str` accepts it.

    Attributes:
        missing_hint: The hint if a required argument is missing; if empty, it points to `--help`.
        commands: The subcommands by name.
        help_sections: The sections of `--help` with subcommands; if empty, there is one section, `Commands`.
    """

    def __init__(self, **kwargs: Any) -> None:
        # No abbreviated options: adding an option could make an abbreviation in a script ambiguous.
        kwargs |= {"allow_abbrev": False, "formatter_class": argparse.RawDescriptionHelpFormatter, "add_help": False}
        super().__init__(**kwargs)
        self.commands: dict[str, CommandParser] = {}
        self.help_sections: Sequence[HelpSection] = ()
        self.missing_hint = ""
        self._default_command = ""
        self._command_choice: argparse.Action | None = None  # the argument that names the subcommand
        self.color = False  # Python 3.14 would color the help, but not the lines that this class formats
        self.add_argument("-h", "--help", action="help", help="Show this help and exit")

    def group(self, dest: str = "action", default: str = "") -> AddCommand:
        """Give this command subcommands. Return a function that adds a subcommand from its name and description.

        `default` is used if no subcommand is named: with the default `list`, `mcp --json` means `mcp list --json`.
        """
        parsers = self.add_subparsers(dest=dest, metavar="COMMAND", parser_class=CommandParser)
        parsers.required = dest == "action"  # without a command at all, the window opens
        self._command_choice = parsers
        self._default_command = default

        def add(name: str, text: str) -> CommandParser:
            self.commands[name] = parser = parsers.add_parser(name, help=text, description=text)
            return parser

        return add

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse like argparse, but report an unknown option with the usage line of its subcommand."""
        parsed, unknown = self.parse_known_args(args, namespace)
        if unknown:
            self._innermost_command(parsed).refuse_unknown(unknown[0], self)
        return parsed

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        argv = list(sys.argv[1:] if args is None else args)
        names_command = bool(argv) and not argv[0].startswith("-")
        asks_for_help = argv[:1] in (["-h"], ["--help"])
        if self._default_command and not names_command and not asks_for_help:
            argv.insert(0, self._default_command)
        return super().parse_known_args(argv, namespace)

    def error(self, message: str) -> NoReturn:
        if alternatives := ALTERNATIVES.fullmatch(message):
            message = f"{' or '.join(alternatives[1].split())} is required"
        self.refuse(f"{message[:1].upper()}{message[1:]}.", self.missing_hint if "required" in message else "")

    def refuse(self, message: str, hint: str = "") -> NoReturn:
        """Raise a UsageError. The default hint points to `--help`."""
        raise UsageError(message, hint or f"See `{self.prog} --help`.", self.format_usage().rstrip())

    def _usage_words(self) -> Iterator[str]:
        """Yield the words of the usage line: required options, positional arguments, required groups, subcommand.

        A group of options of which exactly one is required is written as `(--a | --b)`.
        """
        groups = self._exclusive_groups()
        grouped = [action for group in groups for action in group.actions]
        alone = [action for action in self._own_actions() if action not in grouped]
        yield from (_required_option(action) for action in alone if action.option_strings and action.required)
        if not self.commands:
            yield from (_positional(action) for action in alone if not action.option_strings)
        for group in groups:
            if group.required:
                alternatives = [_required_option(action) for action in group.actions]
                yield f"({' | '.join(alternatives)})" if len(alternatives) > 1 else alternatives[0]
        if self._command_choice:
            yield "COMMAND" if self._command_choice.required and not self._default_command else "[COMMAND]"

    def format_usage(self) -> str:
        return f"usage: {' '.join([self.prog, '[OPTIONS]', *self._usage_words()])}\n"

    def format_help(self) -> str:
        formatter = self.formatter_class(prog=self.prog)
        formatter.add_text(fill(self.description or "", get_terminal_size().columns - 2))
        formatter.add_usage(self.format_usage().removeprefix("usage: ").rstrip().replace("%", "%%"), [], [])
        for title, actions in self._help_sections():
            formatter.start_section(title)
            formatter.add_arguments(actions)
            formatter.end_section()
        formatter.add_text(self.epilog)
        return formatter.format_help()

    def _help_sections(self) -> Iterator[tuple[str, Iterable[argparse.Action]]]:
        """Yield the title and the arguments of each section of the help: arguments, subcommands, options."""
        own = self._own_actions()
        yield "Arguments", [action for action in own if not action.option_strings]
        for title, names in self.help_sections or (HelpSection("Commands", tuple(self.commands)),):
            yield title, [_command_entry(name, self.commands[name]) for name in names if name in self.commands]
        yield "Options", [action for action in own if action.option_strings]

    def _innermost_command(self, parsed: argparse.Namespace) -> "CommandParser":
        """Return the parser of the subcommand that `parsed` names, or of this command if it names none."""
        command = self
        for dest in ("command", "action"):
            command = command.commands.get(getattr(parsed, dest, None) or "", command)
        return command

    def refuse_unknown(self, word: str, top: "CommandParser") -> NoReturn:
        """Raise a UsageError for an unknown argument. For an option of `journeyman` itself, hint where to put it."""
        name = word.partition("=")[0]
        if self is not top and name in top._options():
            self.refuse(f"Unknown option '{name}'.", f"Put {name} before the command.")
        if name.startswith("-"):
            self.refuse(f"Unknown option '{name}'.", _suggestion(name, self._options(hidden=False)))
        self.refuse(f"Unexpected argument '{word}'.")

    def _options(self, *, hidden: bool = True) -> list[str]:
        shown = (action for action in self._own_actions() if hidden or action.help != argparse.SUPPRESS)
        return [name for action in shown for name in action.option_strings]

    # The methods below use private attributes of argparse, because it has no public ones for these purposes.

    def _own_actions(self) -> list[argparse.Action]:
        """Return the options and arguments of this command, without the argument that names the subcommand."""
        return [action for action in self._actions if action is not self._command_choice]

    def _exclusive_groups(self) -> list[ExclusiveGroup]:
        return [ExclusiveGroup(group.required, group._group_actions) for group in self._mutually_exclusive_groups]

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:
        """Return the values of an argument from the words given for it. Overrides a private method of argparse."""
        may_be_empty = action.type or action.choices or action.nargs == argparse.REMAINDER
        if not may_be_empty and any(not word.strip() for word in arg_strings):
            raise argparse.ArgumentError(action, "expected a text that is not empty")
        return super()._get_values(action, arg_strings)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Check a value against the choices of its argument. Overrides a private method that argparse calls."""
        if action.choices is None or value in action.choices:
            return
        choices = [str(choice) for choice in action.choices]
        if action is self._command_choice:
            self.refuse(f"There is no command `{self.prog} {value}`.", _suggestion(str(value), choices))
        name = "/".join(action.option_strings) or action.metavar or action.dest.upper()
        hint = f"{_suggestion(str(value), choices)} Choose one of: {', '.join(choices)}.".lstrip()
        self.refuse(f"'{value}' is not a valid value for {name}.", hint)


def _suggestion(word: str, candidates: Sequence[str]) -> str:
    similar = get_close_matches(word, candidates, n=1, cutoff=0.6)
    matches = similar or [name for name in candidates if name.startswith(word)]
    return f"Did you mean '{matches[0]}'?" if matches else ""


def _command_entry(name: str, command: CommandParser) -> argparse.Action:
    """Return a placeholder argument that makes argparse list a subcommand in the help."""
    return argparse.Action((), dest=name, metavar=name, help=command.description)


def _positional(action: argparse.Action) -> str:
    name = str(action.metavar or "|".join(map(str, action.choices or ())) or action.dest.upper())
    if action.nargs == "?":
        return f"[{name}]"
    if action.nargs in ("*", argparse.REMAINDER):
        return f"[{name}...]"
    return f"{name}..." if action.nargs == "+" else name


def _required_option(action: argparse.Action) -> str:
    """Return the usage text of a required option or of an alternative in a required group, without brackets."""
    if not action.option_strings:
        return _positional(action).strip("[]")
    if action.metavar is None:
        return action.option_strings[-1]
    value = f"[{action.metavar}]" if action.nargs == "?" else str(action.metavar)
    return f"{action.option_strings[-1]} {value}"
