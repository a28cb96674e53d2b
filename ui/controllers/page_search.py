"""Searches memories and skills for the words in the search field of the sidebar."""

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from core.store.search import find_excerpt
from ui.memory.texts import kind_label
from ui.sessions.session_rows import PageItem

if TYPE_CHECKING:
    from core.engine.api.engine import Engine

MAX_ITEMS: Final = 8  # results per page
MAX_CANDIDATES: Final = 500  # memories in which the words are searched, in addition to those that the index finds


async def search_pages(engine: "Engine", words: str, folder: str) -> list[PageItem]:
    """Return the memories and skills that contain every word. Called on the engine's thread."""
    if not words:
        return []
    listings = {item.memory.id: item.memory for item in await engine.memory.find(words)}
    # The index finds only complete words, but the user may still be typing the last one.
    listings |= {item.memory.id: item.memory for item in await engine.memory.list_memories(limit=MAX_CANDIDATES)}
    memories = (
        _SearchedItem("memory", memory.id, kind_label(memory.content.kind).capitalize(), memory.content.text)
        for memory in listings.values()
    )
    rows = await engine.skills.list(Path(folder) if folder else None)
    skills = (_SearchedItem("skills", row.key, row.name, f"{row.name}: {row.description}") for row in rows)
    return [*islice(_containing(memories, words), MAX_ITEMS), *islice(_containing(skills, words), MAX_ITEMS)]


class _SearchedItem(NamedTuple):
    """A memory or a skill: its page, its ID there, its title, and the text in which the words are searched."""

    page: str
    target: str
    title: str
    text: str


def _containing(items: Iterable[_SearchedItem], words: str) -> Iterator[PageItem]:
    for item in items:
        if excerpt := find_excerpt(item.text, words):
            yield PageItem(page=item.page, target=item.target, title=item.title, match=excerpt, query=words)
