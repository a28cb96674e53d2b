"""Folder trust: whether the project instructions of a folder are followed.

Trust applies only to the contents that the files had when the user granted it; their digests are stored as pins. In a
folder that is not trusted, every file is untrusted content.
"""

import hashlib
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from core.domain.clock import now
from core.domain.problems import Problem
from core.domain.rules import Effect, PermissionRule, new_rule
from core.domain.sensitive_places import place_reason
from core.engine.policy.instruction_files import MAX_FILE_SIZE, NAMES, instruction_files
from core.store.rule_store import LoadedRules, RuleStore, new_rule_id
from core.workspace.broker import FileBroker
from core.workspace.installation import is_in_installation
from core.workspace.paths import system_state_reason

RULE_TOOL = "folder"  # tool name of the rules that store trust decisions, which are listed and revoked like other rules
MCP_FILE = ".mcp.json"
INSTRUCTION_FOLDERS = (".agents", ".claude/skills", ".claude/commands", ".journeyman")
# The instruction files shown to the user. Every other one belongs to one of these, such as the files of a skill.
LISTED_PATTERNS = (*NAMES, MCP_FILE, ".agents/commands/*.md", "*/skills/*/SKILL.md", ".journeyman/*")
MAX_FILES = 2_000
MAX_DEPTH = 8
# How many files, and characters of each, are shown before the user decides on trust: at least what a prompt contains.
MAX_SHOWN_FILES = 20
MAX_SHOWN_CHARS = 50_000
UNREADABLE_MARK = "-"  # takes the place of a digest if a file cannot be read, so that it is never followed
NOT_TRUSTED = "You have not trusted this folder (“journeyman trust”), so the file was ignored."
CHANGED_SINCE_TRUST = "The file has changed since you trusted this folder (“journeyman trust”), so it was ignored."


@dataclass(frozen=True, slots=True)
class FolderTrust:
    """The trust state of a folder.

    Attributes:
        trusted: the user's decision, or None if there is none.
        instructions: the project instructions in the folder, as paths.
        changed: files that have changed, or were added, since the user trusted the folder.
        empty: whether the folder is empty.
        digests: the digests of all files that the agent would follow or execute.
        texts: the beginning of each listed or changed file, to read before the decision.
    """

    folder: str
    trusted: bool | None
    instructions: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    empty: bool = False
    digests: Mapping[str, str] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)

    @property
    def needs_decision(self) -> bool:
        """Whether to ask the user: the user has not decided yet, or files have changed since the folder was trusted."""
        return self.trusted is None or (self.trusted and bool(self.changed))


@dataclass(frozen=True, slots=True)
class FollowedFiles:
    """The project files that a run follows: `pins` maps their paths to the digests of the trusted contents.

    An instance is called with a path and contents, and returns whether the run follows that file.
    """

    pins: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, name: str, body: bytes) -> bool:
        return self.follows_digest(name, content_digest(body))

    def follows_digest(self, name: str, digest: str) -> bool:
        """Return whether a file with this content digest is followed."""
        return self.pins.get(name) == digest

    def reason(self) -> str:
        """Return why files of the folder are ignored: it is not trusted, or they have changed since."""
        return CHANGED_SINCE_TRUST if self.pins else NOT_TRUSTED


def content_digest(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


def trust_decision(rules: LoadedRules, folder: str) -> bool | None:
    """Return the user's decision on the folder, or None if the user has not decided or the rules are unreadable."""
    decision = _decision(rules, folder)
    return decision.effect == "allow" if decision else None


def followed_files(rules: LoadedRules, folder: Path) -> FollowedFiles:
    """Return the project files that a run in the folder follows: none unless the user trusts the folder."""
    decision = _decision(rules, str(folder))
    return FollowedFiles(_pins(decision) if decision and decision.effect == "allow" else {})


def inspect_folder(rules: LoadedRules, folder: Path) -> FolderTrust:
    """Return the trust state of a folder with its instruction files, for the user's decision to trust it."""
    decision = _decision(rules, str(folder))
    pins = _pins(decision) if decision and decision.effect == "allow" else None
    listed: list[str] = []
    changed: list[str] = []
    digests: dict[str, str] = {}
    texts: dict[str, str] = {}
    for file in _followed_files(folder):
        digests[file.name] = digest = _digest(file.body)
        is_listed = file.in_prompt or any(fnmatchcase(file.name, pattern) for pattern in LISTED_PATTERNS)
        is_changed = pins is not None and (digest == UNREADABLE_MARK or pins.get(file.name) != digest)
        if is_listed:
            listed.append(file.name)
        if is_changed:
            changed.append(file.name)
        if file.in_prompt or ((is_listed or is_changed) and len(texts) < MAX_SHOWN_FILES):
            texts[file.name] = _shown_text(file.body)
    return FolderTrust(
        folder=_key(str(folder)),
        trusted=trust_decision(rules, str(folder)),
        instructions=tuple(sorted(listed)),
        changed=tuple(sorted(changed)),
        empty=next(folder.iterdir(), None) is None,
        digests=digests,
        texts=texts,
    )


def find_instructions(folder: Path) -> dict[str, str]:
    """Return the files that an agent in this folder would follow or execute, as path → digest of the contents.

    They include instructions in the parent folders, up to the top of the repository, and imported files. Symbolic
    links out of the folder are skipped.
    """
    return {file.name: _digest(file.body) for file in _followed_files(folder)}


def _digest(body: bytes | None) -> str:
    return UNREADABLE_MARK if body is None else content_digest(body)


def _shown_text(body: bytes | None) -> str:
    """Return the first MAX_SHOWN_CHARS characters of a file, stripped as in the prompt. None means unreadable."""
    if body is None:
        return "This file cannot be read."
    text = body.decode("utf-8", "replace").strip()
    return text[:MAX_SHOWN_CHARS] + ("\n…" if len(text) > MAX_SHOWN_CHARS else "")


class _FollowedFile(NamedTuple):
    """A file that an agent would follow or execute. `body` is None if it is unreadable."""

    name: str
    body: bytes | None
    in_prompt: bool


def _followed_files(folder: Path) -> Iterator[_FollowedFile]:
    """Yield each file that an agent would follow or execute. End early if the folder cannot be examined further."""
    with suppress(Problem, OSError):
        yield from _read_followed(folder)


def _read_followed(folder: Path) -> Iterator[_FollowedFile]:
    names: set[str] = set()
    for found in instruction_files(folder):
        names.add(found.name)
        yield _FollowedFile(found.name, None if found.error else found.contents, in_prompt=True)
    with FileBroker(folder) as broker:
        for name in (MCP_FILE, *(name for tree in INSTRUCTION_FOLDERS for name in _files_below(broker, tree))):
            if name not in names and broker.stat(name) is not None:
                names.add(name)
                yield _FollowedFile(name, _contents(broker, name), in_prompt=False)
            if len(names) >= MAX_FILES:
                break


async def save_trust(
    rule_store: RuleStore, folder: str, trusted: bool, pins: Mapping[str, str], by: str = "user"
) -> None:
    """Save the decision whether to trust a folder, replacing an earlier one. `pins` maps its files to digests."""
    for rule in rule_store.read().rules or ():
        if rule.tool == RULE_TOOL and rule.scope_id == _key(folder):
            await rule_store.revoke(rule.id)
    effect: Effect = "allow" if trusted else "deny"
    decision = new_rule(
        new_rule_id(), effect, RULE_TOOL, "none", "", scope="folder", scope_id=_key(folder), created_at=now(), author=by
    )
    pinned = [f"{digest} {name}" for name, digest in pins.items() if digest != UNREADABLE_MARK] if trusted else []
    await rule_store.add([replace(decision, matches=(*decision.matches, *pinned))])


async def revoke_folder(rule_store: RuleStore, folder: str) -> None:
    """Revoke the decisions and rules for a folder that was deleted, and for the folders inside it."""
    deleted = Path(_key(folder))
    for rule in rule_store.read().rules or ():
        if rule.scope == "folder" and rule.scope_id and Path(rule.scope_id).is_relative_to(deleted):
            await rule_store.revoke(rule.id)


async def pin_files(rule_store: RuleStore, folder: str, digests: Mapping[str, str]) -> None:
    """Keep files trusted that the user has just written through Journeyman. `digests` maps them to their new digests.

    Does nothing unless the user trusts the folder.
    """
    decision = _decision(rule_store.read(), folder)
    if decision and decision.effect == "allow":
        await save_trust(rule_store, folder, True, _pins(decision) | dict(digests), decision.author)


def _decision(rules: LoadedRules, folder: str) -> PermissionRule | None:
    key = _key(folder)
    return next((rule for rule in reversed(rules.rules or ()) if rule.tool == RULE_TOOL and rule.scope_id == key), None)


def _key(folder: str) -> str:
    """Return the canonical path of a folder, with links resolved."""
    return os.path.realpath(folder)


def _pins(decision: PermissionRule) -> dict[str, str]:
    """Return the digests of the trusted contents by path. The decision stores each as `DIGEST PATH`."""
    pairs = (text.split(" ", 1) for text in decision.matches if " " in text)
    return {name: digest for digest, name in pairs}


def _files_below(broker: FileBroker, folder: str, depth: int = 0) -> Iterator[str]:
    try:
        entries = broker.entries(folder) if depth < MAX_DEPTH else []
    except Problem:
        return
    for name, kind in entries:
        path = f"{folder}/{name}"
        if kind == "folder":
            yield from _files_below(broker, path, depth + 1)
            continue
        files = list(_files_below(broker, path, depth + 1)) if kind == "link" else []
        yield from files or [path]


def _contents(broker: FileBroker, name: str) -> bytes | None:
    try:
        return broker.read(name, MAX_FILE_SIZE)
    except Problem:
        return None


def refuse_unsafe_folder(folder: Path, data: Path) -> None:
    """Raise Problem if commands of an agent could do too much damage in this folder.

    Refused are a whole disk, a home folder, Journeyman's data folder, Journeyman itself, folders of the running system
    or with sockets, and folders such as `.git` in which every file would be protected from an agent in the parent.
    """
    real = folder.resolve()
    home = Path.home().resolve()
    data = data.resolve()
    fix = "Choose or create a folder inside it."
    if why := system_state_reason(real):
        fix = "Choose a folder on a disk, such as one in your home folder."
    elif real == Path(real.anchor):
        why = "It is the root of the disk"
    elif is_in_installation(real):
        why = "It is part of Journeyman itself"
    elif data.is_relative_to(real):
        why = "It is Journeyman's data folder" if data == real else "It contains Journeyman's data folder"
    elif home.is_relative_to(real):
        why = "It is your home folder" if home == real else "It contains your home folder"
    elif any(socket_folder.is_relative_to(real) for socket_folder in _socket_folders()):
        why = "It contains the sockets of running programs"
    elif why := place_reason(real, home):
        fix = "Choose the project that contains the folder, or work in a copy."
    if why:
        raise Problem(f"An agent cannot work in {real}.", f"{why}.", fix)


def _socket_folders() -> Iterator[Path]:
    """Yield the folders in which running programs keep their sockets, such as /tmp. The sandbox uses them too."""
    yield from (Path(path).resolve() for path in (tempfile.gettempdir(), "/tmp", "/var/tmp"))
    if path := os.environ.get("XDG_RUNTIME_DIR"):
        yield Path(path).resolve()


async def copy_trust(rule_store: RuleStore, folder: str, other: str) -> None:
    """Apply the user's trust decision on `folder` to its copy `other`, with the same pinned contents."""
    if decision := _decision(rule_store.current(), folder):
        await save_trust(rule_store, other, decision.effect == "allow", _pins(decision), decision.author)
