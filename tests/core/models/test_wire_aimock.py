"""Whole runs against aimock, a server that others wrote, on each of its four wires."""

import asyncio
import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core.models.server import Server
from core.models.wire import UNKNOWN
from core.models.wires import WIRES
from tests.core.models.journeys import travel
from tests.core.models.replies import KEY, QUICK, asking, gather, said
from tests.servers.aimock import serve_aimock

FOUR = sorted(WIRES)
ROOTS = {"chat": "/v1", "responses": "/v1", "anthropic": "", "ollama": ""}


def call(tool: str, **arguments: str) -> dict[str, str]:
    return {"name": tool, "arguments": json.dumps(arguments)}


def told(after: str, response: dict[str, Any]) -> dict[str, Any]:
    """What is said after a result; turns have no numbers here, because on one wire aimock counts each call as one."""
    match = {"toolResultContains": after} if after else {"hasToolResult": False}
    return {"match": {"userMessage": "count the lines", **match}, "response": response}


FIXTURES = [
    told(
        "",
        {
            "content": "I look first.",
            "reasoning": "Two files.",
            "toolCalls": [call("read", path="a.txt"), call("read", path="b.txt")],
        },
    ),
    told("three", {"toolCalls": [call("ask_user", question="Blank lines too?")]}),
    told("No.", {"content": "There are 3 lines.", "usage": {"prompt_tokens": 50, "completion_tokens": 7}}),
    {"match": {"userMessage": "too long"}, "response": {"error": {"message": "prompt is too long"}, "status": 400}},
    {"match": {"userMessage": "cut"}, "response": {"content": "These words are cut."}, "truncateAfterChunks": 3},
]


@pytest.fixture(scope="module")
def aimock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """One for all: it keeps nothing that matters here."""
    with serve_aimock(FIXTURES, tmp_path_factory.mktemp("aimock"), "-l", "5", "-c", "6") as url:
        yield url


@pytest.mark.parametrize("wire", FOUR)
def test_a_whole_run_with_tools_and_a_question(wire: str, aimock: str) -> None:
    """Two files are read at once, a person is asked, and the reply ends it."""
    model = WIRES[wire](Server(aimock + ROOTS[wire], KEY, patience=QUICK), "gpt-4o", UNKNOWN)
    files = {"a.txt": "one\ntwo", "b.txt": "three"}
    journey = travel(model, "count the lines", {"read": files.__getitem__, "ask_user": lambda question: "No."})
    assert journey.asked == [("read", "a.txt"), ("read", "b.txt"), ("ask_user", "Blank lines too?")]
    assert [reply.text for reply in journey.replies] == ["I look first.", "", "There are 3 lines."]
    assert journey.replies[0].reasoning == "Two files."
    assert all(reply.stop == "" for reply in journey.replies)


@pytest.mark.parametrize("wire", FOUR)
def test_what_it_does_not_take_is_understood(wire: str, aimock: str) -> None:
    model = WIRES[wire](Server(aimock + ROOTS[wire], KEY, patience=QUICK), "gpt-4o", UNKNOWN)
    assert asyncio.run(gather(model, asking(said("too long")))).kind == "too_long"
    assert asyncio.run(gather(model, asking(said("nobody knows this")))).kind in ("model", "not_a_server", "rejected")


@pytest.mark.parametrize("wire", FOUR)
def test_a_connection_that_it_cuts(wire: str, aimock: str) -> None:
    model = WIRES[wire](Server(aimock + ROOTS[wire], KEY, patience=QUICK), "gpt-4o", UNKNOWN)
    assert asyncio.run(gather(model, asking(said("cut")))).kind == "cut"


@pytest.mark.parametrize("wire", FOUR)
def test_its_models_are_listed(wire: str, aimock: str) -> None:
    model = WIRES[wire](Server(aimock + ROOTS[wire], KEY, patience=QUICK), "", UNKNOWN)
    listed = asyncio.run(model.list_models())
    assert "gpt-4o" in {one.id for one in listed}
    assert all(one.window is None or one.window > 0 for one in listed)


def test_what_it_received_is_what_we_meant(aimock: str, tmp_path: Path) -> None:
    """Its own journal: no sampling parameter, the key in its header only."""
    model = WIRES["chat"](Server(f"{aimock}/v1", KEY, patience=QUICK), "gpt-4o", UNKNOWN)
    asyncio.run(gather(model, asking(said("too long"))))
    with urllib.request.urlopen(f"{aimock}/__aimock/journal") as response:
        bodies = json.dumps([entry["body"] for entry in json.load(response)])
    assert "too long" in bodies and "temperature" not in bodies and KEY not in bodies
