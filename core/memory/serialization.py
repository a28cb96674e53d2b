"""Converts memories to and from JSON, and parses Markdown memory files. An invalid file is rejected as a whole."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields
from typing import Any, NamedTuple, cast

from core.domain.memory import Memory, MemoryContent, reworded
from core.domain.problems import Problem

FORMAT_VERSION = 1
ITEM = re.compile(r"(?:[-*+]|\d{1,3}[.)])\s+")
FENCE = re.compile(r"`{3,}[^`]*|~{3,}.*")
NAMES = frozenset(field.name for field in fields(MemoryContent))


def to_proposal_details(said: MemoryContent) -> str:
    """Return the content as the JSON details of a proposal. The text is included to detect that the user edited it."""
    plain = {name: value for name, value in asdict(said).items() if value != ""}
    return json.dumps(plain, ensure_ascii=False)


def from_proposal(text: str, about: str) -> MemoryContent:
    """Return the content that a proposal would save: `text` with the details `about`."""
    said = MemoryContent(**{"text": text, **json.loads(about or '{"kind": "knowledge"}')})
    return reworded(said, text)


def to_json(memories: Iterable[Memory]) -> str:
    """Return memories as a JSON document, without their usage."""
    plain = [
        asdict(one.content) | {"id": one.id, "author": one.author, "pinned": one.pinned, "evidence": one.evidence}
        for one in memories
    ]
    return json.dumps(
        {"journeyman": "memories", "version": FORMAT_VERSION, "memories": plain}, ensure_ascii=False, indent=1
    )


class ParsedMemory(NamedTuple):
    """A memory in an exported file."""

    said: MemoryContent
    pinned: bool = False


def from_json(text: str) -> list[ParsedMemory]:
    """Parse a document written by `to_json`. Raise Problem that names the first invalid memory."""
    try:
        plain = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _import_problem(f"{error}.") from error
    if not isinstance(plain, dict) or plain.get("journeyman") != "memories":
        raise _import_problem('Expected an object with "journeyman": "memories".')
    if plain.get("version") != FORMAT_VERSION or not isinstance(plain.get("memories"), list):
        raise _import_problem(f'Expected "version": {FORMAT_VERSION} and a list of "memories".')
    return [
        ParsedMemory(_said(one, number), one.get("pinned") is True) for number, one in enumerate(plain["memories"], 1)
    ]


def _said(plain: Any, number: int) -> MemoryContent:
    if not isinstance(plain, Mapping) or not isinstance(plain.get("text"), str):
        raise _import_problem(f'Memory {number}: expected an object with a "text".')
    known_fields = {name: plain[name] for name in NAMES & plain.keys()}
    parts, confidence = known_fields.get("fields", {}), known_fields.get("confidence", 0.5)
    words = all(isinstance(value, str) for name, value in known_fields.items() if name not in {"fields", "confidence"})
    good = words and isinstance(parts, dict) and all(isinstance(text, str) for text in parts.values())
    if not good or isinstance(confidence, bool) or not isinstance(confidence, int | float):
        raise _import_problem(f"Memory {number}: a field has the wrong type.")
    return MemoryContent(**cast(dict[str, Any], {"kind": "knowledge", **known_fields}))


def from_markdown(text: str) -> list[MemoryContent]:
    """Parse a MEMORY.md, USER.md or CLAUDE.md: list items and paragraphs, with the heading as context.

    A code block is appended to the text directly above the block.
    """
    heading, found, lines, code = "", [], list[str](), False

    def close() -> None:
        words = " ".join(" ".join(lines).split())
        if any(character.isalnum() for character in words):
            found.append(MemoryContent("knowledge", words, context=heading))
        lines.clear()

    for line in text.replace("§", "\n\n").splitlines():
        bare = line.strip()
        if FENCE.fullmatch(bare):
            code = not code
        elif code:
            lines.append(bare)
        elif bare.startswith("#"):
            close()
            heading = bare.strip("# ")
        elif not bare or set(bare) <= set("-=*_"):
            close()
        else:
            if item := ITEM.match(bare):
                close()
                bare = bare[item.end() :]
            lines.append(bare)
    close()
    return found


def _import_problem(why: str) -> Problem:
    return Problem("The file cannot be imported as memories.", why, "Nothing was imported. Correct the file.")
