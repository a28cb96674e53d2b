"""Give back what was dropped from the context: results and talk, read from the journal a few lines at a time."""

from collections.abc import AsyncIterator, Iterable

from core.domain.events import CallRefused, Entry, Nudged, PersonSpoke, Replied, ToolReturned
from core.domain.problems import Problem
from core.domain.question import QuestionAnswered, spoken
from core.domain.steps import line
from core.engine.work import Work
from core.tools.recall import TALK, Recall

MOST = 16_000  # characters given back at once
LINES = 400


async def recall(run: Work, asked: Recall) -> str:
    """The lines that were asked for; Problem where there are none."""
    if asked.id == TALK:
        return await _talk(run, asked)
    seq = run.talk.dropped.get(asked.id)
    if seq is None:
        near = ", ".join(list(run.talk.dropped)[-5:])
        raise Problem(
            f"Nothing was dropped under the id {asked.id!r}.",
            "What was not dropped still stands above.",
            f"The last ones that were: {near}." if near else "",
        )
    async for entry in run.journal.read(run.session, seq - 1):
        return _cut(_result(run, entry, asked.id).splitlines(), asked)
    raise Problem("It is lost.", f"Entry {seq} cannot be read.", "")


def _result(run: Work, entry: Entry, call: str) -> str:
    match entry.event:
        case ToolReturned(output=text) | CallRefused(reason=text):
            return run.whole(text)
        case QuestionAnswered(answer=answer):
            return spoken(answer)
        case _:
            return f"[{call} was not run: the run ended before it.]"


async def _talk(run: Work, asked: Recall) -> str:
    """Lines of the talk from its beginning, a line for each thing that was said or done."""
    end = min(asked.end or asked.start + LINES, asked.start + LINES)
    found: list[str] = []
    number = 0
    async for words in _said(run):
        number += 1
        if number >= asked.start:
            found.append(words)
        if number >= end:
            break
    if not found:
        raise Problem(f"The talk has {number:,} lines.", "", f"Ask for lines up to {number:,}.")
    return _numbered(found, asked.start)


async def _said(run: Work) -> AsyncIterator[str]:
    async for entry in run.journal.read(run.session):
        match entry.event:
            case PersonSpoke(text=text) if entry.seq not in run.talk.withdrawn:
                yield f"Person: {one_line(run.whole(text), 2000)}"
            case Nudged(text=text):
                yield f"Note: {one_line(text.head, 400)}"
            case Replied(text=text, calls=calls):
                if text.head:
                    yield f"Agent: {one_line(run.whole(text), 2000)}"
                for call in calls:
                    yield f"Call {call.id}: {call.tool} {one_line(call.arguments.head, 400)}"
            case ToolReturned(call_id=call, output=output, failed=failed):
                yield f"Result of {call}{' (failed)' if failed else ''}: {line(output)}"
            case CallRefused(call_id=call, reason=reason):
                yield f"Result of {call} (not run): {line(reason)}"
            case QuestionAnswered(call_id=call, answer=answer):
                yield f"Result of {call}: {one_line(spoken(answer), 400)}"
            case _:
                pass


def one_line(text: str, most: int) -> str:
    """Words on one line, cut."""
    words = " ".join(text[: most * 2].split())
    return words if len(words) <= most else words[: most - 1] + "…"


def _cut(lines: list[str], asked: Recall) -> str:
    wanted = lines[asked.start - 1 : asked.end or None]
    if not wanted and asked.start > 1:
        raise Problem(f"It has {len(lines):,} lines.", "", "Ask for lines that it has.")
    return _numbered(wanted, asked.start, of=len(lines))


def _numbered(lines: Iterable[str], start: int, of: int = 0) -> str:
    """As many of the lines as one answer holds, and where to go on."""
    taken: list[str] = []
    size = 0
    lines = list(lines)
    for words in lines:
        if taken and size + len(words) > MOST:
            break
        taken.append(words if len(words) <= MOST else words[:MOST] + " …")
        size += len(taken[-1]) + 1
    last = start + len(taken) - 1
    if len(taken) < len(lines) or (of and last < of):
        taken.append(f"[Lines {start:,} to {last:,}{f' of {of:,}' if of else ''}. Go on with start {last + 1}.]")
    return "\n".join(taken)
