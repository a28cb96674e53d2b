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
    facts = 0
    for row in source.sessions:
        for entry in source.events(row):
            for name, body in source.blobs(entry):
                if name not in exported_blobs:
                    exported_blobs.add(name)
                    yield _line({"contents": name, "base64": base64.b64encode(body).decode()})
            head = {"session": row.id, "seq": entry.seq, "at": entry.at, "kind": EVENT_KINDS[type(entry.event)]}
            fact = type_adapter(head["kind"]).dump_python(entry.event, mode="json", exclude_defaults=True)
            yield _line({**head, "fact": _shortened(fact)})
            facts += 1
    yield _line({"end": True, "facts": facts, "contents": len(exported_blobs)})


def _shortened(fact: Any) -> Any:
    """Return a plain value without the size and blob hash of its long texts: an import computes both from the text."""
    if isinstance(fact, list):
        return [_shortened(item) for item in fact]
    if not isinstance(fact, dict):
        return fact
    if fact.keys() == {"head", "size", "blob"} and isinstance(fact["head"], str) and len(fact["head"]) > INLINE_LIMIT:
        body = fact["head"].encode()
        if (len(body), blob_hash(body)) == (fact["size"], fact["blob"]):
            return {"head": fact["head"]}
    return {name: _shortened(item) for name, item in fact.items()}


def _line(plain: dict[str, Any]) -> str:
    return json.dumps(plain, ensure_ascii=False, separators=(",", ":")) + "\n"
