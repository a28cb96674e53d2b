"""If a task says that tests fail, a small model sees their output and the code before its first reply."""

import json
from pathlib import Path
from typing import Any, Literal

import pytest

from core.domain.events import CallStarted, HarnessMessage, Replied, RunEnded, RunStarted, SessionEvent
from core.engine.run.project_tests import files_of_failure, find_test_command, is_missing_program
from core.settings.schema import Provider
from core.workspace.broker import FileBroker
from tests.core.engine.harness import open_engine, run_bounded
from tests.core.engine.test_read_ahead import LISTING
from tests.servers.scripted_server import ServerAction, answer, chunk, scripted_server, stream

CODE = "def half(number):\n    return number / 3\n\n\ndef same(number):\n    return number\n"
TEST = """
import unittest
from calc import half


class Calc(unittest.TestCase):
    def test_half(self):
        self.assertEqual(half(4), 2)
"""
COMMAND = "python3 -m unittest"


def reply(text: str) -> list[ServerAction]:
    return answer(stream(chunk(content=text), chunk("stop")))


def block(code: str) -> list[ServerAction]:
    return reply(f"The divisor is wrong.\n\n```python\n{code}```")


def run_task(
    tmp_path: Path, task: str, *replies: list[ServerAction], prompt_size: Any = "compact"
) -> tuple[list[SessionEvent], list[list[dict[str, Any]]], Path]:
    """Run a task in a folder with a failing test; return the events, the messages of each request, and the folder."""
    events: list[SessionEvent] = []
    sent: list[list[dict[str, Any]]] = []

    async def main() -> None:
        async with scripted_server(LISTING, *replies) as server, open_engine(tmp_path) as scene:
            scene.engine.settings.change(providers=(Provider(name="box", url=server.url),), prompt_size=prompt_size)
            (scene.folder / "calc.py").write_text(CODE)
            (scene.folder / "test_calc.py").write_text(TEST)
            session = await scene.engine.start(task, scene.folder, RunStarted("box/m", mode="auto"))
            await scene.engine.wait_idle(session)
            events.extend(await scene.events(session))
            sent.extend(request.json["messages"] for request in server.requests if request.method == "POST")

    run_bounded(main())
    return events, sent, tmp_path


def started(events: list[SessionEvent]) -> list[tuple[str, str]]:
    return [(event.tool, event.object) for event in events if isinstance(event, CallStarted)]


def end(events: list[SessionEvent]) -> RunEnded:
    (ended,) = [event for event in events if isinstance(event, RunEnded)]
    return ended


def test_the_failure_and_the_code_are_in_the_first_request(tmp_path: Path) -> None:
    fixed = CODE.replace("/ 3", "/ 2")
    events, sent, _ = run_task(tmp_path, "A test fails. Find the bug and repair it.", block(fixed), reply("Repaired."))
    assert started(events) == [("run", COMMAND), ("read", "calc.py"), ("write", "calc.py"), ("run", COMMAND)]
    first = "".join(str(message["content"]) for message in sent[0])
    assert "AssertionError" in first and "number / 3" in first and "class Calc" not in first
    assert "give the whole new text of calc.py in one code block" in sent[0][-1]["content"]
    assert end(events).status == "completed" and len(sent) == 2
    notes = [event.note for event in events if isinstance(event, Replied)]
    assert "ran the tests" in notes[0] and "failure is about" in notes[1]


def test_a_reply_without_a_change_is_not_the_end_and_the_run_fails_with_the_tests(tmp_path: Path) -> None:
    events, _, _ = run_task(tmp_path, "Make the failing test pass.", *[reply("I see.")] * 6)
    nudges = [event.text.head for event in events if isinstance(event, HarnessMessage)]
    assert nudges and f"`{COMMAND}` still fails" in nudges[0] and "whole new text of calc.py" in nudges[0]
    assert end(events).status == "failed" and COMMAND in end(events).reason


def test_a_block_that_lacks_a_function_does_not_replace_the_file(tmp_path: Path) -> None:
    part = "def half(number):\n    # a half of the number,\n    # which may be of any kind\n    return number / 2\n"
    events, _, _ = run_task(tmp_path, "A test fails. Repair it.", block(part), *[reply("Done.")] * 6)
    assert ("write", "calc.py") not in started(events)


def test_code_that_is_shown_after_the_tests_have_passed_is_not_demanded_again(tmp_path: Path) -> None:
    fixed = CODE.replace("/ 3", "/ 2")
    events, sent, _ = run_task(tmp_path, "A test fails. Repair it.", block(fixed), block(fixed[:40]), reply("No."))
    assert len(sent) == 2 and end(events).status == "completed"


@pytest.mark.parametrize(
    ("task", "size"),
    [("A test fails. Repair it.", "full"), ("Does any test fail?", "compact"), ("Write tests for calc.", "compact")],
)
def test_other_tasks_and_models_run_nothing_ahead(tmp_path: Path, task: str, size: str) -> None:
    events, sent, _ = run_task(tmp_path, task, *[reply("Done.")] * 6, prompt_size=size)
    assert ("run", COMMAND) not in started(events) and COMMAND not in str(sent[0])


def test_a_small_model_may_use_a_quarter_of_its_context_window(tmp_path: Path) -> None:
    limits: list[Any] = []
    sizes: list[tuple[Literal["full", "compact"], int]] = [("compact", 0), ("compact", 100), ("full", 0)]
    listing = answer(json.dumps({"data": [{"id": "m", "max_model_len": 8_192}]}).encode(), "application/json")

    async def main() -> None:
        async with scripted_server(listing, *[reply("Hello.")] * 3) as server, open_engine(tmp_path) as scene:
            scene.engine.settings.change(providers=(Provider(name="box", url=server.url),))
            for size, output in sizes:
                start = RunStarted("box/m", mode="auto", prompt_size=size, max_output_tokens=output)
                session = await scene.engine.start("Say hello.", scene.folder, start)
                await scene.engine.wait_idle(session)
            limits.extend(request.json.get("max_tokens") for request in server.requests if request.method == "POST")

    run_bounded(main())
    assert limits == [2_048, 100, None]


@pytest.mark.parametrize(
    ("files", "command"),
    [
        ({"test_a.py": "def test_a():\n    pass\n"}, "python3 -m pytest -q"),
        ({"deep/a_test.py": "import unittest\n"}, "python3 -m unittest"),
        ({"package.json": '{"scripts": {"test": "node --test"}}'}, "npm test"),
        ({"package.json": '{"scripts": {}, "name": "test"}'}, ""),
        ({"Cargo.toml": "[package]\n"}, "cargo test"),
        ({"go.mod": "module a\n"}, "go test ./..."),
        ({"test.txt": "def test_a(): pass\n"}, ""),
    ],
)
def test_the_command_that_runs_the_tests_of_a_folder(tmp_path: Path, files: dict[str, str], command: str) -> None:
    write(tmp_path, files)
    with FileBroker(tmp_path) as broker:
        assert find_test_command(broker) == command


@pytest.mark.parametrize(
    ("output", "files"),
    [
        ("tests/test_b.py:3: AssertionError", ["tests/test_b.py", "pack/b.py"]),
        ('File "{folder}/tests/test_b.py", line 3', ["tests/test_b.py", "pack/b.py"]),
        ("at js/c.test.js:4:1", ["js/c.test.js", "js/c.js"]),
        ("pack/b.py:1: SyntaxError", ["pack/b.py"]),
        ("/usr/lib/python3/site.py:1 and missing.py", []),
    ],
)
def test_the_files_that_a_failure_is_about(tmp_path: Path, output: str, files: list[str]) -> None:
    write(
        tmp_path,
        {
            "tests/test_b.py": "import os\nfrom pack import b\n",
            "pack/b.py": "x = 1\n",
            "js/c.test.js": "const c = require('./c')\n",
            "js/c.js": "exports.c = 1\n",
        },
    )
    with FileBroker(tmp_path) as broker:
        assert files_of_failure(output.replace("{folder}", str(tmp_path)), broker) == files


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def test_a_program_that_is_not_installed_is_no_failing_test() -> None:
    assert is_missing_program("/usr/bin/python3: No module named pytest")
    assert is_missing_program("sh: 1: npm: not found") and not is_missing_program("E   assert 6.0 == 4")
