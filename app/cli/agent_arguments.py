"""The arguments of `journeyman agents` and `journeyman acp`, the two sides of the Agent Client Protocol."""

import argparse

from app.cli.command_parser import AddCommand
from app.cli.json_option import json_option
from app.cli.run_arguments import mode_option, script_options
from core.domain.modes import DEFAULT_MODE


def add_agents(add: AddCommand) -> None:
    agents = add("agents", "List or change the external agents that can work in your folders (Agent Client Protocol).")
    action = agents.group(default="list")
    json_option(action("list", "List the external agents that you added, and known ones on this computer."))
    new = _named(action("add", "Add an external agent, or change the one of this name."))
    runs = "A program on PATH or its full path; it runs with your permissions, outside the sandbox"
    new.add_argument("program", metavar="PROGRAM", help=runs)
    new.add_argument("args", metavar="ARGS", nargs=argparse.REMAINDER, help="The arguments of the program")
    json_option(_named(action("test", "Start an external agent and open a session, without a request to a model.")))
    _named(action("remove", "Remove an external agent. Its sessions stay."))
    set_ = action("set", "Show or change what an external agent lets you set in a session.")
    set_.add_argument("session", metavar="SESSION")
    set_.add_argument("setting", metavar="SETTING", nargs="?", default="", help="The setting to change, such as mode")
    set_.add_argument("value", metavar="VALUE", nargs="?", default="", help="Its new value")
    acp = add(
        "acp", "Be an agent for an editor, which starts this command and talks to it over standard input and output."
    )
    script_options(acp)
    profile = "Use this agent profile (DATA_DIR/agents/NAME.toml)"
    acp.add_argument("--agent", metavar="NAME", default="", help=profile)
    mode_option(acp, DEFAULT_MODE, "What to ask about at first; the editor can change it")


def _named(command: argparse.ArgumentParser) -> argparse.ArgumentParser:
    command.add_argument("name", metavar="NAME", help="The name; `run --agent NAME` uses it")
    return command
