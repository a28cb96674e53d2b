"""A search in the window shows the match, without the syntax of the tool call, and opens the step that contains it."""

import json
from functools import partial
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractItemView, QApplication, QLabel, QLineEdit, QPushButton

from core.domain.events import RunStarted
from core.domain.text import Text
from core.engine.api.engine import Engine
from core.models.catalog import SCRIPTED
from tests.ui.hands import click, find, press, write
from tests.ui.test_desktop_app import Person, live, until
from ui.sessions.session_rows import PageItem, SessionLine, split_by_query
from ui.sessions.sessions_model import Role, SessionsModel

CONTENT = "Dear Sir or Madam,\n" + "the rooms are aired every morning. " * 200 + "\nThe thermometer shows the damp."
SCRIPT = json.dumps(
    {
        "replies": [
            {
                "reasoning": "A letter.",
                "text": "First the letter.",
                "calls": [
                    {"name": "write", "arguments": {"path": "a.md", "content": "short"}},
                    {"name": "write", "arguments": {"path": "letter.md", "content": CONTENT}},
                ],
            },
            {"reasoning": "It is complete.", "text": "Here is a summary of the correspondence."},
        ]
    }
)


def test_a_hit_shows_its_match_and_opens_its_step(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window, folder = person.window, home / "work"
        folder.mkdir()
        start = RunStarted(SCRIPTED, script=Text(SCRIPT), mode="auto")
        session = await person.program.engine.ask(lambda engine: engine.start("Write", folder, start))
        window.show_session(session)
        await until(lambda: window.row(session).status == "done", "the run ends")

        def selected_step() -> str:
            selected = window.view.page.selected
            return f"{selected.step.kind} {selected.step.object}" if selected else ""

        async def search(words: str) -> SessionLine:
            field = find(window.sessions, QLineEdit, "sessions.search")
            field.clear()
            write(field, words)
            listed = next(
                v for v in window.sessions.findChildren(QAbstractItemView) if isinstance(v.model(), SessionsModel)
            )

            def hit() -> SessionLine | None:
                lines = (listed.model().index(row, 0).data(Role.ITEM) for row in range(listed.model().rowCount()))
                return next((line for line in lines if isinstance(line, SessionLine) and line.query == words), None)

            line = await until(hit, "a hit")
            window.sessions.hit_chosen.emit(line.row.id, line.seq)
            return line

        line = await search("thermometer")
        await until(lambda: selected_step().endswith("letter.md"), "its step")
        assert line.match.startswith("…The thermometer")
        assert split_by_query(line.match, line.query)[1] == ("thermometer", True)
        line = await search("correspondence")
        await until(lambda: selected_step().startswith("reply"), "its step")
        assert "correspondence" in line.match[:35] and "{" not in line.match

    live(qapp, home, act)


def test_filters_find_steps_of_a_kind_in_a_folder_and_by_status(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window = person.window
        sessions = []
        for name in ("letters", "bills"):
            (home / name).mkdir()
            start, folder = RunStarted(SCRIPTED, script=Text(SCRIPT), mode="auto"), home / name
            sessions.append(await person.program.engine.ask(partial(begin, folder, start)))
        window.show_session(sessions[0])
        await until(lambda: all(window.row(one).status == "done" for one in sessions), "the runs end")
        window.sessions.open_search()
        field = find(window.sessions, QLineEdit, "sessions.search")
        view = find(window.sessions, QAbstractItemView, "sessions.list")

        def listed() -> list[str]:
            rows = (view.model().index(row, 0).data(Role.ITEM) for row in range(view.model().rowCount()))
            return [line.row.id for line in rows if isinstance(line, SessionLine)]

        write(field, "folder:bills status:done kind:write")
        await until(lambda: listed() == [sessions[1]], "the step in one folder")
        press(field, Qt.Key.Key_Return)
        selected = await until(lambda: window.view.page.selected, "the step")
        assert window.selection.session == sessions[1] and selected.step.kind == "write"
        field.setText("folder:bills kind:command")
        await until(lambda: not listed(), "no command")
        click(find(window.sessions, QPushButton, "sessions.filter.kind"))
        await until(lambda: listed() == [sessions[1]], "the session without the filter")

    live(qapp, home, act)


async def begin(folder: Path, started: RunStarted, engine: Engine) -> str:
    return await engine.start("Write", folder, started)


def test_memories_and_skills_are_found_and_opened(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window = person.window
        sentence = "Letters to the council are typed with double spacing."
        await person.program.engine.ask(lambda engine: engine.memory.add(sentence, "preference"))
        text = "---\nname: council-letters\ndescription: Write letters to the council.\n---\nBe brief.\n"
        await person.program.engine.ask(lambda engine: engine.skills.save("council-letters", text))
        window.sessions.open_search()
        field = find(window.sessions, QLineEdit, "sessions.search")
        write(field, "council dou")
        view = find(window.sessions, QAbstractItemView, "sessions.list")

        def items(kind: str) -> list[PageItem]:
            rows = (view.model().index(row, 0).data(Role.ITEM) for row in range(view.model().rowCount()))
            return [item for item in rows if isinstance(item, PageItem) and item.page == kind]

        (item,) = await until(lambda: items("memory"), "the memory")
        assert "double spacing" in item.match and not items("skills")
        press(field, Qt.Key.Key_Return)
        assert window.selection.page == "memory" and window.selection.target == (item.target,)
        card = await until(lambda: window.findChild(QLabel, "memory.card.text"), "the card of the memory")
        assert card.text() == sentence
        window.sessions.open_search()
        field.clear()
        write(field, "write council")
        (item,) = await until(lambda: items("skills"), "the skill")
        assert item.title == "council-letters"
        press(field, Qt.Key.Key_Down)
        press(view, Qt.Key.Key_Return)
        assert window.selection.page == "skills" and window.selection.target == ("library/council-letters",)

    live(qapp, home, act)
