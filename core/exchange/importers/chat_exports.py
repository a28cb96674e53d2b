"""Reads the conversations in the data exports of chat services, which are a ZIP or its unpacked files."""

from collections.abc import Iterator
from glob import escape
from pathlib import Path
from typing import Any

from core.exchange.importers.export_archive import is_zip, member_names, read_documents, read_member_head
from core.exchange.importers.message_parts import dicts

CONVERSATIONS = "conversations*.json"  # the files with conversations; a large export has several numbered ones
HEAD_BYTES = 65_536


def conversations_head(path: Path, head: bytes) -> bytes:
    """Return the first bytes of the conversations. If `head` is the start of a ZIP, read them from its member."""
    if not is_zip(head):
        return head
    names = (name for name in member_names(path) if name.startswith("conversations") and name.endswith(".json"))
    name = next(names, "")
    return read_member_head(path, name, HEAD_BYTES) if name else b""


def read_conversations(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the conversations in an export: of all files in a ZIP, or of one unpacked file."""
    pattern = CONVERSATIONS if path.suffix == ".zip" else escape(path.name)
    for document in read_documents(path, pattern):
        yield from dicts(document.value if isinstance(document.value, list) else [document.value])
