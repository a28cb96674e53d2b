"""Renders a session for its review as JSON lines, so that no text in it can imitate another speaker."""

import json
from collections.abc import Callable, Iterable
from typing import Any

from core.domain.events import (
    CallRefused,
    EventRecord,
    Replied,
    RunEnded,
    RunRated,
    ToolReturned,
    UntrustedContentRead,
    UserMessage,
)
from core.domain.question import QuestionAnswered, QuestionAsked, answer_text
from core.domain.recall_events import MemoriesRecalled
from core.domain.text import Text

BUDGET = 24_000  # The maximum length of a transcript in characters.
USER, AGENT, ARGUMENTS, OUTPUT = 2_000, 1_500, 600, 700  # The maximum length of a text in characters.


def transcript(
    entries: Iterable[EventRecord],
    full_text: Callable[[Text], str],
    redact: Callable[[str], str],
    budget: int = BUDGET,
) -> str:
    """Return the first user message and as many of the newest events as fit into `budget` characters, in order.

    `redact` removes the secrets of each text before it is shortened and encoded.
    """
    lines = [json.dumps(line, ensure_ascii=False) for entry in entries if (line := _line(entry, full_text, redact))]
    task = next((index for index, line in enumerate(lines) if '"who": "user"' in line[:40]), 0)
    remaining = budget - (len(lines[task]) if lines else 0)
    first = len(lines)
    while first > task + 1 and remaining >= len(lines[first - 1]) + 1:
        first -= 1
        remaining -= len(lines[first]) + 1
    omitted = first - task - 1
    gap = [json.dumps({"who": "Journeyman", "left_out": omitted})] if omitted > 0 else []
    return "\n".join([*lines[task : task + 1], *gap, *lines[first:]])


def _line(entry: EventRecord, full_text: Callable[[Text], str], redact: Callable[[str], str]) -> dict[str, Any] | None:
    def shortened(text: str, limit: int) -> str:  # a key that is cut in two would no longer be recognized
        return _cut(redact(text), limit)

    match entry.event:
        case UserMessage(text=text):
            return {"who": "user", "event": entry.seq, "text": shortened(full_text(text), USER)}
        case Replied(text=text, calls=calls):
            call_lines = [
                {"id": c.id, "tool": c.tool, "arguments": shortened(full_text(c.arguments), ARGUMENTS)} for c in calls
            ]
            text_line = {"text": shortened(full_text(text), AGENT)} if text.head else {}
            return {"who": "agent", "event": entry.seq, **text_line, **({"calls": call_lines} if call_lines else {})}
        case ToolReturned(call_id=call, output=output, failed=failed):
            return {"who": "tool", "call": call, "failed": failed, "output": shortened(full_text(output), OUTPUT)}
        case CallRefused(call_id=call, reason=reason):
            return {"who": "tool", "call": call, "refused": shortened(full_text(reason), OUTPUT)}
        case UntrustedContentRead(call_id=call, source=source):
            return {"who": "Journeyman", "call": call, "untrusted_content_from": redact(source)}
        case QuestionAsked(question=question):
            return {"who": "agent", "asks": shortened(question.text, AGENT)}
        case QuestionAnswered(answer=answer):
            return {"who": "user", "answers": shortened(answer_text(answer), USER)}
        case MemoriesRecalled(memories=items):
            return {
                "who": "Journeyman",
                "recalled": [redact(f"[{memory.memory_id}] {memory.text}") for memory in items],
            }
        case RunRated(rating=verdict, note=note, by=by):
            return {"who": by, "rating": verdict, "note": shortened(note.head, USER)}
        case RunEnded(status=status, reason=reason):
            return {"who": "Journeyman", "ended": status, "why": redact(reason)}
        case _:
            return None


def _cut(text: str, limit: int) -> str:
    """Return the text with its middle left out if it is longer than `most` characters."""
    if len(text) <= limit:
        return text
    return f"{text[: limit * 2 // 3]} […] {text[-limit // 3 :]}"
