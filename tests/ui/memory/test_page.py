"""The page of memories in the whole program: written, found, changed, forgotten, taken back, decided on by keys."""

import json
from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtWidgets import QApplication, QComboBox, QLabel, QLineEdit, QMenu, QPlainTextEdit, QPushButton, QWidget

from core.domain.events import RunStarted
from core.domain.memory import Said
from core.domain.proposal import Proposal
from core.domain.text import Text
from core.engine.engine import Engine
from core.memory.portable import about
from tests.ui.hands import click, find, press, write
from tests.ui.test_desktop import Person, live, until
from ui.memory.panel import MemoryPanel
from ui.memory.rows import Line
from ui.memory.versions import Versions
from ui.memory.write_dialog import WriteDialog
from ui.widgets.confirm import Confirm

CONTROL = Qt.KeyboardModifier.ControlModifier
SHIFT = Qt.KeyboardModifier.ShiftModifier


async def opened(person: Person, *about: str) -> MemoryPanel:
    window = person.window
    await until(lambda: window._bridge, "the engine")
    window.selection.choose_page("memory", *about)
    page = window.pages.page("memory")
    assert isinstance(page, MemoryPanel)
    await until(lambda: find(page, QLabel, "memory.figures").accessibleName(), "the figures")
    return page


def lines(page: MemoryPanel) -> Sequence[Line]:
    rows = page.list.rows
    return [line for at in range(rows.rowCount(QModelIndex())) if (line := rows.item(rows.index(at)))]


def texts(page: MemoryPanel) -> list[str]:
    return [line.text for line in lines(page)]


async def kept(person: Person, text: str) -> str:
    added = await person.program.engine.ask(lambda engine: engine.memory.add(text))
    return added.memory.id


async def proposed(person: Person, text: str, *, target: str = "", session: str = "") -> Proposal:
    wanted = Proposal(
        "", "memory", "patch" if target else "create", target, text, "it came up twice", base=1 if target else 0,
        about="" if target else about(Said("heuristic", "")), session=session, by="review",
    )  # fmt: skip
    return await person.program.engine.ask(lambda engine: engine.proposals.make(wanted))


async def shown(page: MemoryPanel, text: str) -> None:
    def there() -> bool:
        return page.card.memory is not None and page.card.isVisible() and page.card.memory.said.text == text

    await until(there, f"{text} beside the list")


def test_a_memory_is_written_pinned_and_forgotten_by_keys_and_comes_back(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        page = await opened(person)
        assert page._empty.isVisible() and "Nothing is remembered yet" in page._empty.text()
        press(page, Qt.Key.Key_N, CONTROL | SHIFT)
        dialog = find(page, WriteDialog, "memory.write")
        kinds = find(dialog, QComboBox, "memory.write.kind")
        kinds.setCurrentIndex(kinds.findData("heuristic"))
        yes = find(dialog, QPushButton, "memory.write.yes")
        write(find(dialog, QLineEdit, "memory.write.when"), "a letter is formal")
        assert not yes.isEnabled(), "what to do is missing"
        write(find(dialog, QLineEdit, "memory.write.do"), "attach dated evidence")
        click(yes)
        said = "When a letter is formal: attach dated evidence."
        await shown(page, said)
        assert texts(page) == [said]
        page.list.setFocus()
        press(page.list, Qt.Key.Key_P)
        await until(lambda: lines(page)[0].pinned, "the pin")
        press(page.list, Qt.Key.Key_Delete)
        await until(lambda: not lines(page), "it is gone")
        assert "Forgotten" in person.window.toast.accessibleName()
        person.window.toast.undo()
        await until(lambda: texts(page) == [said], "it is back")

    live(qapp, home, act)


def test_what_is_refused_is_not_lost(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        page = await opened(person)
        secret = "The key of the box is sk-proj-" + "abcdefghijklmnopqrstuvwxyz0123456789"
        page.doing.write()
        field = find(page, QPlainTextEdit, "memory.write.text")
        write(field, secret)
        press(field, Qt.Key.Key_Return)
        await until(lambda: open_dialogs(page), "the words again")
        dialog = open_dialogs(page)[0]
        again = find(dialog, QPlainTextEdit, "memory.write.text")
        assert again.toPlainText() == secret
        assert "holds a secret" in find(dialog, QLabel, "memory.write.wrong").text()
        again.clear()
        write(again, "The key lies in the blue folder.")
        press(again, Qt.Key.Key_Return)
        await shown(page, "The key lies in the blue folder.")

    live(qapp, home, act)


def open_dialogs(page: MemoryPanel) -> list[WriteDialog]:
    return [one for one in page.findChildren(WriteDialog) if one.isVisible()]


def test_what_is_edited_shows_what_it_was_and_can_be_taken_back(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        name = await kept_when_ready(person, "Tests run with pytest.")
        page = await opened(person, name)
        await shown(page, "Tests run with pytest.")
        press(page.list, Qt.Key.Key_E)
        dialog = find(page, WriteDialog, "memory.write")
        field = find(dialog, QPlainTextEdit, "memory.write.text")
        field.clear()
        write(field, "Tests run with pytest -q.")
        press(field, Qt.Key.Key_Return)
        await shown(page, "Tests run with pytest -q.")
        versions = find(page.card, Versions, "memory.versions")
        assert versions.number == 2 and versions._lines.isVisible()
        click(find(versions, QPushButton, "memory.versions.back"))
        await shown(page, "Tests run with pytest.")
        assert versions.number == 3

    live(qapp, home, act)


def test_what_has_the_words_as_they_were_typed_stands_first_and_stays_there(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        await kept_when_ready(person, "Date, delivery date, due date.")
        said = "In letters and lists, invoices and offers to people abroad the date is written in full."
        await kept(person, said)
        page = await opened(person)
        await until(lambda: len(lines(page)) == 2, "both")
        write(find(page, QLineEdit, "memory.search"), "the date is")
        await until(lambda: page._found is not None and len(lines(page)) == 2, "the others")
        assert texts(page)[0] == said

    live(qapp, home, act)


def test_other_lines_begin_at_the_top_and_the_one_that_is_wanted_is_in_sight(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        await until(lambda: person.window._bridge, "the engine")
        names = [await kept(person, f"Drawer {n:02} holds the {'letters' if n % 2 else 'bills'}.") for n in range(40)]
        page = await opened(person)
        await until(lambda: len(lines(page)) == 40, "all of them")
        bar = page.list.verticalScrollBar()
        bar.setValue(bar.maximum())
        write(find(page, QLineEdit, "memory.search"), "letters")
        await until(lambda: len(lines(page)) == 20, "those with the word")
        assert bar.value() == 0 < bar.maximum()
        for name in (names[1], names[39]):
            page.open_on((name,))
            await until(lambda: page.card.memory and page.card.memory.id == name, "beside the list")  # noqa: B023 - now
            assert page.list.key() == name
            assert page.list.viewport().rect().contains(page.list.visualRect(page.list.currentIndex()))

    live(qapp, home, act)


async def kept_when_ready(person: Person, text: str) -> str:
    await until(lambda: person.window._bridge, "the engine")
    return await kept(person, text)


def test_words_find_tabs_sort_and_the_archive_gives_back(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        await kept_when_ready(person, "The shop database is reset at night.")
        await kept(person, "Invoices carry the date of delivery.")
        page = await opened(person)
        await until(lambda: len(lines(page)) == 2, "both")
        search = find(page, QLineEdit, "memory.search")
        write(search, "invoice")
        await until(lambda: texts(page) == ["Invoices carry the date of delivery."], "the one that fits")
        await shown(page, "Invoices carry the date of delivery.")
        search.clear()
        await until(lambda: len(lines(page)) == 2, "both again")
        await shown(page, texts(page)[0])
        gone = texts(page)[0]
        page.list.setFocus()
        press(page.list, Qt.Key.Key_A)
        await until(lambda: len(lines(page)) == 1, "one is in the archive")
        page.head.choose("preference")
        assert not lines(page) and "Nothing of this kind" in page._empty.text()
        page.head.choose("archive")
        assert texts(page) == [gone]
        await shown(page, gone)
        press(page.list, Qt.Key.Key_R)
        await until(lambda: not lines(page), "it is back")

    live(qapp, home, act)


def test_proposals_are_counted_kept_edited_first_rejected_and_undone(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        name = await kept_when_ready(person, "Tests run with pytest.")
        await proposed(person, "When a date is written: use the long form.")
        await proposed(person, "Tests run with pytest -n 2.", target=name)
        page = await opened(person, "proposed")
        foot = person.window.sessions.foot
        await until(lambda: len(lines(page)) == 2, "both proposals")
        assert find(foot, QWidget, "sessions.memory").toolTip() == "2 waiting for you"
        await until(lambda: page.review.isVisible() and page.review.proposal, "the first")
        page.list.setFocus()
        press(page.list, Qt.Key.Key_E)
        field = find(page.review, QPlainTextEdit, "memory.proposal.field")
        assert page.unsaved() and field.isVisible()
        field.clear()
        assert not find(page.review, QPushButton, "memory.proposal.keep").isEnabled()
        write(field, "Write dates in full.")
        press(field, Qt.Key.Key_Return)
        await until(lambda: len(page._proposals) == 1, "kept")
        assert len(lines(page)) == 1 and page.head.tab == "proposed", "the next one is at hand"
        engine = person.program.engine
        said = {one.memory.said.text for one in await engine.ask(lambda e: e.memory.listed())}
        assert said == {"Tests run with pytest.", "Write dates in full."} and not page.unsaved()
        person.window.toast.undo()
        await until(lambda: "Write dates in full." not in [one.memory.said.text for one in page._listed
                                                           if one.memory.standing == "active"], "undone")  # fmt: skip
        page.head.choose("proposed")
        await until(lambda: page.review.isVisible() and page.review.proposal, "the other")
        await until(page.review._lines.isVisible, "what it would change")
        page.list.setFocus()
        press(page.list, Qt.Key.Key_N)
        await until(lambda: not page._proposals, "rejected")
        person.window.toast.undo()
        await until(lambda: len(page._proposals) == 1, "open again")

    live(qapp, home, act)


def test_what_a_session_taught_is_forgotten_with_its_skills_and_comes_back(qapp: QApplication, home: Path) -> None:
    text = "---\nname: notes\ndescription: Writes notes.\n---\nWrite."
    skill = Proposal("", "skill", "create", "library/notes", text, "seen", session="one")
    made: list[str] = []

    async def state(engine: Engine) -> str:
        return engine.proposals.one(made[0]).state

    async def act(person: Person) -> None:
        engine = person.program.engine
        page = await opened(person)
        await proposed(person, "When a date is written: use the long form.", session="one")
        made.append((await engine.ask(lambda engine: engine.proposals.make(skill))).id)
        await engine.ask(lambda engine: engine.proposals.keep(made[0]))
        page.doing.forget_all(session="one")
        told = "0 memories are forgotten. Proposals rejected with it: 1. Skills taken back with it: 1."
        await until(lambda: told in person.window.toast.accessibleName(), "it is said")
        person.window.toast.undo()
        await until(lambda: len(page._proposals) == 1, "open again")
        assert await engine.ask(state) == "kept"

    live(qapp, home, act)


def test_what_goes_out_comes_in_again_and_those_that_differ_are_shown(
    qapp: QApplication, home: Path, tmp_path: Path
) -> None:
    async def act(person: Person) -> None:
        await kept_when_ready(person, "The answer goes to the landlord.")
        page = await opened(person)
        await until(lambda: len(lines(page)) == 1, "one")
        file = tmp_path / "memories.json"
        page.doing.export(str(file))
        await until(file.exists, "the file")
        await until(lambda: "memories.json" in person.window.toast.accessibleName(), "it is said")
        notes = tmp_path / "MEMORY.md"
        notes.write_text("# Notes\n- Deploys happen on Mondays.\n- Prices are in euros.\n", "utf-8")
        page.doing.take_in(str(notes))
        await until(lambda: len(lines(page)) == 3, "two more")
        person.window.toast.undo()
        await until(lambda: len(lines(page)) == 1, "forgotten again")
        page.doing.take_in(str(tmp_path / "nothing.json"))
        await until(person.notice, "a file that is not there is told")
        assert "cannot be read" in person.notice()

    live(qapp, home, act)


def test_after_a_run_a_chip_leads_to_what_it_proposed(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window = person.window
        await until(lambda: window._bridge, "the engine")
        session = await person.start(json.dumps({"replies": [{"text": "It is written."}]}))()
        window.go_to(session)

        def chip() -> QPushButton | None:
            found = window.view.findChildren(QPushButton, "end.proposals")
            return next((button for button in found if button.isVisible()), None)

        await until(lambda: window.view.findChild(QLabel, "end.status"), "the end of the run")
        assert chip() is None
        await proposed(person, "When a date is written: use the long form.", session=session)
        button = await until(chip, "the chip")
        assert button.text().strip() == "1 proposal"
        click(button)
        page = window.pages.page("memory")
        assert isinstance(page, MemoryPanel)
        await until(lambda: page.review.isVisible() and page.review.proposal, "what was proposed")
        press(page, Qt.Key.Key_Y)
        await until(lambda: not page._proposals, "it is decided")
        page.head.choose("heuristic")
        assert texts(page) == ["When a date is written: use the long form."]
        window.selection.leave_page()
        await until(lambda: chip() is None, "nothing waits any more")

    live(qapp, home, act)


def test_a_run_is_tried_again_without_a_memory_and_both_stand_side_by_side(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        name = await kept_when_ready(person, "Invoices are written with the blue stamp.")
        script = json.dumps({"replies": [{"text": "With the blue stamp."}]})
        began = RunStarted("scripted", 60, Text(script), mode="trust")
        work = home.parent / "work"
        work.mkdir()

        async def run(engine: Engine) -> str:
            session = await engine.start("Write the invoices with the stamp.", work, began)
            await engine.wait(session)
            return session

        session = await person.program.engine.ask(run)
        page = await opened(person, name)
        await until(lambda: page.card.shown is not None and page.card.shown.uses, "that it was told")
        page._open_menu(page.rect().center())
        menu = find(page, QMenu, "memory.menu")
        (deed,) = [one for one in menu.actions() if "without it" in one.text()]
        deed.trigger()
        dialog = find(page, Confirm, "confirm")
        assert "Write the invoices" in find(dialog, QLabel, "confirm.text").text()
        click(find(dialog, QPushButton, "confirm.yes"))
        await until(lambda: person.window.selection.page == "compare", "the comparison")
        compare = person.window.pages.page("compare")
        said = find(compare, QLabel, "compare.said")
        wanted = "Only the left one had the memory “Invoices are written with the blue stamp”."
        await until(lambda: wanted in said.text(), "what only one of them was told")
        assert person.window.selection.about[0] == session

    live(qapp, home, act)
