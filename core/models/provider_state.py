"""Opaque provider state, such as encrypted reasoning, which is sent back only to the model that produced it."""

import json
from typing import Any

from core.domain.messages import Message
from core.models.api_client import ApiClient
from core.models.json_values import parse_json
from core.models.model import Request


def state_origin(api: ApiClient, kind: str) -> str:
    """Return the origin that state is bound to: the API format, URL and model."""
    return f"{kind} {api.endpoint.base_url.rstrip('/')} {api.model}"


def pack_state(origin: str, data: Any) -> str:
    """Return JSON of the state and its origin, to store with the reply; "" if there is no state."""
    return json.dumps({"from": origin, "data": data}, separators=(",", ":")) if data else ""


def unpack_state(message: Message, request: Request, origin: str) -> Any:
    """Return the state stored with a message; None if it has another origin or there is none."""
    text = request.read_text(message.provider_state)
    plain = parse_json(text) if text else None
    return plain.get("data") if isinstance(plain, dict) and plain.get("from") == origin else None
