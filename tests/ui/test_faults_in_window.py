"""The window stays responsive while providers misbehave, and shows the error."""

import asyncio
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from PySide6.QtWidgets import QApplication

from core.domain.events import RunStarted
from core.engine.api.engine import Engine
from core.settings.schema import Provider
from tests.bench.stall_meter import StallMeter
from tests.servers.scripted_server import ScriptedServer, ServerAction, answer, chunk, scripted_server, stream
from tests.ui.test_desktop_app import Person, live, started, until
from ui.shell.main_window import MainWindow

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
LIST = answer(b'{"data": [{"id": "m", "context_length": 64000}]}', "application/json")
FLOOD = stream(chunk(content="words " * 20_000), end="")
LINE = b"data: " + b"x" * 65_536
STALL_MS = 250  # CPU time of the window itself; delays by other processes are not counted
FAULTS: Sequence[tuple[Sequence[ServerAction], bytes]] = (
    ([HEAD, "drip"], LINE),  # M4: an endless line
    ([HEAD, "drip"], FLOOD),  # M24: an endless reply
    ([HEAD + stream(chunk(content="Hello"), end=""), "reset"], b""),  # M2
    (answer(stream("[" * 100_000 + "]" * 100_000)), b""),  # M17
    (answer(stream(chunk(content="x" * 1_000_000), chunk("stop"))), b""),  # a complete line of one megabyte
)


@contextmanager
def faulty_server(
    answers: Sequence[ServerAction], drip: bytes, kind: type[ScriptedServer] = ScriptedServer
) -> Iterator[str]:
    """Run a misbehaving provider in a thread and yield its URL."""
    ready, over = threading.Event(), threading.Event()
    played: list[ScriptedServer] = []

    async def serve() -> None:
        async with scripted_server(LIST, answers, drip=drip or b"\n", kind=kind) as server:
            played.append(server)
            ready.set()
            await asyncio.to_thread(over.wait)

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    ready.wait()
    try:
        yield played[0].url
    finally:
        over.set()
        thread.join()


def test_the_window_stays_responsive_while_providers_misbehave(qapp: QApplication, home: Path) -> None:
    stall_meter: list[StallMeter] = []

    async def act(person: Person) -> None:
        window, engine = person.window, person.program.engine
        await until(window.start.isVisible, "the start screen")
        stall_meter.append(StallMeter())
        watching = asyncio.ensure_future(stall_meter[0].watch())
        folder = home / "work"
        folder.mkdir()
        for answers, drip in FAULTS:
            with faulty_server(answers, drip) as url:
                box = Provider(name="box", url=url)
                await engine.ask(partial(_changed, box))
                session = await engine.ask(partial(_begun, folder))
                window.show_session(session)
                await until(partial(has_ended, window, session), "the run has met the fault")
                assert (window.row(session).status == "done") == (answers is FAULTS[-1][0])
        watching.cancel()

    with started():
        live(qapp, home, act)
    assert stall_meter[0].ms <= STALL_MS, (home / "stalls.log").read_text()


def has_ended(window: MainWindow, session: str) -> bool:
    row = window.row(session)
    return bool(row.folder) and row.status in {"failed", "paused", "done"}


async def _changed(box: Provider, engine: Engine) -> None:
    engine.settings.change(providers=(box,), first_token_timeout_s=2.0, idle_timeout_s=2.0)


async def _begun(folder: Path, engine: Engine) -> str:
    return await engine.start("Go.", folder, RunStarted("box/m", 5, mode="auto", interactive=True))
