"""Imports tasks of Roo Code, and of the Cline extension that it was forked from.

A task is a folder of JSON documents.
"""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any

from core.domain.events import Usage
from core.exchange.importers.followable import ReadNewRecords, UnseenRecords
from core.exchange.importers.foreign_call import ForeignCall, plain_text
from core.exchange.importers.message_parts import (
    arguments_json,
    dict_or_empty,
    dicts,
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
INPUT = re.compile(r"<(task|user_message|feedback|answer)>\s*(?P<typed>.*?)\s*</\1>", re.DOTALL)
TOOLS = (
    "read_file write_to_file apply_diff replace_in_file insert_content search_and_replace execute_command list_files "
    "search_files list_code_definition_names browser_action use_mcp_tool access_mcp_resource ask_followup_question "
    "attempt_completion switch_mode new_task fetch_instructions update_todo_list codebase_search plan_mode_respond"
).replace(" ", "|")
# A tool call in the text of a reply, as older versions write it.
TEXT_CALL = re.compile(rf"<(?P<tool>{TOOLS})>(?P<arguments>.*?)</(?P=tool)>", re.DOTALL)
ARGUMENT = re.compile(r"<(\w+)>\n?(.*?)\n?</\1>", re.DOTALL)
TEXT_RESULT = re.compile(rf"\[(?P<tool>{TOOLS})(?: for .*?)?\] Result:\s*", re.DOTALL)


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
        ends_with_reply = bool(messages) and messages[-1].get("role") == "assistant"
        if growing and ends_with_reply and not _is_counted(values[-1]["requests"]):
            del values[-1]
        details = read_json_object(path.with_name("history_item.json"))
        key = path.parent.name
        identities = [[value["message"].get("role"), value["message"].get("ts")] for value in values]
        size = history.stat().st_size if history.is_file() else 0
        yield details_record(key, details)
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
    return dicts(read_document(path)) if path.is_file() else []


def _add_user_message(content: Any, at: int, builder: SessionBuilder) -> bool:
    """Add the tool results in a message with the role user, then the text that the user typed."""
    results = tool_results(content)
    for result in results:
        builder.add_result(result.call_id, result.text, at=at, failed=result.failed, files=result.images)
    texts = [plain_text(part) for part in content] if isinstance(content, list) else [plain_text(content)]
    texts = [ENVIRONMENT.sub("", text) for text in texts]
    has_text_results = _add_text_results(texts, at, builder)
    has_results = bool(results) or has_text_results
    inputs = [match["typed"] for match in INPUT.finditer("\n".join(texts))]
    if not inputs and not has_results:
        inputs = [text.strip() for text in texts if text.strip()]  # without tags, all of the text was typed
    if inputs:
        builder.add_user_message("\n".join(inputs), at, embedded_images(content))
    return bool(inputs) or has_results


def _add_text_results(texts: list[str], at: int, builder: SessionBuilder) -> bool:
    """Add the results of tool calls that were written as text. Return whether there are any.

    Such a result is a line that names the tool, followed by the output up to the next such line.
    """
    text = "\n".join(texts)
    headings = list(TEXT_RESULT.finditer(text))
    open_calls = builder.state(_OpenTextCalls).calls
    for heading, following in zip_longest(headings, headings[1:]):
        end = following.start() if following else len(text)
        output = INPUT.sub("", text[heading.end() : end]).strip()
        call = next((call for call in open_calls if call.tool == heading["tool"]), None)
        if call:
            open_calls.remove(call)
            builder.add_result(call.id, output, at=at, failed=output.startswith("Error"))
    return bool(headings)


def _add_reply(message: dict[str, Any], requests: list[Any], at: int, builder: SessionBuilder) -> None:
    content = message.get("content")
    text = text_of_parts(content)
    calls = tool_use_calls(content)
    open_text_calls = builder.state(_OpenTextCalls).calls
    if not calls:
        calls = _parse_text_calls(text, builder.record_count)
        open_text_calls += [_TextCall(call.id, call.tool) for call in calls]
    if open_text_calls:
        text = TEXT_CALL.sub("", text).strip()
    counts = _parse_counts(requests)
    reasoning = reasoning_text(content) or str(message.get("reasoning_content") or "")
    builder.add_reply(text, at=at, reasoning=reasoning, calls=calls, usage=_total_usage(counts), cost=_cost(counts))
    builder.complete_reply()
    if any(call.tool == COMPLETION for call in calls):
        builder.complete_run(at=at)


def _parse_text_calls(text: str, record_number: int) -> list[ForeignCall]:
    """Return the tool calls that are written in the text of a reply."""
    return [
        ForeignCall(
            id=f"text {record_number}.{index}",
            tool=match["tool"],
            arguments=arguments_json(dict(ARGUMENT.findall(match["arguments"]))),
        )
        for index, match in enumerate(TEXT_CALL.finditer(text))
    ]


def _parse_counts(requests: list[Any]) -> list[dict[str, Any]]:
    """Return the token counts and cost of each request, which is given as JSON text. Skip a malformed one."""
    counts: list[dict[str, Any]] = []
    for text in requests:
        with suppress(ValueError, RecursionError):
            counts.append(dict_or_empty(json.loads(str(text))))
    return counts


def _is_counted(requests: list[Any]) -> bool:
    """Return whether the token counts or the cost of requests are stored."""
    counts = _parse_counts(requests)
    return _total_usage(counts) != Usage() or _cost(counts) is not None


def _total_usage(counts: list[dict[str, Any]]) -> Usage:
    """Return the token usage of requests. In some versions the input count excludes cached tokens; then add them."""
    total = Usage()
    for request in counts:
        tokens_in = parse_count(request.get("tokensIn"))
        cache_read = parse_count(request.get("cacheReads"))
        cache_write = parse_count(request.get("cacheWrites"))
        includes_cached = tokens_in >= cache_read + cache_write
        total = Usage(
            input=total.input + (tokens_in if includes_cached else tokens_in + cache_read + cache_write),
            output=total.output + parse_count(request.get("tokensOut")),
            cache_read=total.cache_read + cache_read,
            cache_write=total.cache_write + cache_write,
        )
    return total


def _cost(counts: list[dict[str, Any]]) -> float | None:
    """Return the cost of requests; None if it is unknown of all of them."""
    costs = [cost for request in counts if (cost := parse_cost(request.get("cost"))) is not None]
    return sum(costs) if costs else None
