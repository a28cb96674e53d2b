"""The argument parser of every command: short usage lines, grouped help, and suggestions for misspelled words."""

import argparse
from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import get_close_matches
from shutil import get_terminal_size
from textwrap import fill
from typing import Any, NoReturn, TypeAlias

from core.domain.problems import ErrorDetails

AddCommand: TypeAlias = "Callable[[str, str], CommandParser]"


class UsageError(Exception):
    """Raised for invalid arguments. `trouble` is the error to print, `usage` the usage line of the command."""

    def __init__(self, message: str, hint: str, usage: str) -> None:
        super().__init__(message)
        self.trouble = ErrorDetails(message, "", hint)
        self.usage = usage


class CommandParser(argparse.ArgumentParser):
    """An argument parser that raises UsageError instead of exiting.

    The process that holds the data folder also parses commands of other terminals, so it must survive a typo.

    Attributes:
        commands: The subcommands by name.
        sections: The sections of `--help`, as titles and subcommand names; if empty, there is one section, `Commands`.
    """

    def __init__(self, **kwargs: Any) -> None:
        # No abbreviated options: adding an option could make an abbreviation in a script ambiguous.
        kwargs |= {"allow_abbrev": False, "formatter_class": argparse.RawDescriptionHelpFormatter, "add_help": False}
        super().__init__(**kwargs)
        self.commands: dict[str, CommandParser] = {}
        self.sections: Sequence[tuple[str, Sequence[str]]] = ()
        self._default = ""
        self.color = False  # Python 3.14 would color the help, but not the lines that this class formats
        self._positionals.title, self._optionals.title = "Arguments", "Options"
        self.add_argument("-h", "--help", action="help", help="Show this help and exit")

    def group(self, dest: str = "action", default: str = "") -> AddCommand:
        """Give this command subcommands. Return a function that adds a subcommand from its name and description.

        `default` is used if no subcommand is named: with the default `list`, `mcp --json` means `mcp list --json`.
        """
        parsers = self.add_subparsers(dest=dest, metavar="COMMAND", parser_class=CommandParser)
        parsers.required = dest == "action"  # without a command at all, the window opens
        self._default = default

        def add(name: str, text: str) -> CommandParser:
            self.commands[name] = parser = parsers.add_parser(name, help=text, description=text)
            return parser

        return add

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse like argparse, but report an unknown option with the usage line of its subcommand."""
        parsed, unknown = self.parse_known_args(args, namespace)
        if unknown:
            self._innermost_command(parsed)._refuse(unknown[0], self)
        return parsed

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        argv = list(args or ())
        if self._default and (not argv or (argv[0].startswith("-") and argv[0] not in ("-h", "--help"))):
            argv.insert(0, self._default)
        return super().parse_known_args(argv, namespace)

    def error(self, message: str) -> NoReturn:
        self.refuse(f"{message[:1].upper()}{message[1:]}.")

    def refuse(self, message: str, hint: str = "") -> NoReturn:
        """Raise a UsageError. The default hint points to `--help`."""
        raise UsageError(message, hint or f"See `{self.prog} --help`.", self.format_usage().rstrip())

    def arguments(self) -> Iterator[str]:
        """Yield the positional arguments and required options for the usage line, in order."""
        grouped = {id(action) for group in self._mutually_exclusive_groups for action in group._group_actions}
        for action in self._actions:
            if id(action) not in grouped and not action.option_strings and not self.commands:
                yield _positional(action)
        for group in self._mutually_exclusive_groups:
            if group.required:
                alternatives = [_alternative(action) for action in group._group_actions]
                yield f"({' | '.join(alternatives)})" if len(alternatives) > 1 else alternatives[0]
        if self.commands:
            yield "COMMAND" if self._subparsers_required() else "[COMMAND]"

    def format_usage(self) -> str:
        return f"usage: {' '.join([self.prog, '[OPTIONS]', *self.arguments()])}\n"

    def format_help(self) -> str:
        formatter = self._get_formatter()
        formatter.add_text(fill(self.description or "", get_terminal_size().columns - 2))
        formatter.add_usage(self.format_usage().removeprefix("usage: ").rstrip().replace("%", "%%"), [], [])
        for title, actions in self._help_sections():
            formatter.start_section(title)
            formatter.add_arguments(actions)
            formatter.end_section()
        formatter.add_text(self.epilog)
        return formatter.format_help()

    def _subparsers_required(self) -> bool:
        return not self._default and any(
            action.required for action in self._actions if isinstance(action, argparse._SubParsersAction)
        )

    def _help_sections(self) -> Iterator[tuple[str, Iterable[argparse.Action]]]:
        """Yield the sections of the help, as title and entries: arguments, subcommands, options."""
        own = [action for action in self._actions if not isinstance(action, argparse._SubParsersAction)]
        yield "Arguments", [action for action in own if not action.option_strings]
        listed = {action.dest: action for action in self._command_actions()}
        for title, names in self.sections or (("Commands", tuple(listed)),):
            yield title, [listed[name] for name in names if name in listed]
        yield "Options", [action for action in own if action.option_strings]

    def _command_actions(self) -> list[argparse.Action]:
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                return action._choices_actions
        return []

    def _innermost_command(self, parsed: argparse.Namespace) -> "CommandParser":
        """Return the parser of the innermost subcommand that was chosen."""
        command = self
        for dest in ("command", "action"):
            command = command.commands.get(getattr(parsed, dest, None) or "", command)
        return command

    def _refuse(self, word: str, top: "CommandParser") -> NoReturn:
        """Raise a UsageError for an unknown argument, with a hint if it is an option of `journeyman` itself."""
        name = word.partition("=")[0]
        if self is not top and name in top._option_string_actions:
            self.refuse(f"Unknown option '{name}'.", f"Put {name} before the command.")
        options = [
            name for action in self._actions if action.help != argparse.SUPPRESS for name in action.option_strings
        ]
        if name.startswith("-"):
            self.refuse(f"Unknown option '{name}'.", _suggestion(name, options))
        self.refuse(f"Unexpected argument '{word}'.")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Check a value against the choices of its argument; overrides a hook of argparse to improve the message."""
        if action.choices is None or value in action.choices:
            return
        choices = [str(choice) for choice in action.choices]
        if isinstance(action, argparse._SubParsersAction):
            self.refuse(f"There is no command `{self.prog} {value}`.", _suggestion(str(value), choices))
        name = "/".join(action.option_strings) or action.metavar or action.dest.upper()
        hint = f"{_suggestion(str(value), choices)} Choose one of: {', '.join(choices)}.".lstrip()
        self.refuse(f"'{value}' is not a valid value for {name}.", hint)


def _suggestion(word: str, candidates: Sequence[str]) -> str:
    similar = get_close_matches(word, candidates, n=1, cutoff=0.6)
    matches = similar or [name for name in candidates if name.startswith(word)]
    return f"Did you mean '{matches[0]}'?" if matches else ""


def _positional(action: argparse.Action) -> str:
    name = str(action.metavar or "|".join(map(str, action.choices or ())) or action.dest.upper())
    if action.nargs == "?":
        return f"[{name}]"
    if action.nargs in ("*", argparse.REMAINDER):
        return f"[{name}...]"
    return f"{name}..." if action.nargs == "+" else name


def _alternative(action: argparse.Action) -> str:
    """Return the usage of an option in a required group, of which exactly one must be used; it has no brackets."""
    if not action.option_strings:
        return _positional(action).strip("[]")
    if action.metavar is None:
        return action.option_strings[-1]
    value = f"[{action.metavar}]" if action.nargs == "?" else str(action.metavar)
    return f"{action.option_strings[-1]} {value}"
