"""Pictures of the page of memories: the list with one beside it, its versions, and what waits for a word."""

from collections.abc import Iterator
from pathlib import Path

from PySide6.QtWidgets import QWidget

from app.sample_memory import SHOWN, looked
from core.store.reader import Reader
from ui.memory.panel import MemoryPanel
from ui.memory.rows import ALL, PREFIX, PROPOSED
from ui.window import MainWindow


def memory_pages(window: MainWindow, home: Path, reader: Reader) -> Iterator[tuple[str, QWidget]]:
    """In the app the engine answers what is shown here."""
    window.selection.choose_page("memory")
    page = window.pages.page("memory")
    assert isinstance(page, MemoryPanel)
    page.show_all([], [])
    yield "memory-empty", window.window()
    listed, shown, waiting = looked(home, reader)
    page.show_all(listed, waiting)
    page.show_memory(shown[SHOWN])
    page.list.mark(shown[SHOWN].listed.memory.id)
    yield "memory", window.window()
    page.head.choose(PROPOSED)
    changes = next(one for one in waiting if one.target)
    before = next(one.memory.said.text for one in listed if one.memory.id == changes.target)
    for proposal, was, name in ((waiting[-1], None, "memory-proposal"), (changes, before, "memory-proposal-change")):
        page.show_proposal(proposal, was)
        page.list.mark(f"{PREFIX}{proposal.id}")
        yield name, window.window()
    page.head.choose(ALL)
    page.doing.write(shown[SHOWN].listed.memory)
    dialog = page.findChild(QWidget, "memory.write")
    assert dialog is not None
    yield "memory-write", dialog
    dialog.close()
