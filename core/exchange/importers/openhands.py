"""OpenHands: a folder of events for each conversation, or, in its first version, one list of them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from core.exchange.importers.blocks import as_json
from core.exchange.importers.called import Asked, plain_text
from core.exchange.importers.record import LARGEST, Open, Record, document, key_of, listed, moment, parsed
from core.exchange.importers.telling import Telling

NO_ACTS = frozenset({"message", "system", "recall", "change_agent_state", "null", ""})


class OpenHands:
    """An event is a record."""

    agent = "OpenHands"
    usual: tuple[str, ...] = (".openhands/conversations/*/base_state.json",)

    def knows(self, path: Path, head: bytes) -> bool:
        if path.name == "base_state.json":
            return (path.parent / "events").is_dir()
        start = head.lstrip()
        return start.startswith(b"[") and b'"source"' in head and (b'"action"' in head or b'"observation"' in head)

    def records(self, path: Path) -> Iterator[Record]:
        if path.name != "base_state.json":
            whole = document(path)
            yield from listed(key_of(path), whole if isinstance(whole, list) else [], path.stat().st_size)
            return
        key, done = path.parent.name, 0
        yield from listed(key, [{"state": document(path)}], 0, ["state"])
        for file in sorted((path.parent / "events").glob("event-*.json")):
            if (size := file.stat().st_size) <= LARGEST:
                done += size
                yield Record(key, *parsed(file.read_text("utf-8", "replace").encode()), done)

    def tell(self, record: Record, telling: Telling, open: Open) -> bool:
        said = record.value
        if not isinstance(said, dict):
            return False
        if "state" in said:
            return _about(said["state"], telling)
        at = moment(said.get("timestamp"))
        return _event(said, at, telling) if "kind" in said else _first(said, at, telling)


def _about(state: Any, telling: Telling) -> bool:
    if isinstance(state, dict):
        agent, place = state.get("agent"), state.get("workspace")
        model = agent.get("llm") if isinstance(agent, dict) else None
        telling.about(
            model=str(model.get("model") or "") if isinstance(model, dict) else "",
            folder=str(place.get("working_dir") or "") if isinstance(place, dict) else "",
        )
    return True


def _event(said: dict[str, Any], at: int, telling: Telling) -> bool:
    match said.get("kind"):
        case "MessageEvent":
            message = said.get("llm_message") or {}
            text = plain_text(message.get("content"))
            if said.get("source") == "user":
                telling.person(text, at)
            else:
                telling.reply(text, at=at, thought=str(message.get("reasoning_content") or ""))
        case "ActionEvent":
            call = said.get("tool_call") if isinstance(said.get("tool_call"), dict) else {}
            arguments = (call or {}).get("arguments") or said.get("action")
            id = str(said.get("tool_call_id") or said.get("id"))
            telling.reply(
                plain_text(said.get("thought")), at=at, id=str(said.get("llm_response_id") or ""),
                thought=str(said.get("reasoning_content") or ""),
                calls=[Asked(id, str(said.get("tool_name") or "tool"), as_json(arguments))],
            )  # fmt: skip
        case "ObservationEvent":
            seen = said.get("observation") if isinstance(said.get("observation"), dict) else {}
            assert isinstance(seen, dict)
            code = seen.get("exit_code")
            telling.result(
                str(said.get("tool_call_id") or said.get("action_id")), plain_text(seen.get("content")), at=at,
                failed=seen.get("is_error") is True or bool(code), exit_code=code if isinstance(code, int) else None,
            )  # fmt: skip
        case "AgentErrorEvent":
            telling.result(str(said.get("tool_call_id")), str(said.get("error")), at=at, failed=True)
        case "UserRejectObservation":
            reason = str(said.get("rejection_reason") or "refused")
            telling.result(str(said.get("tool_call_id") or said.get("action_id")), reason, at=at, failed=True)
        case "Condensation":
            telling.compacted("condensed by OpenHands", str(said.get("summary") or ""), at=at)
        case "PauseEvent" | "InterruptEvent":
            telling.stopped("paused by the person", at)
        case _:
            return False
    return True


def _first(said: dict[str, Any], at: int, telling: Telling) -> bool:
    """An event of the first version: what was done names no call, and `cause` is the event before it."""
    args = said.get("args") if isinstance(said.get("args"), dict) else {}
    assert isinstance(args, dict)
    action, seen = said.get("action"), said.get("observation")
    if action == "message":
        text = str(args.get("content") or said.get("message") or "")
        if said.get("source") == "user":
            telling.person(text, at)
        else:
            telling.reply(text, at=at)
        return True
    if isinstance(action, str) and action not in NO_ACTS and said.get("source") == "agent":
        if action == "finish":
            telling.reply(str(args.get("final_thought") or args.get("thought") or said.get("message") or ""), at=at)
            return True
        id = f"e{said.get('id')}"
        telling.memory.setdefault("acts", set()).add(id)
        telling.reply(str(args.get("thought") or ""), at=at, calls=[Asked(id, action, as_json(args))])
        return True
    if isinstance(seen, str) and f"e{said.get('cause')}" in telling.memory.get("acts", ()):
        extras = said.get("extras") if isinstance(said.get("extras"), dict) else {}
        assert isinstance(extras, dict)
        code = (extras.get("metadata") or {}).get("exit_code", extras.get("exit_code"))
        telling.result(
            f"e{said['cause']}", str(said.get("content") or ""), at=at, failed=seen == "error" or bool(code),
            exit_code=code if isinstance(code, int) else None,
        )  # fmt: skip
        return True
    return False
