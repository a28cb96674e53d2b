"""OpenAI Chat Completions, as its server speaks it: one request, one reply, the list of models."""

import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from core.models.carry import stamp
from core.models.chat_reply import ChatReply
from core.models.chat_request import chat_body
from core.models.dialects import Dialect, dialect_of
from core.models.lists import chat_list
from core.models.model import Delta, Fault, Request
from core.models.names import ToolNames
from core.models.server import Server
from core.models.wire import UNKNOWN, Known, Listed, Wire

SWAPS = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
SPARE = ("stream_options", "reasoning_effort", *SWAPS)
FORM = "response_format"  # servers that cannot hold a model to a schema say so in all kinds of words


class Chat:
    """A model behind `/chat/completions`."""

    def __init__(self, server: Server, model: str = "", known: Known = UNKNOWN, dialect: Dialect | None = None) -> None:
        self._wire = Wire(server, model)
        self._known = known
        self.window = known.window or 0
        self._dialect = dialect or dialect_of(server.host)
        self._unwanted: set[str] = set()

    async def stream(self, request: Request) -> AsyncGenerator[Delta, None]:
        """The reply. A field that the server turns out not to take is left out at once, and from then on."""
        names = ToolNames(tool.name for tool in request.tools)
        mark = stamp(self._wire, "chat")
        full = chat_body(request, self._wire.model, self._known, self._dialect, names, mark)
        while True:
            body = _without(full, self._unwanted)
            fold = ChatReply(self._wire.place, names, mark)
            try:
                async with aclosing(self._wire.reply("/chat/completions", self._headers(), body, fold)) as deltas:
                    async for delta in deltas:
                        yield delta
            except Fault as fault:
                field = next((name for name in SPARE if name in body and _is_about(fault, name)), "")
                if not field and FORM in body and fault.kind == "rejected":
                    field = FORM
                if not field:
                    raise
                self._unwanted.add(field)
            else:
                break
        if request.wanted.effort and (not self._dialect.effort or "reasoning_effort" in self._unwanted):
            yield Delta(note="This server takes no effort for this model; it was left out.")

    async def list_models(self) -> list[Listed]:
        """The models of the server."""
        return chat_list(await self._wire.fetch("/models", self._headers()))

    def _headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self._wire.server.key}"} if self._wire.server.key else {}


def _is_about(fault: Fault, field: str) -> bool:
    return fault.kind in ("rejected", "model") and bool(re.search(rf"\b{field}\b", fault.trouble.why))


def _without(body: dict[str, Any], unwanted: set[str]) -> dict[str, Any]:
    """The body as the server takes it."""
    left = {name: value for name, value in body.items() if name not in unwanted}
    for old, new in SWAPS.items():
        if old in body and old in unwanted and new not in unwanted:
            left[new] = body[old]
    return left
