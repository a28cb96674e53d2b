"""Fragments of reasoning details in Chat Completions replies."""

import json
from typing import Any

from core.models.chat_reply import ChatReplyParser
from core.models.errors import ErrorContext
from core.models.mask import KeyMask
from core.models.tool_names import ToolNames

ORIGIN = "https://models.example"


class Fragment(str):
    """A text that counts the characters to which it is appended one by one."""

    __slots__ = ()
    copied = 0

    def __radd__(self, text: str) -> str:
        Fragment.copied += len(text)
        return str.__add__(text, self)


def test_many_fragments_of_a_detail_are_joined_once() -> None:
    parser = ChatReplyParser(ErrorContext(ORIGIN, "m", KeyMask("")), ToolNames([]), ORIGIN)
    for index in (0, 1):
        for _ in range(500):
            detail: dict[str, Any] = {"type": "reasoning.text", "index": index, "text": Fragment("ab")}
            parser._delta({"reasoning_details": [detail]})
    parser._delta({"content": "done"})
    state = json.loads(parser.finish().provider_state)["data"]
    assert state["details"] == [
        {"type": "reasoning.text", "index": 0, "text": "ab" * 500},
        {"type": "reasoning.text", "index": 1, "text": "ab" * 500},
    ]
    assert Fragment.copied == 0
