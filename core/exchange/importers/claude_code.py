"""Imports Claude Code sessions: a JSON Lines file for each, and one for each sub-agent in a folder next to it."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from core.domain.events import Usage
from core.exchange.importers.followable import AppendedLines, ReadNewRecords
from core.exchange.importers.foreign_call import plain_text
from core.exchange.importers.message_parts import images, parse_usage, reasoning_text, tool_use_calls
from core.exchange.importers.record import (
    OpenSession,
    SessionFiles,
    TranscriptRecord,
    parse_count,
    parse_time,
    plain_path,
    read_lines,
)
from core.exchange.importers.session_builder import SessionBuilder
from core.timeline.text_diff import line_counts

EDITS = ("Edit", "MultiEdit", "Write")
CONVERTED = frozenset({"user", "assistant", "summary", "system"})
COMMAND = re.compile(r"<command-name>(.*?)</command-name>(?:.*?<command-args>(.*?)</command-args>)?", re.DOTALL)
INTERRUPTED = "[Request interrupted by user"
MAX_FILE = 1 << 20  # characters of both states of a changed file; larger ones are not stored


class ClaudeCodeImporter:
    agent = "Claude Code"
    default_locations: tuple[str, ...] = (".claude/projects/*/*.jsonl",)

    def recognizes(self, path: Path, head: bytes) -> bool:
        return (
            plain_path(path).suffix == ".jsonl"
            and b'"sessionId"' in head
            and (b'"parentUuid"' in head or b'"leafUuid"' in head or b'"operation"' in head)
        )

    def read_records(self, path: Path) -> Iterator[TranscriptRecord]:
        size = 0
        for file, key in self._files(path):
            yield from read_lines(file, key, size)
            size += file.stat().st_size

    def follow(self, path: Path) -> ReadNewRecords:
        return AppendedLines(lambda: self._files(path))

    def _files(self, path: Path) -> SessionFiles:
        name = plain_path(path).stem
        below = sorted((path.with_name(name) / "subagents").glob("*.jsonl"))
        return [(path, name), *((child, f"{name}/{child.stem.removeprefix('agent-')}") for child in below)]

    def convert(self, record: TranscriptRecord, builder: SessionBuilder, open_session: OpenSession) -> bool:
        data = record.value
        if not isinstance(data, dict):
            return False
        if data.get("isSidechain") is True and "/" not in builder.key:
            builder = _sidechain(data, builder, open_session)
        elif "/" in builder.key and not builder.has_events():
            _set_parent(builder, open_session)
        if not builder.has_events():
            builder.set_details(folder=str(data.get("cwd") or ""))
        return _line(data, builder)


def _line(data: dict[str, Any], builder: SessionBuilder) -> bool:
    if data.get("type") not in CONVERTED:
        return False
    at = parse_time(data.get("timestamp"))
    match data.get("type"):
        case "user" if isinstance(data.get("message"), dict):
            return _user(data, data["message"], at, builder)
        case "assistant" if isinstance(data.get("message"), dict):
            _assistant(data["message"], at, builder)
            return True
        case "summary" if isinstance(data.get("summary"), str) and not builder.has_events():
            builder.set_details(title=data["summary"])
            return True
        case "system" if data.get("subtype") == "compact_boundary":
            metadata = data.get("compactMetadata") or {}
            builder.add_compaction(f"compacted by Claude Code ({metadata.get('trigger', 'auto')})",
                              before=parse_count(metadata.get("preTokens")), at=at)  # fmt: skip
            return True
        case _:
            return False


def _user(data: dict[str, Any], message: dict[str, Any], at: int, builder: SessionBuilder) -> bool:
    content = message.get("content")
    results = [part for part in content if _is(part, "tool_result")] if isinstance(content, list) else []
    for part in results:
        _result(part, data.get("toolUseResult"), at, builder)
    text = plain_text(content)
    if data.get("isCompactSummary"):
        builder.add_compaction("summary of the earlier conversation", text, at=at)
        return True
    if data.get("isMeta") or text.startswith(("<local-command-", "Caveat:")):
        return bool(results)
    if text.startswith(INTERRUPTED):
        builder.stop_run("interrupted by the user", at)
        return True
    if command := COMMAND.search(text):
        text = " ".join(filter(None, command.groups())).strip()
    files = images(content if isinstance(content, list) else [])
    if text or files:
        builder.add_user_message(text, at, files)
    return bool(text or files or results)


def _assistant(message: dict[str, Any], at: int, builder: SessionBuilder) -> None:
    content = message.get("content")
    usage = parse_usage(message.get("usage"))
    model = str(message.get("model") or "")
    builder.add_reply(
        plain_text([part for part in content if _is(part, "text")] if isinstance(content, list) else content),
        at=at, id=str(message.get("id") or ""), reasoning=reasoning_text(content), calls=tool_use_calls(content),
        usage=usage if usage != Usage() else None, model="" if model == "<synthetic>" else model,
        stop=_stop(message.get("stop_reason")),
    )  # fmt: skip
    tasks, edits = builder.state.setdefault("tasks", {}), builder.state.setdefault("edits", {})
    for part in content if isinstance(content, list) else []:
        if _is(part, "tool_use") and part.get("name") in EDITS and isinstance(part.get("input"), dict):
            edits[part.get("id")] = part["input"]
        if _is(part, "tool_use") and isinstance(part.get("input"), dict) and part["input"].get("prompt"):
            tasks[part["input"]["prompt"]] = (part.get("id"), part["input"])


def _result(part: dict[str, Any], tool_result: Any, at: int, builder: SessionBuilder) -> None:
    call, failed = str(part.get("tool_use_id") or ""), part.get("is_error") is True
    edit = builder.state.get("edits", {}).pop(call, None)
    if isinstance(tool_result, dict):
        if agent := tool_result.get("agentId"):
            tasks: dict[str, tuple[Any, dict[str, Any]]] = builder.state.get("tasks", {})
            arguments = next((input for id, input in tasks.values() if id == call), {})
            child, called = f"{builder.key.split('/')[0]}/{agent}", str(arguments.get("subagent_type") or "agent")
            builder.start_subagent(call, child, called, str(arguments.get("prompt") or ""))
            builder.state.setdefault("agents", {})[str(agent)] = (builder.call_id(call), called)
            builder.end_subagent(call, child, str(tool_result.get("status") or "completed"))
        _changed(call, tool_result, builder)
    elif edit and not failed:
        _edited(call, edit, builder)
    builder.add_result(
        call, plain_text(part.get("content")), at=at, failed=failed,
        files=images(part["content"] if isinstance(part.get("content"), list) else []),
    )  # fmt: skip


def _changed(call: str, tool_result: dict[str, Any], builder: SessionBuilder) -> None:
    """Add a file change. Results of edits and writes contain the file as it was before."""
    path, before = tool_result.get("filePath"), tool_result.get("originalFile")
    if not isinstance(path, str) or not (before is None or isinstance(before, str)):
        return
    old, new = tool_result.get("oldString"), tool_result.get("newString")
    if isinstance(before, str) and isinstance(old, str) and isinstance(new, str):
        after = before.replace(old, new) if tool_result.get("replaceAll") else before.replace(old, new, 1)
    elif isinstance(tool_result.get("content"), str) and tool_result.get("type") in ("create", "update"):
        after = tool_result["content"]
    else:
        return
    if len(after) + len(before or "") <= MAX_FILE:
        patch = [line for hunk in tool_result.get("structuredPatch") or () if isinstance(hunk, dict)
                 for line in hunk.get("lines") or () if isinstance(line, str)]  # fmt: skip
        added = sum(line.startswith("+") for line in patch) or (len(after.splitlines()) if before is None else 0)
        builder.add_file_change(call, path, before, after, added, sum(line.startswith("-") for line in patch))


def _edited(call: str, arguments: dict[str, Any], builder: SessionBuilder) -> None:
    """Add a file change from the arguments of an edit, if its result is missing: only the replaced text is known."""
    path, edits = arguments.get("file_path"), arguments.get("edits")
    parts = [edit for edit in edits if isinstance(edit, dict)] if isinstance(edits, list) else [arguments]
    before = None if "content" in arguments else "\n".join(str(part.get("old_string") or "") for part in parts)
    after = "\n".join(str(part.get("new_string") or part.get("content") or "") for part in parts)
    if isinstance(path, str) and len(after) + len(before or "") <= MAX_FILE:
        added, removed = line_counts((before or "").encode(), after.encode()) or (0, 0)
        builder.add_file_change(call, path, before, after, added, removed)


def _sidechain(data: dict[str, Any], main: SessionBuilder, open_session: OpenSession) -> SessionBuilder:
    """Return the builder of a sub-agent. Older versions write its records between those of the main session."""
    sides: dict[str, str] = main.state.setdefault("sides", {})
    parent = data.get("parentUuid")
    key = sides.get(parent) if isinstance(parent, str) else None
    message = data.get("message")
    if key is None:
        key = f"{main.key}/{data.get('uuid')}"
        prompt = plain_text(message.get("content")) if isinstance(message, dict) else ""
        id, arguments = main.state.get("tasks", {}).get(prompt, ("", {}))
        side = open_session(key)
        called = str(arguments.get("subagent_type") or "agent")
        side.set_parent(main.key, main.call_id(id) if id else "", called)
        if id:
            main.start_subagent(id, key, called, prompt)
    if isinstance(data.get("uuid"), str):
        sides[data["uuid"]] = key
    return open_session(key)


def _set_parent(child: SessionBuilder, open_session: OpenSession) -> None:
    key, _, agent = child.key.partition("/")
    call, called = open_session(key).state.get("agents", {}).get(agent, ("", "agent"))
    child.set_parent(key, call, called)


def _is(part: Any, kind: str) -> bool:
    return isinstance(part, dict) and part.get("type") == kind


def _stop(reason: Any) -> str:
    return str(reason) if reason and reason not in ("end_turn", "tool_use", "stop_sequence") else ""
