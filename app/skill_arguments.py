"""What can be typed after `journeyman skills` and `journeyman proposals`."""

import argparse
from collections.abc import Callable, Mapping
from types import MappingProxyType

from app.amounts import count

Add = Callable[[str, str], argparse.ArgumentParser]

# Words on one skill, and what they do.
WORDS: Mapping[str, str] = MappingProxyType(
    {
        "trust": "Use it: you have looked at it as it is now.",
        "untrust": "Do not use it until you say so.",
        "on": "Offer it to agents again.",
        "off": "Offer it to no agent.",
        "pin": "Keep it first, and out of reach of agents.",
        "unpin": "Let agents propose changes to it again.",
        "archive": "Put it out of the way, with every version.",
        "unarchive": "Bring it back from the archive.",
    }
)


def skill_actions(add: Add) -> None:
    _json(_where(add("list", "List the skills, and whether agents are offered them in this folder.")))
    show = _named(add("show", "Show a skill: its text, state, findings and files."))
    show.add_argument("--file", metavar="PATH", default="", help="one of its files instead")
    _version(show)
    _json(show)
    check = add("check", "Check skills against the open format: a folder, a zip file or a SKILL.md.")
    check.add_argument("path", metavar="PATH")
    _json(check)
    bring = add("add", "Add skills from a folder, a zip file or a SKILL.md. Agents use them once you trust them.")
    bring.add_argument("path", metavar="PATH")
    bring.add_argument("names", metavar="NAME", nargs="*", help="only these (else all that are found)")
    bring.add_argument("--replace", action="store_true", help="as the next version of one with the same name")
    bring.add_argument("--trust", action="store_true", help="you have looked at them: agents may use them")
    _json(bring)
    save = _named(add("save", "Save a text as the next version of a skill, or as a new one."))
    save.add_argument("source", metavar="FILE", help="the text of SKILL.md")
    save.add_argument("--base", type=int, metavar="N", help="the version it was made from (else the newest)")
    save.add_argument("--why", metavar="TEXT", default="", help="kept with the version")
    _json(save)
    export = _named(add("export", "Write a skill into a folder, or as a zip file."))
    export.add_argument("to", metavar="PLACE", help="a folder, or a name that ends in .zip")
    _version(export)
    _json(_named(add("history", "List the versions of a skill.")))
    diff = _named(add("diff", "Show what differs between two versions of a skill."))
    diff.add_argument("a", metavar="OLD", type=int)
    diff.add_argument("b", metavar="NEW", type=int, nargs="?", default=0, help="(else as it is now)")
    restore = _named(add("restore", "Make an old version the newest."))
    restore.add_argument("number", metavar="N", type=count)
    _json(_named(add("used", "List the runs that used a skill, and how they went.")))
    rename = _named(add("rename", "Give a skill of the library another name."))
    rename.add_argument("to", metavar="NEW")
    for name, text in WORDS.items():
        _named(add(name, text))


def proposal_actions(add: Add) -> None:
    listed = add("list", "List what agents want to be kept.")
    listed.add_argument("--all", action="store_true", help="also what was decided")
    listed.add_argument("--of", choices=("skill", "memory"), help="only these")
    _json(listed)
    show = _proposal(add("show", "Show one: what would change, why, and where it comes from."))
    _json(show)
    keep = _proposal(add("keep", "Do what it wants."))
    keep.add_argument("--text", metavar="FILE", help="with the text of this file instead")
    _proposal(add("reject", "It is not wanted."))
    _proposal(add("undo", "Take back what was kept; open again what was rejected."))


def _named(action: argparse.ArgumentParser) -> argparse.ArgumentParser:
    action.add_argument("name", metavar="NAME", help="or its key, as `skills list --json` shows it")
    return _where(action)


def _where(action: argparse.ArgumentParser) -> argparse.ArgumentParser:
    text = "the folder whose own skills count (else this one)"
    action.add_argument("-C", dest="folder", metavar="DIR", default=".", help=text)
    return action


def _proposal(action: argparse.ArgumentParser) -> argparse.ArgumentParser:
    action.add_argument("proposal", metavar="ID", help="as `proposals list` shows it, or its start")
    return action


def _version(action: argparse.ArgumentParser) -> None:
    action.add_argument("--version", type=int, default=0, metavar="N", help="(else as it is now)")


def _json(action: argparse.ArgumentParser) -> None:
    action.add_argument("--json", action="store_true", help="print one JSON object a line")
