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
    list_or_empty,
    parse_usage,
    reasoning_text,
    text_of_parts,
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

EDIT_TOOLS = ("Edit", "MultiEdit", "Write")
COMMAND = re.compile(r"<command-name>(.*?)</command-name>(?:.*?<command-args>(.*?)</command-args>)?", re.DOTALL)
INTERRUPTED_PREFIX = "[Request interrupted by user"
NORMAL_STOP_REASONS = frozenset({"end_turn", "tool_use", "stop_sequence"})
# Characters of a changed file, before and after the change together. The contents of larger files are not stored.
MAX_CHANGE_LENGTH = 1 << 20


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
        subagent_files = sorted((path.with_name(name) / "subagents").glob("*.jsonl"))
        return [(path, name), *((file, f"{name}/{file.stem.removeprefix('agent-')}") for file in subagent_files)]

    def convert(self, record: TranscriptRecord, builder: SessionBuilder, open_session: OpenSession) -> bool:
        data = record.value
        if not isinstance(data, dict):
            return False
        if data.get("isSidechain") is True and "/" not in builder.key:
            builder = _sidechain_builder(data, builder, open_session)
        elif "/" in builder.key and not builder.has_events():
            _set_parent(builder, open_session)
        if not builder.has_events():
            builder.set_details(folder=str(data.get("cwd") or ""))
        return _add_record(data, builder)


def _add_record(data: dict[str, Any], builder: SessionBuilder) -> bool:
    at = parse_time(data.get("timestamp"))
    match data.get("type"):
        case "user" if isinstance(data.get("message"), dict):
            return _add_user_message(data, at, builder)
        case "assistant" if isinstance(data.get("message"), dict):
            _add_reply(data["message"], at, builder)
            return True
        case "summary" if isinstance(data.get("summary"), str) and not builder.has_events():
            builder.set_details(title=data["summary"])
            return True
        case "system" if data.get("subtype") == "compact_boundary":
            metadata = data.get("compactMetadata") or {}
            reason = f"compacted by Claude Code ({metadata.get('trigger', 'auto')})"
            builder.add_compaction(reason, before=parse_count(metadata.get("preTokens")), at=at)
            return True
        case _:
            return False


def _add_user_message(data: dict[str, Any], at: int, builder: SessionBuilder) -> bool:
    """Add the tool results in a message with the role user, then what the user typed."""
    content = data["message"].get("content")
    results = [part for part in dicts(content) if part.get("type") == "tool_result"]
    for part in results:
        _add_result(part, data.get("toolUseResult"), at, builder)
    text = plain_text(content)
    if data.get("isCompactSummary"):
        builder.add_compaction("summary of the earlier conversation", text, at=at)
        return True
    if data.get("isMeta") or text.startswith(("<local-command-", "Caveat:")):
        return bool(results)
    if text.startswith(INTERRUPTED_PREFIX):
        builder.stop_run("interrupted by the user", at)
        return True
    if command := COMMAND.search(text):
        text = " ".join(filter(None, command.groups())).strip()
    files = embedded_images(content)
    if text or files:
        builder.add_user_message(text, at, files)
    return bool(text or files or results)


def _add_reply(message: dict[str, Any], at: int, builder: SessionBuilder) -> None:
    content = message.get("content")
    usage = parse_usage(message.get("usage"))
    model = str(message.get("model") or "")
    stop_reason = str(message.get("stop_reason") or "")
    builder.add_reply(
        text_of_parts(content),
        at=at,
        reply_id=str(message.get("id") or ""),
        reasoning=reasoning_text(content),
        calls=tool_use_calls(content),
        usage=usage if usage != Usage() else None,
        model="" if model == "<synthetic>" else model,
        stop_reason="" if stop_reason in NORMAL_STOP_REASONS else stop_reason,
    )
    state = builder.state(_SessionState)
    for part in dicts(content):
        arguments = part.get("input")
        if part.get("type") != "tool_use" or not isinstance(arguments, dict):
            continue
        if part.get("name") in EDIT_TOOLS:
            state.edits[part.get("id")] = arguments
        if prompt := arguments.get("prompt"):
            subagent = str(arguments.get("subagent_type") or "agent")
            state.tasks[prompt] = _Task(call_id=str(part.get("id") or ""), prompt=str(prompt), subagent=subagent)


def _add_result(part: dict[str, Any], details: Any, at: int, builder: SessionBuilder) -> None:
    """Add a tool result, and before it the sub-agent or the file change that it reports.

    `details` is what Claude Code stored about the result for its own user interface.
    """
    call_id = str(part.get("tool_use_id") or "")
    failed = part.get("is_error") is True
    edit_arguments = builder.state(_SessionState).edits.pop(call_id, None)
    if isinstance(details, dict):
        if details.get("agentId"):
            _add_subagent(call_id, details, builder)
        _add_reported_change(call_id, details, builder)
    elif edit_arguments and not failed:
        _add_change_from_arguments(call_id, edit_arguments, builder)
    content = part.get("content")
    builder.add_result(call_id, plain_text(content), at=at, failed=failed, files=embedded_images(content))


def _add_subagent(call_id: str, details: dict[str, Any], builder: SessionBuilder) -> None:
    tasks = builder.state(_SessionState).tasks.values()
    task = next((task for task in tasks if task.call_id == call_id), _Task(call_id, prompt="", subagent="agent"))
    child = f"{builder.key.split('/')[0]}/{details['agentId']}"
    builder.start_subagent(call_id, child, task.subagent, task.prompt)
    builder.end_subagent(call_id, child, str(details.get("status") or "completed"))


def _add_reported_change(call_id: str, details: dict[str, Any], builder: SessionBuilder) -> None:
    """Add the file change that the result of an edit or write reports, with the file as it was before."""
    path, before = details.get("filePath"), details.get("originalFile")
    if not isinstance(path, str) or not isinstance(before, str | None):
        return
    after = _contents_after(before, details)
    if after is None or len(after) + len(before or "") > MAX_CHANGE_LENGTH:
        return
    lines = [line for hunk in dicts(details.get("structuredPatch")) for line in list_or_empty(hunk.get("lines"))]
    added = sum(str(line).startswith("+") for line in lines)
    if not added and before is None:
        added = len(after.splitlines())
    removed = sum(str(line).startswith("-") for line in lines)
    builder.add_file_change(call_id, path, before, after, added, removed)


def _contents_after(before: str | None, details: dict[str, Any]) -> str | None:
    """Return the contents of a file after an edit or write; None if the details do not tell them."""
    old, new, written = details.get("oldString"), details.get("newString"), details.get("content")
    if isinstance(before, str) and isinstance(old, str) and isinstance(new, str):
        return before.replace(old, new) if details.get("replaceAll") else before.replace(old, new, 1)
    if isinstance(written, str) and details.get("type") in ("create", "update"):
        return written
    return None


def _add_change_from_arguments(call_id: str, arguments: dict[str, Any], builder: SessionBuilder) -> None:
    """Add a file change from an edit's arguments, if its result has no details: only the replaced text is known."""
    path, edits = arguments.get("file_path"), arguments.get("edits")
    parts = dicts(edits) if isinstance(edits, list) else [arguments]
    before = None if "content" in arguments else "\n".join(str(part.get("old_string") or "") for part in parts)
    after = "\n".join(str(part.get("new_string") or part.get("content") or "") for part in parts)
    if isinstance(path, str) and len(after) + len(before or "") <= MAX_CHANGE_LENGTH:
        added, removed = line_counts((before or "").encode(), after.encode()) or (0, 0)
        builder.add_file_change(call_id, path, before, after, added, removed)


def _sidechain_builder(data: dict[str, Any], main: SessionBuilder, open_session: OpenSession) -> SessionBuilder:
    """Return the builder of the sub-agent that a record belongs to.

    Only for old versions, which write a sub-agent's records into the file of the main session.
    """
    state = main.state(_SessionState)
    parent_id, record_id = data.get("parentUuid"), data.get("uuid")
    key = state.sidechains.get(parent_id) if isinstance(parent_id, str) else None
    if key is None:
        key = f"{main.key}/{record_id}"
        prompt = plain_text(dict_or_empty(data.get("message")).get("content"))
        task = state.tasks.get(prompt)
        if task and task.call_id:
            main.start_subagent(task.call_id, key, task.subagent, prompt)
        open_session(key).set_parent(main.key, main.subagent_call(key))
    if isinstance(record_id, str):
        state.sidechains[record_id] = key
    return open_session(key)


def _set_parent(child: SessionBuilder, open_session: OpenSession) -> None:
    key = child.key.partition("/")[0]
    child.set_parent(key, open_session(key).subagent_call(child.key))
