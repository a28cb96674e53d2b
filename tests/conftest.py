"""Requirements of every test: no leftovers, no warnings in the log, no remote connections, its own data folder."""

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

from core.workspace import sandbox_selftest
from core.workspace.launcher import Launcher

os.environ["QT_QPA_PLATFORM"] = "offscreen"
JOIN_S = 2.0  # how long to wait for a thread that is about to end
FOREIGN_VARIABLES = ("OPENAI_", "ANTHROPIC_", "OLLAMA_", "GEMINI_", "GOOGLE_", "OPENROUTER_", "JOURNEYMAN_", "DBUS_")
PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
REMOTE_ADDRESSES: list[
    str
] = []  # remote addresses the test tried to reach; it fails even if the code under test handled the error

settings.register_profile("house", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("house")


class Alive(NamedTuple):
    """Threads, tasks and widgets alive at one moment, which must not outlive a test."""

    threads: set[threading.Thread]
    tasks: set[asyncio.Task[Any]]
    widgets: set[Any]


class RemoteConnectionRefused(ConnectionError):
    """A test tried to connect to another computer: a connection error for the tested code, a failure of the test."""


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers, and guard the sockets of this process."""
    config.addinivalue_line("markers", "logs(*patterns): warnings and errors this test may log")
    config.addinivalue_line("markers", "thinking: this test needs a real model (dev.py test --thinking)")
    config.addinivalue_line("markers", "colors: this test checks colors and runs once for each theme")
    guard_sockets()


def freeze_existing_objects() -> None:
    """Freeze the existing objects, so that garbage collection searches only those of one test.

    A full collection takes half a second in a process that has run thousands of tests.
    """
    gc.collect()
    gc.freeze()


def guard_sockets() -> None:
    """Install the guard once per process, because an audit hook cannot be removed."""
    if not getattr(sys, "journeyman_guard", False):
        sys.addaudithook(refuse_remote_addresses)
        sys.journeyman_guard = True  # type: ignore[attr-defined]  # outlives a second import of this file


def refuse_remote_addresses(event: str, arguments: tuple[Any, ...]) -> None:
    """Refuse connections to and lookups of other computers (an audit hook)."""
    if event in ("socket.connect", "socket.sendto", "socket.sendmsg"):
        address = arguments[1]
        near = not isinstance(address, tuple) or is_loopback(address[0])
    elif event in ("socket.getaddrinfo", "socket.gethostbyname"):
        address = arguments[0]
        near = is_loopback(address) or is_number(address)
    else:
        return
    if not near:
        REMOTE_ADDRESSES.append(f"{event} {address!r}")
        raise RemoteConnectionRefused(f"a test must not connect to another computer: {event} {address!r}")


def is_loopback(host: object) -> bool:
    """Return whether a host is this computer, without a lookup."""
    name = host.decode() if isinstance(host, bytes) else host
    if name in (None, "", "localhost"):
        return True
    return is_number(name) and ipaddress.ip_address(str(name).split("%")[0]).is_loopback


def is_number(host: object) -> bool:
    """Return whether a host is an IP address, whose lookup needs no network."""
    try:
        ipaddress.ip_address(str(host).split("%")[0])
    except ValueError:
        return False
    return True


@pytest.fixture(scope="session", autouse=True)
def own_environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Hide the developer's data, API keys, proxies and keyring from every test."""
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith(FOREIGN_VARIABLES) or name.lower() in PROXIES:
                patch.delenv(name)
        patch.setenv("JOURNEYMAN_HOME", str(tmp_path_factory.mktemp("nobody")))
        patch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
        patch.setenv("XDG_RUNTIME_DIR", str(private(tmp_path_factory.mktemp("runtime"))))
        yield


@pytest.fixture(scope="session", autouse=True)
def one_selftest_per_sandbox() -> Iterator[None]:
    """Run the self-test of each sandbox once per process, not once per data folder.

    Its result depends only on the profile, which is different for a sandbox that a test has weakened.
    """
    attack, proofs = sandbox_selftest._attack, dict[str, sandbox_selftest.SandboxProof]()

    def attack_once(launcher: Launcher, profile: str) -> sandbox_selftest.SandboxProof:
        if profile not in proofs:
            proofs[profile] = attack(launcher, profile)
        return proofs[profile]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sandbox_selftest, "_attack", attack_once)
        yield


def private(folder: Path) -> Path:
    """Make a folder accessible to its owner only, as Qt requires, and return it."""
    folder.chmod(0o700)
    return folder


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a data folder for one test and for the programs it starts."""
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("JOURNEYMAN_HOME", str(folder))
    return folder


@pytest.fixture(autouse=True)
def nothing_left_over() -> Iterator[None]:
    """Fail a test that leaves a thread, a task or a window behind, or tried to connect to another computer."""
    REMOTE_ADDRESSES.clear()
    freeze_existing_objects()
    before = alive()
    yield
    for thread in alive().threads - before.threads:
        thread.join(JOIN_S)
    if any(new(before)):
        delete_posted_widgets()
        gc.collect()
        for thread in alive().threads - before.threads:  # which may end with an object that was just collected
            thread.join(JOIN_S)
    left = [f"{kind}: {', '.join(map(repr, things))}" for kind, things in new(before)._asdict().items() if things]
    assert not left, "left over after the test: " + "; ".join(left)
    assert not REMOTE_ADDRESSES, f"tried to connect to another computer: {REMOTE_ADDRESSES}"


def alive() -> Alive:
    threads = {thread for thread in threading.enumerate() if type(thread).__name__ != "_DummyThread"}
    widgets = sys.modules.get("PySide6.QtWidgets")
    tops = set(widgets.QApplication.topLevelWidgets()) if widgets and widgets.QApplication.instance() else set()
    return Alive(threads, pending_tasks(), {top for top in tops if top.metaObject().className() != "QTipLabel"})


def new(before: Alive) -> Alive:
    now = alive()
    return Alive(now.threads - before.threads, now.tasks - before.tasks, now.widgets - before.widgets)


def pending_tasks() -> set[asyncio.Task[Any]]:
    """Return the unfinished tasks of all event loops; asyncio.all_tasks returns those of one loop only."""
    registries = [getattr(asyncio.tasks, name, None) for name in ("_scheduled_tasks", "_all_tasks")]
    known: list[Any] = [task for registry in registries if registry is not None for task in list(registry)]
    if sys.version_info >= (3, 14):  # there, tasks implemented in C are in no registry
        known = [thing for thing in gc.get_objects() if type(thing) is asyncio.Task]
    return {task for task in known if not task.done()}


def delete_posted_widgets() -> None:
    """Make Qt delete the objects passed to deleteLater, which otherwise happens in an event loop."""
    if core := sys.modules.get("PySide6.QtCore"):
        core.QCoreApplication.sendPostedEvents(None, core.QEvent.Type.DeferredDelete.value)


class WarningRecorder(logging.Handler):
    """Records every message of level WARNING and above."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(f"{record.levelname} {record.name}: {record.getMessage()}")


@pytest.fixture(autouse=True)
def nothing_logged(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test that logs a warning, unless marked with @pytest.mark.logs("pattern")."""
    recorder = WarningRecorder()
    logging.getLogger().addHandler(recorder)
    yield
    gc.collect(1)  # an exception in a task that nobody awaited is logged now, in its own test
    logging.getLogger().removeHandler(recorder)
    patterns = [pattern for mark in request.node.iter_markers("logs") for pattern in mark.args]
    loud = [line for line in recorder.messages if not any(re.search(pattern, line) for pattern in patterns)]
    assert not loud, "logged: " + "\n".join(loud)
