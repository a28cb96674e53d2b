"""The manual page, from the table of what can be typed: it cannot say anything else than --help."""

import argparse
import re

from app.arguments import parser

HEAD = """\
.TH JOURNEYMAN 1 "" "Journeyman {version}" "User commands"
.SH NAME
journeyman \\- run an agent in a folder of yours and see every step
.SH SYNOPSIS
.B journeyman
[\\fB\\-\\-home\\fR \\fIDIR\\fR] [\\fB\\-\\-safe\\fR] [\\fICOMMAND\\fR ...]
.SH DESCRIPTION
Without a command it opens the window. Every command works on the same data, also while the window is open.
"""
FOOT = """\
.SH EXIT STATUS
0 completed, 1 failed, 2 wrong usage, 3 waiting for an answer, 4 a limit was met, 130 stopped.
.SH FILES
.I ~/.local/share/journeyman
.RS
All data: one database, settings, backups, logs. Updates and removal leave it alone.
.RE
.SH ENVIRONMENT
.B JOURNEYMAN_HOME
.RS
Another data folder.
.RE
"""


def page(version: str) -> str:
    """In roff."""
    top = parser()
    lines = [HEAD.format(version=version), ".SH OPTIONS\n", *options(top), ".SH COMMANDS\n"]
    for action in top._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, command in action.choices.items():
                lines += [f".SS {name}\n{said(command.description or '')}\n", *options(command)]
    return "".join(lines) + FOOT


def options(command: argparse.ArgumentParser) -> list[str]:
    """Each with its words; those of a command's own commands with them."""
    lines = []
    for action in command._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, inner in action.choices.items():
                lines += [f".TP\n.B {said(name)}\n{said(inner.description or '')}\n"]
        elif action.help != argparse.SUPPRESS and not isinstance(action, argparse._HelpAction):
            names = ", ".join(action.option_strings) or str(action.metavar or action.dest)
            value = f" {action.metavar}" if action.option_strings and isinstance(action.metavar, str) else ""
            lines += [f".TP\n.B {said(names)}{said(value)}\n{said(action.help or '')}\n"]
    return lines


def said(text: str) -> str:
    """Words that roff takes for words."""
    plain = text.replace("%%", "%").replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", plain)
