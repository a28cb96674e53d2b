"""What can be typed after `journeyman agents`."""

import argparse
from collections.abc import Callable

Add = Callable[[str, str], argparse.ArgumentParser]


def agent_actions(add: Add) -> None:
    _json(add("list", "List the agents of others that you added, and known ones that are on this computer."))
    new = _named(add("add", "Add one, or change the one of this name."))
    runs = "on PATH, or a whole path; it runs as you do, without walls: add what you trust"
    new.add_argument("program", metavar="PROGRAM", help=runs)
    new.add_argument("args", metavar="...", nargs=argparse.REMAINDER, help="its arguments")
    _json(_named(add("test", "Start it, and open a session: no model is asked anything.")))
    _named(add("remove", "Remove one; its sessions stay."))
    shown = add("set", "Show what can be set of the agent of a session, or set it.")
    shown.add_argument("session", metavar="SESSION")
    shown.add_argument("setting", metavar="SETTING", nargs="?", default="", help="such as mode")
    shown.add_argument("value", metavar="VALUE", nargs="?", default="")


def _named(command: argparse.ArgumentParser) -> argparse.ArgumentParser:
    command.add_argument("name", metavar="NAME", help="of the agent; a model is named agent/NAME to let it work")
    return command


def _json(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", action="store_true", help="print one JSON object a line")
