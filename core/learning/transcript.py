"""Writes a session as JSON lines for its review. In JSON, no text can pretend to be from another speaker."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
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

BUDGET = 24_000  # maximum length of a transcript in characters
# Maximum length in characters of a user's message, a reply, the arguments of a tool call and its output.
USER, AGENT, ARGUMENTS, OUTPUT = 2_000, 1_500, 600, 700


def transcript(
    entries: Iterable[EventRecord],
    full_text: Callable[[Text], str],
    redact: Callable[[str], str],
    budget: int = BUDGET,
) -> str:
    """Return the task, the newest messages of the user, and the newest events, in order, in `budget` characters.

    The messages of the user get at most half of the budget, because a correction may be far back. `full_text` returns a
    text in full, which may be stored apart from its event. `redact` removes the secrets from a text before it is
    shortened and encoded.
    """
    described = [line for entry in entries if (line := _line(entry, full_text, redact))]
    lines = [json.dumps(line, ensure_ascii=False) for line in described]
    messages = [index for index, line in enumerate(described) if line["who"] == "user" and "text" in line]
    kept = set(messages[:1])
    for candidates, allowed in ((messages, budget // 2), (range(len(lines)), budget)):
        length = sum(len(lines[index]) + 1 for index in kept)
        for index in reversed(candidates):
            length += (len(lines[index]) + 1) * (index not in kept)
            if length > allowed:
                break
            kept.add(index)
    return "\n".join(_with_gaps(lines, sorted(kept)))


def _with_gaps(lines: Sequence[str], kept: Sequence[int]) -> Iterator[str]:
    """Yield the kept lines, and in each gap how many lines were left out."""
    following = 0
    for index in kept:
        if index > following:
            yield json.dumps({"who": "Journeyman", "left_out": index - following})
        yield lines[index]
        following = index + 1


def _line(entry: EventRecord, full_text: Callable[[Text], str], redact: Callable[[str], str]) -> dict[str, Any] | None:
    # Secrets are removed before cutting, because part of a key would not be recognized.
    def shortened(text: str, limit: int) -> str:
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
            who = "user" if answer.answered_by in ("user", "earlier_answer") else "Journeyman"
            return {"who": who, "answers": shortened(answer_text(answer), USER)}
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
    """Return the text. If it is longer than `limit` characters, its middle is left out."""
    if len(text) <= limit:
        return text
    return f"{text[: limit * 2 // 3]} […] {text[-limit // 3 :]}"
