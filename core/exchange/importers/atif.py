"""ATIF, the interchange format of agent trajectories: one document, with those of sub-agents inside."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from core.domain.events import Usage
from core.exchange.importers.blocks import as_json
from core.exchange.importers.called import Asked, plain_text
from core.exchange.importers.record import Open, Record, amount, document, key_of, listed, moment, number
from core.exchange.importers.telling import Telling


class Atif:
    """A step is a record; the head of each trajectory is one too."""

    agent = "ATIF"
    usual: tuple[str, ...] = ()

    def knows(self, path: Path, head: bytes) -> bool:
        return b'"schema_version"' in head and b'"ATIF-v' in head

    def records(self, path: Path) -> Iterator[Record]:
        whole = document(path)
        key = str(whole.get("trajectory_id") or whole.get("session_id") or key_of(path))
        yield from _trajectory(whole, key, path.stat().st_size)

    def tell(self, record: Record, telling: Telling, open: Open) -> bool:
        said = record.value
        if not isinstance(said, dict):
            return False
        if "steps_below" in said:
            _head(said, telling, open)
            return True
        at = moment(said.get("timestamp"))
        match said.get("source"):
            case "user":
                telling.person(plain_text(said.get("message")), at)
            case "agent":
                _agent(said, at, telling, open)
            case _:
                return False
        return True


def _trajectory(whole: Any, key: str, size: int, parent: str = "") -> Iterator[Record]:
    steps = whole.get("steps") if isinstance(whole, dict) else None
    head = {name: whole[name] for name in ("agent", "notes", "extra", "final_metrics") if whole.get(name)}
    times = (step.get("timestamp") for step in steps or () if isinstance(step, dict))
    began = next(filter(None, times), None)
    yield from listed(key, [{**head, "steps_below": len(steps or ()), "parent": parent, "began": began}], 0, ["head"])
    yield from listed(key, steps if isinstance(steps, list) else [], size)
    for below in whole.get("subagent_trajectories") or ():
        if isinstance(below, dict):
            yield from _trajectory(below, f"{key}/{below.get('trajectory_id')}", size, key)


def _head(said: dict[str, Any], telling: Telling, open: Open) -> None:
    agent = said.get("agent") if isinstance(said.get("agent"), dict) else {}
    extra = said.get("extra") if isinstance(said.get("extra"), dict) else {}
    assert isinstance(agent, dict) and isinstance(extra, dict)
    telling.about(
        folder=str(extra.get("cwd") or ""),
        title=str(extra.get("title") or ""),
        model=str(agent.get("model_name") or ""),
    )
    telling.at = max(telling.at, moment(said.get("began")))
    if parent := said.get("parent"):
        call = open(parent).memory.get("below", {}).get(telling.key, "")
        telling.belongs(parent, call, str(agent.get("name") or "agent"))


def _agent(said: dict[str, Any], at: int, telling: Telling, open: Open) -> None:
    metrics = said.get("metrics") if isinstance(said.get("metrics"), dict) else {}
    assert isinstance(metrics, dict)
    more = metrics.get("extra") if isinstance(metrics.get("extra"), dict) else {}
    calls = [
        Asked(str(call.get("tool_call_id")), str(call.get("function_name") or "tool"), as_json(call.get("arguments")))
        for call in said.get("tool_calls") or ()
        if isinstance(call, dict)
    ]
    cost = metrics.get("cost_usd")
    if said.get("llm_call_count") != 0 or calls or said.get("message"):
        telling.reply(
            plain_text(said.get("message")), at=at, thought=str(said.get("reasoning_content") or ""), calls=calls,
            usage=Usage(
                number(metrics.get("prompt_tokens")), number(metrics.get("completion_tokens")),
                number(metrics.get("cached_tokens")), 0, number((more or {}).get("reasoning_tokens")),
            ),
            model=str(said.get("model_name") or ""), cost=amount(cost),
        )  # fmt: skip
    observation = said.get("observation")
    for place, result in enumerate(observation.get("results") or () if isinstance(observation, dict) else ()):
        if isinstance(result, dict):
            id = str(result.get("source_call_id") or (calls[place].id if place < len(calls) else f"seen {place}"))
            _result(result, id, telling)


def _result(result: dict[str, Any], id: str, telling: Telling) -> None:
    extra = result.get("extra") if isinstance(result.get("extra"), dict) else {}
    assert isinstance(extra, dict)
    for below in result.get("subagent_trajectory_ref") or ():
        if isinstance(below, dict) and below.get("trajectory_id"):
            child = f"{telling.key}/{below['trajectory_id']}"
            telling.delegated(id, child, str(extra.get("called") or "agent"))
            telling.memory.setdefault("below", {})[child] = telling.call(id)
            telling.delegate_ended(id, child, "completed")
    code = extra.get("exit_code")
    failed = extra.get("failed") is True
    telling.result(
        id, plain_text(result.get("content")), failed=failed, at=moment(extra.get("timestamp")),
        exit_code=code if isinstance(code, int) else None,
    )  # fmt: skip
