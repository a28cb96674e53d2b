"""A window over model servers that are broken: it goes on moving, says why, and offers to try again."""

import asyncio
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from PySide6.QtWidgets import QApplication

from core.domain.events import RunStarted
from core.engine.engine import Engine
from core.settings.schema import Provider
from tests.e2e.health import stalls
from tests.servers.scripted import Act, Scripted, answer, chunk, scripted, stream
from tests.ui.test_desktop import Person, live, started, until
from ui.window import MainWindow

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
LIST = answer(b'{"data": [{"id": "m", "context_length": 64000}]}', "application/json")
FLOOD = stream(chunk(content="words " * 20_000), end="")
LINE = b"data: " + b"x" * 65_536
STALL_MS = 250  # of the window's own doing; a busy computer is not counted
FAULTS: Sequence[tuple[Sequence[Act], bytes]] = (
    ([HEAD, "drip"], LINE),  # M4: a line without end
    ([HEAD, "drip"], FLOOD),  # M24: a reply without end
    ([HEAD + stream(chunk(content="Hello"), end=""), "reset"], b""),  # M2
    (answer(stream("[" * 100_000 + "]" * 100_000)), b""),  # M17
    (answer(stream(chunk(content="x" * 1_000_000), chunk("stop"))), b""),  # one line of a megabyte, whole
)


@contextmanager
def broken(answers: Sequence[Act], drip: bytes) -> Iterator[str]:
    """A server in a thread of its own; its address."""
    ready, over = threading.Event(), threading.Event()
    played: list[Scripted] = []

    async def serve() -> None:
        async with scripted(LIST, answers, drip=drip or b"\n") as server:
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


def test_the_window_moves_whatever_its_servers_do(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window, engine = person.window, person.program.engine
        await until(window.start.isVisible, "the start screen")
        folder = home / "work"
        folder.mkdir()
        for answers, drip in FAULTS:
            with broken(answers, drip) as url:
                box = Provider(name="box", url=url)
                await engine.ask(partial(_changed, box))
                session = await engine.ask(partial(_begun, folder))
                window.go_to(session)
                await until(partial(has_ended, window, session), "the run has met the fault")
                assert (window.row(session).status == "done") == (answers is FAULTS[-1][0])

    with started():
        live(qapp, home, act)
    found = stalls(home)
    assert [ms for ms in found if ms > STALL_MS] == [], (home / "stalls.log").read_text()


def has_ended(window: MainWindow, session: str) -> bool:
    row = window.row(session)
    return bool(row.folder) and row.status in {"failed", "paused", "done"}


async def _changed(box: Provider, engine: Engine) -> None:
    engine.settings.change(providers=(box,), first_s=2.0, silence_s=2.0)


async def _begun(folder: Path, engine: Engine) -> str:
    return await engine.start("Go.", folder, RunStarted("box/m", 5, mode="trust", attended=True))
