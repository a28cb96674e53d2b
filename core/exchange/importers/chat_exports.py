"""Imports the conversations in the data exports of ChatGPT and of Claude.ai, as a ZIP or unpacked."""

from collections.abc import Iterator, Sequence
from glob import escape
from pathlib import Path
from typing import Any

from core.exchange.importers.export_archive import is_zip, member_names, read_documents, read_member_head
from core.exchange.importers.foreign_call import ForeignCall, plain_text
from core.exchange.importers.message_parts import arguments_json, dict_or_empty, dicts, text_parts, tool_use_calls
from core.exchange.importers.record import OpenSession, TranscriptRecord, list_records, parse_time
from core.exchange.importers.session_builder import SessionBuilder

CONVERSATIONS = "conversations*.json"  # large exports have several, with a number
HEAD_BYTES = 65_536


def _conversations_head(path: Path, head: bytes) -> bytes:
    """Return the first bytes of the conversations in a file, which may be a ZIP."""
    if not is_zip(head):
        return head
    names = (name for name in member_names(path) if name.startswith("conversations") and name.endswith(".json"))
    name = next(names, "")
    return read_member_head(path, name, HEAD_BYTES) if name else b""


def _conversations(path: Path) -> Iterator[dict[str, Any]]:
    for _, document in read_documents(path, CONVERSATIONS if path.suffix == ".zip" else escape(path.name)):
        for conversation in document if isinstance(document, list) else [document]:
            if isinstance(conversation, dict):
                yield conversation


class ChatGptImporter:
    """Imports each conversation as a session. Messages of other branches than the last are kept as they were."""

    agent = "ChatGPT"
    default_locations: tuple[str, ...] = ()

    def recognizes(self, path: Path, head: bytes) -> bool:
        head = _conversations_head(path, head)
        return b'"mapping"' in head and (b'"create_time"' in head or b'"current_node"' in head)

    def read_records(self, path: Path) -> Iterator[TranscriptRecord]:
        for conversation in _conversations(path):
            nodes = dict_or_empty(conversation.pop("mapping", None))
            branch = _branch(nodes, conversation.get("current_node"))
            others = [name for name in nodes if name not in branch]
            key = str(conversation.get("conversation_id") or conversation.get("id") or conversation.get("title"))
            messages = [dict_or_empty(nodes[name]).get("message") for name in branch]
            messages += [
                {"other branch": message} for name in others if (message := dict_or_empty(nodes[name]).get("message"))
            ]
            details = {"details": conversation}
            values = [details, *(message for message in messages if isinstance(message, dict))]
            marks = ["details", *(value.get("id") or "" for value in values[1:])]
            yield from list_records(key, values, 0, marks)

    def convert(self, record: TranscriptRecord, builder: SessionBuilder, open_session: OpenSession) -> bool:
        message = record.value
        if "details" in message:
            details = message["details"]
            builder.latest = max(builder.latest, parse_time(details.get("create_time")))
            builder.set_details(
                title=str(details.get("title") or ""), model=str(details.get("default_model_slug") or "")
            )
            return True
        return "other branch" not in message and _add_chatgpt_message(message, builder)


def _branch(nodes: dict[str, Any], leaf: Any) -> list[str]:
    """Return the names of the nodes from the root to a leaf; without one, those of all nodes."""
    if leaf not in nodes:
        return list(nodes)
    branch: dict[str, None] = {}
    while isinstance(leaf, str) and leaf in nodes and leaf not in branch:
        branch[leaf] = None
        leaf = dict_or_empty(nodes[leaf]).get("parent")
    return list(reversed(branch))


def _add_chatgpt_message(message: dict[str, Any], builder: SessionBuilder) -> bool:
    author, metadata = dict_or_empty(message.get("author")), dict_or_empty(message.get("metadata"))
    content = dict_or_empty(message.get("content"))
    text, at = _chatgpt_text(content), parse_time(message.get("create_time"))
    model = str(metadata.get("model_slug") or "")
    match author.get("role"):
        case "user" if text and not metadata.get("is_visually_hidden_from_conversation"):
            builder.add_user_message(text, at)
        case "assistant" if content.get("content_type") in ("thoughts", "reasoning_recap"):
            builder.add_reply(at=at, id=_turn(builder), reasoning=text, model=model)
        case "assistant" if (tool := str(message.get("recipient") or "all")) != "all":
            id = str(message.get("id") or f"call {builder.record_count}")
            builder.state.setdefault("calls", []).append((id, tool.partition(".")[0]))
            call = ForeignCall(id, tool, text if text.startswith("{") else arguments_json({"input": text}))
            builder.add_reply(at=at, id=_turn(builder), calls=[call], model=model)
        case "assistant" if text:
            builder.add_reply(text, at=at, id=_turn(builder), model=model)
        case "tool":
            return _add_chatgpt_result(str(author.get("name") or ""), text, at, builder)
        case role:
            return role in ("system", "assistant") and not text  # empty messages that only mark a state
    return True


def _turn(builder: SessionBuilder) -> str:
    """Return the id of the reply that ends with the next result; messages of one turn are one reply."""
    return f"turn {builder.state.get('turn', 0)}"


def _add_chatgpt_result(tool: str, text: str, at: int, builder: SessionBuilder) -> bool:
    """Add the result of the first open call of the tool that it names. Return False if that tool has no open call."""
    calls: list[tuple[str, str]] = builder.state.setdefault("calls", [])
    call = next((call for call in calls if call[1] == tool.partition(".")[0]), None)
    if call is None:
        return False
    calls.remove(call)
    builder.state["turn"] = builder.state.get("turn", 0) + 1
    builder.add_result(call[0], text, at=at)
    return True


def _chatgpt_text(content: dict[str, Any]) -> str:
    """Return the text of a message. Images are in other files of the export; their place is shown."""
    if thoughts := content.get("thoughts"):
        entries = [dict_or_empty(thought) for thought in thoughts] if isinstance(thoughts, list) else []
        return "\n\n".join(f"{entry.get('summary') or ''}\n{entry.get('content') or ''}".strip() for entry in entries)
    parts = content.get("parts")
    if isinstance(parts, list):
        return "\n".join(filter(None, map(_part_text, parts)))
    return next((str(content[name]) for name in ("text", "result", "content") if content.get(name)), "")


def _part_text(part: Any) -> str:
    if isinstance(part, dict):
        return str(part.get("text") or (f"[{part['asset_pointer']}]" if part.get("asset_pointer") else ""))
    return part if isinstance(part, str) else ""


class ClaudeAiImporter:
    """Imports each conversation as a session. The export names no models and counts no tokens."""

    agent = "Claude.ai"
    default_locations: tuple[str, ...] = ()

    def recognizes(self, path: Path, head: bytes) -> bool:
        return b'"chat_messages"' in _conversations_head(path, head)

    def read_records(self, path: Path) -> Iterator[TranscriptRecord]:
        for conversation in _conversations(path):
            messages = dicts(conversation.pop("chat_messages", None))
            key = str(conversation.get("uuid") or conversation.get("name"))
            marks = ["details", *(message.get("uuid") or "" for message in messages)]
            yield from list_records(key, [{"details": conversation}, *messages], 0, marks)

    def convert(self, record: TranscriptRecord, builder: SessionBuilder, open_session: OpenSession) -> bool:
        message = record.value
        if "details" in message:
            details = message["details"]
            builder.latest = max(builder.latest, parse_time(details.get("created_at")))
            builder.set_details(title=str(details.get("name") or ""), model=str(details.get("model") or ""))
            return True
        content, at = message.get("content"), parse_time(message.get("created_at"))
        match message.get("sender"):
            case "human":
                text = "\n\n".join(
                    filter(None, (text_parts(content) or str(message.get("text") or ""), *_attachments(message)))
                )
                if text:
                    builder.add_user_message(text, at)
                return bool(text)
            case "assistant":
                _add_claude_reply(
                    content if isinstance(content, list) else [], str(message.get("text") or ""), at, builder
                )
                return True
            case _:
                return False


def _attachments(message: dict[str, Any]) -> Iterator[str]:
    """Yield the text of attached documents, and the names of files whose content is not in the export."""
    attachments, files = message.get("attachments"), message.get("files")
    for entry in map(dict_or_empty, attachments if isinstance(attachments, list) else []):
        yield f"[{entry.get('file_name') or 'attachment'}]\n{entry.get('extracted_content') or ''}"
    for entry in files if isinstance(files, list) else []:
        yield f"[{dict_or_empty(entry).get('file_name') or 'file'}]"


def _add_claude_reply(parts: Sequence[Any], text: str, at: int, builder: SessionBuilder) -> None:
    """Add a message, which contains all replies and results of a turn in their order."""
    blocks = [part for part in parts if isinstance(part, dict)]
    if not blocks:
        builder.add_reply(text, at=at)
    reply = 0
    for part in blocks:
        id = f"{builder.record_count}.{reply}"
        moment = parse_time(part.get("start_timestamp")) or at
        match part.get("type"):
            case "text":
                builder.add_reply(str(part.get("text") or ""), at=moment, id=id)
            case "thinking":
                builder.add_reply(at=moment, id=id, reasoning=str(part.get("thinking") or ""))
            case "tool_use":
                call = tool_use_calls([{**part, "id": part.get("id") or f"{builder.record_count} {part.get('name')}"}])
                builder.add_reply(at=moment, id=id, calls=call)
            case "tool_result":
                reply += 1
                call_id = str(part.get("tool_use_id") or f"{builder.record_count} {part.get('name')}")
                content = part.get("content")
                output = plain_text(content) or (arguments_json(content) if content else "")
                builder.add_result(call_id, output, at=moment, failed=part.get("is_error") is True)
            case _:
                pass  # such as the remaining budget of tokens
    builder.complete_reply()
