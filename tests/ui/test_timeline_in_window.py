"""The Timeline tab in the window: it shows each run, follows a new one, and shows what is chosen in the minimap."""

import json
from pathlib import Path

from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QApplication, QPushButton

from core.domain.events import RunStarted
from core.domain.text import Text
from core.models.catalog import SCRIPTED
from tests.ui.hands import click, find, press
from tests.ui.test_desktop_app import Person, live, until
from ui.timeline.minimap import Minimap
from ui.timeline.run_page import CHART_TAB
from ui.widgets.elided import ElidedLabel

SCRIPT = json.dumps(
    {
        "replies": [
            {"calls": [{"name": "find", "arguments": {"pattern": "*.txt"}}]},
            {"text": "First."},
            {"calls": [{"name": "find", "arguments": {"pattern": "*.md"}}]},
            {"text": "Second."},
            {"calls": [{"name": "find", "arguments": {"pattern": "*.py"}}]},
            {"text": "Third."},
        ]
    }
)


def test_every_run_can_be_shown(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window, folder, engine = person.window, home / "work", person.program.engine
        folder.mkdir()
        start = RunStarted(SCRIPTED, script=Text(SCRIPT), mode="auto")
        session = await engine.ask(lambda engine: engine.start("Look for texts", folder, start))
        window.show_session(session)
        view = window.view
        await until(lambda: window.row(session).runs and window.row(session).status == "done", "the first run ends")
        await engine.ask(lambda engine: engine.wait_idle(session))  # a message before would belong to the first run
        await engine.ask(lambda engine: engine.send_message(session, "Look for notes"))
        await until(lambda: window.row(session).runs == 2 and window.row(session).status == "done", "the second run")
        await until(lambda: view.page.model.count == window.row(session).rows, "all rows")

        view.page.show_tab(CHART_TAB)
        title = find(view, ElidedLabel, "waterfall.run")
        assert title.accessibleName() == "Run 2 of 2 · Look for notes"
        assert not find(view, QPushButton, "waterfall.next").isEnabled()
        click(find(view, QPushButton, "waterfall.previous"))
        assert title.accessibleName() == "Run 1 of 2 · Look for texts"
        model = view.waterfall.bars.model()
        texts = [model.index(row, 0).data() for row in range(model.rowCount())]
        assert any("*.txt" in text for text in texts) and not any("*.md" in text for text in texts)
        press(view.waterfall.bars, Qt.Key.Key_BracketRight)
        assert title.accessibleName().startswith("Run 2 of 2")
        press(view.waterfall.bars, Qt.Key.Key_BracketRight)
        assert title.accessibleName().startswith("Run 2 of 2")

        click(find(view, Minimap, "run.strip"), QPoint(17, 20))
        assert view.page.current_tab == CHART_TAB and title.accessibleName().startswith("Run 1 of 2")

        click(find(view, QPushButton, "waterfall.next"))
        await engine.ask(lambda engine: engine.send_message(session, "Look for programs"))
        await until(lambda: title.accessibleName() == "Run 3 of 3 · Look for programs", "the new run is shown")

    live(qapp, home, act)
