"""A task that is shorter with the right memory, and a model on a local server that knows only what it is sent.

Only one of the doors of the greenhouse opens. The model tries one after another, unless a request says which one; a
review of the run proposes to remember the door that opened.
"""

import json
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.servers.scripted_server import (
    ReceivedRequest,
    ScriptedServer,
    ServerAction,
    answer,
    chunk,
    scripted_server,
    stream,
)

DOORS = ("right", "back", "roof", "cellar", "side", "left")
OPENS = "left"
KNOWN = re.compile(r"take the (\w+) door")
LESSON = {"kind": "heuristic", "when": "the greenhouse is opened", "do": f"take the {OPENS} door", "scope": "folder"}
MODELS = answer(b'{"data": [{"id": "m", "context_length": 64000}]}', "application/json")
Message = Mapping[str, Any]


def create_greenhouse(folder: Path) -> None:
    """Create the files of the greenhouse."""
    (folder / "doors").mkdir(parents=True)
    (folder / "doors" / OPENS).write_text("It opens.")


def reply(messages: Sequence[Message]) -> dict[str, Any]:
    """Return the model's next reply: text, or a single call."""
    texts = [_text(one) for one in messages]
    results = [text for one, text in zip(messages, texts, strict=True) if one["role"] == "tool"]
    if any("Review this session" in text for text in texts):
        return _review_reply("\n".join(texts), done=bool(results))
    if any("It opens." in text for text in results):
        return {"text": "The bed is watered."}
    known = next((found[1] for text in texts if (found := KNOWN.search(text))), "")
    doors = (known,) if known else DOORS
    if len(results) >= len(doors):
        return {"text": "No door opened."}
    return {"call": "read", "arguments": {"path": f"doors/{doors[len(results)]}"}}


def _review_reply(transcript: str, *, done: bool) -> dict[str, Any]:
    """Propose a lesson only if the transcript shows it."""
    opened = f"doors/{OPENS}" in transcript and "It opens." in transcript
    if done or not opened or KNOWN.search(transcript):
        return {"text": "Nothing more to keep."}
    return {"call": "remember", "arguments": LESSON | {"reason": "five doors were tried in vain"}}


def _text(message: Message) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


class ScriptedProvider(ScriptedServer):
    """A provider whose replies depend only on the request."""

    def answer_to(self, request: ReceivedRequest, number: int) -> Sequence[ServerAction]:
        if request.method == "GET":
            return MODELS
        said = reply(request.json["messages"])
        if "text" in said:
            return answer(stream(chunk(content=said["text"]), chunk("stop")))
        function = {"name": said["call"], "arguments": json.dumps(said["arguments"])}
        call = {"index": 0, "id": f"x{number}", "function": function}
        return answer(stream(chunk(tool_calls=[call]), chunk("tool_calls")))


@asynccontextmanager
async def scripted_provider() -> AsyncIterator[ScriptedProvider]:
    async with scripted_server(kind=ScriptedProvider) as served:
        assert isinstance(served, ScriptedProvider)
        yield served
