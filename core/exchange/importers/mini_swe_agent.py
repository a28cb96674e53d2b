"""mini-swe-agent: a trajectory file of messages, with what the model's server answered inside."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from core.exchange.importers.blocks import as_json, chat_calls, usage_of
from core.exchange.importers.called import Asked, plain_text
from core.exchange.importers.record import Open, Record, amount, document, key_of, listed, moment
from core.exchange.importers.telling import Telling

CODE = re.compile(r"<returncode>(-?\d+)</returncode>")
BLOCK = re.compile(r"^```(?:mswea_bash_command|bash)\n(.*?)\n```", re.DOTALL | re.MULTILINE)


class MiniSweAgent:
    """Older files are a bare list of messages; newer ones have `info` beside it."""

    agent = "mini-swe-agent"
    usual: tuple[str, ...] = (".config/mini-swe-agent/*.traj.json",)

    def knows(self, path: Path, head: bytes) -> bool:
        return b'"mini-swe-agent-' in head or path.name.endswith(".traj.json")

    def records(self, path: Path) -> Iterator[Record]:
        whole = document(path)
        messages = whole.get("messages") if isinstance(whole, dict) else whole
        info = whole.get("info") if isinstance(whole, dict) else None
        found = [said for said in messages if isinstance(said, dict)] if isinstance(messages, list) else []
        key = key_of(path, path.name.removesuffix(".json").removesuffix(".traj"))
        if isinstance(whole, dict):
            times = (said["extra"].get("timestamp") for said in found if isinstance(said.get("extra"), dict))
            yield from listed(key, [{"info": info or {}, "at": next(filter(None, times), 0)}], 0, ["info"])
        yield from listed(key, _with_actions(found), path.stat().st_size, found)

    def tell(self, record: Record, telling: Telling, open: Open) -> bool:
        said = record.value
        if not isinstance(said, dict):
            return False
        if "info" in said:
            telling.at = max(telling.at, moment(said.get("at")))
            _about(said["info"], telling)
            return True
        extra = said.get("extra") if isinstance(said.get("extra"), dict) else {}
        assert isinstance(extra, dict)
        at = moment(extra.get("timestamp"))
        text = plain_text(said.get("content"))
        match said.get("role"):
            case "assistant":
                _assistant(said, text, extra, at, telling)
            case "tool":
                _result(str(said.get("tool_call_id")), text, extra, at, telling)
            case "user" if waiting := telling.memory.get("waiting"):
                _result(waiting.pop(0), text, extra, at, telling)
            case "user":
                telling.person(text, at)
            case "exit":
                status = str(extra.get("exit_status") or "")
                done = status in ("", "Submitted")
                telling.completed(text, at) if done else telling.stopped(status, at)
            case _:
                return False
        return True


def _with_actions(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The oldest files name no actions: a reply that the next message answers holds one command, in a block."""
    answers = [*(said.get("role") == "user" for said in messages[1:]), False]
    return [_with_action(said) if answered else said for said, answered in zip(messages, answers, strict=False)]


def _with_action(said: dict[str, Any]) -> dict[str, Any]:
    if said.get("role") != "assistant" or "extra" in said or "tool_calls" in said:
        return said
    blocks = BLOCK.findall(plain_text(said.get("content")))
    return {**said, "extra": {"actions": blocks}} if len(blocks) == 1 else said


def _about(info: dict[str, Any], telling: Telling) -> None:
    config = info.get("config") if isinstance(info.get("config"), dict) else {}
    model = (config or {}).get("model")
    place = (config or {}).get("environment")
    telling.about(
        model=str(model.get("model_name") or "") if isinstance(model, dict) else "",
        folder=str(place.get("cwd") or "") if isinstance(place, dict) else "",
    )


def _assistant(said: dict[str, Any], text: str, extra: dict[str, Any], at: int, telling: Telling) -> None:
    response = extra.get("response") if isinstance(extra.get("response"), dict) else {}
    assert isinstance(response, dict)
    calls = chat_calls(said.get("tool_calls"))
    waiting: list[str] = []
    if not calls:  # the commands stand in the words of the reply
        count = telling.memory["count"] = telling.memory.get("count", 0) + 1
        actions = extra.get("actions") if isinstance(extra.get("actions"), list) else []
        for place, action in enumerate(actions or ()):
            command = action.get("command") if isinstance(action, dict) else action
            calls.append(Asked(f"a{count}.{place}", "bash", as_json({"command": command})))
        waiting = [call.id for call in calls]
    telling.memory["waiting"] = waiting
    cost = extra.get("cost")
    telling.reply(
        text, at=at, thought=str(said.get("reasoning_content") or ""), calls=calls,
        usage=usage_of(response.get("usage")), model=str(response.get("model") or ""),
        cost=amount(cost),
    )  # fmt: skip


def _result(id: str, text: str, extra: dict[str, Any], at: int, telling: Telling) -> None:
    code = extra.get("returncode")
    if not isinstance(code, int):
        found = CODE.search(text)
        code = int(found.group(1)) if found else None
    output = extra.get("raw_output")
    telling.result(id, output if isinstance(output, str) else text, at=at, failed=bool(code), exit_code=code)
