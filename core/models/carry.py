"""What a server wants back unread: marked with where it came from, and given to no other place."""

import json
from typing import Any

from core.domain.messages import Message
from core.models.model import Request
from core.models.plain import loaded
from core.models.wire import Wire


def stamp(wire: Wire, kind: str) -> str:
    """The place a reply comes from: format, address and model."""
    return f"{kind} {wire.server.base_url.rstrip('/')} {wire.model}"


def packed(mark: str, data: Any) -> str:
    """As it is kept with the reply; nothing where there is nothing to keep."""
    return json.dumps({"from": mark, "data": data}, separators=(",", ":")) if data else ""


def carried(message: Message, request: Request, mark: str) -> Any:
    """What this place said of a message; None where it was another place, or it said nothing."""
    kept = request.whole(message.carry)
    plain = loaded(kept) if kept else None
    return plain.get("data") if isinstance(plain, dict) and plain.get("from") == mark else None
