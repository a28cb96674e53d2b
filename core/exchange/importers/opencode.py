"""OpenCode: its database, and the JSON that its own export writes."""

import time
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from core.domain.events import Usage
from core.exchange.importers.blocks import as_json
from core.exchange.importers.called import Asked
from core.exchange.importers.growing import Counted, Grown
from core.exchange.importers.record import Open, Record, amount, document, in_utf8, moment, number, written
from core.exchange.importers.telling import Telling
from core.store.others import MAGIC, is_opencode, opencode

RECENT_MS = 3_600_000  # sessions that were touched so lately are followed


class OpenCode:
    """A message with its parts is a record; one that is still being written waits for the next reading."""

    agent = "OpenCode"
    usual: tuple[str, ...] = (".local/share/opencode/opencode.db",)

    def knows(self, path: Path, head: bytes) -> bool:
        if head.startswith(MAGIC):
            return is_opencode(path)
        return head.lstrip().startswith(b"{") and b'"projectID"' in head and b'"info"' in head

    def follow(self, path: Path) -> Grown:
        since = int(time.time() * 1000) - RECENT_MS
        return Counted(lambda: _records(opencode(path, since)))

    def records(self, path: Path) -> Iterator[Record]:
        with path.open("rb") as file:
            database = file.read(len(MAGIC)) == MAGIC
        if not database:
            whole = document(path)
            key = str(whole["info"].get("id") or path.stem)
            messages = whole.get("messages")
            rows: Iterator[dict[str, Any]] = iter([{"info": whole["info"], "session": key}])
            found = messages if isinstance(messages, list) else []
            rows = chain(rows, ({"message": message, "session": key} for message in found))
        else:
            rows = opencode(path)
        yield from _records(rows)

    def tell(self, record: Record, telling: Telling, open: Open) -> bool:
        said = record.value
        info = said.get("info") if isinstance(said, dict) else None
        if not isinstance(info, dict):
            return False
        if "parts" not in said:
            _about(info, telling, open)
            return True
        parts = [part for part in said["parts"] if isinstance(part, dict)]
        at = moment((info.get("time") or {}).get("created"))
        if info.get("role") == "user":
            words = "\n".join(
                str(part["text"]) for part in parts if part.get("type") == "text" and not part.get("synthetic")
            )
            if words:
                telling.person(words, at)
            return bool(words)
        if info.get("role") != "assistant":
            return False
        _assistant(info, parts, at, telling)
        return True


def _records(rows: Iterator[dict[str, Any]]) -> Iterator[Record]:
    waits: set[str] = set()
    for row in rows:
        value = row.get("message") or row
        if _unfinished(value):
            waits.add(row["session"])
        if row["session"] not in waits:
            # What it says of a message it changes later on; that there was one stays.
            mark = in_utf8(str((value.get("info") or {}).get("id")))
            yield Record(row["session"], written(value), value, 0, mark)


def _unfinished(value: dict[str, Any]) -> bool:
    info = value.get("info") or {}
    return info.get("role") == "assistant" and not (info.get("time") or {}).get("completed") and not info.get("error")


def _about(info: dict[str, Any], telling: Telling, open: Open) -> None:
    telling.about(folder=str(info.get("directory") or ""), title=str(info.get("title") or ""))
    telling.at = max(telling.at, moment(info.get("time_created") or (info.get("time") or {}).get("created")))
    if parent := info.get("parentID"):
        call, called = open(str(parent)).memory.get("children", {}).get(telling.key, ("", "agent"))
        telling.belongs(str(parent), call, called)


def _assistant(info: dict[str, Any], parts: list[dict[str, Any]], at: int, telling: Telling) -> None:
    """The rounds of a message are told apart by its `step-finish` parts."""
    model = "/".join(filter(None, (str(info.get("providerID") or ""), str(info.get("modelID") or ""))))
    gathered: list[dict[str, Any]] = []
    for part in parts:
        gathered.append(part)
        if part.get("type") == "step-finish":
            _round(gathered, part, model, at, telling)
            gathered = []
    if any(part.get("type") in ("text", "reasoning", "tool") for part in gathered):
        _round(gathered, {"tokens": info.get("tokens"), "cost": info.get("cost")}, model, at, telling)
    if isinstance(error := info.get("error"), dict):
        data = error.get("data") if isinstance(error.get("data"), dict) else {}
        telling.failed(str((data or {}).get("message") or error.get("name") or "an error"))


def _round(parts: list[dict[str, Any]], end: dict[str, Any], model: str, at: int, telling: Telling) -> None:
    def words(kind: str) -> str:
        return "\n".join(str(part["text"]) for part in parts if part.get("type") == kind and part.get("text"))

    tools = [part for part in parts if part.get("type") == "tool" and isinstance(part.get("state"), dict)]
    times = [moment((part["state"].get("time") or {}).get("start")) for part in tools]
    texts = [moment((part.get("time") or {}).get("end")) for part in parts if isinstance(part.get("time"), dict)]
    tokens = end.get("tokens") if isinstance(end.get("tokens"), dict) else {}
    assert isinstance(tokens, dict)
    cache = tokens.get("cache") if isinstance(tokens.get("cache"), dict) else {}
    assert isinstance(cache, dict)
    read, wrote, cost = number(cache.get("read")), number(cache.get("write")), end.get("cost")
    telling.reply(
        words("text"), began=max(at, telling.at), at=max([at, *texts, *times[:1]]), thought=words("reasoning"),
        calls=[Asked(str(part.get("callID")), str(part.get("tool") or "tool"), as_json(part["state"].get("input")))
               for part in tools],
        usage=Usage(number(tokens.get("input")) + read + wrote,
                    number(tokens.get("output")) + number(tokens.get("reasoning")), read, wrote,
                    number(tokens.get("reasoning"))),
        model=model, cost=amount(cost) or None,
    )  # fmt: skip
    for part in tools:
        _result(part, telling)


def _result(part: dict[str, Any], telling: Telling) -> None:
    state, id = part["state"], str(part.get("callID"))
    metadata = state.get("metadata") if isinstance(state.get("metadata"), dict) else {}
    status = state.get("status")
    if status not in ("completed", "error"):
        return
    if child := metadata.get("sessionId") or metadata.get("sessionID"):
        called = str((state.get("input") or {}).get("subagent_type") or "agent")
        telling.delegated(id, str(child), called, str((state.get("input") or {}).get("prompt") or ""))
        telling.memory.setdefault("children", {})[str(child)] = (telling.call(id), called)
        telling.delegate_ended(id, str(child), str(status))
    code = metadata.get("exit")
    output = state.get("output") if status == "completed" else state.get("error")
    telling.result(
        id, output if isinstance(output, str) else as_json(output), at=moment((state.get("time") or {}).get("end")),
        failed=status == "error" or bool(code), exit_code=code if isinstance(code, int) else None,
    )  # fmt: skip
