"""Provider faults (M1-M28) in the window: the session row shows the status, the timeline the cause."""

import asyncio
import contextlib
import json
import ssl
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QLabel, QListView, QPushButton, QTabBar

from core.domain.events import RunEnded, RunPaused, RunStarted
from core.domain.problems import Problem
from core.engine.api.engine import Engine
from core.models import retry
from core.settings.schema import Provider
from tests.core.engine.test_model_faults import BROKEN, GOOD, KEY, LIST, call_stream, read
from tests.core.models.replies import GOLDEN
from tests.servers.scripted_server import ScriptedServer, ServerAction, answer, chunk, scripted_server, stream
from tests.ui.hands import click, find
from tests.ui.test_desktop_app import Person, live, until
from ui.shell.main_window import MainWindow
from ui.timeline.run_end_card import RunEndCard


@dataclass(frozen=True)
class Met:
    """A fault: what the provider does, the resulting session status, and the text expected in the timeline."""

    answers: Sequence[Sequence[ServerAction]]
    status: str
    words: str
    drip: bytes = b": still here\n\n"


def odd(*arguments: str, name: str = "read", same_id: bool = False) -> list[ServerAction]:
    return call_stream(*((name, each) for each in arguments), same_id=same_id)


MET = {case: Met(each.answers, each.status, each.words, each.drip) for case, each in BROKEN.items()} | {
    "M13": Met([answer(stream(chunk(content="Größe"), chunk("stop")).replace(b"\n", b"\r\n"))], "done", "Größe"),
    "M14": Met([odd('{"path": "a.t'), GOOD], "done", "All done."),
    "M15": Met([odd("{}", name="launch_rocket"), GOOD], "done", "launch_rocket"),
    "M16": Met([odd(*[read()[1]] * 2, same_id=True), GOOD], "done", "a.txt"),
    "M18": Met([odd('{"path": "a.txt", "start": NaN}'), GOOD], "done", "All done."),
    "M19": Met([answer(stream(chunk(content="a\ud800b\0c"), chunk("stop")))], "done", "a"),
    "M21": Met([answer(stream(chunk(content="x1"), {**chunk("stop"), "usage": {"prompt_tokens": -4}}))], "done", "x1"),
    "M22": Met([answer(stream(chunk(content="one "), chunk("stop"), chunk(content="two")))], "done", "one two"),
    "M23": Met([call_stream(read())] * 40, "waiting", "repeating"),
    "M25": Met([answer(stream(chunk(content="[FINAL] [ASK_USER]"), chunk("stop")))], "done", "[FINAL]"),
    "M26": Met([GOOD], "done", "All done."),
    "M27": Met([GOOD], "failed", "certificate"),
    "M28": Met([GOOD], "failed", "address"),
}


@contextmanager
def serving(met: Met, *, tls: bool = False) -> Iterator[ScriptedServer]:
    """Run the provider in a thread."""
    ready, over = threading.Event(), threading.Event()
    played: list[ScriptedServer] = []

    async def serve() -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(GOLDEN / "tls" / "certificate.pem", GOLDEN / "tls" / "key.pem")
        async with scripted_server(LIST, *met.answers, drip=met.drip, tls=context if tls else None) as server:
            played.append(server)
            ready.set()
            await asyncio.to_thread(over.wait)

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    ready.wait()
    try:
        yield played[0]
    finally:
        over.set()
        thread.join()


def test_m1_to_m28_are_all_met_here() -> None:
    assert set(MET) >= {f"M{number}" for number in range(1, 29)}


@pytest.mark.parametrize("part", range(4))
def test_the_window_shows_the_status_and_its_reason(
    part: int, qapp: QApplication, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retry, "INITIAL_DELAY_S", 0.01)
    monkeypatch.setenv("BOX_KEY", KEY)

    async def act(person: Person) -> None:
        window, engine = person.window, person.program.engine
        await until(window.start.isVisible, "the start screen")
        (home / "work").mkdir()
        (home / "work" / "a.txt").write_text("one\n")
        for case in sorted(MET)[part::4]:
            met = MET[case]
            with serving(met, tls=case == "M27") as server, serving(MET["M26"]) as proxy:
                monkeypatch.setenv("http_proxy", proxy.url)
                url = {"M1": "http://127.0.0.1:9/v1", "M28": f"http://me:secret@127.0.0.1:{server.port}/v1"}
                try:
                    await engine.ask(partial(changed, url.get(case, server.url)))
                    session = await engine.ask(partial(start_session, home / "work"))
                except Problem as refused:
                    assert case == "M28" and "secret" not in str(refused), case
                    continue
                window.show_session(session)
                met = (
                    met if case not in (*BROKEN, "M27") else replace(met, words=await wait_until_idle(person, session))
                )
                for _ in range(3):  # retry on a busy computer; each attempt is bounded
                    with contextlib.suppress(AssertionError):
                        await until(partial(shows_error, window, session, met), "the row and its words")
                        break
                assert shows_error(window, session, met), f"{case}: {seen(window, session)}"
                assert KEY not in seen(window, session) and "secret" not in seen(window, session)
                assert proxy.connections == 0

    live(qapp, home, act)


def test_a_failed_run_shows_cause_and_fix_and_is_retried(
    qapp: QApplication, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retry, "INITIAL_DELAY_S", 0.001)
    fails = json.dumps({"replies": [{"fault": "server_error"}], "then": "repeat_last"})

    async def act(person: Person) -> None:
        window = person.window
        session = await person.start(fails)()
        window.show_session(session)

        def card() -> RunEndCard | None:
            shown = [each for each in window.view.findChildren(RunEndCard) if each.isVisible()]
            return next((each for each in shown if find(each, QPushButton, "end.again").isVisible()), None)

        failed = await until(card, "the card")
        cure = find(failed, QLabel, "end.cure")
        await until(cure.isVisible, "why, and what to do")
        assert cure.text() == "It returned status 500.\nTry again later."
        tabs, listed = find(window.view, QTabBar, "run.tabs"), find(window.view, QListView, "decisions.list").model()
        window.view.page.show_tab("decisions")
        assert listed.rowCount() and tabs.accessibleTabName(tabs.currentIndex()) == f"Decisions {listed.rowCount()}"
        window.view.page.show_tab("steps")
        click(find(failed, QPushButton, "end.again"))
        await until(lambda: window.row(session).runs == 2 and window.row(session).status == "failed", "the second run")
        await until(lambda: (again := card()) and again is not None, "its card")
        assert person.notice() == ""

    live(qapp, home, act)


async def wait_until_idle(person: Person, session: str) -> str:
    """Return the error recorded in the event log."""

    async def what(engine: Engine) -> str:
        await engine.wait_idle(session)
        found = [entry.event async for entry in engine.events(session)]
        ends = [each.error for each in reversed(found) if isinstance(each, RunPaused | RunEnded) and each.error]
        return ends[0].message

    said = await person.program.engine.ask(what)
    assert said
    return said


def shows_error(window: MainWindow, session: str, met: Met) -> bool:
    said = seen(window, session)
    return said.startswith(f"{met.status}:") and met.words in said


def seen(window: MainWindow, session: str) -> str:
    """Return the session status and the accessible text of the timeline rows."""
    row, model = window.row(session), window.view.page.model
    rows = [model.index(at, 0).data(Qt.ItemDataRole.AccessibleTextRole) for at in range(model.rowCount())]
    return f"{row.status}: " + "\n".join(str(each) for each in rows)


async def changed(url: str, engine: Engine) -> None:
    box = Provider(name="box", url=url, api_key_env="BOX_KEY")
    engine.settings.change(providers=(box,), first_token_timeout_s=1.0, idle_timeout_s=1.0)


async def start_session(folder: Path, engine: Engine) -> str:
    return await engine.start("Go.", folder, RunStarted("box/m", 30, mode="auto", interactive=True))
