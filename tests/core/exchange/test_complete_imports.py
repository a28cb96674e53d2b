"""Nothing of a foreign transcript is lost silently: cut replies, early formats, compressed files, grader tokens."""

import asyncio
import gzip
import json
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import zstandard

from core.domain.events import Replied, RunEnded, SessionEvent, ToolReturned, UserMessage
from core.domain.problems import Problem
from tests.core.exchange.home import home

FOREIGN = Path(__file__).parents[2] / "golden" / "foreign"
CODEX = next((FOREIGN / "codex").glob("rollout-*.jsonl"))
QWEN = next((FOREIGN / "qwen-code").iterdir())


def imported_events(path: Path, data: Path) -> list[SessionEvent]:
    """Import a file and return the events of its first session."""

    async def read() -> list[SessionEvent]:
        async with home(data) as app:
            result = await app.exchange.import_file(path)
            return await app.events(result.sessions[0])

    return asyncio.run(read())


def write_lines(path: Path, *records: Any) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def replies(events: list[SessionEvent]) -> list[str]:
    return [event.text.head for event in events if isinstance(event, Replied)]


def test_qwen_code_is_not_taken_for_claude_code(tmp_path: Path) -> None:
    events = imported_events(QWEN, tmp_path / "a.db")
    first = next(event for event in events if isinstance(event, Replied))
    assert first.reasoning.head == "The user wants a note." and first.usage.cache_read == 20
    assert first.calls[0].tool == "write_file" and replies(events)[-1] == "The note says hello."


def test_an_import_that_understood_no_message_fails(tmp_path: Path) -> None:
    claude = {"sessionId": "s", "parentUuid": None, "type": "assistant", "message": {"role": "assistant", "body": "hi"}}
    with pytest.raises(Problem, match="None of its records is a message of Claude Code"):
        imported_events(write_lines(tmp_path / "s.jsonl", claude), tmp_path / "a.db")


def test_a_codex_file_with_only_metadata_is_refused_in_words(tmp_path: Path) -> None:
    count = {"total_token_usage": {"input_tokens": 9}, "last_token_usage": {"input_tokens": 9, "output_tokens": 1}}
    path = write_lines(
        tmp_path / "rollout-x.jsonl",
        {"type": "session_meta", "payload": {"id": "x", "cwd": "/"}},
        {"type": "event_msg", "payload": {"type": "token_count", "info": count}},
    )
    with pytest.raises(Problem, match="None of its records is a message of Codex"):
        imported_events(path, tmp_path / "a.db")


def test_codex_output_heads_and_reasoning_events_are_kept(tmp_path: Path) -> None:
    events = imported_events(CODEX, tmp_path / "a.db")
    result = next(event for event in events if isinstance(event, ToolReturned))
    assert "Wall time: 0.3599 seconds" in result.output.head and result.exit_code == 0
    thought = {"type": "event_msg", "payload": {"type": "agent_reasoning", "text": "**Looking**"}}
    repeated = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "**Looking**"}]}
    path = write_lines(
        tmp_path / "rollout-y.jsonl",
        {"type": "session_meta", "payload": {"id": "y"}},
        {"type": "response_item", "payload": {"type": "message", "role": "user", "content": "Go"}},
        thought,
        {"type": "response_item", "payload": repeated},
        {"type": "response_item", "payload": {"type": "message", "role": "assistant", "content": "Done"}},
    )
    (reply,) = [event for event in imported_events(path, tmp_path / "b.db") if isinstance(event, Replied)]
    assert (reply.reasoning.head, reply.text.head) == ("**Looking**", "Done")


def test_a_cut_opencode_reply_hides_no_later_message(tmp_path: Path) -> None:
    def message(name: str, role: str, text: str, **time: int) -> dict[str, Any]:
        info = {"id": name, "role": role, "time": {"created": 1_700_000_000_000, **time}}
        return {"info": info, "parts": [{"type": "text", "text": text}]}

    messages = [
        message("m1", "user", "first"),
        message("m2", "assistant", "cut of"),
        message("m3", "user", "second"),
        message("m4", "assistant", "whole", completed=1_700_000_001_000),
    ]
    path = tmp_path / "export.json"
    path.write_text(json.dumps({"info": {"id": "s", "projectID": "p"}, "messages": messages}))
    events = imported_events(path, tmp_path / "a.db")
    assert replies(events) == ["cut of", "whole"]
    assert [event.text.head for event in events if isinstance(event, UserMessage)] == ["first", "second"]


def test_an_opencode_session_that_was_just_stopped_is_imported_to_its_end(tmp_path: Path) -> None:
    """OpenCode gives neither the reply nor its call an end when it is stopped or killed while the call waits."""
    now = int(time.time() * 1000)
    user = {"role": "user", "time": {"created": now}}
    cut = {"role": "assistant", "time": {"created": now}}
    call = {"type": "tool", "tool": "bash", "callID": "c1"}
    state = {"status": "running", "input": {"command": "make"}, "time": {"start": now}}
    parts = [
        ("m1", {"type": "text", "text": "build it"}),
        ("m2", {"type": "text", "text": "I build it.", "time": {"start": now, "end": now}}),
        ("m2", {**call, "state": state}),
        ("m3", {"type": "text", "text": "go on"}),
    ]
    path = tmp_path / "opencode.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE project (id)")
        db.execute("CREATE TABLE session (id, parent_id, directory, title, time_created, time_updated)")
        db.execute("CREATE TABLE message (id, session_id, time_created, data)")
        db.execute("CREATE TABLE part (id, message_id, data)")
        db.execute("INSERT INTO session VALUES ('s', NULL, '/', 'Now', ?, ?)", (now, now))
        for number, (name, info) in enumerate((("m1", user), ("m2", cut), ("m3", user))):
            db.execute("INSERT INTO message VALUES (?, 's', ?, ?)", (name, now + number, json.dumps(info)))
        for number, (name, part) in enumerate(parts):
            db.execute("INSERT INTO part VALUES (?, ?, ?)", (f"p{number}", name, json.dumps(part)))
        db.commit()
    events = imported_events(path, tmp_path / "a.db")
    (reply,) = [event for event in events if isinstance(event, Replied)]
    assert reply.text.head == "I build it." and [call.tool for call in reply.calls] == ["bash"]
    assert not [event for event in events if isinstance(event, ToolReturned)]
    assert [event.text.head for event in events if isinstance(event, UserMessage)] == ["build it", "go on"]
    (end,) = [event for event in events if isinstance(event, RunEnded)]
    assert (end.status, end.reason) == ("stopped", "the reply was interrupted")


def test_atif_observations_without_calls_stay_apart(tmp_path: Path) -> None:
    steps = [
        {"source": "agent", "message": f"step {n}", "observation": {"results": [{"content": f"seen {n}"}]}}
        for n in range(3)
    ]
    path = tmp_path / "t.json"
    path.write_text(json.dumps({"schema_version": "ATIF-v1.8", "session_id": "s", "steps": steps}))
    results = [event for event in imported_events(path, tmp_path / "a.db") if isinstance(event, ToolReturned)]
    assert [result.output.head for result in results] == ["seen 0", "seen 1", "seen 2"]
    assert len({result.call_id for result in results}) == 3


def test_tokens_of_an_inspect_grader_are_counted(tmp_path: Path) -> None:
    def event(role: str | None, text: str, input: int) -> dict[str, Any]:
        output = {"choices": [{"message": {"role": "assistant", "content": text}}], "model": role or "m"}
        return {"event": "model", "role": role, "output": {**output, "usage": {"input_tokens": input}}}

    sample = {
        "id": 1,
        "messages": [{"role": "user", "content": "Q"}, {"role": "assistant", "content": "A"}],
        "events": [event(None, "A", 10), event("grader", "GRADE: C", 7)],
        "scores": {"grade": {"value": "C"}},
    }
    path = tmp_path / "log.json"
    path.write_text(json.dumps({"version": 2, "eval": {"task": "t", "eval_id": "e"}, "samples": [sample]}))
    events = imported_events(path, tmp_path / "a.db")
    assert sum(event.usage.input for event in events if isinstance(event, Replied)) == 17


def test_a_swe_agent_history_keeps_every_observation(tmp_path: Path) -> None:
    history = [
        {"role": "user", "content": "Fix it"},
        {"role": "assistant", "content": "Look", "action": "ls"},
        {"role": "user", "content": "a.py"},
        {"role": "user", "content": "y" * 100_000},
    ]
    path = tmp_path / "h.traj"
    path.write_text(json.dumps({"history": history}))
    (result,) = [event for event in imported_events(path, tmp_path / "a.db") if isinstance(event, ToolReturned)]
    assert result.output.size == len("a.py\n") + 100_000


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_compressed_transcripts_are_the_same_session(suffix: str, tmp_path: Path) -> None:
    compress = gzip.compress if suffix == ".gz" else zstandard.ZstdCompressor().compress
    for path in (CODEX, QWEN, FOREIGN / "atif" / "trajectory.json"):
        packed = tmp_path / f"{path.name}{suffix}"
        packed.write_bytes(compress(path.read_bytes()))

        async def read(packed: Path = packed, path: Path = path) -> None:
            async with home(tmp_path / "a.db") as app:
                first = await app.exchange.import_file(packed)
                again = await app.exchange.import_file(path)
                assert first.added_events and not again.added_events and again.sessions[0] == first.sessions[0]

        asyncio.run(read())


def test_a_damaged_compressed_transcript_says_so(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl.gz"
    path.write_bytes(gzip.compress(CODEX.read_bytes())[:200])
    with pytest.raises(Problem, match=r"cannot be read to its end|compressed data is damaged"):
        imported_events(path, tmp_path / "a.db")


def test_a_lone_surrogate_in_a_document_is_kept_as_its_escape(tmp_path: Path) -> None:
    whole = json.loads((FOREIGN / "swe-agent" / "mend.traj").read_text())
    whole["trajectory"][0]["observation"] = "cut \ud83d here"
    (path := tmp_path / "mend.traj").write_text(json.dumps(whole))
    outputs = [
        event.output.head for event in imported_events(path, tmp_path / "a.db") if isinstance(event, ToolReturned)
    ]
    assert outputs[0] == r"cut \ud83d here"
