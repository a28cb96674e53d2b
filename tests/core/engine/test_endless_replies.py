"""A model that writes the same passage without end: its reply is stopped, the user sees why, and the run goes on."""

import json
from pathlib import Path
from typing import Any

import pytest

from core.domain.events import HarnessMessage, Replied, RunEnded, RunStarted, SessionEvent
from core.models.repetition import ARGUMENTS_TAIL
from core.models.stop_reasons import REPEATED
from core.settings.schema import Provider
from tests.core.engine.harness import open_engine, run_bounded
from tests.servers.scripted_server import ScriptedServer, ServerAction, answer, chunk, scripted_server, stream

LISTING = answer(json.dumps({"data": [{"id": "m"}]}).encode(), "application/json")
DONE = answer(stream(chunk(content="All done."), chunk("stop")))
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
PASSAGE = "I have to think about this again. "


def endless(first: dict[str, Any]) -> list[ServerAction]:
    """Return an answer that begins with this delta and then never ends."""
    return [HEAD + stream(chunk(**first), end=""), "drip"]


async def run_with(
    tmp_path: Path, repeated: dict[str, Any], *answers: list[ServerAction]
) -> tuple[str, list[SessionEvent], ScriptedServer]:
    drip = stream(chunk(**repeated), end="")
    async with scripted_server(LISTING, *answers, drip=drip) as server, open_engine(tmp_path) as scene:
        scene.engine.settings.change(providers=(Provider(name="box", url=server.url),))
        session = await scene.engine.start("Go.", scene.folder, RunStarted("box/m", mode="auto"))
        await scene.engine.wait_idle(session)
        assert scene.bugs == []
        return scene.status(session), await scene.events(session), server


def events_of(kind: type, events: list[SessionEvent]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


@pytest.mark.parametrize("field", ["content", "reasoning_content"])
def test_an_endless_reply_is_stopped_and_the_model_is_told_once(field: str, tmp_path: Path) -> None:
    async def main() -> None:
        first = endless({field: "Let me see. "})
        status, events, server = await run_with(tmp_path, {field: PASSAGE * 30}, first, DONE)
        stopped, last = events_of(Replied, events)
        kept = stopped.text.head if field == "content" else stopped.reasoning.head
        assert (status, last.text.head) == ("done", "All done.")
        assert stopped.stop_reason == REPEATED and "repeated the same passage" in stopped.note
        assert kept.startswith("Let me see. ") and kept.count("think about") == 1
        (told,) = events_of(HarnessMessage, events)
        sent = server.requests[-1].json["messages"][-1]["content"]
        assert told.text.head in sent and "without end" in sent

    run_bounded(main())


def test_a_model_that_goes_on_repeating_itself_ends_the_run(tmp_path: Path) -> None:
    async def main() -> None:
        reply = endless({"content": "Let me see. "})
        status, events, _ = await run_with(tmp_path, {"content": PASSAGE * 30}, reply)
        (ended,) = events_of(RunEnded, events)
        assert status == "failed" and "repeats the same passage" in ended.reason
        assert len(events_of(Replied, events)) == 2

    run_bounded(main())


def test_endless_arguments_make_no_call(tmp_path: Path) -> None:
    async def main() -> None:
        def fragment(**function: str) -> dict[str, Any]:
            return {"tool_calls": [{"index": 0, "function": function}]}

        first = fragment(name="write", arguments='{"path": "a.txt", "content": "')
        first["tool_calls"][0]["id"] = "c"
        repeated = fragment(arguments="0, " * (ARGUMENTS_TAIL // 30))
        status, events, _ = await run_with(tmp_path, repeated, endless(first), DONE)
        stopped, _ = events_of(Replied, events)
        assert status == "done" and stopped.calls == () and stopped.stop_reason == REPEATED

    run_bounded(main())
