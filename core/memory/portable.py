"""Memories as JSON and as plain files of others: what goes out comes in again, and nothing is half taken in."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields
from typing import Any, NamedTuple, cast

from core.domain.memory import Memory, Said, reworded
from core.domain.problems import Problem

FORM = 1
ITEM = re.compile(r"(?:[-*+]|\d{1,3}[.)])\s+")
FENCE = re.compile(r"`{3,}[^`]*|~{3,}.*")
NAMES = frozenset(field.name for field in fields(Said))


def about(said: Said) -> str:
    """What a proposal says of a memory; its text too, so that other words are known as such."""
    plain = {name: value for name, value in asdict(said).items() if value != ""}
    return json.dumps(plain, ensure_ascii=False)


def proposed(text: str, about: str) -> Said:
    """What a proposal wants to be remembered."""
    said = Said(**{"text": text, **json.loads(about or '{"kind": "knowledge"}')})
    return reworded(said, text)


def exported(memories: Iterable[Memory]) -> str:
    """All of them as one JSON text, without what was noted of their use."""
    plain = [
        asdict(one.said) | {"id": one.id, "author": one.author, "pinned": one.pinned, "evidence": one.evidence}
        for one in memories
    ]
    return json.dumps({"journeyman": "memories", "form": FORM, "memories": plain}, ensure_ascii=False, indent=1)


class Brought(NamedTuple):
    """A memory as a file holds it."""

    said: Said
    pinned: bool = False


def imported(text: str) -> list[Brought]:
    """What a file of ours holds; a Problem says which memory of it is wrong."""
    try:
        plain = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _wrong(f"{error}.") from error
    if not isinstance(plain, dict) or plain.get("journeyman") != "memories":
        raise _wrong('Expected an object with "journeyman": "memories".')
    if plain.get("form") != FORM or not isinstance(plain.get("memories"), list):
        raise _wrong(f'Expected "form": {FORM} and a list of "memories".')
    return [Brought(_said(one, number), one.get("pinned") is True) for number, one in enumerate(plain["memories"], 1)]


def _said(plain: Any, number: int) -> Said:
    if not isinstance(plain, Mapping) or not isinstance(plain.get("text"), str):
        raise _wrong(f'Memory {number}: expected an object with a "text".')
    told = {name: plain[name] for name in NAMES & plain.keys()}
    parts, confidence = told.get("parts", {}), told.get("confidence", 0.5)
    words = all(isinstance(value, str) for name, value in told.items() if name not in {"parts", "confidence"})
    good = words and isinstance(parts, dict) and all(isinstance(text, str) for text in parts.values())
    if not good or isinstance(confidence, bool) or not isinstance(confidence, int | float):
        raise _wrong(f"Memory {number}: a field has another type than it should.")
    return Said(**cast(dict[str, Any], {"kind": "knowledge", **told}))


def of_lines(text: str) -> list[Said]:
    """The entries of a MEMORY.md, USER.md or CLAUDE.md: its list items and paragraphs, each with its heading around.

    Code goes with the words right above it.
    """
    heading, found, lines, code = "", [], list[str](), False

    def close() -> None:
        words = " ".join(" ".join(lines).split())
        if any(sign.isalnum() for sign in words):
            found.append(Said("knowledge", words, around=heading))
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


def _wrong(why: str) -> Problem:
    return Problem("This file cannot be read as memories.", why, "Nothing was taken in. Correct the file.")
