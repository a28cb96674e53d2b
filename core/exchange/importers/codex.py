"""Codex: a rollout file of lines for each session."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from core.domain.events import Usage
from core.exchange.importers.blocks import as_json, images
from core.exchange.importers.called import Asked, plain_text
from core.exchange.importers.growing import Grown, Tails
from core.exchange.importers.record import Files, Open, Record, lines, moment, number
from core.exchange.importers.telling import Telling

HIDDEN = ("<environment_context>", "<user_instructions>", "# AGENTS.md instructions", "<turn_aborted>", "<permissions")
EXIT = re.compile(r"^Process exited with code (-?\d+)$", re.MULTILINE)
ENDED = re.compile(r"^Exit code: (-?\d+)$", re.MULTILINE)
CALLS = frozenset({"function_call", "custom_tool_call", "local_shell_call", "web_search_call"})
KEY = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}$")


class Codex:
    """Its words are those of the `response_item` lines; the events beside them repeat what is there."""

    agent = "Codex"
    usual: tuple[str, ...] = (".codex/sessions/*/*/*/rollout-*.jsonl", ".codex/archived_sessions/rollout-*.jsonl")

    def knows(self, path: Path, head: bytes) -> bool:
        return b'"session_meta"' in head[:2000] and path.suffix == ".jsonl"

    def records(self, path: Path) -> Iterator[Record]:
        for file, key in self._files(path):
            yield from lines(file, key)

    def follow(self, path: Path) -> Grown:
        return Tails(lambda: self._files(path))

    def _files(self, path: Path) -> Files:
        found = KEY.search(path.stem)
        return [(path, found.group() if found else path.stem)]

    def tell(self, record: Record, telling: Telling, open: Open) -> bool:
        said = record.value
        payload = said.get("payload") if isinstance(said, dict) else None
        if not isinstance(payload, dict):
            return False
        at = moment(said.get("timestamp"))
        match said.get("type"):
            case "session_meta":
                telling.about(folder=str(payload.get("cwd") or ""))
                return True
            case "turn_context":
                telling.about(model=str(payload.get("model") or ""))
                return True
            case "response_item":
                return _item(payload, at, telling)
            case "token_usage_record":
                telling.memory["records"] = True
                return _usage(payload.get("usage"), telling)
            case "compacted":
                telling.compacted("compacted by Codex", str(payload.get("message") or ""), at=at)
                return True
            case "event_msg":
                return _event(payload, at, telling)
            case _:
                return False


def _item(item: dict[str, Any], at: int, telling: Telling) -> bool:
    kind = item.get("type")
    turn = f"t{telling.memory.get('turn', 0)}"
    if kind == "message":
        return _message(item, at, turn, telling)
    if kind == "reasoning":
        parts = [*(item.get("summary") or ()), *(item.get("content") or ())]
        telling.reply(at=at, id=turn, thought=plain_text(parts))
    elif kind in CALLS:
        telling.reply(at=at, id=turn, calls=[_call(item, str(kind))])
    elif isinstance(kind, str) and kind.endswith("_call_output"):
        telling.memory["turn"] = telling.memory.get("turn", 0) + 1
        _output(item, at, telling)
    else:
        return False
    return True


def _message(item: dict[str, Any], at: int, turn: str, telling: Telling) -> bool:
    text, role = plain_text(item.get("content")), item.get("role")
    if role == "assistant":
        telling.reply(text, at=at, id=turn)
        return True
    if role != "user" or text.lstrip().startswith(HIDDEN):
        return False
    telling.memory["turn"] = telling.memory.get("turn", 0) + 1
    telling.person(text, at, images(item["content"] if isinstance(item.get("content"), list) else []))
    return True


def _call(item: dict[str, Any], kind: str) -> Asked:
    id = str(item.get("call_id") or item.get("id") or "")
    if kind == "local_shell_call":
        action = item.get("action")
        return Asked(id, "shell", as_json(action if isinstance(action, dict) else {}))
    if kind == "web_search_call":
        return Asked(id, "web_search", as_json(item.get("action")))
    arguments = item.get("arguments") if kind == "function_call" else {"input": item.get("input")}
    return Asked(id, str(item.get("name") or "tool"), as_json(arguments))


def _output(item: dict[str, Any], at: int, telling: Telling) -> None:
    """Shell tools put their exit code into the words, newer ones in a head above them, older ones as JSON."""
    output = item.get("output")
    text = output if isinstance(output, str) else plain_text(output) or as_json(output)
    code: int | None = None
    if text.startswith('{"output":'):
        try:
            plain = json.loads(text)
            text, code = str(plain["output"]), plain.get("metadata", {}).get("exit_code")
        except (ValueError, KeyError, AttributeError, RecursionError):
            code = None
    elif found := EXIT.search(text[:500]) or ENDED.search(text[:500]):
        code = int(found.group(1))
    if text.startswith("Chunk ID:") and "\nOutput:\n" in text[:500]:
        text = text.partition("\nOutput:\n")[2]
    failed = bool(code) or (isinstance(output, dict) and output.get("success") is False)
    telling.result(
        str(item.get("call_id") or ""), text, at=at, failed=failed, exit_code=code if isinstance(code, int) else None,
        files=images(output if isinstance(output, list) else []),
    )  # fmt: skip


def _event(event: dict[str, Any], at: int, telling: Telling) -> bool:
    match event.get("type"):
        case "token_count":
            return _count(event.get("info"), telling)
        case "turn_aborted":
            telling.stopped(str(event.get("reason") or "interrupted"), at)
        case "task_complete":
            telling.completed(at=at)
        case "error":
            telling.failed(str(event.get("message") or "an error"), at)
        case "user_message" | "agent_message" | "agent_reasoning" | "item_completed" | "task_started":
            pass  # said by a response item, too
        case _:
            return False
    return True


def _count(info: Any, telling: Telling) -> bool:
    """It is told again and again; only where the total grew was something used."""
    if telling.memory.get("records") or not isinstance(info, dict):
        return True
    total, before = info.get("total_token_usage"), telling.memory.get("total")
    telling.memory["total"] = total
    return (isinstance(total, dict) and total == before) or _usage(info.get("last_token_usage"), telling)


def _usage(usage: Any, telling: Telling) -> bool:
    if not isinstance(usage, dict):
        return False
    telling.used(
        Usage(
            number(usage.get("input_tokens")),
            number(usage.get("output_tokens")),
            number(usage.get("cached_input_tokens")),
            number(usage.get("cache_write_input_tokens")),
            number(usage.get("reasoning_output_tokens")),
        )
    )
    return True
