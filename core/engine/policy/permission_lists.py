"""Converts the permission lists of Claude Code (`permissions`) and OpenCode (`permission`) into permission rules."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, get_args

from core.domain.permissions import RuleScope
from core.domain.problems import Problem
from core.domain.rules import Effect, PermissionRule, RuleDraft
from core.engine.policy.rule_input import rule_from_draft
from core.workspace.regular_files import read_regular

MAX_SIZE = 1 << 20
MAX_ENTRIES = 500
FOLDER_FILES = (".claude/settings.json", ".claude/settings.local.json", "opencode.json")
USER_FILES = ("~/.claude/settings.json", "~/.config/opencode/opencode.json")
# Claude Code's Edit covers every tool that changes files, and its Read also covers searching.
CLAUDE_TOOLS: Mapping[str, tuple[str, ...]] = {
    "Bash": ("run",),
    "Read": ("read", "search", "find"),
    "Grep": ("search",),
    "Glob": ("find",),
    "Edit": ("edit", "write", "patch"),
    "MultiEdit": ("edit", "write", "patch"),
    "Write": ("write",),
    "WebFetch": ("fetch",),
    "WebSearch": ("search_web",),
}
OPENCODE_TOOLS: Mapping[str, str] = {"bash": "Bash", "read": "Read", "edit": "Edit", "webfetch": "WebFetch"}


@dataclass(frozen=True, slots=True)
class ListedPermission:
    """An entry of another agent's list: the rules it becomes, or the reason why it cannot be imported."""

    effect: Effect
    text: str
    rules: tuple[PermissionRule, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class PermissionList:
    """A permission list in a file of another agent. `error` says why the file cannot be read."""

    path: str
    entries: tuple[ListedPermission, ...] = ()
    error: str = ""


def find_permission_lists(folder: Path, created_at: int) -> tuple[PermissionList, ...]:
    """Read the permission lists in the home folder as global rules, and those in `folder` as rules for that folder.

    If `folder` is the home folder, the file that is in both counts as global.
    """
    user_files = [Path(name).expanduser() for name in USER_FILES]
    lists = {path: read_permission_list(path, "always", "", created_at) for path in user_files}
    for path in (folder / name for name in FOLDER_FILES):
        if path not in lists:
            lists[path] = read_permission_list(path, "folder", str(folder), created_at)
    return tuple(found for path, found in lists.items() if path.is_file() and (found.entries or found.error))


def describe_lists(lists: Iterable[PermissionList]) -> Iterator[str]:
    """Yield a line for each file, and a line for each of its entries that says what it becomes."""
    for each in lists:
        yield f"{each.path}{': ' + each.error if each.error else ''}"
        for entry in each.entries:
            outcome = "; ".join(rule.description for rule in entry.rules) or f"not imported: {entry.reason}"
            yield f"  {entry.effect} {entry.text}  →  {outcome}"


def new_rules(lists: Iterable[PermissionList], saved: Iterable[PermissionRule]) -> tuple[PermissionRule, ...]:
    """Return the rules that the lists contain and that are not among the saved ones."""
    found = {_key(rule): rule for each in lists for entry in each.entries for rule in entry.rules}
    known = {_key(rule) for rule in saved}
    return tuple(rule for key, rule in found.items() if key not in known)


def _key(rule: PermissionRule) -> tuple[str, ...]:
    return rule.effect, rule.tool, rule.pattern, rule.scope, rule.scope_id


def read_permission_list(path: Path, scope: RuleScope, scope_id: str, created_at: int) -> PermissionList:
    """Read the permission list in a file, as rules of this scope."""
    try:
        settings = json.loads(read_regular(path, MAX_SIZE))
    except (OSError, ValueError, RecursionError) as error:
        return PermissionList(str(path), error=f"It cannot be read: {error}.")
    if not isinstance(settings, dict):
        return PermissionList(str(path), error="It does not contain settings.")
    found = [*_claude_code(settings.get("permissions")), *_opencode(settings.get("permission"))]
    author = str(path.relative_to(scope_id)) if scope == "folder" and scope_id else path.name
    entries = tuple(
        _listed(entry, scope, scope_id, created_at, f"imported from {author}")
        for entry in dict.fromkeys(found[:MAX_ENTRIES])
    )
    return PermissionList(str(path), entries)


class _Entry(NamedTuple):
    """An entry of a permission list in Claude Code's notation, such as `Bash(git log:*)`, with its effect."""

    effect: Effect
    text: str


class _Target(NamedTuple):
    """The calls that a rule covers, by the name of Journeyman's tool and a pattern; "" for all calls of the tool."""

    tool: str
    pattern: str


def _claude_code(permissions: Any) -> Iterator[_Entry]:
    """Yield the entries of Claude Code's `permissions` object, which lists them by effect."""
    if not isinstance(permissions, dict):
        return
    for effect in get_args(Effect):
        texts = permissions.get(effect)
        if isinstance(texts, list):
            yield from (_Entry(effect, text) for text in texts if isinstance(text, str))


def _opencode(permission: Any) -> Iterator[_Entry]:
    """Yield the entries of OpenCode's `permission` object, which maps tools to an effect or to effects by pattern."""
    if not isinstance(permission, dict):
        return
    for name, value in permission.items():
        tool = OPENCODE_TOOLS.get(name, name)
        patterns = value if isinstance(value, dict) else {"*": value}
        for pattern, effect in patterns.items():
            if effect in get_args(Effect):
                yield _Entry(effect, tool if pattern == "*" else f"{tool}({pattern})")


def _listed(entry: _Entry, scope: RuleScope, scope_id: str, created_at: int, author: str) -> ListedPermission:
    """Return the entry with the rules that it becomes."""
    try:
        drafts = [
            RuleDraft(entry.effect, target.tool, target.pattern, scope, scope_id) for target in _targets(entry.text)
        ]
        rules = tuple(rule_from_draft(draft, created_at, author) for draft in drafts)
    except Problem as problem:
        return ListedPermission(entry.effect, entry.text, reason=problem.details.cause or problem.details.message)
    return ListedPermission(entry.effect, entry.text, rules)


def _targets(text: str) -> list[_Target]:
    """Return the calls that an entry such as `Bash(git log:*)` covers. Raise Problem if it cannot be translated."""
    match = re.fullmatch(r"([\w.*-]+)(?:\((.*)\))?", text.strip(), re.DOTALL)
    if match is None:
        raise Problem("The entry has an unknown form.", "", "")
    name = match[1]
    pattern = (match[2] or "").strip()
    if name.startswith("mcp__"):
        if name.count("__") < 2 or name.endswith("*"):
            raise Problem("A rule names one tool of an MCP server, not all of them.", "", "")
        return [_Target(name.removeprefix("mcp__"), "")]
    if name not in CLAUDE_TOOLS:
        raise Problem(f"Journeyman has no tool that corresponds to {name}.", "", "")
    return [_Target(tool, _pattern(name, pattern)) for tool in CLAUDE_TOOLS[name]]


def _pattern(name: str, pattern: str) -> str:
    """Translate a pattern of Claude Code. Raise Problem if there is no exact equivalent, which could allow more."""
    if pattern in ("", "*"):
        return ""
    if name == "Bash":
        command = pattern.removesuffix(":*").removesuffix(" *")
        if "*" in command:
            raise Problem("A `*` is possible only at the end of a command, after a space.", "", "")
        return command if command == pattern else f"{command} *"
    if name == "WebFetch":
        return pattern.removeprefix("domain:")
    if pattern.startswith(("//", "~")):
        raise Problem("It names files outside the folder, which are always denied.", "", "")
    path = pattern.removeprefix("./").removeprefix("/")
    return path if "/" in pattern.removeprefix("./") or name not in ("Read", "Edit") else f"**/{path}"
