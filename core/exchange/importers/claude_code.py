"""Imports Claude Code sessions: a JSON Lines file for each, and one for each sub-agent in a folder next to it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from core.domain.events import Usage
from core.exchange.importers.followable import AppendedLines, ReadNewRecords
from core.exchange.importers.foreign_call import plain_text
from core.exchange.importers.message_parts import (
    dict_or_empty,
    dicts,
    embedded_images,
    parse_usage,
    reasoning_text,
    tool_use_calls,
)
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
# Characters of a changed file, before and after the change together. The contents of larger files are not stored.
MAX_FILE = 1 << 20


@dataclass(frozen=True, slots=True)
class _Task:
    """A tool call with a prompt, which may have started a sub-agent."""

    call_id: str
    prompt: str
    subagent: str


@dataclass(slots=True)
class _SessionState:
    """Tool calls that later records refer to.

    Attributes:
        tasks: The calls that may have started a sub-agent, by their prompt.
        edits: The arguments of the edits that have no result yet, by call ID.
        sidechains: The session key of the sub-agent that each record belongs to, by record ID. Only filled by old
            versions, which write a sub-agent's records into the file of the main session.
    """

    tasks: dict[str, _Task] = field(default_factory=dict)
    edits: dict[Any, dict[str, Any]] = field(default_factory=dict)
    sidechains: dict[str, str] = field(default_factory=dict)


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
    files = embedded_images(content)
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
    state = builder.state(_SessionState)
    for part in dicts(content):
        arguments = part.get("input")
        if part.get("type") != "tool_use" or not isinstance(arguments, dict):
            continue
        if part.get("name") in EDITS:
            state.edits[part.get("id")] = arguments
        if prompt := arguments.get("prompt"):
            subagent = str(arguments.get("subagent_type") or "agent")
            state.tasks[prompt] = _Task(str(part.get("id") or ""), str(prompt), subagent)


def _result(part: dict[str, Any], tool_result: Any, at: int, builder: SessionBuilder) -> None:
    call, failed = str(part.get("tool_use_id") or ""), part.get("is_error") is True
    state = builder.state(_SessionState)
    edit = state.edits.pop(call, None)
    if isinstance(tool_result, dict):
        if agent := tool_result.get("agentId"):
            task = next((task for task in state.tasks.values() if task.call_id == call), _Task(call, "", "agent"))
            child = f"{builder.key.split('/')[0]}/{agent}"
            builder.start_subagent(call, child, task.subagent, task.prompt)
            builder.end_subagent(call, child, str(tool_result.get("status") or "completed"))
        _changed(call, tool_result, builder)
    elif edit and not failed:
        _edited(call, edit, builder)
    builder.add_result(
        call, plain_text(part.get("content")), at=at, failed=failed,
        files=embedded_images(part.get("content")),
    )  # fmt: skip


def _changed(call: str, tool_result: dict[str, Any], builder: SessionBuilder) -> None:
    """Add a file change from the result of an edit or write, which contains the file as it was before."""
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
    """Add a file change from an edit's arguments, if its result has no details: only the replaced text is known."""
    path, edits = arguments.get("file_path"), arguments.get("edits")
    parts = [edit for edit in edits if isinstance(edit, dict)] if isinstance(edits, list) else [arguments]
    before = None if "content" in arguments else "\n".join(str(part.get("old_string") or "") for part in parts)
    after = "\n".join(str(part.get("new_string") or part.get("content") or "") for part in parts)
    if isinstance(path, str) and len(after) + len(before or "") <= MAX_FILE:
        added, removed = line_counts((before or "").encode(), after.encode()) or (0, 0)
        builder.add_file_change(call, path, before, after, added, removed)


def _sidechain(data: dict[str, Any], main: SessionBuilder, open_session: OpenSession) -> SessionBuilder:
    """Return the builder of the sub-agent that a record belongs to.

    Only for old versions, which write a sub-agent's records into the file of the main session.
    """
    state = main.state(_SessionState)
    parent, id = data.get("parentUuid"), data.get("uuid")
    key = state.sidechains.get(parent) if isinstance(parent, str) else None
    if key is None:
        key = f"{main.key}/{id}"
        prompt = plain_text(dict_or_empty(data.get("message")).get("content"))
        task = state.tasks.get(prompt)
        if task and task.call_id:
            main.start_subagent(task.call_id, key, task.subagent, prompt)
        open_session(key).set_parent(main.key, *main.subagent_call(key))
    if isinstance(id, str):
        state.sidechains[id] = key
    return open_session(key)


def _set_parent(child: SessionBuilder, open_session: OpenSession) -> None:
    key = child.key.partition("/")[0]
    child.set_parent(key, *open_session(key).subagent_call(child.key))


def _is(part: Any, kind: str) -> bool:
    return isinstance(part, dict) and part.get("type") == kind


def _stop(reason: Any) -> str:
    return str(reason) if reason and reason not in ("end_turn", "tool_use", "stop_sequence") else ""
