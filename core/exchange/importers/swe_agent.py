"""Imports SWE-agent `.traj` files, in which each step is a thought, an action and an observation."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.domain.clock import SECOND
from core.domain.events import Usage
from core.exchange.importers.foreign_call import ForeignCall, plain_text
from core.exchange.importers.message_parts import arguments_json, dict_or_empty, dicts
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
        document = dict_or_empty(read_document(path))
        messages = dicts(document.get("history"))
        first_reply = next((index for index, message in enumerate(messages) if _is_reply(message)), len(messages))
        steps = document.get("trajectory")
        if not isinstance(steps, list):
            steps = _demonstrated_steps(messages[first_reply:])
        entries = [*({"said": message} for message in messages[:first_reply]), *steps]
        values = list(entries)
        if values and isinstance(values[-1], dict):
            values[-1] = {**values[-1], "info": document.get("info")}
        yield from list_records(derive_key(path), values, file_bytes=path.stat().st_size, identities=entries)

    def convert(self, record: TranscriptRecord, builder: SessionBuilder, open_session: OpenSession) -> bool:
        entry = record.value
        if not isinstance(entry, dict):
            return False
        is_recognized = _add_message(entry["said"], builder) if "said" in entry else _add_step(entry, builder)
        if "info" in entry:
            _end_run(dict_or_empty(entry["info"]), builder)
        return is_recognized


def _is_reply(message: dict[str, Any]) -> bool:
    """Return whether this is a reply of the model, not one from the demonstration that precedes the task."""
    return message.get("role") == "assistant" and not message.get("is_demo")


def _add_step(entry: dict[str, Any], builder: SessionBuilder) -> bool:
    if "action" not in entry and "observation" not in entry:
        return False
    state = builder.state(_StepCount)
    state.steps += 1
    call_id = f"a{state.steps}"
    action = str(entry.get("action") or "").strip()
    calls = [ForeignCall(call_id, "bash", arguments_json({"command": action}))] if action else []
    stats = _final_stats(entry.get("info"))
    builder.add_reply(
        str(entry.get("thought") or entry.get("response") or ""),
        calls=calls,
        at=builder.latest,
        usage=_parse_usage(stats) if stats else None,
        cost=parse_cost(stats.get("instance_cost")),
    )
    seconds = entry.get("execution_time")
    if isinstance(seconds, int | float):
        builder.latest += parse_count(seconds * SECOND)
    observation = str(entry.get("observation") or "")
    if calls:
        builder.add_result(call_id, observation, at=builder.latest)
    elif observation:  # without an action, the observation is an error message that was sent to the model
        builder.keep_unrecognized("observation", observation)
    return True


def _final_stats(info: Any) -> dict[str, Any]:
    """Return the token counts and the cost of the whole trajectory, which its last record has; empty for others."""
    values = dict_or_empty(info)
    return dict_or_empty(values.get("model_stats")) if values.get("exit_status") else {}


def _parse_usage(stats: dict[str, Any]) -> Usage:
    return Usage(input=parse_count(stats.get("tokens_sent")), output=parse_count(stats.get("tokens_received")))


def _demonstrated_steps(history: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the steps of a demonstration, which is stored as messages: each reply is followed by its observation."""
    steps: list[dict[str, Any]] = []
    for entry in history:
        text = plain_text(entry.get("content"))
        if entry.get("role") == "assistant":
            steps.append({"thought": entry.get("thought") or text, "action": entry.get("action"), "response": text})
        elif steps:  # an observation may be split into several messages
            steps[-1]["observation"] = "\n".join(filter(None, (steps[-1].get("observation"), text)))
    return steps


def _add_message(entry: dict[str, Any], builder: SessionBuilder) -> bool:
    if entry.get("role") != "user" or entry.get("is_demo"):
        return False
    builder.add_user_message(plain_text(entry.get("content")))
    return True


def _end_run(info: dict[str, Any], builder: SessionBuilder) -> None:
    status = str(info.get("exit_status") or "")
    if status.startswith(SUCCESS_STATUSES[0]) or status in SUCCESS_STATUSES:
        builder.complete_run(status)
    else:
        builder.stop_run(status)
