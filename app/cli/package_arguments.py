"""Defines the subcommands of `journeyman packages` and their arguments."""

import argparse

from app.cli.command_parser import AddCommand
from app.cli.json_option import json_option

EXAMPLES = """\
Examples:
  journeyman packages add ~/tools/review-helpers
  journeyman packages add https://git.example.org/team/agents.git --ref v2.1 --path plugins/review
  journeyman packages trust review"""


def add_packages(add: AddCommand) -> None:
    text = "List or change the packages, which bring hooks, MCP servers, skills and slash commands."
    action = add("packages", text).group(default="list")
    json_option(action("list", "List the packages, and whether they are used."))
    new = action("add", "Install a package from a folder or a git address, and show what it brings. Nothing is run.")
    new.epilog = EXAMPLES
    new.add_argument("source", metavar="SOURCE", help="A folder, or a git address: https, ssh or file")
    new.add_argument("--ref", default="", metavar="REF", help="A branch, tag or commit (default: the main branch)")
    new.add_argument("--path", default="", metavar="DIR", help="The folder of the package inside the source")
    new.add_argument("--name", default="", metavar="NAME", help="Its name here (default: from the source)")
    json_option(new)
    json_option(_named(action("show", "Show what a package brings, and what has changed since you trusted it.")))
    trust = _named(action("trust", "Use a package as it is now, and start its MCP servers to list their tools."))
    digest_help = "Only if its files still have this digest, which `show` prints"
    trust.add_argument("--digest", default="", metavar="DIGEST", help=digest_help)
    json_option(trust)
    _named(action("untrust", "Stop using a package until you trust it again."))
    json_option(_named(action("update", "Fetch a package again. Changes are not used until you trust them.")))
    _named(action("remove", "Remove a package, and everything that it brought."))


def _named(command: argparse.ArgumentParser) -> argparse.ArgumentParser:
    command.add_argument("name", metavar="NAME", help="The name of the package")
    return command
