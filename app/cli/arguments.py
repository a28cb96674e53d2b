"""The arguments of `journeyman`: the top-level options, and every command in the order of `--help`."""

import argparse
from functools import cache
from pathlib import Path

from app.cli.agent_arguments import add_agents
from app.cli.command_parser import AddCommand, CommandParser, HelpSection, UsageError
from app.cli.db_arguments import add_data
from app.cli.json_option import json_option
from app.cli.mcp_arguments import add_servers
from app.cli.memory_arguments import add_memory
from app.cli.model_arguments import add_models
from app.cli.package_arguments import add_packages
from app.cli.permission_arguments import add_permissions
from app.cli.run_arguments import EXIT_CODES, add_runs
from app.cli.session_arguments import add_sessions
from app.cli.skill_arguments import add_skills
from core import __version__

SECTIONS = (
    HelpSection("Run an agent", ("run", "demo", "resume", "stop", "schedule", "worktree")),
    HelpSection(
        "Questions and permissions",
        ("pending", "answer", "approve", "deny", "rules", "trust", "untrust", "instructions", "unreviewed"),
    ),
    HelpSection("Sessions", ("sessions", "show", "compare", "failures", "usage", "rate", "fork", "rewind", "replay")),
    HelpSection("Models and tools", ("models", "mcp", "packages", "agents", "acp")),
    HelpSection("Skills and memory", ("skills", "memory", "proposals")),
    HelpSection("Import and export", ("open", "import", "export")),
    HelpSection("Maintenance", ("doctor", "db", "help")),
)
EPILOG = f"""\
A session is named by its ID or by enough of its first characters. Commands work while the window is open.

{EXIT_CODES}

Environment:
  JOURNEYMAN_DATA_DIR           the data folder, where --data-dir is not given
  JOURNEYMAN_MODEL              the model of `run`, where neither --model nor --agent is given
  JOURNEYMAN_TEMPERATURE        the sampling temperature of `run`, where --temperature is not given
  JOURNEYMAN_MAX_OUTPUT_TOKENS  the most tokens of a reply of `run`, where --max-output-tokens is not given"""


@cache
def parser() -> CommandParser:
    text = "Run an agent in a folder of yours and see every step. Without a command, open the window."
    top = CommandParser(prog="journeyman", description=text, epilog=EPILOG)
    top.add_argument("-V", "--version", action="version", version=f"journeyman {__version__}", help="Print the version")
    top.add_argument("--data-dir", metavar="DIR", help="Keep all data in DIR (default: the system's data folder)")
    safe = "Start in safe mode: no hooks, schedules, MCP servers or project instructions, and the default window layout"
    top.add_argument("--safe", action="store_true", help=safe)
    # A hidden option that passes on secrets and standard input to the process that runs the command.
    top.add_argument("--given", type=str, action="append", default=[], help=argparse.SUPPRESS)
    top.help_sections = SECTIONS
    add = top.group("command")
    add_runs(add)
    add_permissions(add)
    add_sessions(add)
    add_models(add)
    add_servers(add)
    add_packages(add)
    add_agents(add)
    add_skills(add)
    add_memory(add)
    _add_exchange(add)
    add_data(add)
    help_ = add("help", "Show the help of a command.")
    help_.add_argument("words", metavar="COMMAND", nargs="*", help="The command, such as `run` or `mcp add`")
    return top


def parse(argv: list[str]) -> argparse.Namespace:
    """Parse the arguments. `journeyman help run` means `journeyman run --help`.

    `journeyman FILE`, which a file manager runs on a double click, means `journeyman open FILE`.
    """
    try:
        args: argparse.Namespace = parser().parse_args(argv)
    except UsageError:
        start = _command_index(argv)
        if not argv[start:] or not Path(argv[start]).is_file():
            raise
        args = parser().parse_args([*argv[:start], "open", *argv[start:]])
    if args.command == "help":
        parser().parse_args([*args.words, "--help"])
    return args


def _command_index(argv: list[str]) -> int:
    """Return the index at which the command is expected: after a leading --data-dir and its value."""
    if argv[:1] == ["--data-dir"]:
        return 2
    return 1 if argv and argv[0].startswith("--data-dir=") else 0


def _add_exchange(add: AddCommand) -> None:
    open_ = add("open", "Open the window and, in it, transcripts of other agents or exported sessions.")
    open_.add_argument("files", metavar="FILE", nargs="*", help="The files to open, read-only")
    import_ = add("import", "Import sessions of Journeyman or of other agents. They are read-only.")
    import_.add_argument("files", metavar="FILE", nargs="*", help="The files to import")
    import_.add_argument("--found", action="store_true", help="List the transcripts of other agents on this computer")
    json_option(import_)
    export = add("export", "Write a session, with its sub-agents, in a format that other programs read.")
    export.add_argument("session", metavar="SESSION")
    formats = ("md", "html", "json", "atif", "otlp", "perfetto")
    export.add_argument("--as", dest="form", choices=formats, default="md", help="The format (default: md)")
    export.add_argument(
        "-o", "--output", dest="file", metavar="FILE", default="", help="Write to FILE instead of standard output"
    )
    export.add_argument("--keep-secrets", action="store_true", help="Do not redact keys and passwords")
    export.add_argument("--dry-run", action="store_true", help="Only show which secrets would be redacted")
