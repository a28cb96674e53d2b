"""Compares imported transcripts with an independent count: `python -m tests.bench.foreign_transcripts FOLDER...`.

Every file below the folders is imported, in a scratch data folder. The counters here read the files without the code of
the importers: they count what the user wrote, the calls, the results and the tokens. The transcripts are not part of
this project. The exit code is 1 if a count differs or an import fails; refused files are listed with the reason.
"""

import asyncio
import json
import re
import sqlite3
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from core.domain.events import Replied, ToolReturned, UserMessage
from core.domain.import_events import UnrecognizedRecordsKept
from core.domain.problems import Problem
from core.exchange.transcript_reader import detect_importer
from tests.bench.benchmark import scratch_folder
from tests.core.exchange.home import home

Count = Mapping[str, int]
NOTHING: Count = MappingProxyType({})
FIGURES = ("messages", "calls", "results", "input", "output")


class Outcome(NamedTuple):
    """What became of a file: its program, counts here, those of the independent counter, and why it was refused."""

    path: Path
    agent: str
    sessions: int = 0
    found: Count = NOTHING
    kept: int = 0
    expected: Count = NOTHING
    refused: str = ""

    @property
    def equal(self) -> bool:
        return all(self.found[name] == number for name, number in self.expected.items())


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_text("utf-8", "replace").splitlines():
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            yield value


def _blocks(content: Any, kind: str) -> int:
    parts = content if isinstance(content, list) else []
    return sum(isinstance(part, dict) and part.get("type") == kind for part in parts)


def _claude_code(path: Path) -> Count:
    below = sorted((path.with_suffix("") / "subagents").glob("*.jsonl"))
    contents = [
        record["message"].get("content")
        for file in (path, *below)
        for record in _lines(file)
        if record.get("type") in ("user", "assistant") and isinstance(record.get("message"), dict)
    ]
    return {
        "calls": sum(_blocks(content, "tool_use") for content in contents),
        "results": sum(_blocks(content, "tool_result") for content in contents),
    }


def _codex(path: Path) -> Count:
    records = list(_lines(path))
    if "thread_id" in records[0]:  # what `codex exec` prints
        items = [record["item"] for record in records if record.get("type") == "item.completed"]
        plain = sum(item.get("type") in ("agent_message", "reasoning", "error") for item in items)
        return {"calls": len(items) - plain, "results": len(items) - plain}
    enveloped = any(record.get("type") == "response_item" for record in records)
    items = [record["payload"] for record in records if record.get("type") == "response_item"] if enveloped else records
    kinds = Counter(item.get("type") for item in items)
    calls = sum(kinds[name] for name in ("function_call", "custom_tool_call", "local_shell_call", "web_search_call"))
    return {"calls": calls, "results": kinds["function_call_output"] + kinds["custom_tool_call_output"]}


def _droid(path: Path) -> Count:
    contents = [record["message"].get("content") for record in _lines(path) if record.get("type") == "message"]
    settings = path.with_suffix(".settings.json")
    used = json.loads(settings.read_bytes()).get("tokenUsage", {}) if settings.is_file() else {}
    input = sum(used.get(name, 0) for name in ("inputTokens", "cacheReadTokens", "cacheCreationTokens"))
    return {
        "calls": sum(_blocks(content, "tool_use") for content in contents),
        "results": sum(_blocks(content, "tool_result") for content in contents),
        "input": input, "output": used.get("outputTokens", 0),
    }  # fmt: skip


def _kimi(path: Path) -> Count:
    text = path.read_text("utf-8")
    records = list(_lines(path))
    if any("role" in record for record in records):
        roles = Counter(record.get("role") for record in records)
        calls = sum(len(record.get("tool_calls") or []) for record in records)
        return {"messages": roles["user"], "calls": calls, "results": roles["tool"]}
    if "message" in (records[1] if len(records) > 1 else {}):
        used = [json.loads(found) for found in re.findall(r'"token_usage": (\{[^}]*\})', text)]
        kinds = Counter(re.findall(r'"type": "(TurnBegin|SteerInput|ToolCall|ToolResult)"', text))
        messages, calls, results = kinds["TurnBegin"] + kinds["SteerInput"], kinds["ToolCall"], kinds["ToolResult"]
        names, written = ("input_other", "input_cache_read", "input_cache_creation"), "output"
    else:
        used = [record["usage"] for record in records if record["type"] == "usage.record"]
        events = [record["event"]["type"] for record in records if record["type"] == "context.append_loop_event"]
        messages = sum(record["type"] in ("turn.prompt", "turn.steer") for record in records)
        calls, results = events.count("tool.call"), events.count("tool.result")
        names, written = ("inputOther", "inputCacheRead", "inputCacheCreation"), "output"
    input = sum(one.get(name, 0) for one in used for name in names)
    output = sum(one.get(written, 0) for one in used)
    return {"messages": messages, "calls": calls, "results": results, "input": input, "output": output}


def _hermes(path: Path) -> Count:
    if path.suffix != ".db":
        return {}
    with closing(sqlite3.connect(path)) as db:

        def one(query: str) -> int:
            return int(db.execute(query).fetchone()[0] or 0)

        calls = db.execute("SELECT tool_calls FROM messages WHERE tool_calls IS NOT NULL").fetchall()
        return {
            "messages": one("SELECT count(*) FROM messages WHERE role = 'user'"),
            "calls": sum(len(json.loads(row[0])) for row in calls),
            "results": one("SELECT count(*) FROM messages WHERE role = 'tool'"),
            "input": one("SELECT sum(input_tokens + cache_read_tokens + cache_write_tokens) FROM sessions"),
            "output": one("SELECT sum(output_tokens) FROM sessions"),
        }


def _aider(path: Path) -> Count:
    messages = edits = 0
    for session in re.split(r"^# aider chat started at .*$", path.read_text("utf-8", "replace"), flags=re.MULTILINE):
        ends = {}
        for mark in ("####", ">"):
            first = re.search(rf"^{mark} .*$", session, re.MULTILINE)
            ends[mark] = "  " if first and first.group().endswith("  ") else ""
        inputs = re.findall(rf"(?:^#### .*{ends['####']}\n)+", session, re.MULTILINE)
        messages += sum(not entry.startswith("#### /") for entry in inputs)
        edits += len(re.findall(rf"^> Applied edit to .+{ends['>']}$", session, re.MULTILINE))
    return {"messages": messages, "calls": edits, "results": edits}


def _chatgpt(path: Path) -> Count:
    messages = calls = 0
    document = json.loads(path.read_bytes())
    for conversation in document if isinstance(document, list) else [document]:
        nodes = conversation["mapping"]
        node = conversation.get("current_node") or next(reversed(nodes), None)
        while node:
            message = nodes[node].get("message") or {}
            role = (message.get("author") or {}).get("role")
            parts = (message.get("content") or {}).get("parts") or []
            hidden = (message.get("metadata") or {}).get("is_visually_hidden_from_conversation")
            messages += role == "user" and any(parts) and not hidden
            calls += role == "assistant" and message.get("recipient", "all") != "all"
            node = nodes[node].get("parent")
    return {"messages": messages, "calls": calls}


def _slack(path: Path) -> Count:
    entries = [entry for file in path.parent.glob("*/*.json") for entry in json.loads(file.read_bytes())]
    plain = [entry for entry in entries if entry.get("subtype") not in ("channel_join", "channel_leave")]
    return {"messages": sum(bool(entry.get("text") or entry.get("files")) for entry in plain)}


def _swe_agent(path: Path) -> Count:
    document = json.loads(path.read_bytes())
    steps = document.get("trajectory") or [step for step in document["history"] if step["role"] == "assistant"]
    return {"calls": sum(bool(step.get("action", "").strip()) for step in steps)}


def _parts(content: Any) -> list[dict[str, Any]]:
    return [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []


def _pi(path: Path) -> Count:
    entries = list(_lines(path))
    messages = [entry["message"] for entry in entries if entry.get("type") == "message"]
    roles = Counter(message.get("role") for message in messages)
    used = [message["usage"] for message in messages if message.get("role") == "assistant" and message.get("usage")]
    added = sum(entry.get("type") == "custom_message" and bool(entry.get("content")) for entry in entries)
    commands = roles["bashExecution"]  # each is a message, a call and a result
    return {
        "messages": roles["user"] + added + commands,
        "calls": sum(_blocks(message.get("content"), "toolCall") for message in messages) + commands,
        "results": roles["toolResult"] + commands,
        "input": sum(one.get(name) or 0 for one in used for name in ("input", "cacheRead", "cacheWrite")),
        "output": sum(one.get("output") or 0 for one in used),
    }


def _copilot_cli(path: Path) -> Count:
    events = [(event.get("type"), event.get("data") or {}) for event in _lines(path)]
    asked = [request["toolCallId"] for _, data in events for request in data.get("toolRequests") or []]
    done = [data["toolCallId"] for kind, data in events if kind == "tool.execution_complete"]
    recorded = [data["usage"] for kind, data in events if kind == "session.usage_record"]
    totals = [model.get("usage") or {} for kind, data in events if kind == "session.shutdown" and not recorded
              for model in (data.get("modelMetrics") or {}).values()]  # fmt: skip
    used = [*recorded, *totals]
    return {
        "messages": sum(kind == "user.message" for kind, _ in events),
        "calls": len(asked),
        "results": len(done),
        "input": sum(one.get("inputTokens") or 0 for one in used),
        "output": sum(one.get("outputTokens") or 0 for one in used),
    }


def _cursor(path: Path) -> Count:
    if path.suffix == ".db":
        with closing(sqlite3.connect(path)) as db:
            blobs = [bytes(row[0]) for row in db.execute("SELECT data FROM blobs")]
        records = [json.loads(blob) for blob in blobs if blob.startswith(b'{"')]
    else:
        records = list(_lines(path))
    messages = calls = results = 0
    for record in records:
        parts = _parts(record.get("content") or (record.get("message") or {}).get("content"))
        kinds = Counter(part.get("type") for part in parts)
        text = "".join(part.get("text") or "" for part in parts)
        messages += record.get("role") == "user" and bool(text) and ("<user_query>" in text or text[:1] != "<")
        calls += kinds["tool-call"] + kinds["tool_use"]
        results += kinds["tool-result"]
    return {"messages": messages, "calls": calls, "results": results}


def _qwen_code(path: Path) -> Count:
    records = list(_lines(path))
    parts = [(record.get("type"), part) for record in records
             for part in _parts((record.get("message") or {}).get("parts"))]  # fmt: skip
    written = [record for record in records if record.get("type") == "user"]
    used = [record["usageMetadata"] for record in records if record.get("usageMetadata")]
    return {
        "messages": sum(record.get("subtype") in (None, "mid_turn_user_message") for record in written),
        "calls": sum(kind == "assistant" and "functionCall" in part for kind, part in parts),
        "results": sum(kind == "tool_result" and "functionResponse" in part for kind, part in parts),
        "input": sum(one.get("promptTokenCount") or 0 for one in used),
    }


def _mini_swe_agent(path: Path) -> Count:
    document = json.loads(path.read_bytes())
    messages = document["messages"] if isinstance(document, dict) else document
    roles = Counter(message.get("role") for message in messages)
    replies = [message for message in messages if message.get("role") == "assistant"]
    extras = [reply.get("extra") or {} for reply in replies]
    used = [(extra.get("response") or {}).get("usage") or {} for extra in extras]
    called = sum(len(reply.get("tool_calls") or []) for reply in replies)
    if not called and any("actions" in extra for extra in extras):
        called = sum(len(extra.get("actions") or []) for extra in extras)
    elif not called:
        answered = [message for message, answer in pairwise(messages) if answer["role"] == "user"]
        texts = [str(message["content"]) for message in answered if message["role"] == "assistant"]
        called = sum(len(re.findall(r"```(?:mswea_bash_command|bash)\s*\n", text)) == 1 for text in texts)
    count = {"calls": called} | {
        name: sum(one.get(field) or 0 for one in used)
        for name, field in (("input", "prompt_tokens"), ("output", "completion_tokens"))
    }
    return count | ({"messages": roles["user"], "results": roles["tool"]} if roles["tool"] else {})


COUNTERS: Mapping[str, Callable[[Path], Count]] = {
    "Claude Code": _claude_code, "Codex": _codex, "Droid": _droid, "Kimi": _kimi, "Hermes": _hermes, "Aider": _aider,
    "ChatGPT": _chatgpt, "Slack": _slack, "SWE-agent": _swe_agent, "pi": _pi, "Copilot CLI": _copilot_cli,
    "Cursor": _cursor, "Qwen Code": _qwen_code, "mini-swe-agent": _mini_swe_agent,
}  # fmt: skip


async def compare(path: Path, scratch: Path) -> Outcome:
    """Import a file and count what was imported."""
    try:
        agent = detect_importer(path).agent
    except Problem as problem:
        return Outcome(path, "", refused=problem.details.cause)
    async with home(scratch / "a.db") as made:
        try:
            brought = await made.exchange.import_file(path)
        except Problem as problem:
            return Outcome(path, agent, refused=problem.details.cause)
        events = [event for session in brought.sessions for event in await made.events(session)]
    replies = [event for event in events if isinstance(event, Replied)]
    found = {
        "messages": sum(isinstance(event, UserMessage) for event in events),
        "calls": sum(len(reply.calls) for reply in replies),
        "results": sum(isinstance(event, ToolReturned) for event in events),
        "input": sum(reply.usage.input for reply in replies),
        "output": sum(reply.usage.output for reply in replies),
    }
    kept = sum(event.count for event in events if isinstance(event, UnrecognizedRecordsKept))
    counter = COUNTERS.get(agent)
    return Outcome(path, agent, len(brought.sessions), found, kept, counter(path) if counter else {})


def _report(outcomes: list[Outcome]) -> bool:
    """Print a line for each program, the differences and the refused files. Return whether all counts are equal."""
    for agent in sorted({outcome.agent for outcome in outcomes if outcome.sessions}):
        those = [outcome for outcome in outcomes if outcome.agent == agent and outcome.sessions]
        totals = "  ".join(f"{name} {sum(outcome.found[name] for outcome in those):,}" for name in FIGURES)
        compared = sum(bool(outcome.expected) for outcome in those)
        equal = sum(bool(outcome.expected) and outcome.equal for outcome in those)
        sessions, kept = (sum(getattr(outcome, name) for outcome in those) for name in ("sessions", "kept"))
        print(f"{agent}: files {len(those)}  sessions {sessions}  {totals}  kept {kept}  equal {equal} of {compared}")
    differing = [outcome for outcome in outcomes if not outcome.equal]
    for outcome in differing:
        print(f"DIFFERS {outcome.path}: {dict(outcome.found)} instead of {dict(outcome.expected)}")
    refused = Counter((outcome.agent or "no importer", outcome.refused) for outcome in outcomes if outcome.refused)
    for (agent, reason), number in refused.most_common():
        print(f"refused {number}: {agent}: {reason}")
    return not differing


def main(folders: list[str]) -> int:
    """Return exit code 0 if all counts are equal, 1 if one differs, 2 for a usage error."""
    if not folders:
        print("usage: python -m tests.bench.foreign_transcripts FOLDER...", file=sys.stderr)
        return 2
    outcomes = []
    for path in sorted(file for folder in folders for file in Path(folder).rglob("*") if file.is_file()):
        with scratch_folder() as scratch:
            outcomes.append(asyncio.run(compare(path, scratch)))
    return 0 if _report(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
