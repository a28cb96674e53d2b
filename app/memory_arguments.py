"""What can be typed after `journeyman memory`."""

import argparse
from collections.abc import Callable

from app.amounts import count, named
from core.domain.memory import KINDS

Add = Callable[[str, str], argparse.ArgumentParser]


def memory_actions(add: Add) -> None:
    """Add every action; `add` makes one with its name and what it does."""
    found = add("list", "List what is remembered, the newest first.")
    found.add_argument("--kind", choices=KINDS, default="", help="only of this kind")
    which = found.add_mutually_exclusive_group()
    which.add_argument("--archived", action="store_true", help="those in the archive")
    which.add_argument("--all", action="store_true", help="also those in the archive and the forgotten ones")
    _for(found, "only what is")
    _few(found)
    search = add("search", "Look for memories by their words, the best first.")
    search.add_argument("text", metavar="TEXT")
    search.add_argument("--folder", metavar="DIR", default="", help="only what a run in this folder could be told")
    _few(search)
    _adding(add)
    _changing(add)
    _carrying(add)
    _meaning(add)


def _adding(add: Add) -> None:
    made = add("add", "Remember something.")
    made.add_argument("text", metavar="TEXT", nargs="?", default="", help="one sentence; or give its fields")
    made.add_argument("--kind", choices=KINDS, default="knowledge")
    for name, words in (
        ("when", "of a heuristic"), ("do", "of a heuristic"), ("what", "of an anti-pattern"), ("why", "it is bad"),
        ("instead", "what is better"),
    ):  # fmt: skip
        made.add_argument(f"--{name}", metavar="TEXT", default="", help=words)
    _for(made, "it is")
    _json(made)
    show = add("show", "Show a memory with its versions, its uses and its strength.")
    _named(show)
    _json(show)


def _changing(add: Add) -> None:
    edit = add("edit", "Let a memory say something else, or be for somebody else.")
    _named(edit)
    edit.add_argument("text", metavar="TEXT", nargs="?", default="")
    edit.add_argument("--kind", choices=KINDS, default="")
    edit.add_argument("--base", type=int, metavar="VERSION", default=0, help="only where it is still at this version")
    edit.add_argument("--everywhere", action="store_true", help="it is for every folder")
    _for(edit, "it is")
    pin = add("pin", "Always tell it, and never let it fade.")
    _named(pin)
    pin.add_argument("--off", action="store_true", help="no longer")
    forget = add("forget", "Forget a memory, or all that was learnt from a session or for a folder.")
    forget.add_argument("memory", metavar="MEMORY", nargs="?", default="")
    forget.add_argument("--for-good", action="store_true", help="with its versions; it cannot be restored")
    forget.add_argument("--session", type=named, metavar="SESSION", default=None, help="all that was learnt from it")
    forget.add_argument("--folder", type=named, metavar="DIR", default=None, help="all that was learnt for it")
    for name, words in (
        ("archive", "Put a memory out of the way: kept, but told to nobody."),
        ("restore", "Bring a memory back from the archive, or after it was forgotten."),
    ):
        _named(add(name, words))
    undo = add("undo", "Take a change of a memory back.")
    _named(undo)
    undo.add_argument("--change", type=int, metavar="N", default=0, help="this one (else the last), as `show` counts")


def _carrying(add: Add) -> None:
    add("tidy", "Archive what has faded and propose lessons and mergers; done at every start of the window by itself.")
    _json(add("journey", "Show what was learnt, by day."))
    export = add("export", "Print what is remembered as JSON, or write it to a file.")
    export.add_argument("-o", dest="output", metavar="FILE", default="")
    export.add_argument("--all", action="store_true", help="also what is in the archive")
    taken = add("import", "Take memories in: JSON of ours, MEMORY.md and the like, or the database of ALMA.")
    taken.add_argument("files", metavar="FILE", nargs="+")
    _for(taken, "they are")


def _meaning(add: Add) -> None:
    found = add("vectors", "Find by meaning too, with a small model on this computer; or say how far it is.")
    found.add_argument("do", choices=("status", "on", "off", "build"), nargs="?", default="status")
    found.add_argument("model", metavar="FOLDER", nargs="?", default="", help="with on: of the model, else the package")
    _json(found)


def _for(command: argparse.ArgumentParser, words: str) -> None:
    whose = command.add_mutually_exclusive_group()
    for name, shown, help in (
        ("folder", "DIR", "for this folder"), ("agent", "NAME", "for this agent"),
        ("session", "SESSION", "for this session, or from it"),
    ):  # fmt: skip
        whose.add_argument(f"--{name}", type=named, metavar=shown, default=None, help=f"{words} {help}")


def _named(command: argparse.ArgumentParser) -> None:
    command.add_argument("memory", metavar="MEMORY", help="its id, or enough of its start")


def _few(command: argparse.ArgumentParser) -> None:
    command.add_argument("--limit", type=count, metavar="N", default=0, help="at most so many")
    _json(command)


def _json(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", action="store_true", help="print one JSON object a line")
