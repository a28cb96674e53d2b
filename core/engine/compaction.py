"""What gives way when the context is full, and what the messages are afterwards: both without a word to any model."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from core.domain.events import ContextCompacted
from core.domain.messages import Message
from core.domain.text import Text

PERSON, NOTES, REPLIES, SUMMARY, MEMORY, SKILLS = "person", "notes", "replies", "summary", "memory", "skills"
STAY = frozenset({MEMORY, SKILLS})
HEAD = 400  # characters that stay of a folded result
FOLDED_FROM = 200  # tokens
LAST = 4  # exchanges that stay word for word
TAIL_SHARE = 0.25  # of the room, that they may take
WORDS_SHARE = 0.1  # of the room, that words of the person may take
WORDS_MOST = 300  # tokens of one message of theirs
GIANT_SHARE = 0.25  # of the room: a result that large gives way wherever it stands
ENOUGH = 0.6  # of the room: folding alone must come down to this


@dataclass(frozen=True, slots=True)
class Plan:
    """`folded` are calls whose results become heads, `dropped` places of messages that a summary will stand for."""

    folded: tuple[str, ...] = ()
    dropped: tuple[int, ...] = ()


def compacted(messages: Sequence[Message], seq: int, done: ContextCompacted) -> tuple[list[Message], list[int]]:
    """The messages after a compaction, and the place each had before it; -1 for what is new."""
    folded, kept = set(done.folded), set(done.kept)
    after: list[Message] = []
    origins: list[int] = []
    summary = -1
    for place, message in enumerate(messages):
        if message.seq <= done.until and message.seq not in kept:
            summary = len(after) if summary < 0 else summary
            continue
        changes = message.call_id in folded and message.role == "tool"
        after.append(fold_result(message) if changes else message)
        origins.append(-1 if changes else place)
    if summary >= 0:
        after.insert(summary, Message("user", done.summary, seq=seq, kind=SUMMARY))
        origins.insert(summary, -1)
        _after_summary(after, origins, summary)
    return after, origins


def _after_summary(messages: list[Message], origins: list[int], summary: int) -> None:
    """What is remembered stands after the summary, and before the talk that goes on."""
    early = [place for place in range(summary) if messages[place].kind == MEMORY]
    for moved, place in enumerate(early):
        messages.insert(summary, messages.pop(place - moved))
        origins.insert(summary, origins.pop(place - moved))


def fold_result(message: Message) -> Message:
    """A result as its head, and how to read the rest."""
    size = message.text.size or len(message.text.head.encode("utf-8", "replace"))
    head = message.text.head[:HEAD]
    note = f'[Folded: {size:,} bytes in all. recall_dropped {{"id": "{message.call_id}"}} gives them back.]'
    return replace(message, text=Text(f"{head} …\n{note}"))


def units(messages: Sequence[Message]) -> list[range]:
    """Places that belong together: a reply with the results of its calls, or a message by itself."""
    found: list[range] = []
    for place, message in enumerate(messages):
        if message.role == "tool" and found:
            found[-1] = range(found[-1].start, place + 1)
        else:
            found.append(range(place, place + 1))
    return found


def plan(
    messages: Sequence[Message], weights: Sequence[int], room: float, fixed: int, task: Collection[int],
    folded: Collection[str],
) -> Plan:  # fmt: skip
    """What to give up, so that `fixed` and the messages come well below `room`.

    `task` are the entries with the words that the run is about, `folded` are calls whose results are heads already.
    """
    groups = units(messages)
    tail = _tail(messages, weights, groups, room * TAIL_SHARE)
    first_of_tail = groups[tail].start if tail < len(groups) else len(messages)
    heads = _large(messages, weights, first_of_tail, room * GIANT_SHARE, folded)
    saved = sum(weights[place] - HEAD // 4 - 40 for place in heads)
    if heads and fixed + sum(weights) - saved <= room * ENOUGH:
        return Plan(tuple(messages[place].call_id for place in heads))
    stays = _staying(messages, weights, groups[:tail], task, room * WORDS_SHARE)
    dropped = [place for group in groups[:tail] if group.start not in stays for place in group]
    if all(messages[place].kind == SUMMARY for place in dropped):
        dropped = []
    gone = set(dropped)
    return Plan(tuple(messages[place].call_id for place in heads if place not in gone), tuple(dropped))


def fact(messages: Sequence[Message], made: Plan, why: str, before: int) -> ContextCompacted:
    """The plan as a fact, still without a summary and without what it came to."""
    if not made.dropped:
        return ContextCompacted(why, before, before, made.folded)
    gone = set(made.dropped)
    until = max(messages[place].seq for place in gone)
    kept = {message.seq for place, message in enumerate(messages) if place not in gone and message.seq <= until}
    first = min(messages[place].seq for place in gone)
    return ContextCompacted(
        why, before, before, made.folded, first, until, tuple(sorted(kept)), dropped=len(made.dropped)
    )


def _tail(messages: Sequence[Message], weights: Sequence[int], groups: Sequence[range], most: float) -> int:
    """The first group of the last exchanges: one at the least, more while they are small."""
    exchanges, taken, start = 0, 0, len(groups)
    for place in range(len(groups) - 1, -1, -1):
        taken += sum(weights[each] for each in groups[place])
        if exchanges and (exchanges == LAST or taken > most):
            break
        exchanges += messages[groups[place].start].role == "assistant"
        start = place
    return start


def _large(
    messages: Sequence[Message], weights: Sequence[int], tail: int, giant: float, folded: Collection[str]
) -> list[int]:
    """Places of results that can become heads: old ones, and any that is too large for every window."""
    return [
        place
        for place, message in enumerate(messages)
        if message.role == "tool"
        and message.call_id not in folded
        and message.kind not in STAY
        and weights[place] > (FOLDED_FROM if place < tail else max(FOLDED_FROM, giant))
    ]


def _staying(
    messages: Sequence[Message], weights: Sequence[int], groups: Sequence[range], task: Collection[int], most: float
) -> set[int]:
    """Where the groups begin that stay word for word: the first task and this one, memory and skills in use, and as
    many words of the person as there is room for, the newest first."""
    stays: set[int] = set()
    spoken = [group.start for group in groups if messages[group.start].kind == PERSON]
    for group in groups:
        if any(messages[place].kind in STAY for place in group):
            stays.add(group.start)
    stays.update(start for start in spoken if messages[start].seq in task or start == spoken[0])
    for start in reversed(spoken):
        if start not in stays and weights[start] <= WORDS_MOST:
            most -= weights[start]
            if most < 0:
                break
            stays.add(start)
    return stays
