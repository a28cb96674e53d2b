"""Exports sessions in Journeyman's own format: JSON Lines with one event each, which can be imported without loss."""

import base64
import json
from collections.abc import Iterator
from typing import Any

from core.domain.clock import now
from core.domain.events import EVENT_KINDS
from core.exchange.export_source import ExportSource
from core.store.blobs import blob_hash
from core.store.codec import INLINE_LIMIT, type_adapter

VERSION = 1


def write(source: ExportSource) -> Iterator[str]:
    """Yield a header with the session ids, each event after the blobs it refers to, and a footer with counts."""
    names = [row.id for row in source.sessions]
    yield _line({"journeyman": VERSION, "sessions": names, "written": now()})
    exported_blobs: set[str] = set()
    event_count = 0
    for row in source.sessions:
        for entry in source.events(row):
            for name, body in source.blobs(entry):
                if name not in exported_blobs:
                    exported_blobs.add(name)
                    yield _line({"contents": name, "base64": base64.b64encode(body).decode()})
            kind = EVENT_KINDS[type(entry.event)]
            fields = type_adapter(kind).dump_python(entry.event, mode="json", exclude_defaults=True)
            header = {"session": row.id, "seq": entry.seq, "at": entry.at, "kind": kind}
            yield _line({**header, "fact": _shortened(fields)})
            event_count += 1
    yield _line({"end": True, "facts": event_count, "contents": len(exported_blobs)})


def _shortened(value: Any) -> Any:
    """Return a plain value without the size and blob hash of its long texts: an import computes both from the text."""
    if isinstance(value, list):
        return [_shortened(item) for item in value]
    if not isinstance(value, dict):
        return value
    if _is_long_text(value):
        body = value["head"].encode()
        if len(body) == value["size"] and blob_hash(body) == value["blob"]:
            return {"head": value["head"]}
    return {name: _shortened(item) for name, item in value.items()}


def _is_long_text(value: dict[str, Any]) -> bool:
    if value.keys() != {"head", "size", "blob"}:
        return False
    return isinstance(value["head"], str) and len(value["head"]) > INLINE_LIMIT


def _line(plain: dict[str, Any]) -> str:
    return json.dumps(plain, ensure_ascii=False, separators=(",", ":")) + "\n"
