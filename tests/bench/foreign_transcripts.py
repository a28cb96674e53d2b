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
    items = [record["payload"] for record in _lines(path) if record.get("type") == "response_item"]
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
    for conversation in json.loads(path.read_bytes()):
        node, nodes = conversation.get("current_node"), conversation["mapping"]
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


COUNTERS: Mapping[str, Callable[[Path], Count]] = {
    "Claude Code": _claude_code, "Codex": _codex, "Droid": _droid, "Kimi": _kimi, "Hermes": _hermes, "Aider": _aider,
    "ChatGPT": _chatgpt, "Slack": _slack, "SWE-agent": _swe_agent,
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
