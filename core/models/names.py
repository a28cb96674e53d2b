"""Names of tools as wires allow them, and back."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from core.models.model import ToolSpec

LONGEST = 64


class ToolNames:
    """Every name has one on the wire: letters, digits, `_` and `-`, at most 64 of them."""

    def __init__(self, names: Iterable[str]) -> None:
        self._out: dict[str, str] = {}
        self._back: dict[str, str] = {}
        for name in names:
            self.out(name)

    def out(self, name: str) -> str:
        """As the server may see it."""
        if name not in self._out:
            wish = re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:LONGEST] or "_"
            number, free = 2, wish
            while free in self._back:
                free = f"{wish[: LONGEST - len(str(number)) - 1]}_{number}"
                number += 1
            self._out[name], self._back[free] = free, name
        return self._out[name]

    def back(self, name: str) -> str:
        """As we call it; a name that was never sent stays as it is."""
        return self._back.get(name, name)


def functions(tools: Sequence[ToolSpec], names: ToolNames) -> list[dict[str, Any]]:
    """The tools as Chat Completions describes them, and others after it."""
    return [
        {
            "type": "function",
            "function": {
                "name": names.out(tool.name),
                "description": tool.description,
                "parameters": dict(tool.schema),
            },
        }
        for tool in tools
    ]
