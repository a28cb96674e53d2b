"""Custom slash commands: Markdown files whose text is sent in place of `/name arguments`.

The user's commands are in the `commands` folder of the data folder, a project's in its `.agents/commands` folder, and
those of a package in its `commands` folder. If two commands have the same name, the user's command takes precedence
over the project's. A package's command whose name is taken is available as `/package:name`.
"""

import contextlib
import re
import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from core.domain.problems import Problem
from core.engine.policy.trust import FollowedFiles
from core.packages.package_index import PackageIndex
from core.workspace.broker import FileBroker

USER_FOLDER = "commands"
PROJECT_FOLDER = ".agents/commands"
NAME = re.compile(r"[a-z0-9]+([-_][a-z0-9]+)*")
TYPED_COMMAND = re.compile(r"/([a-z0-9][a-z0-9_-]*(?::[a-z0-9][a-z0-9_-]*)?)(?:\s+(.*))?\s*", re.DOTALL)
PLACEHOLDER = re.compile(r"\$(ARGUMENTS\b|[1-9](?!\d))")
SHELL_PLACEHOLDER = re.compile(r"!`[^`\n]+`|!\{")
FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?)^---[ \t]*\n", re.DOTALL | re.MULTILINE)
MAX_FILE_SIZE = 256 << 10
MAX_COMMANDS = 200
NO_PROJECT_FILES = FollowedFiles()
CommandOrigin = Literal["own", "folder", "package"]


@dataclass(frozen=True, slots=True)
class SlashCommand:
    """A slash command. `origin` is "own" for a command of the user, "folder" of the project, "package" of a package."""

    name: str
    description: str
    template: str
    origin: CommandOrigin = "own"


def load_commands(
    home: Path, folder: Path | None = None, follows: FollowedFiles = NO_PROJECT_FILES
) -> dict[str, SlashCommand]:
    """Return all readable commands by name. A project command is included only if `follows` accepts its file."""
    commands = _project_commands(folder, follows) if folder else {}
    commands |= read_commands(home, "own")
    for package, root in PackageIndex(home).trusted_folders().items():
        for name, command in read_commands(root, "package").items():
            if not runs_commands(command):
                free_name = f"{package}:{name}" if name in commands else name
                commands[free_name] = replace(command, name=free_name)
    return dict(sorted(commands.items()))


def read_commands(root: Path, origin: CommandOrigin) -> dict[str, SlashCommand]:
    """Return the readable commands in the `commands` folder of the data folder or of a package, by name."""
    commands: dict[str, SlashCommand] = {}
    for path in sorted((root / USER_FOLDER).glob("*.md"))[:MAX_COMMANDS]:
        # A command that cannot be read is not offered. If the user types it anyway, the text is sent unchanged.
        with contextlib.suppress(OSError, UnicodeDecodeError):
            if NAME.fullmatch(path.stem) and path.stat().st_size <= MAX_FILE_SIZE:
                commands[path.stem] = _read(path.stem, path.read_text("utf-8"), origin)
    return commands


def runs_commands(command: SlashCommand) -> bool:
    """Return whether a command contains shell placeholders of other agents, which Journeyman does not execute."""
    return bool(SHELL_PLACEHOLDER.search(command.template))


def _project_commands(folder: Path, follows: FollowedFiles) -> dict[str, SlashCommand]:
    """Return a project's commands by name. They are read with FileBroker, which rejects links out of the folder."""
    commands: dict[str, SlashCommand] = {}
    with contextlib.suppress(Problem, OSError), FileBroker(folder) as broker:  # The folder may have no commands.
        names = [name for name, kind in broker.entries(PROJECT_FOLDER) if kind == "file" and name.endswith(".md")]
        for name in names[:MAX_COMMANDS]:
            stem = name.removesuffix(".md")
            path = f"{PROJECT_FOLDER}/{name}"
            with contextlib.suppress(Problem, OSError, UnicodeDecodeError):  # Skip unreadable files.
                if NAME.fullmatch(stem):
                    body = broker.read(path, MAX_FILE_SIZE, allow_secrets=False)
                    if follows(path, body):
                        commands[stem] = _read(stem, body.decode("utf-8"), "folder")
    return commands


def _read(name: str, text: str, origin: CommandOrigin) -> SlashCommand:
    front_matter = FRONT_MATTER.match(text)
    body = text[front_matter.end() :].strip() if front_matter else text.strip()
    description = next((line.strip("# ").strip() for line in body.splitlines() if line.strip()), "")[:200]
    if front_matter and (match := re.search(r"^description:[ \t]*(.+)$", front_matter[1], re.MULTILINE)):
        description = match[1].strip().strip("\"'")
    return SlashCommand(name, description, template=body, origin=origin)


def expand_command(text: str, home: Path, folder: Path, follows: FollowedFiles = NO_PROJECT_FILES) -> str:
    """Return the expanded text if the user typed a slash command, else the text unchanged."""
    typed = TYPED_COMMAND.fullmatch(text.strip())
    if typed is None:
        return text
    command = load_commands(home, folder, follows).get(typed[1])
    return fill_template(command.template, typed[2] or "") if command else text


def fill_template(template: str, arguments: str) -> str:
    """Substitute `$1` to `$9` and `$ARGUMENTS` in one pass, so that inserted text is not expanded again.

    If the template has no placeholder, the arguments are appended.
    """
    try:
        values = shlex.split(arguments)
    except ValueError:  # The arguments contain an unclosed quotation mark.
        values = arguments.split()
    if not PLACEHOLDER.search(template):
        return f"{template}\n\n{arguments}".strip()

    def value(match: re.Match[str]) -> str:
        if match[1] == "ARGUMENTS":
            return arguments
        number = int(match[1])
        return values[number - 1] if number <= len(values) else ""

    return PLACEHOLDER.sub(value, template)
