"""Defines the subcommands of `journeyman mcp` and their arguments."""

import argparse

from app.cli.command_parser import AddCommand
from app.cli.json_option import json_option
from app.cli.value_types import env_variable, header

EXAMPLES = """\
Examples:
  journeyman mcp add files npx @modelcontextprotocol/server-filesystem ~/notes
  journeyman mcp add --key Authorization tracker https://mcp.example.org
  journeyman mcp add --oauth issues https://mcp.example.org
  journeyman mcp add --env PGHOST --env PGUSER=reader --key PGPASSWORD db postgres-mcp"""


def add_servers(add: AddCommand) -> None:
    servers = add("mcp", "List or change the MCP servers, which give agents more tools (Model Context Protocol).")
    action = servers.group(default="list")
    json_option(action("list", "List the MCP servers, and the tools that you accepted. None is started."))
    _add(action)
    import_ = action(
        "import", 'Add MCP servers from a JSON file of another app: {"mcpServers": {…}}, such as .mcp.json.'
    )
    import_.add_argument("file", metavar="FILE")
    import_.add_argument("--only", metavar="NAME", default="", help="Add only this server")
    json_option(import_)
    key = _named(action("key", "Set a key of an MCP server, from a prompt or a line of standard input."))
    key.add_argument("what", metavar="KEY", help="The environment variable or the header to set")
    test_text = "Start an MCP server, and show whether its tools are still as you accepted them."
    json_option(_named(action("test", test_text)))
    json_option(_named(action("accept", "Accept the tools of an MCP server as they are now.")))
    json_option(_named(action("login", "Sign in to an MCP server in the browser, with OAuth.")))
    _named(action("logout", "Sign out of an MCP server: delete its tokens."))
    for name, text in (
        ("enable", "Offer an MCP server, or one of its tools, to agents."),
        ("disable", "Stop offering an MCP server, or one of its tools, to agents."),
    ):
        _named(action(name, text)).add_argument("tool", metavar="TOOL", nargs="?", default="", help="Only this tool")
    _named(action("remove", "Remove an MCP server."))
    serve = action("serve", "Be an MCP server that shares your memories and skills with other agents.")
    folder_help = "Share what a run in DIR could use (default: the current folder)"
    serve.add_argument("-C", dest="folder", metavar="DIR", default=".", help=folder_help)


def _add(action: AddCommand) -> None:
    new = action("add", "Add an MCP server: start it, show its tools, and offer them to agents.")
    new.epilog = EXAMPLES
    _named(new)
    env_help = (
        "Pass this environment variable to the program, with our value or with VALUE (${X} is expanded); repeatable"
    )
    new.add_argument("--env", action="append", type=env_variable, default=[], metavar="NAME[=VALUE]", help=env_help)
    header_help = "Send this header to the URL (${X} is replaced by the environment variable X); repeatable"
    new.add_argument("--header", action="append", type=header, default=[], metavar="'NAME: VALUE'", help=header_help)
    key_help = "Ask for the value of this environment variable or header, and keep it in the keyring; repeatable"
    new.add_argument("--key", action="append", default=[], metavar="NAME", help=key_help)
    http_help = "Allow http:// beyond this computer, where others on the network can read it"
    new.add_argument("--allow-http", action="store_true", help=http_help)
    new.add_argument("--oauth", action="store_true", help="Sign in to the URL in the browser, with OAuth")
    program_help = (
        "A program on PATH or its full path, or a URL; a program runs with your permissions, outside the sandbox"
    )
    json_option(new)
    new.add_argument("program", metavar="PROGRAM", help=program_help)
    new.add_argument("args", metavar="ARGS", nargs=argparse.REMAINDER, help="The arguments of the program")


def _named(command: argparse.ArgumentParser) -> argparse.ArgumentParser:
    command.add_argument("name", metavar="NAME", help="The name of the server")
    return command
