"""Imports mini-swe-agent trajectories, which are lists of messages that include the provider's responses."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any

from core.exchange.importers.foreign_call import ForeignCall, plain_text
from core.exchange.importers.message_parts import (
    arguments_json,
    chat_calls,
    dict_or_empty,
    dicts,
    list_or_empty,
    parse_usage,
)
from core.exchange.importers.record import (
    OpenSession,
    SessionDetails,
    TranscriptRecord,
    derive_key,
    details_record,
    list_records,
    parse_cost,
    parse_exit_code,
    parse_time,
    plain_path,
    read_document,
)
from core.exchange.importers.session_builder import SessionBuilder

EXIT_CODE = re.compile(r"<returncode>(-?\d+)</returncode>")
COMMAND_BLOCK = re.compile(r"^```(?:mswea_bash_command|bash)\n(.*?)\n```", re.DOTALL | re.MULTILINE)


@dataclass(slots=True)
class _TextCalls:
    """The number of replies that contain commands as text, and the generated IDs of the commands without a result."""

    replies: int = 0
    unanswered: list[str] = field(default_factory=list)


class MiniSweAgentImporter:
    """Converts files of old versions, a list of messages, and of new ones, with `messages` and `info`."""

    agent = "mini-swe-agent"
    default_locations: tuple[str, ...] = (".config/mini-swe-agent/*.traj.json",)

    def recognizes(self, path: Path, head: bytes) -> bool:
        return b'"mini-swe-agent-' in head or path.name.endswith(".traj.json")

    def read_records(self, path: Path) -> Iterator[TranscriptRecord]:
        document = read_document(path)
        messages = dicts(document.get("messages") if isinstance(document, dict) else document)
        key = derive_key(path, plain_path(path).name.removesuffix(".json").removesuffix(".traj"))
        if isinstance(document, dict):
            times = (dict_or_empty(message.get("extra")).get("timestamp") for message in messages)
            yield details_record(key, {"info": document.get("info"), "started_at": next(filter(None, times), 0)})
        yield from list_records(key, _with_actions(messages), file_bytes=path.stat().st_size, identities=messages)

    def convert(self, record: TranscriptRecord, builder: SessionBuilder, open_session: OpenSession) -> bool:
        message = record.value
        if isinstance(message, SessionDetails):
            builder.latest = max(builder.latest, parse_time(message.values["started_at"]))
            _set_details(dict_or_empty(message.values["info"]), builder)
            return True
        if not isinstance(message, dict):
            return False
        extra = dict_or_empty(message.get("extra"))
        at = parse_time(extra.get("timestamp"))
        text = plain_text(message.get("content"))
        match message.get("role"):
            case "assistant":
                _add_reply(message, text, extra, at, builder)
            case "tool":
                _add_result(str(message.get("tool_call_id") or ""), text, extra, at, builder)
            # A user message after commands is the output of the first one that is still unanswered.
            case "user" if unanswered := builder.state(_TextCalls).unanswered:
                _add_result(unanswered.pop(0), text, extra, at, builder)
            case "user":
                builder.add_user_message(text, at)
            case "exit":
                _end_run(str(extra.get("exit_status") or ""), text, at, builder)
            case _:
                return False
        return True


def _with_actions(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Add `actions` to the replies of files that do not list them.

    If a user message answers a reply with exactly one code block, that block is the command.
    """
    return [
        _with_action(message) if dict_or_empty(following).get("role") == "user" else message
        for message, following in zip_longest(messages, messages[1:])
    ]


def _with_action(message: dict[str, Any]) -> dict[str, Any]:
    """Add the command to a reply whose actions are not listed, if the reply has exactly one code block."""
    extra = dict_or_empty(message.get("extra"))
    if message.get("role") != "assistant" or "actions" in extra or "tool_calls" in message:
        return message
    blocks = COMMAND_BLOCK.findall(plain_text(message.get("content")))
    return {**message, "extra": {**extra, "actions": blocks}} if len(blocks) == 1 else message


def _set_details(info: dict[str, Any], builder: SessionBuilder) -> None:
    config = dict_or_empty(info.get("config"))
    model = dict_or_empty(config.get("model"))
    environment = dict_or_empty(config.get("environment"))
    builder.set_details(model=str(model.get("model_name") or ""), folder=str(environment.get("cwd") or ""))


def _add_reply(message: dict[str, Any], text: str, extra: dict[str, Any], at: int, builder: SessionBuilder) -> None:
    response = dict_or_empty(extra.get("response"))
    calls = chat_calls(message.get("tool_calls"))
    state = builder.state(_TextCalls)
    state.unanswered = []
    if not calls:  # the commands are in the text of the reply
        state.replies += 1
        calls = _text_calls(extra, state.replies)
        state.unanswered = [call.id for call in calls]
    builder.add_reply(
        text,
        at=at,
        reasoning=str(message.get("reasoning_content") or ""),
        calls=calls,
        usage=parse_usage(response.get("usage")),
        model=str(response.get("model") or ""),
        cost=parse_cost(extra.get("cost")),
    )


def _text_calls(extra: dict[str, Any], reply_number: int) -> list[ForeignCall]:
    calls = []
    for index, action in enumerate(list_or_empty(extra.get("actions"))):
        command = action.get("command") if isinstance(action, dict) else action
        calls.append(ForeignCall(f"a{reply_number}.{index}", "bash", arguments_json({"command": command})))
    return calls


def _add_result(call_id: str, text: str, extra: dict[str, Any], at: int, builder: SessionBuilder) -> None:
    exit_code = parse_exit_code(extra.get("returncode"))
    if exit_code is None and (match := EXIT_CODE.search(text)):
        exit_code = int(match[1])
    raw_output = extra.get("raw_output")
    output = raw_output if isinstance(raw_output, str) else text
    builder.add_result(call_id, output, at=at, failed=bool(exit_code), exit_code=exit_code)


def _end_run(status: str, text: str, at: int, builder: SessionBuilder) -> None:
    if status in ("", "Submitted"):
        builder.complete_run(text, at)
    else:
        builder.stop_run(status, at)
