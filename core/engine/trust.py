"""Which folders a person trusts: only there is what a folder brings along obeyed, each file as it was then.

Files of a folder that is not trusted taint.
"""

import hashlib
import os
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path

from core.domain.clock import now
from core.domain.modes import DEFAULT_MODE, Mode
from core.domain.problems import Problem
from core.domain.rules import Effect, Rule, made_rule
from core.store.rule_book import Book, RuleBook, new_rule_id
from core.workspace.broker import Broker

TOOL = "folder"  # stands in the rule book, so that it is listed and revoked like every other word of a person
FILES = ("AGENTS.md", "CLAUDE.md", ".mcp.json")
TREES = (".agents", ".claude/skills", ".claude/commands", ".journeyman")
NAMED = (*FILES, ".agents/commands/*.md", "*/skills/*/SKILL.md", ".journeyman/*")  # the rest are parts of these
MOST, LARGEST, DEEPEST = 2_000, 4 << 20, 8
UNREADABLE = "-"  # stands for contents that cannot be pinned, and are never obeyed
UNTRUSTED = "You have not said that you trust this folder (`journeyman trust`), so it was not obeyed."
CHANGED = "It is not as it was when you trusted this folder (`journeyman trust`), so it was not obeyed."


@dataclass(frozen=True, slots=True)
class FolderTrust:
    """Of one folder: what the person said of it, if anything.

    `brought` is what in it an agent would obey; `changed` are files that were not so when the person said yes.
    """

    folder: str
    trusted: bool | None
    brought: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    empty: bool = False

    @property
    def asks(self) -> bool:
        """Whether the person is to be asked: nothing was said yet, or not of what is there now."""
        return self.trusted is None or (self.trusted and bool(self.changed))


@dataclass(frozen=True, slots=True)
class Obeyed:
    """Which files of a folder are obeyed: all, or those with these contents."""

    all: bool = False
    pins: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, name: str, body: bytes) -> bool:
        return self.knows(name, digest(body))

    def knows(self, name: str, mark: str) -> bool:
        """The same of a file whose contents are known by their digest."""
        return self.all or self.pins.get(name) == mark

    def why(self) -> str:
        """What to tell of a file that is not obeyed."""
        return CHANGED if self.pins else UNTRUSTED


def digest(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


def trusts(book: Book, folder: str) -> bool | None:
    """What the person said of the folder, last; None where nothing was said, or it cannot be read."""
    said = _said(book, folder)
    return said.effect == "allow" if said else None


def trusted_now(book: Book, folder: str, mode: Mode) -> bool:
    """Whether its files are no strangers' words: the person said so of the folder, or by the mode of this run."""
    said = trusts(book, folder)
    return mode == "trust" if said is None else said


def obeyed(book: Book, folder: Path, mode: Mode = DEFAULT_MODE) -> Obeyed:
    """What a run in the folder obeys. The mode that trusts a folder says so for one run where nothing else was said."""
    said = _said(book, str(folder))
    if said is None:
        return Obeyed(all=mode == "trust" and book.rules is not None)
    return Obeyed(pins=_pins(said) if said.effect == "allow" else {})


def look(book: Book, folder: Path) -> FolderTrust:
    """What a person is told before they decide."""
    found, said = brought(folder), _said(book, str(folder))
    pins = _pins(said) if said else {}
    yes = said is not None and said.effect == "allow"
    changed = [name for name, mark in found.items() if yes and (mark == UNREADABLE or pins.get(name) != mark)]
    empty = next(folder.iterdir(), None) is None
    named = [name for name in found if any(fnmatchcase(name, pattern) for pattern in NAMED)]
    return FolderTrust(_key(str(folder)), trusts(book, str(folder)), tuple(named), tuple(changed), empty)


def brought(folder: Path) -> dict[str, str]:
    """Every file an agent would obey or run, and a mark of its contents; no link leads out of the folder."""
    found: dict[str, str] = {}
    try:
        with Broker(folder) as broker:
            for name in (*FILES, *(name for tree in TREES for name in _beneath(broker, tree))):
                if broker.look(name) is not None:
                    found[name] = _mark(broker, name)
                if len(found) >= MOST:
                    break
    except (Problem, OSError):  # it cannot be looked into, so nothing in it is obeyed either
        return {}
    return dict(sorted(found.items()))


async def trust(book: RuleBook, folder: str, trusted: bool, pins: Mapping[str, str], by: str = "person") -> None:
    """Keep what the person said, of these contents; it takes the place of what they said before."""
    for rule in book.read().rules or ():
        if rule.tool == TOOL and rule.where == _key(folder):
            await book.revoke(rule.id)
    effect: Effect = "allow" if trusted else "deny"
    said = made_rule(new_rule_id(), effect, TOOL, "none", "", scope="folder", where=_key(folder), made=now(), by=by)
    kept = [f"{mark} {name}" for name, mark in pins.items() if mark != UNREADABLE] if trusted else []
    await book.add([replace(said, matches=(*said.matches, *kept))])


async def forget(book: RuleBook, folder: str) -> None:
    """A folder that is gone takes along what was said of it, and of what was in it."""
    gone = Path(_key(folder))
    for rule in book.read().rules or ():
        if rule.scope == "folder" and rule.where and Path(rule.where).is_relative_to(gone):
            await book.revoke(rule.id)


async def trust_also(book: RuleBook, folder: str, marks: Mapping[str, str]) -> None:
    """Of a folder that is trusted already: these files as they are now, because the person wrote them."""
    if (said := _said(book.read(), folder)) and said.effect == "allow":
        await trust(book, folder, True, _pins(said) | dict(marks), said.by)


def _said(book: Book, folder: str) -> Rule | None:
    key = _key(folder)
    return next((rule for rule in reversed(book.rules or ()) if rule.tool == TOOL and rule.where == key), None)


def _key(folder: str) -> str:
    """One name of a folder, whatever links lead to it."""
    return os.path.realpath(folder)


def _pins(said: Rule) -> dict[str, str]:
    pairs = (text.split(" ", 1) for text in said.matches if " " in text)
    return {name: mark for mark, name in pairs}


def _beneath(broker: Broker, folder: str, depth: int = 0) -> Iterator[str]:
    try:
        entries = broker.entries(folder) if depth < DEEPEST else []
    except Problem:
        return
    for name, kind in entries:
        path = f"{folder}/{name}"
        if kind == "folder":
            yield from _beneath(broker, path, depth + 1)
        elif kind == "link" and (below := list(_beneath(broker, path, depth + 1))):
            yield from below
        else:
            yield path


def _mark(broker: Broker, name: str) -> str:
    try:
        return digest(broker.read(name, LARGEST))
    except Problem:
        return UNREADABLE


def refuse_unfit(folder: Path, data: Path) -> None:
    """No agent works in a whole home, a whole disk, or where our own data lie: its commands could change them."""
    real, home, data = folder.resolve(), Path.home().resolve(), data.resolve()
    why = ""
    if real == Path(real.anchor):
        why = "It is the whole disk"
    elif data.is_relative_to(real):
        why = "It is the data of Journeyman" if data == real else "The data of Journeyman lie in it"
    elif home.is_relative_to(real):
        why = "It is your whole home" if home == real else "Your whole home lies in it"
    elif any(place.is_relative_to(real) for place in _shared()):
        why = "Programs that run here keep what they talk through in it"
    if why:
        raise Problem(f"An agent cannot work in {real}.", f"{why}.", "Choose a folder in it, or make one.")


def _shared() -> Iterator[Path]:
    """Where sockets of all our programs lie, and what our own walls are made of."""
    yield Path(tempfile.gettempdir()).resolve()
    if place := os.environ.get("XDG_RUNTIME_DIR"):
        yield Path(place).resolve()


async def pass_on(book: RuleBook, folder: str, other: str) -> None:
    """What the person said of a folder holds for a copy of it: of the same contents, and no others."""
    if said := _said(book.now(), folder):
        await trust(book, other, said.effect == "allow", _pins(said), said.by)
