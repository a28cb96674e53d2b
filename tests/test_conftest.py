"""Tests of conftest: a small test that breaks one of its rules fails with the message of that rule."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

BROKEN = {
    "thread": ("left over after the test: threads", "threading.Thread(target=STAY.wait, daemon=True).start()"),
    "task": ("left over after the test: tasks", "KEPT.append(LOOP.create_task(asyncio.sleep(9)))"),
    "widget": ("left over after the test: widgets", "KEPT.append(QWidget())"),
    "deleted_without_loop": ("", "w = QWidget(); w.deleteLater()"),
    "log": ("logged: WARNING a.b: hot 7", "logging.getLogger('a.b').warning('hot %d', 7)"),
    "info": ("", "logging.getLogger('a.b').info('fine')"),
    "lost_exception": ("never retrieved", "asyncio.run(lose())"),
    "far_name": ("to another computer: socket.getaddrinfo", "socket.create_connection(('example.org', 80))"),
    "far_number": ("to another computer: socket.connect", "socket.create_connection(('192.0.2.1', 80), 1)"),
    "far_swallowed": ("tried to connect to another", "swallow(lambda: socket.create_connection(('192.0.2.1', 80), 1))"),
    "far_datagram": ("to another computer: socket.sendto", "UDP.sendto(b'x', ('192.0.2.1', 9))"),
    "near": ("", "socket.create_connection(SERVER.getsockname()).close(); socket.getaddrinfo('localhost', 1)"),
    "python_warning": ("DeprecationWarning", "warnings.warn('old', DeprecationWarning)"),
    "qt_warning": ("QtWarningMsg", "qWarning('loud')"),
    "mark_unknown": ("'nonsense' not found", ""),
}
HEAD = """
import asyncio, logging, socket, threading, warnings
import pytest
from PySide6.QtCore import qWarning
from PySide6.QtWidgets import QWidget

STAY, KEPT, LOOP = threading.Event(), [], asyncio.new_event_loop()
SERVER, UDP = socket.create_server(("127.0.0.1", 0)), socket.socket(type=socket.SOCK_DGRAM)

async def lose():
    async def fail(): raise ValueError("lost")
    asyncio.get_running_loop().create_task(fail())
    await asyncio.sleep(0)
    await asyncio.sleep(0)

def swallow(call):
    try:
        call()
    except BaseException:
        pass

@pytest.mark.logs("hot [0-9]")
def test_allowed():
    logging.getLogger("a").error("hot 3")

def test_home(home):
    import os
    assert os.environ["JOURNEYMAN_HOME"] == str(home) and home.is_dir()

def test_end():
    assert "OPENAI_API_KEY" not in __import__("os").environ
"""


def broken_tests() -> str:
    """Return the source of a file with one test for each sample."""
    tests = [f"def test_{name}(qapp):\n    {code or 'pass'}\n" for name, (_, code) in BROKEN.items()]
    tests.append("def teardown_module():\n    STAY.set(); SERVER.close(); UDP.close()\n")
    tests.append("    [task.cancel() for task in asyncio.all_tasks(LOOP)]\n")
    tests.append("    LOOP.run_until_complete(asyncio.sleep(0)); LOOP.close()\n")
    return "\n".join([HEAD, *tests]).replace("def test_mark_unknown", "@pytest.mark.nonsense\ndef test_mark_unknown")


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the output of a separate pytest that runs the samples with our conftest and settings."""
    root, folder = Path(__file__).parent, tmp_path_factory.mktemp("samples")
    shutil.copy(root / "conftest.py", folder)
    shutil.copy(root.parent / "pyproject.toml", folder)
    text = broken_tests()
    (folder / "test_mark.py").write_text("import pytest\n@pytest.mark.nonsense\ndef test_mark_unknown(): pass\n")
    (folder / "test_samples.py").write_text(text.replace("@pytest.mark.nonsense\n", ""))
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "-rA",
        "--tb=short",
        "--continue-on-collection-errors",
    ]
    answer = subprocess.run([*command, str(folder)], cwd=folder, capture_output=True, text=True, check=False)
    return answer.stdout + answer.stderr


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_rule_fails_its_test(report: str, name: str) -> None:
    """A test that breaks a rule fails with the message of the rule; the others pass."""
    words, _ = BROKEN[name]
    if not words:
        assert f"PASSED test_samples.py::test_{name}\n" in report
    else:
        assert words in section(report, name)


def section(report: str, name: str) -> str:
    """Return the part of the report about one sample, whether the test or its teardown failed."""
    if name == "mark_unknown":
        return report[report.index("ERROR collecting test_mark.py") :]
    parts = re.split(r"^[_=]{5,} (.*?) [_=]{5,}$", report, flags=re.MULTILINE)  # text, heading, text, heading, ...
    ours = (f"test_{name}", f"ERROR at teardown of test_{name}")
    return "\n".join(text for head, text in zip(parts[1::2], parts[2::2], strict=True) if head in ours)


@pytest.mark.parametrize("name", ["allowed", "home", "end"])
def test_what_is_allowed_passes(report: str, name: str) -> None:
    assert f"PASSED test_samples.py::test_{name}\n" in report
