"""The real OpenCode and Codex in the window: approve by mouse, write a file, and leave no process after a stop."""

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QPushButton

from core.agents.process import PROCESS_MARKER
from tests.servers import real_agents
from tests.servers.aimock import NODE, serve_aimock
from tests.servers.real import ENABLED, REASON
from tests.ui.hands import click, find, press
from tests.ui.test_agents_in_window import knows, start_session
from tests.ui.test_desktop_app import Person, live, until

pytestmark = pytest.mark.skipif(not ENABLED, reason=REASON)
CALLS = {
    "opencode": ("bash", {"command": real_agents.WRITE, "description": "Write the file"}),
    "codex": ("shell_command", {"command": real_agents.WRITE}),
}


def marked() -> list[str]:
    """Return the command lines of the agent's processes."""
    found = []
    for place in Path("/proc").iterdir():
        if place.name.isdigit():
            try:
                if PROCESS_MARKER.encode() in (place / "environ").read_bytes():
                    found.append((place / "cmdline").read_text().replace("\0", " "))
            except OSError:
                continue  # the process has ended
    return found


@pytest.mark.parametrize("name", ["opencode", "codex"])
def test_a_real_agent_asks_writes_and_is_stopped(
    qapp: QApplication, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (own := tmp_path / "own").mkdir()
    (served := tmp_path / "served").mkdir()
    monkeypatch.setenv("AIMOCK_STRICT_TURN_INDEX", "1")
    monkeypatch.setattr("tests.ui.test_desktop_app.BOUND_S", 120)  # the agent is large and downloads what it is missing
    with serve_aimock(real_agents.fixtures(*CALLS[name]), served, "-l", "5") as url:
        agent, surroundings = getattr(real_agents, name)(url, own)
        for variable, value in {**surroundings, "PATH": f"{NODE.parent}:/usr/bin:/bin"}.items():
            monkeypatch.setenv(variable, value)

        async def act(person: Person) -> None:
            await knows(person, agent)
            await start_session(person, real_agents.ASKED, f"agent/{name}")
            view = person.window.view
            card = await until(lambda: view.asking.card, "the agent asks")
            names = [b for b in card.findChildren(QPushButton) if b.objectName().startswith("consent.option.")]
            assert len(names) >= 2
            press(card.form, Qt.Key.Key_End)
            button = find(card, QPushButton, "consent.allow")
            await until(button.isEnabled, "the button is enabled")
            click(button)
            await until((home / "work" / "made.txt").is_file, "the file is written")
            await until(lambda: not person.window.view.asking.card, "no request is waiting")
            assert marked()
            session = person.window.selection.session
            await until(lambda: "running" not in status(person, session), "the turn is over")
            await person.program.engine.ask(lambda engine: engine.send_message(session, real_agents.ASKED))
            await until(lambda: view.asking.card, "it asks once more")
            await person.program.engine.ask(lambda engine: engine.stop(session))
            assert marked() == []

        live(qapp, home, act)


def status(person: Person, session: str) -> str:
    return person.window.row(session).status
