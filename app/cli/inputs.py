"""Reads the inputs of a command that are not among its arguments: secrets, and a text from standard input."""

import argparse
import getpass
import sys

from core.domain.problems import Problem


def read_inputs(args: argparse.Namespace) -> list[str]:
    """Read the secrets and standard input that the command needs, such as an API key or a task.

    The result is added to the command's arguments inside this process or over the socket, so a secret never appears in
    a process list.
    """
    match args.command, getattr(args, "action", None):
        case "models", "key" if not args.forget:
            return [_read_secret(args.name)]
        case "mcp", "key":
            return [_read_secret(f"{args.name}, {args.what}")]
        case "mcp", "add":
            return [_read_secret(f"{args.name}, {key}") for key in args.key]
        case ("run", None) | ("schedule", "add") if args.task == "-":
            return [_read_stdin().strip()]
        case ("approve", None) if args.change == "-":
            return [_read_stdin()]
        case ("skills", "save") if args.source == "-":
            return [_read_stdin()]
        case _:
            return []


def _read_secret(name: str) -> str:
    """Prompt for a secret without echo. If standard input is not a terminal, read one line from it instead."""
    secret = getpass.getpass(f"Key for {name}: ") if sys.stdin.isatty() else sys.stdin.readline()
    return secret.strip()


def _read_stdin() -> str:
    try:
        return sys.stdin.buffer.read().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Problem("Standard input cannot be read.", f"{error}.", "Pipe a UTF-8 text into it.") from error
