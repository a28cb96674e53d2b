"""The details of a memory: where they are scrolled to, and how the fields of an outcome are named."""

from dataclasses import replace
from pathlib import Path

from PySide6.QtWidgets import QApplication, QLabel, QScrollArea

from core.memory.outcome import build_outcome
from core.store.run_reader import FinishedRun, FinishedStep
from tests.ui.hands import find
from tests.ui.memory.test_page import add_memory, opened
from tests.ui.test_desktop_app import Person, live, until


def test_another_memory_is_shown_from_its_beginning_and_an_update_does_not_scroll(
    qapp: QApplication, home: Path
) -> None:
    async def act(person: Person) -> None:
        await until(lambda: person.window._bridge, "the engine")
        one, two = [await add_memory(person, f"{word} " + "a long text " * 150) for word in ("Tea.", "Milk.")]
        page = await opened(person, one)
        bar = find(page.card, QScrollArea, "memory.card.scroll").verticalScrollBar()
        await until(lambda: page.card.memory and page.card.memory.id == one and bar.maximum() > 200, "the first memory")
        bar.setValue(200)
        await person.program.engine.ask(lambda engine: engine.memory.pin(one, True))
        await until(lambda: page.card.memory and page.card.memory.pinned, "the update")
        assert bar.value() == 200
        page.open(two)
        await until(lambda: page.card.memory and page.card.memory.id == two, "the second memory")
        assert bar.value() == 0 < bar.maximum()

    live(qapp, home, act)


def test_the_fields_of_an_outcome_have_labels(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        await until(lambda: person.window._bridge, "the engine")
        run = FinishedRun("s", 1, 9, "/w", "", 4.0, (FinishedStep("user", "Deploy it", "done"),), "done", "")
        outcome = build_outcome(run, 3)
        assert outcome is not None
        page = await opened(person, await add_memory(person, "Anything"))
        await until(lambda: page.card.details, "the details")
        details = page.card.details
        assert details is not None
        memory = replace(details.listed.memory, content=outcome)
        page.card.show_memory(replace(details, listed=replace(details.listed, memory=memory)))
        shown = [label.text() for label in page.card.findChildren(QLabel)]
        assert {"Lesson after", "3 similar runs"} <= set(shown) and "least" not in shown

    live(qapp, home, act)
