"""SWE-agent: a trajectory of thoughts, actions and observations, and the task among its history."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from core.domain.clock import SECOND
from core.domain.events import Usage
from core.exchange.importers.blocks import as_json
from core.exchange.importers.called import Asked, plain_text
from core.exchange.importers.record import Open, Record, amount, document, key_of, listed, number
from core.exchange.importers.telling import Telling

SUBMITTED = ("submitted", "None", "")


class SweAgent:
    """Its history is told where the trajectory does not hold the same: system, demonstration and task."""

    agent = "SWE-agent"
    usual: tuple[str, ...] = ()

    def knows(self, path: Path, head: bytes) -> bool:
        return path.suffix == ".traj" or (b'"trajectory"' in head and b'"history"' in head)

    def records(self, path: Path) -> Iterator[Record]:
        whole = document(path)
        steps = whole.get("trajectory") if isinstance(whole, dict) else None
        history = whole.get("history") if isinstance(whole, dict) else None
        words = [said for said in history if isinstance(said, dict)] if isinstance(history, list) else []
        first = next((place for place, said in enumerate(words) if said.get("role") == "assistant"
                      and not said.get("is_demo")), len(words))  # fmt: skip
        info = whole.get("info") if isinstance(whole, dict) else None
        done = steps if isinstance(steps, list) else _steps(words[first:])
        parts = [*({"said": said} for said in words[:first]), *done]
        told = [*parts[:-1], {**parts[-1], "info": info}] if parts and isinstance(parts[-1], dict) else parts
        yield from listed(key_of(path), told, path.stat().st_size, parts)

    def tell(self, record: Record, telling: Telling, open: Open) -> bool:
        said = record.value
        if not isinstance(said, dict):
            return False
        known = _step(said, telling)
        if "info" in said:
            _end(said["info"] if isinstance(said["info"], dict) else {}, telling)
        return known


def _step(said: dict[str, Any], telling: Telling) -> bool:
    if "said" in said:
        return _history(said["said"], telling)
    if "action" not in said and "observation" not in said:
        return False
    count = telling.memory["count"] = telling.memory.get("count", 0) + 1
    action = str(said.get("action") or "").strip()
    calls = [Asked(f"a{count}", "bash", as_json({"command": action}))] if action else []
    thought, reply = str(said.get("thought") or ""), str(said.get("response") or "")
    took, (usage, cost) = said.get("execution_time"), _spent(said.get("info"))
    telling.reply(thought or reply, calls=calls, at=telling.at, usage=usage, cost=cost)
    if isinstance(took, int | float):
        telling.at += number(took * SECOND)
    seen = str(said.get("observation") or "")
    if calls:
        telling.result(f"a{count}", seen, at=telling.at)
    elif seen:  # nothing was asked for, so it is what the agent was told instead
        telling.keep("observation", seen)
    return True


def _spent(info: Any) -> tuple[Usage | None, float | None]:
    """Of the whole trajectory, once it has ended: its last reply carries it."""
    stats = info.get("model_stats") if isinstance(info, dict) and info.get("exit_status") else None
    if not isinstance(stats, dict):
        return None, None
    usage = Usage(number(stats.get("tokens_sent")), number(stats.get("tokens_received")))
    return usage, amount(stats.get("instance_cost"))


def _steps(history: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A demonstration holds its history alone: replies, and what was observed after each."""
    found: list[dict[str, Any]] = []
    for said in history:
        text = plain_text(said.get("content"))
        if said.get("role") == "assistant":
            found.append({"thought": said.get("thought") or text, "action": said.get("action"), "response": text})
        elif found and "observation" not in found[-1]:
            found[-1]["observation"] = text
    return found


def _history(said: dict[str, Any], telling: Telling) -> bool:
    if said.get("role") != "user" or said.get("is_demo"):
        return False
    telling.person(plain_text(said.get("content")))
    return True


def _end(info: dict[str, Any], telling: Telling) -> None:
    status = str(info.get("exit_status") or "")
    if status.startswith(SUBMITTED[0]) or status in SUBMITTED:
        telling.completed(status)
    else:
        telling.stopped(status)
