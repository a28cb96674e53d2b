"""Reads tool calls from the text of replies, for models that write calls despite native tool calling."""

import re
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from functools import lru_cache

from core.models.code_block import NOTE, PROGRAM_NOTE, program_call, write_call
from core.models.model import Model, ReplyDelta, Request
from core.models.work_phrases import asks_for_removal
from core.models.written_calls import ArgumentCheck, WrittenCalls, read_written_calls

FENCE_START = "```call-"  # the beginning of a call in the notation of text-based tool calls
UNDECIDED_CHARS = 200  # a possible call that has not named a tool after this many characters is shown
_SUSPICIOUS = re.compile(r"^[ \t]*(?:[`~{]|\[|\**A(?:c(?:t|$)|$))|<[|｜/a-zA-Z]|<$|\[T", re.MULTILINE)


class WrittenCallReader:
    """Adds calls that a model wrote as text to its replies. A reply with native calls is passed on unchanged."""

    def __init__(self, model: Model, check_arguments: ArgumentCheck) -> None:
        self._model = model
        self._check_arguments = check_arguments

    @property
    def window(self) -> int:
        return self._model.window

    async def stream(self, request: Request) -> AsyncGenerator[ReplyDelta, None]:
        """Stream the reply as it arrives, followed by the calls in its text, if any."""
        reply = StreamedReply()
        async with aclosing(reply.collect(self._model.stream(request))) as deltas:
            async for delta in deltas:
                yield delta
        if last := reply.written_calls(request, self._check_arguments):
            yield last


class StreamedReply:
    """Collects the deltas of a reply while passing them on."""

    def __init__(self) -> None:
        self._chunks: list[str] = []
        self._merged = ReplyDelta()
        self.has_calls = False  # whether there were native calls, besides any in the text

    @property
    def text(self) -> str:
        return "".join(self._chunks)

    @property
    def is_refused(self) -> bool:
        """Whether the provider withheld all or the end of the reply, so that calls in its text do not count."""
        return self._merged.stop_reason in ("refused", "filtered")

    async def collect(self, stream: AsyncGenerator[ReplyDelta, None]) -> AsyncGenerator[ReplyDelta, None]:
        """Yield the deltas of a stream unchanged."""
        async with aclosing(stream) as deltas:
            async for delta in deltas:
                yield delta
                self._chunks.append(delta.text)
                self.has_calls = self.has_calls or bool(delta.calls)
                self._merged = self._merged.merge(delta)

    def written_calls(self, request: Request, check_arguments: ArgumentCheck) -> ReplyDelta | None:
        """Return a delta with the calls in the text; None without any, or if there were native calls."""
        if self.has_calls or self.is_refused:
            return None
        text = self.text
        calls = find_written_calls(text, request, check_arguments)
        if not calls.calls:
            return self._written_file(text, request)
        note = " ".join(part for part in (self._merged.note, calls.note) if part)
        return ReplyDelta(calls.text, calls=calls.calls, note=note, written=text)

    def _written_file(self, text: str, request: Request) -> ReplyDelta | None:
        """Return a delta with a call that writes a file from the reply's code block, or runs it; None if there is none.

        The code block stays in the reply's text, because models repeat the form of their earlier replies.
        """
        call, note = None, NOTE
        if request.asked_file is not None:
            call = write_call(text, request.asked_file, may_remove=asks_for_removal(task_of(request)))
        if call is None and any(tool.name == "run" for tool in request.tools):
            call, note = program_call(text, request.missing_file), PROGRAM_NOTE
        if call is None:
            return None
        return ReplyDelta(calls=(call,), note=" ".join(filter(None, (self._merged.note, note))))


class CallScreen:
    """Holds back streamed text from the display, starting where a call of the given tools may begin."""

    def __init__(self, names: Iterable[str]) -> None:
        tool_names = tuple(names)
        self._openings = (*(f"{name}(" for name in tool_names), "functools[")
        self._named = _named_call(tool_names)
        self._held = ""
        self._in_line = False  # whether the held text starts in the middle of a line

    def feed(self, text: str) -> str:
        """Add text; return the text that can be displayed now."""
        self._held += text
        output = ""
        while (size := self._showable_length()) and self._held:
            output += self._held[:size]
            self._in_line = not output.endswith("\n")
            self._held = self._held[size:]
        return output

    def _showable_length(self) -> int:
        """Return how many characters of the held text can be displayed now."""
        line_end = self._held.find("\n") + 1
        if not self._in_line and self._may_begin_call(self._held[:line_end] if line_end else self._held):
            start = 0
        else:
            prefix = "x" if self._in_line else ""
            match = _SUSPICIOUS.search(prefix + self._held)
            if match is None:
                return line_end or len(self._held)
            start = match.start() - len(prefix)
        if start:
            return start
        suspect = self._held[:UNDECIDED_CHARS]
        if len(self._held) < UNDECIDED_CHARS or FENCE_START in suspect or self._named.search(suspect):
            return 0
        return line_end or len(self._held)

    def _may_begin_call(self, line: str) -> bool:
        """Return whether a line begins a call such as `read(…)`, or may do so when more text arrives."""
        start = line.lstrip(" \t[")
        return bool(start) and any(opening.startswith(start) or start.startswith(opening) for opening in self._openings)


@lru_cache(maxsize=16)
def _named_call(tool_names: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern that matches the name of a tool at the start of a call, in any notation."""
    names = "|".join(map(re.escape, tool_names))
    return re.compile(
        rf"""["'](?:functions\.)?(?:{names})["']|(?:function=|name="?|[>|｜\]:]\s*)(?:{names})\b|^\s*\[?(?:{names})\(""",
        re.MULTILINE,
    )


def find_written_calls(text: str, request: Request, check_arguments: ArgumentCheck) -> WrittenCalls:
    """Return the tool calls in the text of the reply to a request."""
    return read_written_calls(text, request.tools, check_arguments, task_of(request), quotable_texts(request))


def task_of(request: Request) -> str:
    """Return the text of the user's last message; "" if there is none."""
    user_messages = (
        message for message in reversed(request.messages) if message.role == "user" and message.category in ("", "user")
    )
    return next((request.read_text(message.text) for message in user_messages), "")


def quotable_texts(request: Request) -> Iterable[str]:
    """Return the texts that a reply may quote: tool results and messages with role `user`, except the harness's."""
    messages = (
        message for message in request.messages if message.role in ("tool", "user") and message.category != "harness"
    )
    return (request.read_text(message.text) for message in messages)
