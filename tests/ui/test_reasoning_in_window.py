"""The reasoning of a model is visible while it streams, and gives way to the text of the reply."""

import json
from pathlib import Path

from PySide6.QtWidgets import QApplication

from core.domain.events import RunStarted
from core.domain.text import Text
from core.models.catalog import SCRIPTED
from tests.ui.test_desktop_app import Person, live, until
from ui.timeline.reply_widgets import ReplyText

SCRIPT = json.dumps(
    {"replies": [{"reasoning": "The boiler comes first.", "text": "I will begin. " * 4, "chunks": 4, "delay_s": 2.0}]}
)


def test_reasoning_is_visible_while_it_streams(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window, folder = person.window, home / "work"
        folder.mkdir()
        start = RunStarted(SCRIPTED, script=Text(SCRIPT), mode="auto")
        window.show_session(await person.program.engine.ask(lambda engine: engine.start("Write", folder, start)))

        def shown() -> str:
            return " ".join(reply.toPlainText() for reply in window.view.findChildren(ReplyText) if reply.isVisible())

        await until(lambda: "The boiler comes first." in shown(), "the reasoning")
        assert "I will begin" not in shown()
        await until(lambda: "I will begin" in shown(), "the text")
        assert "boiler" not in shown()

    live(qapp, home, act)
