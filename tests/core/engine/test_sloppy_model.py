"""A model that makes mistakes: wrong tool names and arguments, prose around JSON, missing calls, endless reasoning.

The run comes through, and the task is done.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from core.domain.events import CallRefused, CallStarted, Replied, RequestSent, RunStarted, ToolReturned
from core.domain.text import Text
from tests.core.engine.harness import open_engine, run_bounded, scripted_replies
from tests.core.models.test_text_call_adapter import wrote

GOOD = {"name": "write", "arguments": {"path": "out.txt", "content": "done\n"}}
MARK = "00112233445566aa"


def asks(name: str, arguments: Any) -> dict[str, Any]:
    return {"calls": [{"name": name, "arguments": arguments}]}


def says(text: str) -> dict[str, Any]:
    return {"text": text}


def fenced(**call: Any) -> str:
    return wrote(json.dumps(call)).replace("abc", MARK)


FINAL = fenced(tool="final", arguments={"text": "All done."})
SLOPPY: dict[str, list[dict[str, Any]]] = {
    "a wrong name": [asks("write_file", GOOD["arguments"]), asks("Write", GOOD["arguments"])],
    "no name": [asks("", GOOD["arguments"])],
    "a wrong type": [asks("write", {"path": 7, "content": ["done"]})],
    "an argument too few, and one too many": [asks("write", {"path": "out.txt"}), asks("read", {"file": "out.txt"})],
    "arguments that are no JSON": [asks("write", '{"path": "out.txt", "content": "do'), asks("write", "out.txt")],
    "arguments that are a list": [asks("write", '["out.txt", "done"]'), asks("write", "null")],
    "a call and the last words at once": [{"text": "I am done.", "calls": [GOOD]}],
    "the same wrong call again": [asks("read", {"path": "missing.txt"})] * 4,
    "endless thinking": [{"reasoning": "I wonder. " * 20_000, **asks("read", {"path": "missing.txt"})}],
    "an edit of what was not read": [asks("edit", {"path": "there.txt", "old_string": "a", "new_string": "b"})],
    "twenty calls at once, most of them wrong": [{"calls": [{"name": f"tool{n}", "arguments": {}} for n in range(20)]}],
    "a path that is outside": [asks("write", {"path": "../out.txt", "content": "done"})],
}
WORDS: dict[str, list[dict[str, Any]]] = {
    "no call where one is due": [says("I will write the file now.")],
    "prose around the call": [says(f"Let me see.\n{fenced(tool='find', arguments={'pattern': '*'})}\nThat should do.")],
    "a call in an ordinary fence": [says("```json\n" + json.dumps({"tool": "find", "arguments": {}}) + "\n```")],
    "a fence that is no JSON": [says(fenced(tool="find").replace("}", ""))],
    "an unknown tool": [says(fenced(tool="finish", arguments={}))],
}


@pytest.mark.parametrize("name", SLOPPY)
def test_a_run_survives_invalid_calls(name: str, tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            (scene.folder / "there.txt").write_text("a\n")
            session = await scene.run(scripted_replies(*SLOPPY[name], {"calls": [GOOD]}, says("All done.")))
            assert scene.status(session) == "done" and scene.bugs == []
            assert (scene.folder / "out.txt").read_text() == "done\n"
            assert not (tmp_path / "out.txt").exists()
            events = await scene.events(session)
            asked = [call.id for event in events if isinstance(event, Replied) for call in event.calls]
            ends = [event.call_id for event in events if isinstance(event, ToolReturned | CallRefused)]
            assert sorted(ends) == sorted(asked), "each call has exactly one result"
            refused = [event.reason.head for event in events if isinstance(event, CallRefused)]
            assert all(len(reason) > 20 for reason in refused), "the model reads what is wrong"

    run_bounded(main())


@pytest.mark.parametrize("name", WORDS)
def test_a_run_survives_malformed_calls(name: str, tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            good = says(fenced(tool="write", arguments=GOOD["arguments"]))
            script = scripted_replies(*WORDS[name], good, says(FINAL))
            began = RunStarted("scripted", 20, Text(script), mode="auto", text_calls=True, boundary=MARK)
            session = await scene.engine.start("Go.", scene.folder, began)
            await scene.engine.wait_idle(session)
            events = await scene.events(session)
            assert scene.status(session) == "done" and scene.bugs == []
            assert (scene.folder / "out.txt").read_text() == "done\n"
            assert any(isinstance(event, CallStarted) and event.tool == "write" for event in events)
            assert sum(isinstance(event, RequestSent) for event in events) == len(WORDS[name]) + 2

    run_bounded(main())
