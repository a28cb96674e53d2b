"""A session as a review reads it: one JSON object a line, so that no word in it can pass for another speaker's."""

import json
from collections.abc import Callable, Iterable
from typing import Any

from core.domain.events import (
    CallRefused,
    Entry,
    PersonSpoke,
    Replied,
    RunEnded,
    Tainted,
    ToolReturned,
    VerdictGiven,
)
from core.domain.question import QuestionAnswered, QuestionAsked, spoken
from core.domain.recalled import MemoryRecalled
from core.domain.text import Text

BUDGET = 24_000  # characters
PERSON, AGENT, ARGUMENTS, OUTPUT = 2_000, 1_500, 600, 700  # of one text


def transcript(entries: Iterable[Entry], whole: Callable[[Text], str], budget: int = BUDGET) -> str:
    """The task always, then as much of the newest as there is room for, in the order in which it happened."""
    lines = [json.dumps(line, ensure_ascii=False) for entry in entries if (line := _line(entry, whole))]
    task = next((place for place, line in enumerate(lines) if '"who": "person"' in line[:40]), 0)
    room = budget - (len(lines[task]) if lines else 0)
    first = len(lines)
    while first > task + 1 and room >= len(lines[first - 1]) + 1:
        first -= 1
        room -= len(lines[first]) + 1
    left = first - task - 1
    gap = [json.dumps({"who": "Journeyman", "left_out": left})] if left > 0 else []
    return "\n".join([*lines[task : task + 1], *gap, *lines[first:]])


def _line(entry: Entry, whole: Callable[[Text], str]) -> dict[str, Any] | None:
    match entry.event:
        case PersonSpoke(text=text):
            return {"who": "person", "entry": entry.seq, "text": _cut(whole(text), PERSON)}
        case Replied(text=text, calls=calls):
            asked = [{"id": c.id, "tool": c.tool, "arguments": _cut(whole(c.arguments), ARGUMENTS)} for c in calls]
            said = {"text": _cut(whole(text), AGENT)} if text.head else {}
            return {"who": "agent", "entry": entry.seq, **said, **({"calls": asked} if asked else {})}
        case ToolReturned(call_id=call, output=output, failed=failed):
            return {"who": "tool", "call": call, "failed": failed, "output": _cut(whole(output), OUTPUT)}
        case CallRefused(call_id=call, reason=reason):
            return {"who": "tool", "call": call, "refused": _cut(whole(reason), OUTPUT)}
        case Tainted(call_id=call, source=source):
            return {"who": "Journeyman", "call": call, "words_of_strangers_from": source}
        case QuestionAsked(question=question):
            return {"who": "agent", "asks": _cut(question.text, AGENT)}
        case QuestionAnswered(answer=answer):
            return {"who": "person", "answers": _cut(spoken(answer), PERSON)}
        case MemoryRecalled(items=items):
            return {"who": "Journeyman", "recalled": [f"[{one.memory}] {one.text}" for one in items]}
        case VerdictGiven(verdict=verdict, note=note, by=by):
            return {"who": by, "verdict": verdict, "note": _cut(note.head, PERSON)}
        case RunEnded(status=status, reason=reason):
            return {"who": "Journeyman", "ended": status, "why": reason}
        case _:
            return None


def _cut(text: str, most: int) -> str:
    """Its beginning and its end, on whole characters."""
    if len(text) <= most:
        return text
    return f"{text[: most * 2 // 3]} […] {text[-most // 3 :]}"
