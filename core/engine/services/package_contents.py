"""Reads what a package contains for Journeyman: hooks, MCP servers, skills and slash commands.

The layout is that of the plugins of other agents where it means the same: `skills`, `commands`, `.mcp.json` and a
manifest. Their hooks and agents get another input and are not used.
"""

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from core.domain.problems import Problem
from core.domain.skill import ImportedSkill
from core.engine.services.hooks import HOOKS_FILE, Hook, read_hooks
from core.engine.services.slash_commands import USER_FOLDER, SlashCommand, read_commands, runs_commands
from core.mcp.config_import import ImportedMcpServer, parse_servers
from core.skills.skill_disk import PACKAGE_BASE
from core.skills.transfer import inspect_skills

MANIFESTS: Final = (".claude-plugin/plugin.json", ".codex-plugin/plugin.json", "gemini-extension.json")
SERVERS_FILE: Final = ".mcp.json"
MAX_MANIFEST: Final = 256 << 10
ROOT_NAMES: Final = re.compile(r"\$\{(PACKAGE_ROOT|CLAUDE_PLUGIN_ROOT|extensionPath)\}")
OTHER_INPUT: Final = "hooks of other agents get another input, so a guard among them would guard nothing"
# Files of packages for other agents, each with the reason why it is not used.
NOT_USED: Final = {
    "hooks/hooks.json": OTHER_INPUT,
    "agents": "agents of other programs are written in another format",
    "GEMINI.md": "instructions for every session are not taken from packages",
    ".lsp.json": "language servers are not used",
    "output-styles": "output styles are not used",
}


@dataclass(frozen=True, slots=True)
class PackageContents:
    """The contents of a package. `unused` lists its files that Journeyman does not use, with the reasons."""

    title: str = ""
    version: str = ""
    description: str = ""
    hooks: tuple[Hook, ...] = ()
    servers: tuple[ImportedMcpServer, ...] = ()
    skills: tuple[ImportedSkill, ...] = ()
    commands: tuple[SlashCommand, ...] = ()
    unused: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not (self.hooks or self.servers or self.skills or self.commands)


@dataclass(slots=True)
class _Servers:
    found: list[ImportedMcpServer] = field(default_factory=list)
    unused: list[str] = field(default_factory=list)


def read_package(root: Path) -> PackageContents:
    """Return the contents of the package in a folder. Run nothing in it. Raise Problem if a file is not valid."""
    manifest = _manifest(root)
    try:
        hooks = read_hooks(root / HOOKS_FILE)
    except (OSError, ValueError) as error:
        fix = "Ask its developer to correct it."
        raise Problem(f"The {HOOKS_FILE} of the package cannot be read.", f"{error}.", fix) from error
    skills = inspect_skills(root / PACKAGE_BASE) if any((root / PACKAGE_BASE).rglob("SKILL.md")) else ()
    commands = read_commands(root, "package").values()
    servers = _servers(root, manifest)
    return PackageContents(
        title=str(manifest.get("name", ""))[:200],
        version=str(manifest.get("version", ""))[:40],
        description=str(manifest.get("description", ""))[:1_000],
        hooks=hooks,
        servers=tuple(servers.found),
        skills=tuple(skill for skill in skills if not skill.error),
        commands=tuple(command for command in commands if not runs_commands(command)),
        unused=(
            *(f"skill {skill.name}: {skill.error}" for skill in skills if skill.error),
            *(f"/{one.name}: it runs shell commands before it is sent" for one in commands if runs_commands(one)),
            *servers.unused,
            *_unused(root, manifest),
        ),
    )


def _manifest(root: Path) -> dict[str, Any]:
    for name in MANIFESTS:
        if (root / name).is_file():
            return _read_json(root / name, name)
    return {}


def _read_json(path: Path, name: str) -> dict[str, Any]:
    try:
        if path.stat().st_size > MAX_MANIFEST:
            raise ValueError("it is too large")
        document = json.loads(path.read_bytes())
        if not isinstance(document, dict):
            raise ValueError("it is not a JSON object")
    except (OSError, ValueError, RecursionError) as error:
        fix = "Ask the developer of the package to correct it."
        raise Problem(f"{name} cannot be read.", f"{error}.", fix) from error
    return document


def _servers(root: Path, manifest: dict[str, Any]) -> _Servers:
    """Return the servers in `.mcp.json` and in the manifest, which may also name another file."""
    servers = _Servers()
    documents: list[dict[str, Any]] = []
    listed = manifest.get("mcpServers")
    if (root / SERVERS_FILE).is_file():
        documents.append(_read_json(root / SERVERS_FILE, SERVERS_FILE))
    if isinstance(listed, dict):
        documents.append({"mcpServers": listed})
    elif isinstance(listed, str) and listed.removeprefix("./") != SERVERS_FILE:
        servers.unused.append(f"{listed}: MCP servers are read from {SERVERS_FILE} or from the manifest itself")
    for document in documents:
        definitions = document.get("mcpServers", document)
        for name, definition in definitions.items() if isinstance(definitions, dict) else ():
            if _needs_other_folder(definition, root):
                servers.unused.append(f"MCP server {name}: it needs another working folder")
                continue
            try:
                servers.found += parse_servers(json.dumps({"mcpServers": {name: _with_root(definition, root)}}))
            except Problem as problem:
                servers.unused.append(f"MCP server {name}: {problem.details.message} {problem.details.cause}")
    return servers


def _needs_other_folder(definition: Any, root: Path) -> bool:
    """Return whether a server has to be started in a folder other than that of the package."""
    folder = definition.get("cwd") if isinstance(definition, dict) else None
    return bool(folder) and _with_root(str(folder), root) not in (str(root), ".")


def _with_root(value: Any, root: Path) -> Any:
    """Replace the variables for the package's folder, such as `${/}`, in all strings of a JSON value."""
    match value:
        case dict():
            return {name: _with_root(item, root) for name, item in value.items()}
        case list():
            return [_with_root(item, root) for item in value]
        case str():
            return ROOT_NAMES.sub(lambda _: str(root), value).replace("${/}", os.sep)
        case _:
            return value


def _unused(root: Path, manifest: dict[str, Any]) -> Iterator[str]:
    """Yield the files of the package that Journeyman does not use, each with the reason."""
    yield from (f"{name}: {reason}" for name, reason in NOT_USED.items() if (root / name).exists())
    if manifest.get("hooks"):
        yield f"hooks of the manifest: {OTHER_INPUT}"
    for key, folder in (("skills", PACKAGE_BASE), ("commands", USER_FOLDER)):
        paths = manifest.get(key)
        if isinstance(paths, str):
            paths = [paths]
        for path in paths if isinstance(paths, list) else ():
            if str(path).strip("./") != folder:
                yield f"{path}: {key} are read from the folder “{folder}”"
    commands = root / USER_FOLDER
    if any(commands.glob("*.toml")):
        yield f"{USER_FOLDER}/*.toml: commands are read from Markdown files"
    if any(path.suffix == ".md" for path in commands.glob("*/**/*")):
        yield f"{USER_FOLDER}: commands in subfolders are not read"
