"""Searches memories and skills for the words in the search field of the sidebar."""

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

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
        ("memory", one.id, kind_label(one.content.kind).capitalize(), one.content.text) for one in listings.values()
    )
    rows = await engine.skills.list(Path(folder) if folder else None)
    skills = (("skills", row.key, row.name, f"{row.name}: {row.description}") for row in rows)
    return [*islice(_containing(memories, words), MAX_ITEMS), *islice(_containing(skills, words), MAX_ITEMS)]


def _containing(items: Iterable[tuple[str, str, str, str]], words: str) -> Iterator[PageItem]:
    for page, target, title, text in items:
        if excerpt := find_excerpt(text, words):
            yield PageItem(page, target, title, excerpt, words)
