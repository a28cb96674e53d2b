"""Maps Journeyman's tool names to names that providers accept, and back."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from core.models.model import ToolSpec

MAX_NAME_LENGTH = 64


class ToolNames:
    """A two-way mapping to unique names of at most 64 ASCII letters, digits, `_` and `-`."""

    def __init__(self, names: Iterable[str]) -> None:
        self._provider_names: dict[str, str] = {}  # by the name of the tool
        self._tools: dict[str, str] = {}  # the names of the tools, by the name at the provider
        for name in names:
            self.to_provider(name)

    def to_provider(self, name: str) -> str:
        """Return the name to send to the provider for a tool."""
        if name not in self._provider_names:
            base = re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:MAX_NAME_LENGTH] or "_"
            unique = base
            number = 2
            while unique in self._tools:
                unique = f"{base[: MAX_NAME_LENGTH - len(str(number)) - 1]}_{number}"
                number += 1
            self._provider_names[name] = unique
            self._tools[unique] = name
        return self._provider_names[name]

    def from_provider(self, name: str) -> str:
        """Return the tool that a name from the provider means; an unknown name is returned unchanged."""
        return self._tools.get(name, name)


def function_tools(tools: Sequence[ToolSpec], names: ToolNames) -> list[dict[str, Any]]:
    """Return tool definitions in the format of Chat Completions, which Ollama uses as well."""
    return [
        {
            "type": "function",
            "function": {
                "name": names.to_provider(tool.name),
                "description": tool.description,
                "parameters": dict(tool.parameters),
            },
        }
        for tool in tools
    ]
