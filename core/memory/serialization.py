"""Converts memories to and from JSON, and reads them from Markdown files. An invalid file is rejected as a whole."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any, NamedTuple, cast

from core.domain.memory import Memory, MemoryContent, reworded
from core.domain.problems import Problem

FORMAT_VERSION = 1
OUTCOMES = "outcomes"  # key in the details of a proposed lesson
ITEM = re.compile(r"(?:[-*+]|\d{1,3}[.)])\s+")
FENCE = re.compile(r"`{3,}[^`]*|~{3,}.*")
CONTENT_FIELDS = frozenset(field.name for field in fields(MemoryContent))


def to_proposal_details(content: MemoryContent, outcomes: Sequence[str] = ()) -> str:
    """Return the content of a proposed memory as JSON, which is stored with the proposal.

    It includes the proposed sentence, which shows later whether the user has edited the proposal's text. `outcomes` are
    the IDs of the memories of outcomes that a proposed lesson is derived from.
    """
    details = {name: value for name, value in asdict(content).items() if value != ""}
    return json.dumps(details | ({OUTCOMES: outcomes} if outcomes else {}), ensure_ascii=False)


def outcomes_of(details: str) -> tuple[str, ...]:
    """Return the IDs of the outcomes that a proposed lesson is derived from; () for any other proposal."""
    return tuple(json.loads(details or "{}").get(OUTCOMES, ()))


def from_proposal(text: str, details: str) -> MemoryContent:
    """Return the memory that an accepted proposal saves: `text`, with the properties from the JSON in `details`."""
    properties = json.loads(details or '{"kind": "knowledge"}')
    properties.pop(OUTCOMES, None)
    return reworded(MemoryContent(**{"text": text, **properties}), text)


def to_json(memories: Iterable[Memory]) -> str:
    """Return memories as a JSON document for export, without how often they were used."""
    items = [
        asdict(memory.content)
        | {"id": memory.id, "author": memory.author, "pinned": memory.pinned, "evidence": memory.evidence}
        for memory in memories
    ]
    return json.dumps(
        {"journeyman": "memories", "version": FORMAT_VERSION, "memories": items}, ensure_ascii=False, indent=1
    )


class ParsedMemory(NamedTuple):
    """A memory that was read from an exported file."""

    content: MemoryContent
    pinned: bool = False


def from_json(text: str) -> list[ParsedMemory]:
    """Return the memories in a document written by `to_json`. Raise Problem that names the first invalid memory."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _import_problem(f"{error}.") from error
    if not isinstance(document, dict) or document.get("journeyman") != "memories":
        raise _import_problem('Expected an object with "journeyman": "memories".')
    if document.get("version") != FORMAT_VERSION or not isinstance(document.get("memories"), list):
        raise _import_problem(f'Expected "version": {FORMAT_VERSION} and a list of "memories".')
    return [
        ParsedMemory(_content(item, number), item.get("pinned") is True)
        for number, item in enumerate(document["memories"], 1)
    ]


def _content(item: Any, number: int) -> MemoryContent:
    if not isinstance(item, Mapping) or not isinstance(item.get("text"), str):
        raise _import_problem(f'Memory {number}: expected an object with a "text".')
    known_fields = {name: item[name] for name in CONTENT_FIELDS & item.keys()}
    parts = known_fields.get("fields", {})
    confidence = known_fields.get("confidence", 0.5)
    texts = [value for name, value in known_fields.items() if name not in {"fields", "confidence"}]
    if isinstance(parts, dict):
        texts += parts.values()
    has_texts = isinstance(parts, dict) and all(isinstance(text, str) for text in texts)
    has_number = isinstance(confidence, int | float) and not isinstance(confidence, bool)
    if not has_texts or not has_number:
        raise _import_problem(f"Memory {number}: a field has the wrong type.")
    return MemoryContent(**cast(dict[str, Any], {"kind": "knowledge", **known_fields}))


def from_markdown(text: str) -> list[MemoryContent]:
    """Return the memories in a MEMORY.md, USER.md or CLAUDE.md: its list items and paragraphs.

    The heading above each is its context. A code block belongs to the text directly above it.
    """
    reader = _MarkdownReader()
    for line in text.replace("§", "\n\n").splitlines():
        reader.read(line.strip())
    reader.end_paragraph()
    return reader.contents


class _MarkdownReader:
    """Collects the list items and paragraphs of a Markdown document, which is read line by line."""

    def __init__(self) -> None:
        self.contents: list[MemoryContent] = []
        self._heading = ""
        self._lines: list[str] = []  # of the list item or paragraph that is being read
        self._in_code = False

    def read(self, line: str) -> None:
        if FENCE.fullmatch(line):
            self._in_code = not self._in_code
        elif self._in_code:
            self._lines.append(line)
        elif line.startswith("#"):
            self.end_paragraph()
            self._heading = line.strip("# ")
        elif set(line) <= set("-=*_"):  # an empty line, or a line below a heading or between sections
            self.end_paragraph()
        elif item := ITEM.match(line):
            self.end_paragraph()
            self._lines.append(line[item.end() :])
        else:
            self._lines.append(line)

    def end_paragraph(self) -> None:
        paragraph = " ".join(" ".join(self._lines).split())
        if any(character.isalnum() for character in paragraph):
            self.contents.append(MemoryContent("knowledge", paragraph, context=self._heading))
        self._lines.clear()


def _import_problem(why: str) -> Problem:
    return Problem("The file cannot be imported as memories.", why, "Nothing was imported. Correct the file.")
