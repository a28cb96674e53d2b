"""Say in few words what was dropped: by the small tier where it can, else as a list made of the facts themselves."""

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from string import Template

from core.domain.events import RequestSent, Usage
from core.domain.messages import Message
from core.domain.problems import Problem, Trouble
from core.domain.provenance import new_boundary
from core.domain.text import Text
from core.domain.tiers import Choice, choose
from core.engine.compaction import NOTES, PERSON, SUMMARY
from core.engine.recall import one_line
from core.engine.work import Work
from core.models.model import Delta, Request
from core.models.tokens import estimate
from core.tools.recall import RECALL, TALK

SIGNS = 3.0  # of a token, at the least that matters here
TAKES_S = 180.0
SHORTEST = 40  # characters: less says nothing
LONGEST = 4_000  # tokens of a summary
CAPS = ((2000, 1500, 400, 600), (1000, 600, 200, 200), (400, 300, 100, 80))  # person, agent, call, result
UNKNOWN_WINDOW = 32_000
BEGINS = '[Summary of the earlier talk, made by Journeyman to save room. {tool} with the id "{talk}" gives it back.]\n'


@dataclass(frozen=True, slots=True)
class Summary:
    """What stands for the dropped. `model` wrote it; where it is empty, Journeyman did, because of `trouble`."""

    text: str
    model: str = ""
    usage: Usage = Usage()
    trouble: Trouble | None = None
    cost: float | None = None


async def summarise(run: Work, messages: Sequence[Message], most: int) -> Summary:
    """At most so many tokens. Whatever the model does, there is a summary."""
    most = min(most, LONGEST)
    head = BEGINS.format(tool=RECALL, talk=TALK)
    choice = choose(run.tiers(), run.model_name, ("summary",))
    trouble, spent, cost = Trouble("The summary was empty."), Usage(), None
    for name in (choice.model, *choice.others):
        try:
            said, last = await _ask(run, name, choice, messages, most)
        except Problem as problem:
            trouble = problem.trouble
            continue
        except TimeoutError:
            trouble = Trouble("The summary took too long.", f"There was none after {TAKES_S:g} s.")
            continue
        used = last.usage or Usage()
        spent = Usage(spent.input + used.input, spent.output + used.output)
        cost = cost if last.cost is None else (cost or 0.0) + last.cost
        if len(said) >= SHORTEST:
            return Summary(head + shortened(said, most), name, spent, cost=cost)
    return Summary(head + shortened(outline(messages, most), most), "", spent, trouble, cost)


async def _ask(run: Work, name: str, choice: Choice, messages: Sequence[Message], most: int) -> tuple[str, Delta]:
    """What the model says, and what it took. It is read no further than a summary may be long, many times over."""
    model = run.model_of(name)
    room = round((model.window or UNKNOWN_WINDOW) * 0.6 * SIGNS)
    request = Request(
        [Message("user", Text(_prompt(transcript(messages, room), most)))], max(0, run.talk.compactions), "summary"
    )
    window, why = model.window, choice.why or "a summary"
    await run.record(
        RequestSent(name, run.talk.rounds, choice.tier, why, {SUMMARY: estimate(request.messages[0].text.head)}, window,
                    "summary")
    )  # fmt: skip
    words: list[str] = []
    last, size = Delta(), 0
    stream = model.stream(request)
    async with asyncio.timeout(TAKES_S), contextlib.aclosing(stream) as deltas:
        async for delta in deltas:
            words.append(delta.text)
            last = last.followed_by(delta)
            size += len(delta.text)
            if size > most * SIGNS * 10:
                break
    return "".join(words).strip(), last


def _prompt(talk: str, most: int) -> str:
    text = (resources.files("resources") / "prompts" / "summary.md").read_text("utf-8")
    return Template(text).substitute(words=max(60, most // 2), boundary=new_boundary(), talk=talk).strip()


def shortened(text: str, most: int) -> str:
    """No more than so many tokens, cut after a line where there is one."""
    size = estimate(text)
    if size <= most:
        return text
    cut = text[: int(len(text) * most / size)]
    end = max(cut.rfind("\n"), cut.rfind(". ") + 1)
    return (cut[:end] if end > len(cut) // 2 else cut).rstrip() + " …"


def transcript(messages: Sequence[Message], most: int) -> str:
    """The talk as text, at most so many characters: everything shorter first, then its middle left out."""
    lines: list[str] = []
    for caps in CAPS:
        lines = [words for message in messages for words in _told(message, *caps)]
        if sum(map(len, lines)) + len(lines) <= most:
            return "\n".join(lines)
    return "\n".join(_without_middle(lines, most))


def outline(messages: Sequence[Message], most: int) -> str:
    """What was said and done, a line each, as much as there is room for."""
    older = next((message.text.head for message in messages if message.kind == SUMMARY), "")
    older = shortened(older.partition("\n")[2], most // 2) if older else ""
    lines = [words for message in messages if message.kind != SUMMARY for words in _told(message, 500, 200, 120, 80)]
    room = max(100, most - estimate(older))
    size = estimate("\n".join(lines))
    if size > room:
        lines = _without_middle(lines, int(sum(map(len, lines)) * room / size))
    return "\n".join(part for part in (older, *lines) if part)


def _told(message: Message, person: int, agent: int, call: int, result: int) -> list[str]:
    head = message.text.head
    if message.role == "tool":
        return [f"Result of {message.call_id}{' (failed)' if message.failed else ''}: {one_line(head, result)}"]
    if message.kind == SUMMARY:
        return ["Earlier summary:", head.partition("\n")[2], "What came after it:"]
    if message.role == "assistant":
        said = [f"Agent: {one_line(head, agent)}"] if head else []
        return said + [f"Call {one.id}: {one.tool} {one_line(one.arguments.head, call)}" for one in message.calls]
    whose = {PERSON: "Person", NOTES: "Note"}.get(message.kind, "Told")
    return [f"{whose}: {one_line(head, person)}"]


def _without_middle(lines: list[str], most: int) -> list[str]:
    """The first lines in a third of the room, the last in the rest."""
    first, last, size = 0, 0, 0
    while first < len(lines) and size + len(lines[first]) < most / 3:
        size += len(lines[first]) + 1
        first += 1
    while last < len(lines) - first and size + len(lines[-1 - last]) < most:
        size += len(lines[-1 - last]) + 1
        last += 1
    left = len(lines) - first - last
    return [*lines[:first], *([f"[… {left:,} lines left out …]"] if left else []), *lines[len(lines) - last :]]
