"""Whole runs against aimock, an independent mock server, in each of its four API formats."""

import asyncio
import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core.models.api_client import UNKNOWN_LIMITS
from core.models.api_formats import API_FORMATS
from core.models.endpoint import ProviderEndpoint
from tests.core.models.driven_run import drive_run
from tests.core.models.replies import KEY, SHORT_TIMEOUTS, gather, make_request, user_message
from tests.servers.aimock import serve_aimock

FOUR = sorted(API_FORMATS)
ROOTS = {"chat": "/v1", "responses": "/v1", "anthropic": "", "ollama": ""}


def call(tool: str, **arguments: str) -> dict[str, str]:
    return {"name": tool, "arguments": json.dumps(arguments)}


def told(after: str, response: dict[str, Any]) -> dict[str, Any]:
    """Return the fixture for the reply after a tool result.

    Turns are matched by content, because in one API format aimock counts each call as a turn.
    """
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
    """One server for all tests of the module: it keeps no state that matters."""
    with serve_aimock(FIXTURES, tmp_path_factory.mktemp("aimock"), "-l", "5", "-c", "6") as url:
        yield url


@pytest.mark.parametrize("wire", FOUR)
def test_a_whole_run_with_tools_and_a_question(wire: str, aimock: str) -> None:
    """Two files are read at once, the user is asked, and a reply without calls ends the run."""
    model = API_FORMATS[wire](
        ProviderEndpoint(aimock + ROOTS[wire], KEY, timeouts=SHORT_TIMEOUTS), "gpt-4o", UNKNOWN_LIMITS
    )
    files = {"a.txt": "one\ntwo", "b.txt": "three"}
    journey = drive_run(model, "count the lines", {"read": files.__getitem__, "ask_user": lambda question: "No."})
    assert journey.asked == [("read", "a.txt"), ("read", "b.txt"), ("ask_user", "Blank lines too?")]
    assert [reply.text for reply in journey.replies] == ["I look first.", "", "There are 3 lines."]
    assert journey.replies[0].reasoning == "Two files."
    assert all(reply.stop == "" for reply in journey.replies)


@pytest.mark.parametrize("wire", FOUR)
def test_rejected_parameters_are_understood(wire: str, aimock: str) -> None:
    model = API_FORMATS[wire](
        ProviderEndpoint(aimock + ROOTS[wire], KEY, timeouts=SHORT_TIMEOUTS), "gpt-4o", UNKNOWN_LIMITS
    )
    assert asyncio.run(gather(model, make_request(user_message("too long")))).kind == "too_long"
    assert asyncio.run(gather(model, make_request(user_message("nobody knows this")))).kind in (
        "model",
        "not_a_server",
        "rejected",
    )


@pytest.mark.parametrize("wire", FOUR)
def test_a_connection_closed_by_aimock(wire: str, aimock: str) -> None:
    model = API_FORMATS[wire](
        ProviderEndpoint(aimock + ROOTS[wire], KEY, timeouts=SHORT_TIMEOUTS), "gpt-4o", UNKNOWN_LIMITS
    )
    assert asyncio.run(gather(model, make_request(user_message("cut")))).kind == "cut"


@pytest.mark.parametrize("wire", FOUR)
def test_models_of_aimock_are_listed(wire: str, aimock: str) -> None:
    model = API_FORMATS[wire](ProviderEndpoint(aimock + ROOTS[wire], KEY, timeouts=SHORT_TIMEOUTS), "", UNKNOWN_LIMITS)
    listed = asyncio.run(model.list_models())
    assert "gpt-4o" in {one.id for one in listed}
    assert all(one.window is None or one.window > 0 for one in listed)


def test_aimock_received_what_we_sent(aimock: str, tmp_path: Path) -> None:
    """The journal of aimock shows no sampling parameters, and the API key only in its header."""
    model = API_FORMATS["chat"](
        ProviderEndpoint(f"{aimock}/v1", KEY, timeouts=SHORT_TIMEOUTS), "gpt-4o", UNKNOWN_LIMITS
    )
    asyncio.run(gather(model, make_request(user_message("too long"))))
    with urllib.request.urlopen(f"{aimock}/__aimock/journal") as response:
        bodies = json.dumps([entry["body"] for entry in json.load(response)])
    assert "too long" in bodies and "temperature" not in bodies and KEY not in bodies
