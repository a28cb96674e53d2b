"""Imports SWE-agent `.traj` files, in which each step is a thought, an action and an observation."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.domain.clock import SECOND
from core.domain.events import Usage
from core.exchange.importers.foreign_call import ForeignCall, plain_text
from core.exchange.importers.message_parts import arguments_json, dict_or_empty
from core.exchange.importers.record import (
    OpenSession,
    TranscriptRecord,
    derive_key,
    list_records,
    parse_cost,
    parse_count,
    plain_path,
    read_document,
)
from core.exchange.importers.session_builder import SessionBuilder

SUCCESS_STATUSES = ("submitted", "None", "")


@dataclass(slots=True)
class _StepCount:
    steps: int = 0


class SweAgentImporter:
    """Yields one record for each message before the first reply, then one for each step of the trajectory."""

    agent = "SWE-agent"
    default_locations: tuple[str, ...] = ()

    def recognizes(self, path: Path, head: bytes) -> bool:
        return plain_path(path).suffix == ".traj" or (b'"trajectory"' in head and b'"history"' in head)

    def read_records(self, path: Path) -> Iterator[TranscriptRecord]:
        document = read_document(path)
        steps = document.get("trajectory") if isinstance(document, dict) else None
        history = document.get("history") if isinstance(document, dict) else None
        messages = [entry for entry in history if isinstance(entry, dict)] if isinstance(history, list) else []
        first = next((index for index, entry in enumerate(messages) if entry.get("role") == "assistant"
                      and not entry.get("is_demo")), len(messages))  # fmt: skip
        info = document.get("info") if isinstance(document, dict) else None
        demonstrated = steps if isinstance(steps, list) else _steps(messages[first:])
        parts = [*({"said": entry} for entry in messages[:first]), *demonstrated]
        values = [*parts[:-1], {**parts[-1], "info": info}] if parts and isinstance(parts[-1], dict) else parts
        yield from list_records(derive_key(path), values, file_bytes=path.stat().st_size, identities=parts)

    def convert(self, record: TranscriptRecord, builder: SessionBuilder, open_session: OpenSession) -> bool:
        entry = record.value
        if not isinstance(entry, dict):
            return False
        is_recognized = _step(entry, builder)
        if "info" in entry:
            _end(dict_or_empty(entry["info"]), builder)
        return is_recognized


def _step(entry: dict[str, Any], builder: SessionBuilder) -> bool:
    if "said" in entry:
        return _history(entry["said"], builder)
    if "action" not in entry and "observation" not in entry:
        return False
    state = builder.state(_StepCount)
    state.steps += 1
    call_id = f"a{state.steps}"
    action = str(entry.get("action") or "").strip()
    calls = [ForeignCall(call_id, "bash", arguments_json({"command": action}))] if action else []
    thought, reply = str(entry.get("thought") or ""), str(entry.get("response") or "")
    seconds, (usage, cost) = entry.get("execution_time"), _final_usage(entry.get("info"))
    builder.add_reply(thought or reply, calls=calls, at=builder.latest, usage=usage, cost=cost)
    if isinstance(seconds, int | float):
        builder.latest += parse_count(seconds * SECOND)
    observation = str(entry.get("observation") or "")
    if calls:
        builder.add_result(call_id, observation, at=builder.latest)
    elif observation:  # without an action, the observation is an error message that was sent to the model
        builder.keep_unrecognized("observation", observation)
    return True


def _final_usage(info: Any) -> tuple[Usage | None, float | None]:
    """Return the usage and cost of the whole trajectory, which its last record has; (None, None) for other records."""
    stats = info.get("model_stats") if isinstance(info, dict) and info.get("exit_status") else None
    if not isinstance(stats, dict):
        return None, None
    usage = Usage(parse_count(stats.get("tokens_sent")), parse_count(stats.get("tokens_received")))
    return usage, parse_cost(stats.get("instance_cost"))


def _steps(history: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the steps of a demonstration, which is stored as messages: each reply is followed by its observation."""
    steps: list[dict[str, Any]] = []
    for entry in history:
        text = plain_text(entry.get("content"))
        if entry.get("role") == "assistant":
            steps.append({"thought": entry.get("thought") or text, "action": entry.get("action"), "response": text})
        elif steps:  # an observation may be split into several messages
            steps[-1]["observation"] = "\n".join(filter(None, (steps[-1].get("observation"), text)))
    return steps


def _history(entry: dict[str, Any], builder: SessionBuilder) -> bool:
    if entry.get("role") != "user" or entry.get("is_demo"):
        return False
    builder.add_user_message(plain_text(entry.get("content")))
    return True


def _end(info: dict[str, Any], builder: SessionBuilder) -> None:
    status = str(info.get("exit_status") or "")
    if status.startswith(SUCCESS_STATUSES[0]) or status in SUCCESS_STATUSES:
        builder.complete_run(status)
    else:
        builder.stop_run(status)
