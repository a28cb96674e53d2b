"""The arguments of the commands that answer waiting runs, and of `rules` and `trust`, which set what runs may do."""

import argparse
from typing import get_args

from app.cli.command_parser import AddCommand
from app.cli.json_option import json_option
from app.cli.run_arguments import mode_option
from app.cli.value_types import option_number
from core.domain.modes import DEFAULT_MODE
from core.domain.permissions import RuleScope
from core.domain.rules import Effect

TOOL_HELP = "A tool such as run, edit or fetch, a tool of an MCP server, or '*' for any tool"
PATTERN_HELP = "A command such as 'git log *', a path such as 'docs/**', or a host such as '*.example.org'"


def add_permissions(add: AddCommand) -> None:
    pending = add("pending", "List the pending questions and permission requests.")
    json_option(pending)
    answer = add("answer", "Answer a question.")
    answer.add_argument("question", metavar="ID", help="The ID of the question, as `pending` shows it")
    reply = answer.add_mutually_exclusive_group(required=True)
    reply.add_argument("text", metavar="TEXT", nargs="?", default=None, help="The answer in your own words")
    reply.add_argument(
        "--option", type=option_number, metavar="N", default=0, help="Choose this option, counted from 1"
    )
    reply.add_argument("--decline", nargs="?", const="", metavar="TEXT", help="Decline to answer, with an explanation")
    approve = _request(add, "approve", "Approve a permission request.")
    choice = approve.add_mutually_exclusive_group()
    scope_help = (
        "What to approve: this call, or also similar calls in this run, in this folder or always (default: once)"
    )
    choice.add_argument("--scope", choices=get_args(RuleScope), default="once", help=scope_help)
    choice.add_argument(
        "--option", type=option_number, metavar="N", default=0, help="Choose the option that `pending` numbers N"
    )
    change_help = (
        "Allow the call once with TEXT as its command, new text, diff or URL, or as its arguments in JSON; "
        "- reads TEXT from standard input"
    )
    choice.add_argument("--change", metavar="TEXT", help=change_help)
    deny = _request(add, "deny", "Deny a permission request.")
    deny.add_argument("--reason", type=str, metavar="TEXT", default="", help="Tell the model why")
    _rules(add)
    _trust(add)
    _unreviewed(add)


def _request(add: AddCommand, name: str, text: str) -> argparse.ArgumentParser:
    command = add(name, text)
    command.add_argument("request", metavar="ID", help="The ID of the request, as `pending` shows it")
    similar_help = "Decide all similar pending requests of the session too"
    command.add_argument("--similar", action="store_true", help=similar_help)
    return command


def _rules(add: AddCommand) -> None:
    rules = add("rules", "List and change your permission rules, or test a command against them.")
    action = rules.group(default="list")
    json_option(action("list", "List the saved rules."))
    add_rule = action("add", "Add a rule. A deny rule wins over ask rules, and an ask rule over allow rules.")
    add_rule.add_argument("effect", choices=get_args(Effect), help="What happens to the calls that the rule matches")
    add_rule.add_argument("tool", metavar="TOOL", help=TOOL_HELP)
    add_rule.add_argument("pattern", metavar="PATTERN", nargs="?", default="", help=PATTERN_HELP)
    add_rule.add_argument("-C", dest="folder", metavar="DIR", help="Only in DIR (default: everywhere)")
    edit = action("edit", "Change a rule.")
    _rule_id(edit)
    edit.add_argument("--effect", choices=get_args(Effect), help="What happens to the calls that the rule matches")
    edit.add_argument("--tool", metavar="TOOL", help=TOOL_HELP)
    edit.add_argument("--pattern", metavar="PATTERN", help=PATTERN_HELP)
    scope = edit.add_mutually_exclusive_group()
    scope.add_argument("-C", dest="folder", metavar="DIR", help="Apply the rule only in DIR")
    scope.add_argument("--everywhere", action="store_true", help="Apply the rule in every folder")
    _rule_id(action("revoke", "Revoke a rule."))
    _rule_id(action("restore", "Restore a revoked rule."))
    imported = action("import", "Show the permission lists of Claude Code and OpenCode as rules, and save them.")
    imported.add_argument(
        "-C", dest="folder", metavar="DIR", default=".", help="Also read the lists in DIR (default: the current folder)"
    )
    imported.add_argument("--save", action="store_true", help="Save the rules instead of only showing them")
    test = action("test", "Show whether a command would be allowed, denied or asked about. Nothing is run.")
    test.add_argument("command_line", metavar="COMMAND", help="The whole command in quotes: 'git push'")
    folder_help = "As if it ran in DIR (default: the current folder)"
    test.add_argument("-C", dest="folder", metavar="DIR", default=".", help=folder_help)
    mode_option(test, DEFAULT_MODE, "As if the session had this mode")
    json_option(test)


def _rule_id(command: argparse.ArgumentParser) -> None:
    command.add_argument("rule", metavar="ID", help="The ID of the rule, as `rules list` shows it")


def _trust(add: AddCommand) -> None:
    for name, text in (
        ("trust", "Follow the project instructions of a folder, as they are now."),
        ("untrust", "Stop following the project instructions of a folder, and treat its files as untrusted content."),
    ):
        command = add(name, text)
        folder_help = "The folder (default: the current one)"
        command.add_argument("folder", metavar="DIR", nargs="?", default=".", help=folder_help)
        json_option(command)
    used = add("instructions", "List the instructions that a run in a folder would use, and their tokens.")
    used.add_argument("folder", metavar="DIR", nargs="?", default=".", help="The folder (default: the current one)")
    prompt_help = "Print the whole prompt instead, as it would be sent before the task and the memories that fit it"
    used.add_argument("--prompt", action="store_true", help=prompt_help)
    used.add_argument("--agent", metavar="NAME", default="", help="With --prompt: of this agent profile")
    used.add_argument("-m", "--model", metavar="MODEL", default="", help="With --prompt: for this PROVIDER/MODEL")
    json_option(used)


def _unreviewed(add: AddCommand) -> None:
    unreviewed = add(
        "unreviewed", "List the files that runs wrote after reading untrusted content, or trust them again."
    )
    action = unreviewed.group(default="list")
    listing = action("list", "List the files. A run that reads one of them counts as having read the same content.")
    json_option(listing)
    mark = action("mark", "Mark files as reviewed, after you have looked at them.")
    chosen = mark.add_mutually_exclusive_group(required=True)
    chosen.add_argument("files", metavar="FILE", nargs="*", default=[], help="The files, relative to the folder")
    chosen.add_argument("--all", action="store_true", help="All files in the folder")
    for command in (listing, mark):
        folder_help = "Look in DIR (default: the current folder)"
        command.add_argument("-C", dest="folder", metavar="DIR", default=".", help=folder_help)
