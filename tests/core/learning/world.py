"""A small world for runs to learn in: a model that knows only what it is sent, on a server of this machine.

Only one of the doors of the greenhouse opens. The model tries one after the other, unless something it is sent says
which one; looking back at a run, it proposes to remember the door that opened.
"""

import json
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.servers.scripted import Act, Received, Scripted, answer, chunk, scripted, stream

DOORS = ("right", "back", "roof", "cellar", "side", "left")
OPENS = "left"
KNOWN = re.compile(r"take the (\w+) door")
LESSON = {"kind": "heuristic", "when": "the greenhouse is opened", "do": f"take the {OPENS} door", "scope": "folder"}
MODELS = answer(b'{"data": [{"id": "m", "context_length": 64000}]}', "application/json")
Message = Mapping[str, Any]


def lay_out(folder: Path) -> None:
    """The greenhouse."""
    (folder / "doors").mkdir(parents=True)
    (folder / "doors" / OPENS).write_text("It opens.")


def reply(messages: Sequence[Message]) -> dict[str, Any]:
    """What the model says next: words, or the one call it wants."""
    texts = [_text(one) for one in messages]
    results = [text for one, text in zip(messages, texts, strict=True) if one["role"] == "tool"]
    if any("Look back at this session" in text for text in texts):
        return _looking_back("\n".join(texts), done=bool(results))
    if any("It opens." in text for text in results):
        return {"text": "The bed is watered."}
    known = next((found[1] for text in texts if (found := KNOWN.search(text))), "")
    doors = (known,) if known else DOORS
    if len(results) >= len(doors):
        return {"text": "No door opened."}
    return {"call": "read", "arguments": {"path": f"doors/{doors[len(results)]}"}}


def _looking_back(told: str, *, done: bool) -> dict[str, Any]:
    """It keeps what it sees in the transcript, not what it was born with."""
    opened = f"doors/{OPENS}" in told and "It opens." in told
    if done or not opened or KNOWN.search(told):
        return {"text": "Nothing more to keep."}
    return {"call": "remember", "arguments": LESSON | {"reason": "five doors were tried in vain"}}


def _text(message: Message) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


class World(Scripted):
    """Answers each request by what stands in it."""

    def answer_to(self, asked: Received, place: int) -> Sequence[Act]:
        if asked.method == "GET":
            return MODELS
        said = reply(asked.json["messages"])
        if "text" in said:
            return answer(stream(chunk(content=said["text"]), chunk("stop")))
        function = {"name": said["call"], "arguments": json.dumps(said["arguments"])}
        call = {"index": 0, "id": f"x{place}", "function": function}
        return answer(stream(chunk(tool_calls=[call]), chunk("tool_calls")))


@asynccontextmanager
async def world() -> AsyncIterator[World]:
    async with scripted(kind=World) as served:
        assert isinstance(served, World)
        yield served
