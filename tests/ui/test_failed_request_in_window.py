"""A run that pauses because a model request failed waits for the user, and shows the cause and what to do."""

import asyncio
import json
from functools import partial
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication, QLabel, QPushButton

from core.domain.events import RunPaused, RunStarted
from core.domain.text import Text
from core.engine.api.engine import Engine
from core.models import retry
from core.models.catalog import SCRIPTED
from tests.ui.hands import click, find
from tests.ui.test_desktop_app import BOUND_S, Person, activate, live, until
from ui.sessions.session_rows import SessionHeading, group_sessions
from ui.timeline.failed_request_bar import FailedRequestBar

FAILS_ONCE = json.dumps({"replies": [{"fault": "server_error"}] * 8 + [{"text": "Done."}]})


async def start_failing_run(person: Person, home: Path) -> str:
    """Start a run whose first requests fail; return its session."""
    (folder := home / "work").mkdir()
    start = RunStarted(SCRIPTED, script=Text(FAILS_ONCE), mode="auto", interactive=True)
    return await person.program.engine.ask(lambda engine: engine.start("Write", folder, start))


def test_a_failed_request_waits_for_the_user_and_is_tried_again(
    qapp: QApplication, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retry, "INITIAL_DELAY_S", 0.001)

    async def act(person: Person) -> None:
        window, session = person.window, await start_failing_run(person, home)
        window.show_session(session)
        bar = find(window.view, FailedRequestBar, "failed")
        await until(bar.isVisible, "the bar")
        assert "500" in find(bar, QLabel, "failed.cause").text()
        first = group_sessions([window.row(session)], window.row(session).updated_at)[0]
        assert isinstance(first, SessionHeading) and first.key == "waiting"
        opened: list[bool] = []
        window.settings_requested.connect(lambda: opened.append(True))
        click(find(bar, QPushButton, "failed.settings"))
        assert opened
        for dialog in (widget for widget in qapp.topLevelWidgets() if widget.isModal()):
            dialog.close()
        click(find(bar, QPushButton, "failed.retry"))  # an attempt repeats the request up to four times
        await person.program.engine.ask(partial(_second_pause, session))  # the bar may be hidden only briefly
        await until(lambda: window.row(session).status == "paused" and bar.isVisible(), "the bar")
        await activate(window)
        find(bar, QPushButton, "failed.retry").setFocus()
        click(find(bar, QPushButton, "failed.retry"))
        await until(lambda: window.row(session).status == "done", "the end")
        await until(lambda: not bar.isVisible(), "the bar is hidden")
        assert window.view.page.view.hasFocus(), "the keyboard stays in the steps"

    live(qapp, home, act)


def test_the_next_request_is_the_bar_of_a_failed_request(
    qapp: QApplication, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retry, "INITIAL_DELAY_S", 0.001)

    async def act(person: Person) -> None:
        window, session = person.window, await start_failing_run(person, home)
        await until(lambda: window.row(session).status == "paused", "the failed request")
        window.show_start()
        await activate(window)
        window.actions_by_id["question.next"].trigger()
        assert window.selection.session == session
        bar = find(window.view, FailedRequestBar, "failed")
        await until(bar.isVisible, "the bar")
        retry_button = find(bar, QPushButton, "failed.retry")
        await until(lambda: window.window().focusWidget() is retry_button, "its button has the focus")
        window.view.composer.focus_input()
        window.actions_by_id["question.next"].trigger()
        assert window.window().focusWidget() is retry_button

    live(qapp, home, act)


async def _second_pause(session: str, engine: Engine) -> None:
    async with asyncio.timeout(BOUND_S):
        pauses = 0
        while pauses < 2:
            pauses = sum([isinstance(entry.event, RunPaused) async for entry in engine.events(session)])
            await asyncio.sleep(0.01)
