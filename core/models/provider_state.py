"""Opaque provider state (such as encrypted reasoning) that is returned only to the model that produced it."""

import json
from typing import Any

from core.domain.messages import Message
from core.models.api_client import ApiClient
from core.models.json_values import parse_json
from core.models.model import Request


def state_origin(api: ApiClient, kind: str) -> str:
    """Return the origin that state is bound to: API format, URL and model."""
    return f"{kind} {api.endpoint.base_url.rstrip('/')} {api.model}"


def pack_state(origin: str, data: Any) -> str:
    """Return state as JSON with its origin, to be stored with the reply; empty if there is no state."""
    return json.dumps({"from": origin, "data": data}, separators=(",", ":")) if data else ""


def unpack_state(message: Message, request: Request, origin: str) -> Any:
    """Return the state of a message if it has this origin, else None."""
    text = request.read_text(message.provider_state)
    plain = parse_json(text) if text else None
    return plain.get("data") if isinstance(plain, dict) and plain.get("from") == origin else None
