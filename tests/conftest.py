"""What every test is held to: nothing left over, nothing logged, no address but this machine, a home of its own."""

import asyncio
import gc
import ipaddress
import logging
import os
import re
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, settings

os.environ["QT_QPA_PLATFORM"] = "offscreen"
JOIN_S = 2.0  # the bound for a thread that is about to end
NOT_OURS = ("OPENAI_", "ANTHROPIC_", "OLLAMA_", "GEMINI_", "GOOGLE_", "OPENROUTER_", "JOURNEYMAN_")
PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
FAR: list[str] = []  # what tests tried to reach: code under test may well survive a refusal, its test must not

settings.register_profile("house", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("house")


class Left(NamedTuple):
    """What is alive at one moment and should not outlive a test."""

    threads: set[threading.Thread]
    tasks: set[asyncio.Task[Any]]
    widgets: set[Any]


class TooFar(ConnectionError):
    """A test tried to leave this machine; sockets close as after any refusal, and the test fails in the end."""


def pytest_configure(config: pytest.Config) -> None:
    """Name our marks, and guard the sockets of this process."""
    config.addinivalue_line("markers", "logs(*patterns): warnings and errors this test may log")
    config.addinivalue_line("markers", "colours: this test looks at colours, and is done in each theme")
    guard_sockets()


def keep_what_is_there() -> None:
    """All that was imported stays, and what earlier tests left of it: a search for rubbish looks through what one test
    made, not through everything. That takes half a second in a process that has done thousands of tests."""
    gc.collect()
    gc.freeze()


def guard_sockets() -> None:
    """Install the guard; an audit hook cannot be taken out again, so at most one for a process."""
    if not getattr(sys, "journeyman_guard", False):
        sys.addaudithook(refuse_far_addresses)
        sys.journeyman_guard = True  # type: ignore[attr-defined]  # outlives a second import of this file


def refuse_far_addresses(event: str, arguments: tuple[Any, ...]) -> None:
    """Let a test reach this machine only."""
    if event in ("socket.connect", "socket.sendto", "socket.sendmsg"):
        address = arguments[1]
        near = not isinstance(address, tuple) or is_loopback(address[0])
    elif event in ("socket.getaddrinfo", "socket.gethostbyname"):
        address = arguments[0]
        near = is_loopback(address) or is_number(address)
    else:
        return
    if not near:
        FAR.append(f"{event} {address!r}")
        raise TooFar(f"a test must not reach past this machine: {event} {address!r}")


def is_loopback(host: object) -> bool:
    """Whether this host is this machine, as far as can be told without asking anybody."""
    name = host.decode() if isinstance(host, bytes) else host
    if name in (None, "", "localhost"):
        return True
    return is_number(name) and ipaddress.ip_address(str(name).split("%")[0]).is_loopback


def is_number(host: object) -> bool:
    """Whether this is an address already, so that looking it up asks nobody."""
    try:
        ipaddress.ip_address(str(host).split("%")[0])
    except ValueError:
        return False
    return True


@pytest.fixture(scope="session", autouse=True)
def own_surroundings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the person's data, keys, proxies and keyring out of every test."""
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith(NOT_OURS) or name.lower() in PROXIES:
                patch.delenv(name)
        patch.setenv("JOURNEYMAN_HOME", str(tmp_path_factory.mktemp("nobody")))
        patch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
        patch.setenv("XDG_RUNTIME_DIR", str(private(tmp_path_factory.mktemp("runtime"))))
        yield


def private(folder: Path) -> Path:
    """The folder, closed to others, as Qt wants it."""
    folder.chmod(0o700)
    return folder


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder for one test, also for the programs it starts."""
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("JOURNEYMAN_HOME", str(folder))
    return folder


@pytest.fixture(autouse=True)
def nothing_left_over() -> Iterator[None]:
    """Fail a test that leaves a thread, a task or a window behind, or tried to leave this machine."""
    FAR.clear()
    keep_what_is_there()
    before = alive()
    yield
    for thread in alive().threads - before.threads:
        thread.join(JOIN_S)
    if any(new(before)):
        delete_posted_widgets()
        gc.collect()
    left = [f"{kind}: {', '.join(map(repr, things))}" for kind, things in new(before)._asdict().items() if things]
    assert not left, "left over after the test: " + "; ".join(left)
    assert not FAR, f"tried to reach past this machine: {FAR}"


def alive() -> Left:
    """Everything of this moment that a test must clear away."""
    threads = {thread for thread in threading.enumerate() if type(thread).__name__ != "_DummyThread"}
    widgets = sys.modules.get("PySide6.QtWidgets")
    tops = set(widgets.QApplication.topLevelWidgets()) if widgets and widgets.QApplication.instance() else set()
    return Left(threads, pending_tasks(), {top for top in tops if top.metaObject().className() != "QTipLabel"})


def new(before: Left) -> Left:
    """What is alive now and was not before."""
    now = alive()
    return Left(now.threads - before.threads, now.tasks - before.tasks, now.widgets - before.widgets)


def pending_tasks() -> set[asyncio.Task[Any]]:
    """All unfinished tasks of all loops; asyncio itself only tells those of a loop one holds."""
    registers = [getattr(asyncio.tasks, name, None) for name in ("_scheduled_tasks", "_all_tasks")]
    known: list[Any] = [task for register in registers if register is not None for task in list(register)]
    if sys.version_info >= (3, 14):  # tasks written in C stand in no register any more
        known = [thing for thing in gc.get_objects() if type(thing) is asyncio.Task]
    return {task for task in known if not task.done()}


def delete_posted_widgets() -> None:
    """Let Qt delete what was given to deleteLater, which needs a loop otherwise."""
    if core := sys.modules.get("PySide6.QtCore"):
        core.QCoreApplication.sendPostedEvents(None, core.QEvent.Type.DeferredDelete.value)


class Listener(logging.Handler):
    """Keeps every record of WARNING and above."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.heard: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.heard.append(f"{record.levelname} {record.name}: {record.getMessage()}")


@pytest.fixture(autouse=True)
def nothing_logged(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test in which somebody logs a warning it was not marked for: @pytest.mark.logs("pattern")."""
    listener = Listener()
    logging.getLogger().addHandler(listener)
    yield
    gc.collect(1)  # a task that died unseen says so now, while its own test is the one that is asked
    logging.getLogger().removeHandler(listener)
    patterns = [pattern for mark in request.node.iter_markers("logs") for pattern in mark.args]
    loud = [line for line in listener.heard if not any(re.search(pattern, line) for pattern in patterns)]
    assert not loud, "logged: " + "\n".join(loud)
