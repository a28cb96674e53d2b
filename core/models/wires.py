"""The formats in which model servers are spoken to."""

from collections.abc import Callable
from typing import Protocol

from core.models.anthropic import Anthropic
from core.models.chat import Chat
from core.models.model import Model
from core.models.ollama import Ollama
from core.models.responses import Responses
from core.models.server import Server
from core.models.wire import Known, Listed


class Remote(Model, Protocol):
    """A model on a server, which also lists what else is there."""

    async def list_models(self) -> list[Listed]: ...


WIRES: dict[str, Callable[[Server, str, Known], Remote]] = {
    "chat": Chat,
    "responses": Responses,
    "anthropic": Anthropic,
    "ollama": Ollama,
}
