"""What can be typed after `journeyman mcp`."""

import argparse
from collections.abc import Callable

Add = Callable[[str, str], argparse.ArgumentParser]


def server_actions(add: Add) -> None:
    _json(add("list", "List the tool servers, and the tools that you accepted. None is started."))
    new = _named(add("add", "Start a server, show what it says, and offer its tools to agents from now on."))
    new.add_argument(
        "--variable", action="append", default=[], metavar="NAME", help="give it this variable of the environment"
    )
    runs = "on PATH, or a whole path; it runs as you do, without walls, in your home: add what you trust"
    new.add_argument("program", metavar="PROGRAM", help=runs)
    new.add_argument("args", metavar="...", nargs=argparse.REMAINDER, help="its arguments")
    _json(new)
    _json(_named(add("test", "Start a server anew: does it answer, and does it say what you accepted?")))
    _json(_named(add("accept", "Accept what a server says of its tools now.")))
    for name, text in (("on", "Offer a server, or one of its tools, to agents."), ("off", "Offer it to no agent.")):
        _named(add(name, text)).add_argument("tool", metavar="TOOL", nargs="?", default="", help="only this tool")
    _named(add("remove", "Remove a server."))


def _named(command: argparse.ArgumentParser) -> argparse.ArgumentParser:
    command.add_argument("name", metavar="NAME", help="of the server")
    return command


def _json(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", action="store_true", help="print one JSON object a line")
