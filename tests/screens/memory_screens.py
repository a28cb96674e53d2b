"""Screenshots of the memory page: the list, an open memory, proposals, and the dialog for a new memory."""

from collections.abc import Iterator
from pathlib import Path

from PySide6.QtWidgets import QWidget

from core.store.reader import Reader
from tests.screens.sample_memory import SHOWN, memory_page_data
from ui.memory.memory_lines import ALL, PROPOSAL_PREFIX, PROPOSED
from ui.memory.panel import MemoryPanel
from ui.shell.main_window import MainWindow


def memory_pages(window: MainWindow, home: Path, reader: Reader) -> Iterator[tuple[str, QWidget]]:
    """Show sample data directly, because there is no engine to load it."""
    window.selection.choose_page("memory")
    page = window.pages.page("memory")
    assert isinstance(page, MemoryPanel)
    page.show_all([], [])
    yield "memory-empty", window.window()
    listed, shown, waiting = memory_page_data(home, reader)
    page.show_all(listed, waiting)
    page.show_memory(shown[SHOWN])
    page.list.mark_open(shown[SHOWN].listed.memory.id)
    yield "memory", window.window()
    page.header.choose_tab(PROPOSED)
    changes = next(one for one in waiting if one.target)
    before = next(one.memory.content.text for one in listed if one.memory.id == changes.target)
    for proposal, was, name in ((waiting[-1], None, "memory-proposal"), (changes, before, "memory-proposal-change")):
        page.show_proposal(proposal, was)
        page.list.mark_open(f"{PROPOSAL_PREFIX}{proposal.id}")
        yield name, window.window()
    page.header.choose_tab(ALL)
    page.memory_actions.open_dialog(shown[SHOWN].listed.memory)
    dialog = page.findChild(QWidget, "memory.write")
    assert dialog is not None
    yield "memory-write", dialog
    dialog.close()
