"""Reads tool calls from the text of replies, for models that write calls although they were offered tools natively."""

import re
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing

from core.models.model import Model, ReplyDelta, Request
from core.models.written_calls import ArgumentCheck, WrittenCalls, read_written_calls

FENCE_START = "```call-"  # the start of a call in the format of text-based tool calls
UNDECIDED_CHARS = 200  # characters after which a possible call must have named a tool to be held back any longer
_SUSPICIOUS = re.compile(r"^[ \t]*(?:[`~{]|\[|\**A(?:c(?:t|$)|$))|<[|｜/a-zA-Z]|<$|\[T", re.MULTILINE)


class WrittenCallReader:
    """Adds the calls that a model wrote as text to its reply. A reply with structured calls is passed on unchanged."""

    def __init__(self, model: Model, misfit: ArgumentCheck) -> None:
        self._model = model
        self._misfit = misfit

    @property
    def window(self) -> int:
        return self._model.window

    async def stream(self, request: Request) -> AsyncGenerator[ReplyDelta, None]:
        """Stream the reply as it comes, followed by the calls that its text makes, if any."""
        pieces, called, last = list[str](), False, ReplyDelta()
        async with aclosing(self._model.stream(request)) as deltas:
            async for delta in deltas:
                yield delta
                pieces.append(delta.text)
                called = called or bool(delta.calls)
                last = last.merge(delta)
        if called or last.stop_reason in ("refused", "filtered"):
            return
        text = "".join(pieces)
        found = find_written_calls(text, request, self._misfit)
        if found.calls:
            note = " ".join(part for part in (last.note, found.note) if part)
            yield ReplyDelta(found.text, calls=found.calls, note=note, written=text)


class CallScreen:
    """Holds streamed text back from the display, from the first place on where a call of these tools may begin."""

    def __init__(self, names: Iterable[str]) -> None:
        offered = tuple(names)
        self._openings = (*(f"{name}(" for name in offered), "functools[")
        words = "|".join(map(re.escape, offered))
        self._named = re.compile(
            rf"""["'](?:functions\.)?(?:{words})["']|(?:function=|name="?|[>|｜\]:]\s*)(?:{words})\b|^\s*\[?(?:{words})\(""",
            re.MULTILINE,
        )
        self._held = ""
        self._in_line = False  # whether the held text begins in the middle of a line

    def feed(self, text: str) -> str:
        """Return the text that can be shown now."""
        self._held += text
        shown = ""
        while (size := self._showable()) and self._held:
            shown += self._held[:size]
            self._in_line = not shown.endswith("\n")
            self._held = self._held[size:]
        return shown

    def _showable(self) -> int:
        """Return how many characters can be shown."""
        line_end = self._held.find("\n") + 1
        if not self._in_line and self._may_begin_call(self._held[:line_end] if line_end else self._held):
            start = 0
        else:
            skipped = "x" if self._in_line else ""
            found = _SUSPICIOUS.search(skipped + self._held)
            if found is None:
                return line_end or len(self._held)
            start = found.start() - len(skipped)
        if start:
            return start
        suspect = self._held[:UNDECIDED_CHARS]
        if len(self._held) < UNDECIDED_CHARS or FENCE_START in suspect or self._named.search(suspect):
            return 0
        return line_end or len(self._held)

    def _may_begin_call(self, line: str) -> bool:
        """Return whether a line is, or may become, a call that begins with a word."""
        words = line.lstrip(" \t[")
        return bool(words) and any(one.startswith(words) or words.startswith(one) for one in self._openings)


def find_written_calls(text: str, request: Request, misfit: ArgumentCheck) -> WrittenCalls:
    """Return the calls in the text of a reply to a request."""
    return read_written_calls(text, request.tools, misfit, task_of(request), quotable_texts(request))


def task_of(request: Request) -> str:
    """Return the user's last message."""
    said = (
        message for message in reversed(request.messages) if message.role == "user" and message.category in ("", "user")
    )
    return next((request.read_text(message.text) for message in said), "")


def quotable_texts(request: Request) -> Iterable[str]:
    """Yield the texts that a reply may quote: tool results, and the messages of the user and about their memories."""
    others = (one for one in request.messages if one.role in ("tool", "user") and one.category != "harness")
    return (request.read_text(message.text) for message in others)
