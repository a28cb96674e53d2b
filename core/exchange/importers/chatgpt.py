"""Imports the conversations of the data export of ChatGPT."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from core.exchange.importers.chat_exports import conversations_head, read_conversations
from core.exchange.importers.foreign_call import ForeignCall
from core.exchange.importers.message_parts import arguments_json, dict_or_empty, dicts, list_or_empty
from core.exchange.importers.record import (
    OpenSession,
    SessionDetails,
    TranscriptRecord,
    details_record,
    list_records,
    parse_time,
)
from core.exchange.importers.session_builder import SessionBuilder


@dataclass(slots=True)
class _OpenCall:
    id: str
    tool: str


@dataclass(slots=True)
class _ReplyState:
    """The number of the current reply, and the tool calls that have no result yet."""

    turn: int = 0
    open_calls: list[_OpenCall] = field(default_factory=list)


class ChatGptImporter:
    """Imports each conversation as a session.

    Only messages of the current branch become events. Messages of other branches are stored as unrecognized records.
    """

    agent = "ChatGPT"
    default_locations: tuple[str, ...] = ()

    def recognizes(self, path: Path, head: bytes) -> bool:
        head = conversations_head(path, head)
        return b'"mapping"' in head and (b'"create_time"' in head or b'"current_node"' in head)

    def read_records(self, path: Path) -> Iterator[TranscriptRecord]:
        for conversation in read_conversations(path):
            nodes = dict_or_empty(conversation.pop("mapping", None))
            branch = _branch(nodes, conversation.get("current_node"))
            key = str(conversation.get("conversation_id") or conversation.get("id") or conversation.get("title"))
            messages = dicts([dict_or_empty(nodes[name]).get("message") for name in branch])
            other_messages = [dict_or_empty(node).get("message") for name, node in nodes.items() if name not in branch]
            messages += [{"other branch": message} for message in other_messages if message]
            yield details_record(key, conversation)
            yield from list_records(key, messages, identities=[message.get("id") or "" for message in messages])

    def convert(self, record: TranscriptRecord, builder: SessionBuilder, open_session: OpenSession) -> bool:
        message = record.value
        if isinstance(message, SessionDetails):
            details = message.values
            builder.latest = max(builder.latest, parse_time(details.get("create_time")))
            builder.set_details(
                title=str(details.get("title") or ""), model=str(details.get("default_model_slug") or "")
            )
            return True
        return "other branch" not in message and _add_message(message, builder)


def _branch(nodes: dict[str, Any], leaf: Any) -> list[str]:
    """Return the names of the nodes from the root to `leaf`, or of all nodes if `leaf` is unknown."""
    if leaf not in nodes:
        return list(nodes)
    branch: dict[str, None] = {}
    while isinstance(leaf, str) and leaf in nodes and leaf not in branch:
        branch[leaf] = None
        leaf = dict_or_empty(nodes[leaf]).get("parent")
    return list(reversed(branch))


def _add_message(message: dict[str, Any], builder: SessionBuilder) -> bool:
    author = dict_or_empty(message.get("author"))
    metadata = dict_or_empty(message.get("metadata"))
    content = dict_or_empty(message.get("content"))
    text = _text(content)
    at = parse_time(message.get("create_time"))
    model = str(metadata.get("model_slug") or "")
    recipient = str(message.get("recipient") or "all")
    match author.get("role"):
        case "user" if text and not metadata.get("is_visually_hidden_from_conversation"):
            builder.add_user_message(text, at)
        case "assistant" if content.get("content_type") in ("thoughts", "reasoning_recap"):
            builder.add_reply(at=at, reply_id=_reply_id(builder), reasoning=text, model=model)
        case "assistant" if recipient != "all":  # a message to a tool is a call of that tool
            call_id = str(message.get("id") or f"call {builder.record_count}")
            builder.state(_ReplyState).open_calls.append(_OpenCall(call_id, _tool_name(recipient)))
            arguments = text if text.startswith("{") else arguments_json({"input": text})
            call = ForeignCall(call_id, recipient, arguments)
            builder.add_reply(at=at, reply_id=_reply_id(builder), calls=[call], model=model)
        case "assistant" if text:
            builder.add_reply(text, at=at, reply_id=_reply_id(builder), model=model)
        case "tool":
            return _add_result(str(author.get("name") or ""), text, at, builder)
        case role:
            return role in ("system", "assistant") and not text  # an empty message only marks a state
    return True


def _reply_id(builder: SessionBuilder) -> str:
    """Return the ID of the current reply. All assistant messages up to the next tool result belong to one reply."""
    return f"turn {builder.state(_ReplyState).turn}"


def _tool_name(recipient: str) -> str:
    """Return the part of a name such as `browser.search` that calls and results have in common."""
    return recipient.partition(".")[0]


def _add_result(tool: str, text: str, at: int, builder: SessionBuilder) -> bool:
    """Add a result to the first open call of this tool. Return false if the tool has no open call."""
    state = builder.state(_ReplyState)
    call = next((call for call in state.open_calls if call.tool == _tool_name(tool)), None)
    if call is None:
        return False
    state.open_calls.remove(call)
    state.turn += 1
    builder.add_result(call.id, text, at=at)
    return True


def _text(content: dict[str, Any]) -> str:
    """Return the text of a message.

    An image, which the export keeps in another file, is shown as its name in brackets.
    """
    if thoughts := content.get("thoughts"):
        entries = [dict_or_empty(thought) for thought in list_or_empty(thoughts)]
        return "\n\n".join(f"{entry.get('summary') or ''}\n{entry.get('content') or ''}".strip() for entry in entries)
    parts = content.get("parts")
    if isinstance(parts, list):
        return "\n".join(filter(None, map(_part_text, parts)))
    return next((str(content[name]) for name in ("text", "result", "content") if content.get(name)), "")


def _part_text(part: Any) -> str:
    if isinstance(part, str):
        return part
    fields = dict_or_empty(part)
    if fields.get("asset_pointer") and not fields.get("text"):
        return f"[{fields['asset_pointer']}]"
    return str(fields.get("text") or "")
