"""Imports tasks of Roo Code, and of the Cline extension that it was forked from.

A task is a folder of JSON documents.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any

from core.domain.events import Usage
from core.exchange.importers.followable import ReadNewRecords, UnseenRecords
from core.exchange.importers.foreign_call import ForeignCall, plain_text
from core.exchange.importers.message_parts import (
    arguments_json,
    embedded_images,
    reasoning_text,
    text_of_parts,
    tool_results,
    tool_use_calls,
)
from core.exchange.importers.record import (
    OpenSession,
    SessionDetails,
    TranscriptRecord,
    details_record,
    list_records,
    parse_cost,
    parse_count,
    parse_time,
    read_document,
    read_json_object,
)
from core.exchange.importers.session_builder import SessionBuilder

HISTORY, INTERFACE = "api_conversation_history.json", "ui_messages.json"
COMPLETION = "attempt_completion"  # the tool with which the agent presents its result to the user
ENVIRONMENT = re.compile(r"<environment_details>.*?</environment_details>", re.DOTALL)
# The tags around what the user typed.
INPUT = re.compile(r"<(task|user_message|feedback|answer)>\s*(.*?)\s*</\1>", re.DOTALL)
TOOLS = (
    "read_file write_to_file apply_diff replace_in_file insert_content search_and_replace execute_command list_files "
    "search_files list_code_definition_names browser_action use_mcp_tool access_mcp_resource ask_followup_question "
    "attempt_completion switch_mode new_task fetch_instructions update_todo_list codebase_search plan_mode_respond"
).replace(" ", "|")
# A tool call in the text of a reply, as older versions write it.
TEXT_CALL = re.compile(rf"<({TOOLS})>(.*?)</\1>", re.DOTALL)
ARGUMENT = re.compile(r"<(\w+)>\n?(.*?)\n?</\1>", re.DOTALL)
TEXT_RESULT = re.compile(rf"\[({TOOLS})(?: for .*?)?\] Result:\s*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class _TextCall:
    id: str
    tool: str


@dataclass(slots=True)
class _OpenTextCalls:
    """The tool calls that were read from the texts of replies and have no result yet."""

    calls: list[_TextCall] = field(default_factory=list)


class RooCodeImporter:
    """Converts the messages to and from the model. Token counts are in a second document, for the user interface.

    Both documents are rewritten as they grow. The second one changes last, so it is the one to follow.
    """

    def __init__(self, agent: str, extension: str, *more_locations: str) -> None:
        self.agent = agent
        self._extension = extension
        folders = (".config/*", ".vscode-server/data", "Library/Application Support/*", "AppData/Roaming/*")
        self.default_locations: tuple[str, ...] = (
            *(f"{folder}/User/globalStorage/{extension}/tasks/*/{INTERFACE}" for folder in folders),
            *more_locations,
        )

    def recognizes(self, path: Path, head: bytes) -> bool:
        """Recognize both documents of a task, in the storage of this extension or outside of editor storage."""
        is_task = path.name in (HISTORY, INTERFACE) and head.lstrip().startswith(b"[")
        return is_task and (self._extension in path.parts or "globalStorage" not in path.parts)

    def follow(self, path: Path) -> ReadNewRecords:
        return UnseenRecords(lambda: self._records(path, growing=True))

    def read_records(self, path: Path) -> Iterator[TranscriptRecord]:
        return self._records(path, growing=False)

    def _records(self, path: Path, *, growing: bool) -> Iterator[TranscriptRecord]:
        """Yield a record for each message. The record of a reply also has the token counts of the requests for it.

        In a growing task, the last reply is left out until its token counts are stored.
        """
        history = path.with_name(HISTORY)
        messages, notes = _read_list(history), _read_list(path.with_name(INTERFACE))
        requests = [note for note in notes if note.get("say") == "api_req_started"]
        values: list[dict[str, Any]] = []
        for message in messages:
            before = _requests_before(message, requests) if message.get("role") == "assistant" else []
            values.append({"message": message, "requests": before})
        if growing and messages and messages[-1].get("role") == "assistant":
            values = values if _usage(values[-1]["requests"]) != (Usage(), None) else values[:-1]
        item = read_json_object(path.with_name("history_item.json"))
        key = path.parent.name
        identities = [[value["message"].get("role"), value["message"].get("ts")] for value in values]
        size = history.stat().st_size if history.is_file() else 0
        yield details_record(key, item)
        yield from list_records(key, values, file_bytes=size, identities=identities)

    def convert(self, record: TranscriptRecord, builder: SessionBuilder, open_session: OpenSession) -> bool:
        if isinstance(record.value, SessionDetails):
            details = record.value.values
            builder.set_details(folder=str(details.get("workspace") or details.get("cwdOnTaskInitialization") or ""))
            return True
        message, requests = record.value["message"], record.value["requests"]
        at = parse_time(message.get("ts"))
        if message.get("isSummary"):
            builder.add_compaction(f"compacted by {self.agent}", text_of_parts(message.get("content")), at=at)
            return True
        match message.get("role"):
            case "user":
                return _add_user_message(message.get("content"), at, builder)
            case "assistant":
                _add_reply(message, requests, at, builder)
                return True
            case _:
                return False


def _requests_before(reply: dict[str, Any], requests: list[dict[str, Any]]) -> list[Any]:
    """Remove the requests sent before the reply, or one if the reply has no time, and return their texts."""
    at = reply.get("ts")
    count = sum((request.get("ts") or 0) <= at for request in requests) if at else 1
    taken = [request.get("text") for request in requests[:count]]
    del requests[:count]
    return taken


def _read_list(path: Path) -> list[dict[str, Any]]:
    document = read_document(path) if path.is_file() else []
    return [entry for entry in document if isinstance(entry, dict)] if isinstance(document, list) else []


def _add_user_message(content: Any, at: int, builder: SessionBuilder) -> bool:
    """Add the tool results in a message with the role user, then the text that the user typed."""
    results = tool_results(content)
    for result in results:
        builder.add_result(result.call_id, result.text, at=at, failed=result.failed, files=result.images)
    texts = [plain_text(part) for part in content] if isinstance(content, list) else [plain_text(content)]
    texts = [ENVIRONMENT.sub("", text) for text in texts]
    results_as_text = _add_text_results(texts, at, builder)
    if results_as_text or results:
        inputs = [match.group(2) for match in INPUT.finditer("\n".join(texts))]
    else:
        text = "\n".join(filter(None, (text.strip() for text in texts)))
        inputs = [match.group(2) for match in INPUT.finditer(text)] or ([text] if text else [])
    if inputs:
        builder.add_user_message("\n".join(inputs), at, embedded_images(content))
    return bool(inputs or results or results_as_text)


def _add_text_results(texts: list[str], at: int, builder: SessionBuilder) -> bool:
    """Add the results of tool calls that were written as text. Return whether there are any.

    Such a result is a line that names the tool, followed by the output up to the next such line.
    """
    text = "\n".join(texts)
    found = list(TEXT_RESULT.finditer(text))
    waiting = builder.state(_OpenTextCalls).calls
    for match, following in zip_longest(found, found[1:]):
        output = INPUT.sub("", text[match.end() : following.start() if following else None]).strip()
        call = next((call for call in waiting if call.tool == match.group(1)), None)
        if call:
            waiting.remove(call)
            builder.add_result(call.id, output, at=at, failed=output.startswith("Error"))
    return bool(found)


def _add_reply(message: dict[str, Any], requests: list[Any], at: int, builder: SessionBuilder) -> None:
    content = message.get("content")
    calls, text = tool_use_calls(content), text_of_parts(content)
    waiting = builder.state(_OpenTextCalls).calls
    for match in [] if calls else TEXT_CALL.finditer(text):
        id = f"text {builder.record_count}.{len(calls)}"
        arguments = dict(ARGUMENT.findall(match.group(2)))
        calls.append(ForeignCall(id, match.group(1), arguments_json(arguments)))
        waiting.append(_TextCall(id, match.group(1)))
    if waiting:
        text = TEXT_CALL.sub("", text).strip()
    usage, cost = _usage(requests)
    reasoning = reasoning_text(content) or str(message.get("reasoning_content") or "")
    builder.add_reply(text, at=at, reasoning=reasoning, calls=calls, usage=usage, cost=cost)
    builder.complete_reply()
    if any(call.tool == COMPLETION for call in calls):
        builder.complete_run(at=at)


def _usage(requests: list[Any]) -> tuple[Usage, float | None]:
    """Return the token usage and cost of requests, each given as JSON text.

    In some versions the input count excludes cached tokens; they are then added to it.
    """
    total, cost = [0, 0, 0, 0], None
    for text in requests:
        try:
            counts = json.loads(text) if isinstance(text, str) else {}
        except (ValueError, RecursionError):
            continue
        names = ("tokensIn", "tokensOut", "cacheReads", "cacheWrites")
        input, output, read, written = (parse_count(counts.get(name)) for name in names)
        input = input if input >= read + written else input + read + written
        total = [before + now for before, now in zip(total, (input, output, read, written), strict=True)]
        if (price := parse_cost(counts.get("cost"))) is not None:
            cost = (cost or 0.0) + price
    return Usage(*total), cost
