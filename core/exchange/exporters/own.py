"""Our own format: a line of JSON for each fact, from which the same sessions can be made again."""

import base64
import json
from collections.abc import Iterator
from typing import Any

from core.domain.clock import now
from core.exchange.leaving import Leaving
from core.store.blobs import blob_hash
from core.store.codec import NAMES, WHOLE, adapter

VERSION = 1


def write(leaving: Leaving) -> Iterator[str]:
    """A head that names the sessions, their facts in order, each after the contents it names, and their number."""
    names = [row.id for row in leaving.family]
    yield _line({"journeyman": VERSION, "sessions": names, "written": now()})
    written: set[str] = set()
    facts = 0
    for row in leaving.family:
        for entry in leaving.entries(row):
            for name, body in leaving.contents(entry):
                if name not in written:
                    written.add(name)
                    yield _line({"contents": name, "base64": base64.b64encode(body).decode()})
            head = {"session": row.id, "seq": entry.seq, "at": entry.at, "kind": NAMES[type(entry.event)]}
            fact = adapter(head["kind"]).dump_python(entry.event, mode="json", exclude_defaults=True)
            yield _line({**head, "fact": _shortened(fact)})
            facts += 1
    yield _line({"end": True, "facts": facts, "contents": len(written)})


def _shortened(fact: Any) -> Any:
    """A text in full says by itself where it would be kept."""
    if isinstance(fact, list):
        return [_shortened(item) for item in fact]
    if not isinstance(fact, dict):
        return fact
    if fact.keys() == {"head", "size", "blob"} and isinstance(fact["head"], str) and len(fact["head"]) > WHOLE:
        body = fact["head"].encode()
        if (len(body), blob_hash(body)) == (fact["size"], fact["blob"]):
            return {"head": fact["head"]}
    return {name: _shortened(item) for name, item in fact.items()}


def _line(plain: dict[str, Any]) -> str:
    return json.dumps(plain, ensure_ascii=False, separators=(",", ":")) + "\n"
