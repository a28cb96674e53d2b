"""A model that works badly: names that are wrong, arguments that do not fit, prose around JSON, no call where one is
due, words and a call at once, thinking without end. The run comes through, and what was asked for is done."""

import json
from pathlib import Path
from typing import Any

import pytest

from core.domain.events import CallRefused, CallStarted, Replied, RequestSent, RunStarted, ToolReturned
from core.domain.text import Text
from tests.core.engine.scenes import bounded, opened, played
from tests.core.models.test_spoken import wrote

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
    "an edit of what was not read": [asks("edit", {"path": "there.txt", "old": "a", "new": "b"})],
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
def test_a_run_comes_through_calls_that_are_wrong(name: str, tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            (scene.folder / "there.txt").write_text("a\n")
            session = await scene.run(played(*SLOPPY[name], {"calls": [GOOD]}, says("All done.")))
            assert scene.status(session) == "done" and scene.bugs == []
            assert (scene.folder / "out.txt").read_text() == "done\n"
            assert not (tmp_path / "out.txt").exists()
            events = await scene.events(session)
            asked = [call.id for event in events if isinstance(event, Replied) for call in event.calls]
            ends = [event.call_id for event in events if isinstance(event, ToolReturned | CallRefused)]
            assert sorted(ends) == sorted(asked), "each call has its one result"
            refused = [event.reason.head for event in events if isinstance(event, CallRefused)]
            assert all(len(reason) > 20 for reason in refused), "the model is told what is wrong"

    bounded(main())


@pytest.mark.parametrize("name", WORDS)
def test_a_run_comes_through_calls_that_are_written_wrongly(name: str, tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            good = says(fenced(tool="write", arguments=GOOD["arguments"]))
            script = played(*WORDS[name], good, says(FINAL))
            began = RunStarted("scripted", 20, Text(script), mode="trust", in_words=True, boundary=MARK)
            session = await scene.engine.start("Go.", scene.folder, began)
            await scene.engine.wait(session)
            events = await scene.events(session)
            assert scene.status(session) == "done" and scene.bugs == []
            assert (scene.folder / "out.txt").read_text() == "done\n"
            assert any(isinstance(event, CallStarted) and event.tool == "write" for event in events)
            assert sum(isinstance(event, RequestSent) for event in events) == len(WORDS[name]) + 2

    bounded(main())
