"""The transcript that a review reads: which lines are kept, and how long ones are cut."""

import json
from collections.abc import Callable
from typing import Any

from core.domain.event_values import ToolCall
from core.domain.events import EventRecord, Replied, RunEnded, SessionEvent, ToolReturned, UserMessage
from core.domain.redact import Redactor
from core.domain.text import Text
from core.learning.transcript import AGENT, ARGUMENTS, BUDGET, OUTPUT, USER, transcript

LONG = "😀é漢" * 4_000
LIMITS = (USER, AGENT, ARGUMENTS, OUTPUT)


def lines_of(
    *events: SessionEvent, budget: int = BUDGET, redact: Callable[[str], str] = str
) -> tuple[str, list[dict[str, Any]]]:
    """Return the transcript of the events as text, and its parsed lines."""
    records = [EventRecord("s1", seq, 1, seq, event) for seq, event in enumerate(events, 1)]
    text = transcript(records, lambda text: text.head, redact, budget)
    return text, [json.loads(line) for line in text.splitlines()]


def read(number: int) -> Replied:
    return Replied(calls=(ToolCall(f"c{number}", "read", Text(f'{{"path": "{number}.txt"}}')),))


def test_the_calls_of_a_reply_are_included_with_their_arguments() -> None:
    returned = ToolReturned("c1", Text("a"))
    _, lines = lines_of(UserMessage(Text("Read 1.txt.")), read(1), returned, RunEnded("completed"))
    assert lines[1] == {
        "who": "agent",
        "event": 2,
        "calls": [{"id": "c1", "tool": "read", "arguments": '{"path": "1.txt"}'}],
    }
    assert lines[2]["call"] == "c1"


def test_the_messages_of_the_user_get_half_of_the_budget_the_newest_first() -> None:
    """The task precedes them even if they alone would fill the budget, and the newest events follow."""
    messages = [UserMessage(Text(f"Message {n}. " + "x" * 80)) for n in range(60)]
    text, lines = lines_of(UserMessage(Text("The task.")), *messages, *map(read, range(60)), budget=4_000)
    written = [line["text"] for line in lines if line["who"] == "user"]
    numbers = [int(text.split()[1].rstrip(".")) for text in written[1:]]
    assert written[0] == "The task." and len(numbers) > 5 and numbers == list(range(60 - len(numbers), 60))
    user_lines = [line for line in text.splitlines() if '"user"' in line]
    assert 1_800 < sum(len(line) + 1 for line in user_lines) <= 2_000
    read_files = [call["arguments"] for line in lines for call in line.get("calls", ())]
    assert read_files == [f'{{"path": "{n}.txt"}}' for n in range(60 - len(read_files), 60)] and len(read_files) > 5
    assert 3_800 < len(text) <= 4_000 + 2 * len('{"who": "Journeyman", "left_out": 99}\n')
    left_out = sum(line.get("left_out", 0) for line in lines)
    assert left_out == 121 - len(written) - len(read_files)


def test_long_texts_are_cut_in_the_middle_at_whole_characters() -> None:
    call = ToolCall("c1", "write", Text(LONG))
    events = (UserMessage(Text(LONG)), Replied(Text(LONG), calls=(call,)), ToolReturned("c1", Text(LONG)))
    _, (user, agent, tool) = lines_of(*events)
    for limit, text in zip(
        LIMITS, (user["text"], agent["text"], agent["calls"][0]["arguments"], tool["output"]), strict=True
    ):
        start, end = text.split(" […] ")
        assert LONG.startswith(start) and LONG.endswith(end) and limit - 2 <= len(start + end) <= limit + 2


def test_a_key_at_the_position_of_a_cut_is_removed_whole() -> None:
    key = "my0wn-pr0vider-key-without-format"
    for before in (USER * 2 // 3 - 10, 4_000 - USER // 3 - 10):
        text = "x" * before + key + "y" * (4_000 - before - len(key))
        assert key[:10] in lines_of(UserMessage(Text(text)))[0] or key[-10:] in lines_of(UserMessage(Text(text)))[0]
        removed = lines_of(UserMessage(Text(text)), redact=Redactor([key]).redact)[0]
        assert all(key[at : at + 6] not in removed for at in range(len(key) - 5))
