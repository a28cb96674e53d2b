"""Generates the manual page from the argument parser, so that it always agrees with --help."""

import argparse
import re

from app.cli.arguments import parser

HEAD = """\
.TH JOURNEYMAN 1 "" "Journeyman {version}" "User commands"
.SH NAME
journeyman \\- run an agent in a folder of yours and see every step
.SH SYNOPSIS
.B journeyman
[\\fB\\-\\-data\\-dir\\fR \\fIDIR\\fR] [\\fB\\-\\-safe\\fR] [\\fICOMMAND\\fR ...]
.SH DESCRIPTION
Without a command, open the window. All commands use the same data and work while the window is open.
"""
FOOT = """\
.SH EXIT STATUS
0 completed, 1 failed, 2 wrong usage, 3 waiting for an answer or a permission, 4 a limit was reached, 130 stopped.
.SH FILES
.I ~/.local/share/journeyman
.RS
The data folder: database, settings, backups and logs. Updating or removing Journeyman does not change it.
.RE
.SH ENVIRONMENT
.B JOURNEYMAN_DATA_DIR
.RS
The data folder, if \\-\\-data\\-dir is not given.
.RE
"""


def page(version: str) -> str:
    """Return the manual page in roff."""
    top = parser()
    lines = [HEAD.format(version=version), ".SH OPTIONS\n", *options(top), ".SH COMMANDS\n"]
    for action in top._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, command in action.choices.items():
                lines += [f".SS {name}\n{_escape(command.description or '')}\n", *options(command)]
    return "".join(lines) + FOOT


def options(command: argparse.ArgumentParser) -> list[str]:
    """Return the options, arguments and subcommands of a command, with their descriptions."""
    lines = []
    for action in command._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, inner in action.choices.items():
                lines += [f".TP\n.B {_escape(name)}\n{_escape(inner.description or '')}\n"]
        elif action.help != argparse.SUPPRESS and not isinstance(action, argparse._HelpAction):
            names = ", ".join(action.option_strings) or str(action.metavar or action.dest)
            value = f" {action.metavar}" if action.option_strings and isinstance(action.metavar, str) else ""
            lines += [f".TP\n.B {_escape(names)}{_escape(value)}\n{_escape(action.help or '')}\n"]
    return lines


def _escape(text: str) -> str:
    """Escape a text for roff."""
    plain = text.replace("%%", "%").replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", plain)
