"""What can be typed after `journeyman mcp`."""

import argparse
from collections.abc import Callable

Add = Callable[[str, str], argparse.ArgumentParser]


def server_actions(add: Add) -> None:
    _json(add("list", "List the tool servers, and the tools that you accepted. None is started."))
    new = _named(add("add", "Start a server, show what it says, and offer its tools to agents from now on."))
    given = "give it this variable of the environment"
    new.add_argument("--variable", action="append", default=[], metavar="NAME", help=given)
    header = "send this header to an address, such as 'Authorization=Bearer ${TOKEN}'; ${…} is a variable"
    new.add_argument("--header", action="append", default=[], metavar="NAME=VALUE", help=header)
    key = "a variable, or a header of an address, whose value is asked for here and kept in the keyring"
    new.add_argument("--key", action="append", default=[], metavar="NAME", help=key)
    new.add_argument("--plain", action="store_true", help="allow http past this machine: others on the way can read")
    _given(new)
    runs = "on PATH, or a whole path; it runs as you do, without walls, in your home: add what you trust. Or an address"
    new.add_argument("program", metavar="PROGRAM", help=runs)
    new.add_argument("args", metavar="...", nargs=argparse.REMAINDER, help="its arguments")
    _json(new)
    paste = add("import", 'Add servers from a file as other apps write it: {"mcpServers": {…}}, such as .mcp.json.')
    paste.add_argument("file", metavar="FILE")
    paste.add_argument("--only", metavar="NAME", default="", help="only this one of several")
    _json(paste)
    key_of = _named(add("key", "Give a key of a server: asked for here, or one line of the standard input."))
    key_of.add_argument("what", metavar="KEY", help="the variable or the header that it is")
    _given(key_of)
    _json(_named(add("test", "Start a server anew: does it answer, and does it say what you accepted?")))
    _json(_named(add("accept", "Accept what a server says of its tools now.")))
    for name, text in (("on", "Offer a server, or one of its tools, to agents."), ("off", "Offer it to no agent.")):
        _named(add(name, text)).add_argument("tool", metavar="TOOL", nargs="?", default="", help="only this tool")
    _named(add("remove", "Remove a server."))


def _named(command: argparse.ArgumentParser) -> argparse.ArgumentParser:
    command.add_argument("name", metavar="NAME", help="of the server")
    return command


def _given(command: argparse.ArgumentParser) -> None:
    """Said by our own process, never typed."""
    command.add_argument("--given", action="append", default=[], help=argparse.SUPPRESS)


def _json(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", action="store_true", help="print one JSON object a line")
