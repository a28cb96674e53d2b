"""Claude Code: a file of lines for each session, and one for each of its sub-agents in a folder beside it."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from core.domain.events import Usage
from core.exchange.importers.blocks import block_calls, images, thoughts, usage_of
from core.exchange.importers.called import plain_text
from core.exchange.importers.growing import Grown, Tails
from core.exchange.importers.record import Files, Open, Record, lines, moment, number
from core.exchange.importers.telling import Telling

TOLD = frozenset({"user", "assistant", "summary", "system"})
COMMAND = re.compile(r"<command-name>(.*?)</command-name>(?:.*?<command-args>(.*?)</command-args>)?", re.DOTALL)
INTERRUPTED = "[Request interrupted by user"
UNCHANGED = 1 << 20  # characters of a file up to which its two states are compared


class ClaudeCode:
    """`usual` is where its sessions lie, below the person's home."""

    agent = "Claude Code"
    usual: tuple[str, ...] = (".claude/projects/*/*.jsonl",)

    def knows(self, path: Path, head: bytes) -> bool:
        if path.suffix != ".jsonl":
            return False
        return b'"sessionId"' in head and (b'"parentUuid"' in head or b'"leafUuid"' in head or b'"operation"' in head)

    def records(self, path: Path) -> Iterator[Record]:
        size = 0
        for file, key in self._files(path):
            yield from lines(file, key, size)
            size += file.stat().st_size

    def follow(self, path: Path) -> Grown:
        return Tails(lambda: self._files(path))

    def _files(self, path: Path) -> Files:
        below = sorted((path.with_suffix("") / "subagents").glob("*.jsonl"))
        return [(path, path.stem), *((child, f"{path.stem}/{child.stem.removeprefix('agent-')}") for child in below)]

    def tell(self, record: Record, telling: Telling, open: Open) -> bool:
        said = record.value
        if not isinstance(said, dict):
            return False
        if said.get("isSidechain") is True and "/" not in telling.key:
            telling = _side(said, telling, open)
        elif "/" in telling.key and not telling.is_open():
            _belongs(telling, open)
        if not telling.is_open():
            telling.about(folder=str(said.get("cwd") or ""))
        return _line(said, telling)


def _line(said: dict[str, Any], telling: Telling) -> bool:
    if said.get("type") not in TOLD:
        return False
    at = moment(said.get("timestamp"))
    match said.get("type"):
        case "user" if isinstance(said.get("message"), dict):
            return _user(said, said["message"], at, telling)
        case "assistant" if isinstance(said.get("message"), dict):
            _assistant(said["message"], at, telling)
            return True
        case "summary" if isinstance(said.get("summary"), str) and not telling.is_open():
            telling.about(title=said["summary"])
            return True
        case "system" if said.get("subtype") == "compact_boundary":
            data = said.get("compactMetadata") or {}
            telling.compacted(f"compacted by Claude Code ({data.get('trigger', 'auto')})",
                              before=number(data.get("preTokens")), at=at)  # fmt: skip
            return True
        case _:
            return False


def _user(said: dict[str, Any], message: dict[str, Any], at: int, telling: Telling) -> bool:
    content = message.get("content")
    results = [part for part in content if _is(part, "tool_result")] if isinstance(content, list) else []
    for part in results:
        _result(part, said.get("toolUseResult"), at, telling)
    text = plain_text(content)
    if said.get("isCompactSummary"):
        telling.compacted("what was said before, in short", text, at=at)
        return True
    if said.get("isMeta") or text.startswith(("<local-command-", "Caveat:")):
        return bool(results)
    if text.startswith(INTERRUPTED):
        telling.stopped("interrupted by the person", at)
        return True
    if command := COMMAND.search(text):
        text = " ".join(filter(None, command.groups())).strip()
    files = images(content if isinstance(content, list) else [])
    if text or files:
        telling.person(text, at, files)
    return bool(text or files or results)


def _assistant(message: dict[str, Any], at: int, telling: Telling) -> None:
    content = message.get("content")
    usage = usage_of(message.get("usage"))
    model = str(message.get("model") or "")
    telling.reply(
        plain_text([part for part in content if _is(part, "text")] if isinstance(content, list) else content),
        at=at, id=str(message.get("id") or ""), thought=thoughts(content), calls=block_calls(content),
        usage=usage if usage != Usage() else None, model="" if model == "<synthetic>" else model,
        stop=_stop(message.get("stop_reason")),
    )  # fmt: skip
    tasks = telling.memory.setdefault("tasks", {})
    for part in content if isinstance(content, list) else []:
        if _is(part, "tool_use") and isinstance(part.get("input"), dict) and part["input"].get("prompt"):
            tasks[part["input"]["prompt"]] = (part.get("id"), part["input"])


def _result(part: dict[str, Any], more: Any, at: int, telling: Telling) -> None:
    call = str(part.get("tool_use_id") or "")
    if isinstance(more, dict):
        if agent := more.get("agentId"):
            tasks: dict[str, tuple[Any, dict[str, Any]]] = telling.memory.get("tasks", {})
            asked = next((told for id, told in tasks.values() if id == call), {})
            child, called = f"{telling.key.split('/')[0]}/{agent}", str(asked.get("subagent_type") or "agent")
            telling.delegated(call, child, called, str(asked.get("prompt") or ""))
            telling.memory.setdefault("agents", {})[str(agent)] = (telling.call(call), called)
            telling.delegate_ended(call, child, str(more.get("status") or "completed"))
        _changed(call, more, telling)
    failed = part.get("is_error") is True
    telling.result(
        call, plain_text(part.get("content")), at=at, failed=failed,
        files=images(part["content"] if isinstance(part.get("content"), list) else []),
    )  # fmt: skip


def _changed(call: str, more: dict[str, Any], telling: Telling) -> None:
    """Edits and writes carry the file as it was."""
    path, before = more.get("filePath"), more.get("originalFile")
    if not isinstance(path, str) or not (before is None or isinstance(before, str)):
        return
    old, new = more.get("oldString"), more.get("newString")
    if isinstance(before, str) and isinstance(old, str) and isinstance(new, str):
        after = before.replace(old, new) if more.get("replaceAll") else before.replace(old, new, 1)
    elif isinstance(more.get("content"), str) and more.get("type") in ("create", "update"):
        after = more["content"]
    else:
        return
    if len(after) + len(before or "") <= UNCHANGED:
        patch = [line for hunk in more.get("structuredPatch") or () if isinstance(hunk, dict)
                 for line in hunk.get("lines") or () if isinstance(line, str)]  # fmt: skip
        added = sum(line.startswith("+") for line in patch) or (len(after.splitlines()) if before is None else 0)
        telling.changed(call, path, before, after, added, sum(line.startswith("-") for line in patch))


def _side(said: dict[str, Any], main: Telling, open: Open) -> Telling:
    """Older versions write what a sub-agent did between the lines of its session."""
    sides: dict[str, str] = main.memory.setdefault("sides", {})
    parent = said.get("parentUuid")
    key = sides.get(parent) if isinstance(parent, str) else None
    message = said.get("message")
    if key is None:
        key = f"{main.key}/{said.get('uuid')}"
        prompt = plain_text(message.get("content")) if isinstance(message, dict) else ""
        id, asked = main.memory.get("tasks", {}).get(prompt, ("", {}))
        side = open(key)
        called = str(asked.get("subagent_type") or "agent")
        side.belongs(main.key, main.call(id) if id else "", called)
        if id:
            main.delegated(id, key, called, prompt)
    if isinstance(said.get("uuid"), str):
        sides[said["uuid"]] = key
    return open(key)


def _belongs(child: Telling, open: Open) -> None:
    key, _, agent = child.key.partition("/")
    call, called = open(key).memory.get("agents", {}).get(agent, ("", "agent"))
    child.belongs(key, call, called)


def _is(part: Any, kind: str) -> bool:
    return isinstance(part, dict) and part.get("type") == kind


def _stop(reason: Any) -> str:
    return str(reason) if reason and reason not in ("end_turn", "tool_use", "stop_sequence") else ""
