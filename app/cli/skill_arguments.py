"""The arguments of `journeyman skills` and `journeyman proposals`."""

import argparse
from collections.abc import Mapping
from types import MappingProxyType

from app.cli.command_parser import AddCommand
from app.cli.json_option import json_option
from app.cli.value_types import whole_number

# The subcommands that take only a skill, each with its description for the help.
SWITCHES: Mapping[str, str] = MappingProxyType(
    {
        "trust": "Let agents use a skill, as it is now.",
        "untrust": "Stop agents from using a skill until you trust it again.",
        "enable": "Offer a skill to agents.",
        "disable": "Stop offering a skill to agents.",
        "pin": "Pin a skill: list it first, and let no agent propose changes to it.",
        "unpin": "Unpin a skill.",
        "archive": "Archive a skill with all of its versions.",
        "unarchive": "Restore a skill from the archive.",
    }
)


def add_skills(add: AddCommand) -> None:
    action = add("skills", "List, add, edit or export the skills that agents can use.").group(default="list")
    json_option(_where(action("list", "List the skills, and whether agents are offered them in this folder.")))
    show = _named(action("show", "Show a skill: its text, state, findings and files."))
    show.add_argument("--file", metavar="PATH", default="", help="Show one of its files instead")
    _version(show)
    json_option(show)
    check = action("check", "Check skills against the Agent Skills format.")
    check.add_argument("path", metavar="PATH", help="A folder, a zip file or a SKILL.md")
    json_option(check)
    add_skill = action(
        "add", "Add skills from a folder, a zip file or a SKILL.md. Agents use them once you trust them."
    )
    add_skill.add_argument("path", metavar="PATH", help="A folder, a zip file or a SKILL.md")
    add_skill.add_argument("names", metavar="NAME", nargs="*", help="Add only these (default: all)")
    add_skill.add_argument(
        "--replace", action="store_true", help="Make it the next version of a skill of the same name"
    )
    add_skill.add_argument("--trust", action="store_true", help="Trust the skills right away")
    json_option(add_skill)
    _versions(action)
    rename = _named(action("rename", "Rename a skill of the library."))
    rename.add_argument("to", metavar="NEW", help="The new name")
    for name, text in SWITCHES.items():
        _named(action(name, text))
    _proposals(add)


def _versions(action: AddCommand) -> None:
    save = _named(action("save", "Save a text as the next version of a skill, or as a new skill."))
    save.add_argument("source", metavar="FILE", help="The new text of its SKILL.md; - reads it from standard input")
    base_help = "The version that the text was made from (default: the newest)"
    save.add_argument("--base", type=int, metavar="VERSION", help=base_help)
    save.add_argument("--note", type=str, metavar="TEXT", default="", help="A note that is kept with the version")
    json_option(save)
    export = _named(action("export", "Export a skill to a folder or a zip file."))
    export.add_argument("to", metavar="PATH", help="A folder, or a file name that ends in .zip")
    _version(export)
    json_option(_named(action("history", "List the versions of a skill.")))
    diff = _named(action("diff", "Show what changed between two versions of a skill."))
    diff.add_argument("a", metavar="OLD", type=int, help="A version")
    diff.add_argument("b", metavar="NEW", type=int, nargs="?", default=0, help="A version (default: the newest)")
    restore = _named(action("restore", "Restore an old version, as the newest."))
    restore.add_argument("number", metavar="N", type=whole_number, help="The version")
    json_option(_named(action("runs", "List the runs that used a skill, and how they were rated.")))


def _proposals(add: AddCommand) -> None:
    proposals = add("proposals", "List or decide the memories and skills that agents propose to keep.")
    action = proposals.group(default="list")
    listed = action("list", "List the open proposals.")
    listed.add_argument("--all", action="store_true", help="Decided proposals too")
    listed.add_argument("--of", choices=("skill", "memory"), help="Only these")
    json_option(listed)
    json_option(_proposal(action("show", "Show a proposal: what it would change, why, and which steps it comes from.")))
    keep = _proposal(action("keep", "Keep what a proposal offers."))
    keep.add_argument("--text", metavar="FILE", help="Keep the text of this file instead")
    _proposal(action("reject", "Reject a proposal."))
    _proposal(action("undo", "Undo a decision: remove what was kept, or reopen what was rejected."))


def _named(action: argparse.ArgumentParser) -> argparse.ArgumentParser:
    action.add_argument("name", metavar="NAME", help="The name of the skill, or its key (see `skills list --json`)")
    return _where(action)


def _where(action: argparse.ArgumentParser) -> argparse.ArgumentParser:
    text = "Include the skills of DIR (default: the current folder)"
    action.add_argument("-C", dest="folder", metavar="DIR", default=".", help=text)
    return action


def _proposal(action: argparse.ArgumentParser) -> argparse.ArgumentParser:
    action.add_argument("proposal", metavar="ID", help="The ID that `proposals list` shows, or its first characters")
    return action


def _version(action: argparse.ArgumentParser) -> None:
    action.add_argument("--version", type=int, default=0, metavar="VERSION", help="A version (default: the newest)")
