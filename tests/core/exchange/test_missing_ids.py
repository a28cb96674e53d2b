"""Transcripts without IDs: each call keeps its own result, and each session stays a session of its own."""

import asyncio
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from core.domain.events import Replied, SessionEvent, ToolReturned, UserMessage
from tests.core.exchange.home import home

Lines = list[Any]  # one JSON value for each line of a file
TASK, FINAL = {"role": "user", "content": "Look."}, {"role": "assistant", "content": "Done."}
CHAT_CALLS = {
    "role": "assistant",
    "content": "",
    "tool_calls": [{"function": {"name": name, "arguments": "{}"}} for name in ("first", "second")],
}
CHAT_RESULTS = [{"role": "tool", "content": "one"}, {"role": "tool", "content": "two"}]
CHAT = [TASK, CHAT_CALLS, *CHAT_RESULTS, FINAL]


def openhands_0() -> Lines:
    actions: Lines = [{"source": "agent", "action": name, "args": {}} for name in ("first", "second")]
    answers = [{"source": "agent", "observation": "run", "content": text} for text in ("one", "two")]
    task = {"source": "user", "action": "message", "args": {"content": "Look."}}
    return [{"instance_id": "a", "history": [task, *actions, *answers]}]


def openhands_1() -> Lines:
    task = {"kind": "MessageEvent", "source": "user", "llm_message": {"content": "Look."}}
    actions = [{"kind": "ActionEvent", "source": "agent", "tool_name": name} for name in ("first", "second")]
    answers = [
        {"kind": "ObservationEvent", "source": "environment", "observation": {"content": "one"}},
        {"kind": "AgentErrorEvent", "source": "agent", "error": "two"},
    ]
    return [task, *actions, *answers]


def hermes() -> Lines:
    return [{"id": "a", "source": "cli", "system_prompt": "", "started_at": 1_700_000_000, "messages": CHAT}]


def inspect_log() -> Lines:
    return [{"version": 2, "eval": {"task": "t", "eval_id": "e"}, "samples": [{"id": 1, "messages": CHAT}]}]


def parts_span(number: int, messages: Lines, calls: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return a span of a request in the GenAI convention, whose reply makes calls."""
    parts: Lines = [{"type": "tool_call", "name": name, "arguments": {}} for name in calls]
    parts = parts or [{"type": "text", "content": "Done."}]
    reply = [{"role": "assistant", "parts": parts}]
    values = {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": json.dumps(messages),
        "gen_ai.output.messages": json.dumps(reply),
    }
    return {
        "traceId": "a" * 32,
        "spanId": f"{number:016x}",
        "parentSpanId": "f" * 16,
        "name": "chat m",
        "startTimeUnixNano": str(1_700_000_000_000_000_000 + number * 1_000_000),
        "endTimeUnixNano": str(1_700_000_000_000_000_000 + number * 1_000_000 + 500_000),
        "attributes": [{"key": key, "value": {"stringValue": value}} for key, value in values.items()],
    }


def opentelemetry() -> Lines:
    user = {"role": "user", "parts": [{"type": "text", "content": "Look."}]}
    one, two = (
        {"role": "tool", "parts": [{"type": "tool_call_response", "response": text}]} for text in ("one", "two")
    )
    spans = [
        parts_span(1, [user], ("first",)),
        parts_span(2, [user, one], ("second",)),
        parts_span(3, [user, one, two]),
    ]
    return [{"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}]


def mini_swe_agent() -> Lines:
    return [{"trajectory_format": "mini-swe-agent-1", "info": {}, "messages": CHAT}]


def gemini() -> Lines:
    calls = [
        {
            "name": name,
            "args": {},
            "status": "success",
            "result": [{"functionResponse": {"response": {"output": text}}}],
        }
        for name, text in (("first", "one"), ("second", "two"))
    ]
    user = {"id": "u", "type": "user", "content": "Look."}
    return [
        {
            "sessionId": "s",
            "projectHash": "p",
            "messages": [user, {"id": "g", "type": "gemini", "content": "", "toolCalls": calls}],
        }
    ]


def outputs_by_tool(events: list[SessionEvent]) -> list[tuple[str, str]]:
    """Return the name of each call that a reply makes, with the output of its result."""
    outputs = {event.call_id: event.output.head for event in events if isinstance(event, ToolReturned)}
    calls = [call for event in events if isinstance(event, Replied) for call in event.calls]
    return [(call.tool, outputs.get(call.id, "")) for call in calls]


CASES = {
    "openhands-0.jsonl": openhands_0(),
    "openhands-1.jsonl": openhands_1(),
    "hermes.jsonl": hermes(),
    "inspect.json": inspect_log(),
    "opentelemetry.json": opentelemetry(),
    "mini.traj.json": mini_swe_agent(),
    "session-gemini.json": gemini(),
}


@pytest.mark.parametrize("name", CASES)
def test_each_call_without_an_id_has_its_own_result(name: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_text("".join(f"{json.dumps(line)}\n" for line in CASES[name]))

    async def main() -> None:
        async with home(tmp_path / "a.db") as made:
            brought = await made.exchange.import_file(file)
            events = await made.events(brought.session)
            assert outputs_by_tool(events) == [("first", "one"), ("second", "two")]
            assert sum(isinstance(event, ToolReturned) for event in events) == 2

    asyncio.run(main())


def evaluation(path: Path) -> None:
    histories = [[{"source": "user", "action": "message", "args": {"content": text}}] for text in ("one", "two")]
    lines = [{"instance_id": id, "history": history} for id, history in zip(("", None), histories, strict=True)]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def hermes_export(path: Path) -> None:
    session = {"source": "cli", "system_prompt": "", "started_at": 1_700_000_000}
    lines = [{**session, "messages": [{"role": "user", "content": text}]} for text in ("one", "two")]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))


SAMPLES = [{"messages": [{"role": "user", "content": text}]} for text in ("one", "two")]


def inspect_json(path: Path) -> None:
    path.write_text(json.dumps({"version": 2, "eval": {"task": "t", "eval_id": "e"}, "samples": SAMPLES}))


def inspect_archive(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as log:
        log.writestr("header.json", json.dumps({"eval": {"task": "t", "eval_id": "e"}}))
        for number, sample in enumerate(SAMPLES):
            log.writestr(f"samples/{number}.json", json.dumps(sample))


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("output.jsonl", evaluation),
        ("hermes.jsonl", hermes_export),
        ("log.json", inspect_json),
        ("log.eval", inspect_archive),
    ],
    ids=["OpenHands", "Hermes", "Inspect", "Inspect archive"],
)
def test_sessions_without_ids_stay_apart(name: str, write: Any, tmp_path: Path) -> None:
    write(tmp_path / name)

    async def main() -> None:
        async with home(tmp_path / "a.db") as made:
            brought = await made.exchange.import_file(tmp_path / name)
            assert len(brought.sessions) == 2
            tasks = [
                event.text.head
                for session in brought.sessions
                for event in await made.events(session)
                if isinstance(event, UserMessage)
            ]
            assert tasks == ["one", "two"]
            assert (await made.exchange.import_file(tmp_path / name)).added_events == 0

    asyncio.run(main())
