"""Commands of one's own: Markdown files whose text is sent in place of `/name arguments`.

A person's own lie in the folder `commands` of the data folder, a project's in `.agents/commands` of its own; of two
with one name the person's own is meant.
"""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from core.domain.problems import Problem
from core.engine.trust import Obeyed
from core.workspace.broker import Broker

OWN, OF_FOLDER = "commands", ".agents/commands"
NAME = re.compile(r"[a-z0-9]+([-_][a-z0-9]+)*")
TYPED = re.compile(r"/([a-z0-9][a-z0-9_-]*)(?:\s+(.*))?\s*", re.DOTALL)
PLACE = re.compile(r"\$(ARGUMENTS\b|[1-9](?!\d))")
HEAD = re.compile(r"\A---[ \t]*\n(.*?)^---[ \t]*\n", re.DOTALL | re.MULTILINE)
LARGEST = 256 << 10
MOST = 200
NONE = Obeyed()


@dataclass(frozen=True, slots=True)
class Slash:
    """A command: `about` is its description, `origin` says whose it is."""

    name: str
    about: str
    text: str
    origin: Literal["own", "folder"] = "own"


def commands(home: Path, folder: Path | None = None, obeys: Obeyed = NONE) -> dict[str, Slash]:
    """Every command that can be read, by name; of the folder's own those that are obeyed."""
    found = _of_folder(folder, obeys) if folder else {}
    for path in sorted((home / OWN).glob("*.md"))[:MOST]:
        try:
            if NAME.fullmatch(path.stem) and path.stat().st_size <= LARGEST:
                found[path.stem] = _read(path.stem, path.read_text("utf-8"), "own")
        except (OSError, UnicodeDecodeError):
            continue  # it is not offered; whoever types it sends its words as they are
    return dict(sorted(found.items()))


def _of_folder(folder: Path, obeys: Obeyed) -> dict[str, Slash]:
    """Those of a project, read as an agent's tools read: no link leads out."""
    found: dict[str, Slash] = {}
    try:
        with Broker(folder) as broker:
            names = [name for name, kind in broker.entries(OF_FOLDER) if kind == "file" and name.endswith(".md")]
            for name in names[:MOST]:
                stem = name.removesuffix(".md")
                if NAME.fullmatch(stem):
                    body = broker.read(f"{OF_FOLDER}/{name}", LARGEST, keys=False)
                    if obeys(f"{OF_FOLDER}/{name}", body):
                        found[stem] = _read(stem, body.decode("utf-8", "replace"), "folder")
    except (Problem, OSError):
        return found
    return found


def _read(name: str, text: str, origin: Literal["own", "folder"]) -> Slash:
    head = HEAD.match(text)
    told = re.search(r"^description:[ \t]*(.+)$", head[1], re.MULTILINE) if head else None
    body = text[head.end() :].strip() if head else text.strip()
    first = next((line.strip("# ").strip() for line in body.splitlines() if line.strip()), "")
    return Slash(name, told[1].strip().strip("\"'") if told else first[:200], body, origin)


def expanded(text: str, home: Path, folder: Path, obeys: Obeyed = NONE) -> str:
    """What is sent for what was typed: itself, unless it is one of the commands."""
    typed = TYPED.fullmatch(text.strip())
    if typed is None:
        return text
    found = commands(home, folder, obeys).get(typed[1])
    return filled(found.text, typed[2] or "") if found else text


def filled(template: str, arguments: str) -> str:
    """The text with `$1` to `$9` and `$ARGUMENTS` in their places, each once: what is put in is not looked at again."""
    try:
        words = shlex.split(arguments)
    except ValueError:  # an open quotation mark
        words = arguments.split()
    if not PLACE.search(template):
        return f"{template}\n\n{arguments}".strip()

    def value(place: re.Match[str]) -> str:
        if place[1] == "ARGUMENTS":
            return arguments
        number = int(place[1])
        return words[number - 1] if number <= len(words) else ""

    return PLACE.sub(value, template)
