"""The Memory page in the complete program: add, find, edit, forget, undo and decide proposals."""

import json
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QModelIndex, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QApplication,
    QComboBox,
    QLabel,
    QLineEdit,
    QMenu,
    QPlainTextEdit,
    QPushButton,
    QSplitter,
    QTabBar,
    QWidget,
)
from pytestqt.exceptions import capture_exceptions
from pytestqt.qtbot import QtBot

from core.domain.events import RunStarted
from core.domain.memory import MemoryContent
from core.domain.proposal import Proposal
from core.domain.text import Text
from core.engine.api.engine import Engine
from core.memory.serialization import to_proposal_details
from tests.ui.hands import click, find, press, write
from tests.ui.test_desktop_app import Person, live, until
from ui.memory import panel as memory_panel
from ui.memory.journal_dialog import JournalDialog
from ui.memory.memory_dialog import MemoryDialog
from ui.memory.memory_lines import ARCHIVED, MemoryLine
from ui.memory.panel import MIN_LIST_WIDTH, MemoryPanel
from ui.memory.version_history import VersionHistory
from ui.style.theme import Look
from ui.widgets import dialog_parts
from ui.widgets.confirm_dialog import ConfirmDialog

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


def lines(page: MemoryPanel) -> Sequence[MemoryLine]:
    rows = page.list.rows
    return [line for at in range(rows.rowCount(QModelIndex())) if (line := rows.item(rows.index(at)))]


def texts(page: MemoryPanel) -> list[str]:
    return [line.text for line in lines(page)]


async def add_memory(person: Person, text: str) -> str:
    added = await person.program.engine.ask(lambda engine: engine.memory.add(text))
    return added.memory.id


async def proposed(person: Person, text: str, *, target: str = "", session: str = "") -> Proposal:
    wanted = Proposal(
        "",
        "memory",
        "patch" if target else "create",
        target,
        text,
        "it came up twice",
        base_version=1 if target else 0,
        details="" if target else to_proposal_details(MemoryContent("heuristic", "")),
        session=session,
        author="review",
    )
    return await person.program.engine.ask(lambda engine: engine.proposals.add(wanted))


def test_escape_in_the_search_clears_it_then_goes_to_the_list_and_keeps_the_page(
    qapp: QApplication, home: Path
) -> None:
    async def act(person: Person) -> None:
        page = await opened(person)
        for text in ("They like tea.", "They like coffee."):
            await add_memory(person, text)
        await until(lambda: len(texts(page)) == 2, "the memories")
        forgotten = await add_memory(person, "They like milk.")
        await person.program.engine.ask(lambda engine: engine.memory.forget(forgotten))
        figures = find(page, QLabel, "memory.figures")
        await until(lambda: "1 forgotten" in figures.accessibleName(), "the figures")
        assert "2 memories" in figures.accessibleName() and "0 archived" in figures.accessibleName()
        search = find(page, QLineEdit, "memory.search")
        search.setFocus()
        write(search, "tea")
        await until(lambda: texts(page) == ["They like tea."], "the match")
        press(search, Qt.Key.Key_Escape)
        await until(lambda: len(texts(page)) == 2, "all of them again")
        assert page.window().focusWidget() is search and page.isVisible()
        press(search, Qt.Key.Key_Escape)
        assert page.window().focusWidget() is page.list and page.isVisible()

    live(qapp, home, act)


def test_the_proposed_tab_is_in_view_beside_a_wide_sidebar_and_the_columns_stay_as_divided(
    qapp: QApplication, home: Path
) -> None:
    async def act(person: Person) -> None:
        page = await opened(person)
        await proposed(person, "They like tea.")
        page.refresh()
        await until(lambda: page.header.proposals_button.isVisible(), "the proposal")
        splitter = next(each for each in page.findChildren(QSplitter) if each.parent() is page)
        splitter.moveSplitter(MIN_LIST_WIDTH + 1, 1)
        bar = page.header.tabs.findChild(QTabBar)
        assert bar is not None
        place = next(at for at in range(bar.count()) if bar.tabText(at) == "Proposed")
        assert bar.rect().contains(bar.tabRect(place))
        sizes.append(splitter.sizes())

    async def look_again(person: Person) -> None:
        page = await opened(person)
        splitter = next(each for each in page.findChildren(QSplitter) if each.parent() is page)
        await until(lambda: abs(splitter.sizes()[0] - sizes[0][0]) < 8, "the columns, but for rounding")

    sizes: list[list[int]] = []
    live(qapp, home, act)
    live(qapp, home, look_again)


async def wait_until_shown(page: MemoryPanel, text: str) -> None:
    def there() -> bool:
        return page.card.memory is not None and page.card.isVisible() and page.card.memory.content.text == text

    await until(there, f"the details of {text}")


def test_a_memory_is_added_pinned_forgotten_and_restored_with_the_keyboard(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        page = await opened(person)
        assert page._empty.isVisible() and "There are no memories yet" in page._empty.text()
        press(page, Qt.Key.Key_N, CONTROL | SHIFT)
        dialog = find(page, MemoryDialog, "memory.write")
        kinds = find(dialog, QComboBox, "memory.write.kind")
        kinds.setCurrentIndex(kinds.findData("heuristic"))
        yes = find(dialog, QPushButton, "memory.write.yes")
        write(find(dialog, QLineEdit, "memory.write.when"), "a letter is formal")
        assert not yes.isEnabled(), "the field Do is required"
        write(find(dialog, QLineEdit, "memory.write.do"), "attach dated evidence")
        click(yes)
        text = "When a letter is formal: attach dated evidence."
        await wait_until_shown(page, text)
        assert texts(page) == [text]
        page.list.setFocus()
        press(page.list, Qt.Key.Key_P)
        await until(lambda: lines(page)[0].pinned, "the pin")
        await add_memory(person, "They like tea.")
        await until(lambda: len(texts(page)) == 2, "another memory")
        press(page.list, Qt.Key.Key_Delete)
        await until(lambda: texts(page) == ["They like tea."], "it is forgotten")
        assert "Memory forgotten" in person.window.toast.accessibleName()
        person.window.toast.undo()
        await until(lambda: len(texts(page)) == 2, "it is restored")
        await until(lambda: (shown := page.list.currentIndex().data()) and text in shown, "and selected again")

    live(qapp, home, act)


@pytest.mark.parametrize("name", ["text", "tags", "kind", "expires"])
def test_ctrl_enter_adds_a_memory_from_every_field(name: str, look: Look, qtbot: QtBot) -> None:
    parent = QWidget()
    qtbot.addWidget(parent)
    parent.show()
    dialog = MemoryDialog(look, (), None, parent)
    with qtbot.waitActive(dialog):
        dialog.open()
    write(find(dialog, QPlainTextEdit, "memory.write.text"), "Invoices go to the blue folder.")
    field = find(dialog, QWidget, f"memory.write.{name}")
    field.setFocus()
    with qtbot.waitSignal(dialog.submitted) as submitted:
        press(field, Qt.Key.Key_Return, CONTROL)
    assert submitted.args is not None and submitted.args[0].text == "Invoices go to the blue folder."


def test_rejected_input_can_be_corrected(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        page = await opened(person)
        secret = "The key of the box is sk-proj-" + "abcdefghijklmnopqrstuvwxyz0123456789"
        page.memory_actions.open_dialog()
        field = find(page, QPlainTextEdit, "memory.write.text")
        write(field, secret)
        press(field, Qt.Key.Key_Return)
        await until(lambda: open_dialogs(page), "the dialog with the rejected text")
        dialog = open_dialogs(page)[0]
        again = find(dialog, QPlainTextEdit, "memory.write.text")
        assert again.toPlainText() == secret
        assert "contains a secret" in find(dialog, QLabel, "memory.write.wrong").text()
        again.clear()
        write(again, "The key lies in the blue folder.")
        press(again, Qt.Key.Key_Return)
        await wait_until_shown(page, "The key lies in the blue folder.")

    live(qapp, home, act)


def open_dialogs(page: MemoryPanel) -> list[MemoryDialog]:
    return [one for one in page.findChildren(MemoryDialog) if one.isVisible()]


def test_an_edit_shows_its_diff_and_can_be_undone(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        name = await kept_when_ready(person, "Tests run with pytest.")
        page = await opened(person, name)
        await wait_until_shown(page, "Tests run with pytest.")
        press(page.list, Qt.Key.Key_E)
        dialog = find(page, MemoryDialog, "memory.write")
        field = find(dialog, QPlainTextEdit, "memory.write.text")
        field.clear()
        write(field, "Tests run with pytest -q.")
        press(field, Qt.Key.Key_Return)
        await wait_until_shown(page, "Tests run with pytest -q.")
        versions = find(page.card, VersionHistory, "memory.versions")
        assert versions.selected_number == 2 and versions._lines.isVisible()
        click(find(versions, QPushButton, "memory.versions.back"))
        await wait_until_shown(page, "Tests run with pytest.")
        assert versions.selected_number == 3

    live(qapp, home, act)


def test_literal_matches_come_first_and_stay_there(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        await kept_when_ready(person, "Date, delivery date, due date.")
        text = "In letters and lists, invoices and offers to people abroad the date is written in full."
        await add_memory(person, text)
        page = await opened(person)
        await until(lambda: len(lines(page)) == 2, "both memories")
        write(find(page, QLineEdit, "memory.search"), "the date is")
        await until(lambda: page._search_results is not None and len(lines(page)) == 2, "the search results")
        assert texts(page)[0] == text

    live(qapp, home, act)


def test_a_search_scrolls_to_the_top_and_an_opened_memory_into_view(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        await until(lambda: person.window._bridge, "the engine")
        names = [
            await add_memory(person, f"Drawer {n:02} holds the {'letters' if n % 2 else 'bills'}.") for n in range(40)
        ]
        page = await opened(person)
        await until(lambda: len(lines(page)) == 40, "all of them")
        bar = page.list.verticalScrollBar()
        bar.setValue(bar.maximum())
        write(find(page, QLineEdit, "memory.search"), "letters")
        await until(lambda: len(lines(page)) == 20, "the matching ones")
        assert bar.value() == 0 < bar.maximum()
        for name in (names[1], names[39]):
            page.activate((name,))
            await until(lambda: page.card.memory and page.card.memory.id == name, "its details")  # noqa: B023 - awaited in the loop
            assert page.list.current_key() == name
            assert page.list.viewport().rect().contains(page.list.visualRect(page.list.currentIndex()))

    live(qapp, home, act)


async def kept_when_ready(person: Person, text: str) -> str:
    await until(lambda: person.window._bridge, "the engine")
    return await add_memory(person, text)


def test_search_tabs_and_archive(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        await kept_when_ready(person, "The shop database is reset at night.")
        await add_memory(person, "Invoices carry the date of delivery.")
        page = await opened(person)
        await until(lambda: len(lines(page)) == 2, "both memories")
        search = find(page, QLineEdit, "memory.search")
        write(search, "invoice")
        await until(lambda: texts(page) == ["Invoices carry the date of delivery."], "the match")
        await wait_until_shown(page, "Invoices carry the date of delivery.")
        search.clear()
        await until(lambda: len(lines(page)) == 2, "both memories again")
        await wait_until_shown(page, texts(page)[0])
        archived = texts(page)[0]
        page.list.setFocus()
        press(page.list, Qt.Key.Key_A)
        await until(lambda: len(lines(page)) == 1, "one is archived")
        page.header.choose_tab("preference")
        assert not lines(page) and "no memories of this kind" in page._empty.text()
        page.header.choose_tab(ARCHIVED)
        assert texts(page) == [archived]
        await wait_until_shown(page, archived)
        press(page.list, Qt.Key.Key_R)
        await until(lambda: not lines(page), "it is restored")

    live(qapp, home, act)


def test_the_search_filters_the_proposals_and_announces_that_nothing_matches(
    qapp: QApplication, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    announced: list[str] = []
    monkeypatch.setattr(memory_panel, "announce", lambda _, text: announced.append(text))

    async def act(person: Person) -> None:
        await kept_when_ready(person, "Invoices carry the date of delivery.")
        await proposed(person, "When a date is written: use the long form.")
        await proposed(person, "Tests run with pytest.")
        page = await opened(person, "proposed")
        await until(lambda: len(lines(page)) == 2, "both proposals")
        search = find(page, QLineEdit, "memory.search")
        write(search, "run PYTEST")
        await until(lambda: texts(page) == ["Tests run with pytest."], "the match")
        await until(lambda: page.proposal_card.isVisible() and page.proposal_card.proposal, "the proposal")
        write(search, "x")
        none = "No proposals match your search. Try fewer words or another tab."
        await until(lambda: announced == [none], "the announcement")
        assert not lines(page) and page._empty.text() == none
        page.header.choose_tab("all")
        search.setText("unicorn")
        await until(lambda: announced[1:] == ["No memories match your search. Try fewer words or another tab."], "this")

    live(qapp, home, act)


def test_proposals_are_counted_edited_accepted_rejected_and_undone(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        name = await kept_when_ready(person, "Tests run with pytest.")
        await proposed(person, "When a date is written: use the long form.")
        await proposed(person, "Tests run with pytest -n 2.", target=name)
        page = await opened(person, "proposed")
        foot = person.window.sessions.footer
        await until(lambda: len(lines(page)) == 2, "both proposals")
        assert find(foot, QWidget, "sessions.memory").toolTip() == "2 waiting for you"
        await until(lambda: page.proposal_card.isVisible() and page.proposal_card.proposal, "the first proposal")
        page.list.setFocus()
        press(page.list, Qt.Key.Key_E)
        field = find(page.proposal_card, QPlainTextEdit, "memory.proposal.field")
        assert page.unsaved_changes() and field.isVisible()
        field.clear()
        assert not find(page.proposal_card, QPushButton, "memory.proposal.keep").isEnabled()
        write(field, "Write dates in full.")
        press(field, Qt.Key.Key_Return)
        await until(lambda: len(page._proposals) == 1, "it is accepted")
        assert len(lines(page)) == 1 and page.header.tab == "proposed", "the next proposal is shown"
        engine = person.program.engine
        said = {one.memory.content.text for one in await engine.ask(lambda e: e.memory.list_memories())}
        assert said == {"Tests run with pytest.", "Write dates in full."} and not page.unsaved_changes()
        person.window.toast.undo()
        await until(lambda: "Write dates in full." not in [one.memory.content.text for one in page._listed
                                                           if one.memory.status == "active"], "undone")  # fmt: skip
        page.header.choose_tab("proposed")
        await until(lambda: len(page._proposals) == 2, "the proposal is pending again")
        reopened = next(name for name, proposal in page._proposals.items() if proposal.action == "create")
        await engine.ask(lambda e: e.proposals.reject(reopened))
        page.refresh()
        await until(lambda: len(page._proposals) == 1, "only the other proposal")
        await until(lambda: page.proposal_card.isVisible() and page.proposal_card.proposal, "the other proposal")
        await until(page.proposal_card._lines.isVisible, "the diff")
        page.list.setFocus()
        assert hints(page) == ["Shortcut: Y", "Shortcut: E", "Shortcut: N"]
        press(page.list, Qt.Key.Key_E)
        assert hints(page) == ["Shortcut: Enter", "", ""], "letters are text now"
        press(find(page, QPlainTextEdit, "memory.proposal.field"), Qt.Key.Key_Escape)
        page.list.setFocus()
        held = QKeyEvent(QEvent.Type.KeyPress, Qt.Key.Key_Y, Qt.KeyboardModifier.NoModifier, "y", True)
        QApplication.sendEvent(page.list, held)
        assert page.proposal_card.proposal, "a key that is held down does not decide on the next proposal"
        press(page.list, Qt.Key.Key_N)
        await until(lambda: not page._proposals, "it is rejected")
        person.window.toast.undo()
        await until(lambda: len(page._proposals) == 1, "it is pending again")

    live(qapp, home, act)


def hints(page: MemoryPanel) -> list[str]:
    """Return the keys that the buttons of the proposal show."""
    names = [f"memory.proposal.{name}" for name in ("keep", "edit", "reject")]
    return [find(page, QPushButton, name).accessibleDescription() for name in names]


def test_forgetting_a_session_includes_its_skills_and_can_be_undone(qapp: QApplication, home: Path) -> None:
    text = "---\nname: notes\ndescription: Writes notes.\n---\nWrite."
    skill = Proposal("", "skill", "create", "library/notes", text, "seen", session="one")
    made: list[str] = []

    async def state(engine: Engine) -> str:
        return engine.proposals.get(made[0]).state

    async def act(person: Person) -> None:
        engine = person.program.engine
        page = await opened(person)
        await proposed(person, "When a date is written: use the long form.", session="one")
        made.append((await engine.ask(lambda engine: engine.proposals.add(skill))).id)
        await engine.ask(lambda engine: engine.proposals.accept(made[0]))
        page.memory_actions.forget_all(session="one")
        toast = "Forgot 0 memories. Proposals rejected: 1. Skill changes undone: 1."
        await until(lambda: toast in person.window.toast.accessibleName(), "the toast")
        await until(lambda: not page._proposals, "it is rejected")
        person.window.toast.undo()
        await until(lambda: len(page._proposals) == 1, "it is pending again")
        assert await engine.ask(state) == "accepted"

    live(qapp, home, act)


def test_memories_are_exported_and_imported(qapp: QApplication, home: Path, tmp_path: Path) -> None:
    async def act(person: Person) -> None:
        await kept_when_ready(person, "The answer goes to the landlord.")
        page = await opened(person)
        await until(lambda: len(lines(page)) == 1, "one")
        file = tmp_path / "memories.json"
        page.memory_actions.export(str(file))
        await until(file.exists, "the file")
        await until(lambda: "memories.json" in person.window.toast.accessibleName(), "the toast")
        notes = tmp_path / "MEMORY.md"
        notes.write_text("# Notes\n- Deploys happen on Mondays.\n- Prices are in euros.\n", "utf-8")
        page.memory_actions.import_file(str(notes))
        await until(lambda: len(lines(page)) == 3, "two more")
        person.window.toast.undo()
        await until(lambda: len(lines(page)) == 1, "the import is undone")
        page.memory_actions.import_file(str(tmp_path / "nothing.json"))
        await until(person.notice, "the error of a missing file")
        assert "cannot be read" in person.notice()

    live(qapp, home, act)


def test_a_chip_after_a_run_opens_its_proposal(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window = person.window
        await until(lambda: window._bridge, "the engine")
        session = await person.start(json.dumps({"replies": [{"text": "It is written."}]}))()
        window.show_session(session)

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
        await until(lambda: page.proposal_card.isVisible() and page.proposal_card.proposal, "the proposal")
        press(page, Qt.Key.Key_Y)
        await until(lambda: not page._proposals, "it is accepted")
        page.header.choose_tab("heuristic")
        assert texts(page) == ["When a date is written: use the long form."]
        window.selection.leave_page()
        await until(lambda: chip() is None, "there are no proposals left")

    live(qapp, home, act)


def test_a_run_is_repeated_without_a_memory_and_compared(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        name = await kept_when_ready(person, "Invoices are written with the blue stamp.")
        script = json.dumps({"replies": [{"text": "With the blue stamp."}]})
        began = RunStarted("scripted", 60, Text(script), mode="auto")
        work = home.parent / "work"
        work.mkdir()

        async def run(engine: Engine) -> str:
            session = await engine.start("Write the invoices with the stamp.", work, began)
            await engine.wait_idle(session)
            return session

        session = await person.program.engine.ask(run)
        page = await opened(person, name)
        await until(lambda: page.card.details is not None and page.card.details.uses, "the use of the memory")
        page._open_menu(page.rect().center())
        menu = find(page, QMenu, "memory.menu")
        (action,) = [one for one in menu.actions() if "without this memory" in one.text()]
        action.trigger()
        dialog = find(page, ConfirmDialog, "confirm")
        assert "Write the invoices" in find(dialog, QLabel, "confirm.text").text()
        click(find(dialog, QPushButton, "confirm.yes"))
        await until(lambda: person.window.selection.page == "compare", "the comparison")
        compare = person.window.pages.page("compare")
        said = find(compare, QLabel, "compare.said")
        wanted = "Only the left session used the memory “Invoices are written with the blue stamp”."
        await until(lambda: wanted in said.text(), "what only one of them was told")
        assert person.window.selection.target[0] == session

    live(qapp, home, act)


def test_tags_and_an_expiry_date_are_entered_shown_and_corrected(
    qapp: QApplication, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard = list[str]()
    monkeypatch.setattr(dialog_parts, "announce", lambda _, text: heard.append(text))

    async def act(person: Person) -> None:
        page = await opened(person)
        press(page, Qt.Key.Key_N, CONTROL | SHIFT)
        dialog = find(page, MemoryDialog, "memory.write")
        write(find(dialog, QPlainTextEdit, "memory.write.text"), "The office is closed.")
        write(find(dialog, QLineEdit, "memory.write.tags"), "Office, news")
        expires, save = find(dialog, QLineEdit, "memory.write.expires"), find(dialog, QPushButton, "memory.write.yes")
        wrong = find(dialog, QLabel, "memory.write.wrong_expiry")
        for entered, error in (
            ("yesterday", "is not a date"), ("2020-01-31", "is not in the future"), ("30d", ""), ("", ""),
            ("99999d", "is not a date"), ("2999-01-31", ""),
        ):  # fmt: skip
            expires.setText(entered)
            assert (error in wrong.text()) and wrong.isVisible() == bool(error), entered
            assert save.isEnabled() != bool(error), entered
        assert ["is not a date" in text for text in heard] == [True, True]  # each time that an error appeared
        click(save)
        await wait_until_shown(page, "The office is closed.")
        shown = [label.text().replace("\u200b", "") for label in page.card.findChildren(QLabel)]
        assert {"Tags", "news, office", "Expires", "2999-01-31"} <= set(shown)

    live(qapp, home, act)


def test_an_unknown_action_changes_nothing_and_is_an_error(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        name = await add_memory(person, "The build needs the flag fast.")
        page = await opened(person, name)
        await wait_until_shown(page, "The build needs the flag fast.")
        with capture_exceptions() as errors:
            page.card.action_requested.emit("unknown")
        assert [kind for kind, _, _ in errors] == [ValueError]
        assert (await person.program.engine.ask(lambda engine: engine.memory.show(name))).listed.memory.id == name

    live(qapp, home, act)


def test_a_memory_is_rated_by_key_and_button_and_the_journal_lists_it_by_day(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        name = await add_memory(person, "The build needs the flag fast.")
        page = await opened(person, name)
        await wait_until_shown(page, "The build needs the flag fast.")

        def rating() -> str:
            texts = [label.text() for label in page.card.findChildren(QLabel)]
            return texts[texts.index("Your rating") + 1] if "Your rating" in texts else ""

        page.list.setFocus()
        press(page.list, Qt.Key.Key_Minus)
        await until(lambda: rating().startswith("not helpful"), "the rating by key")
        click(find(page.card, QPushButton, "memory.card.rate_helpful"))
        await until(lambda: rating() == "helpful", "the rating by button")
        click(find(page.card, QPushButton, "memory.card.rate_helpful"))
        await until(lambda: rating() == "", "the rating is removed")
        page.memory_actions.show_journal()
        journal = await until(lambda: page.findChild(JournalDialog), "the journal")
        day = find(journal, QLabel, "memory.journal.day")
        assert day.text() == f"{datetime.now().astimezone():%d %b %Y} · learned 1".lstrip("0")
        assert find(journal, QPushButton, "memory.journal.item").hasFocus()
        page.open(name)
        with_memory: list[str] = []
        journal.memory_requested.connect(with_memory.append)
        click(find(journal, QPushButton, "memory.journal.item"))
        assert with_memory == [name] and not journal.isVisible()

    live(qapp, home, act)
