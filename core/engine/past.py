"""Ask what happened: reads journals a page at a time and lets the timeline's folds answer."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import replace

from core.domain.problems import Problem
from core.domain.steps import Step, line
from core.engine.conversation import Conversation
from core.engine.weights import weight
from core.store.journal import Journal
from core.store.reader import Reader
from core.timeline.align import Alignment, align
from core.timeline.learnt import LEARNT_KINDS, Learnt, learnt
from core.timeline.ledger import Item
from core.timeline.queries import Failure, recent_failures
from core.timeline.report import USUAL, Report, Thresholds, report
from core.timeline.runs import RunMade, Runs

PAGE = 1000
LAST = (1 << 31) - 1  # no journal has as many lines


class Past:
    """Everything is read, nothing is written."""

    def __init__(self, journal: Journal, reader: Reader) -> None:
        self._journal = journal
        self._reader = reader

    async def runs(self, session: str) -> list[RunMade]:
        """The runs of a session, in order."""
        folded = Runs()
        async for entry in self._journal.read(session):
            folded.hear(entry)
        return list(folded.made.values())

    async def context(self, session: str, seq: int = 0) -> list[Item]:
        """What the model is sent, item by item: now, or with the request that is entry `seq`."""
        return items(await self._talk(session, seq))

    async def dropped(self, session: str, seq: int) -> list[Item]:
        """What gave way in the compaction that is entry `seq`, as it was before."""
        stays = {(item.seq, item.call) for item in items(await self._talk(session, seq)) if not item.folded}
        return [item for item in items(await self._talk(session, seq - 1)) if (item.seq, item.call) not in stays]

    async def _talk(self, session: str, until: int) -> Conversation:
        talk = Conversation()
        async for entry in self._journal.read(session):
            if until and entry.seq > until:
                break
            talk.hear(entry)
        return talk

    async def all_runs(self) -> AsyncIterator[RunMade]:
        """Every run there is, those of the newest session first; one session is held at a time."""
        for row in self._reader.sessions():
            for run in await self.runs(row.id):
                yield run

    async def failures(self, limit: int = 20) -> list[Failure]:
        """The newest runs that went wrong. Sessions that ended before all of them are not read."""
        found: list[Failure] = []
        for row in self._reader.sessions():
            if len(found) >= limit and (not found or row.updated <= found[-1].at):
                break
            if row.runs:
                found = _merged(found, await self.runs(row.id), limit)
        return found

    async def report(self, session: str, run: int = 0, thresholds: Thresholds = USUAL) -> Report:
        """A run on one page; the last one for 0."""
        made = {each.number: each for each in await self.runs(session)}
        number = run or max(made, default=0)
        if number not in made:
            raise Problem(f"There is no run {number}.", f"The session has {len(made)}.", "")
        return report(made[number], thresholds)

    def compare(self, a: str, b: str, run_a: int = 0, run_b: int = 0) -> Alignment:
        """Two sessions side by side, or one run of each."""
        found = align(self._steps(a, run_a), self._steps(b, run_b))
        return replace(found, learnt_a=self._learnt(a, run_a), learnt_b=self._learnt(b, run_b))

    async def compared(self, a: str, b: str) -> Alignment:
        """The same, in a thread of its own: a window asks, and runs go on."""

        def work() -> Alignment:
            with closing(self._reader.again()) as reader:
                return Past(self._journal, reader).compare(a, b)

        return await asyncio.to_thread(work)

    def _learnt(self, session: str, run: int) -> Learnt:
        lines, after = [], 0
        while found := self._reader.lines(session, LEARNT_KINDS, after, LAST, PAGE):
            lines += [line for line in found if not run or line["run"] == run]
            after = found[-1]["seq"]
        return learnt(lines)

    def _steps(self, session: str, run: int) -> list[Step]:
        row = self._reader.session(session)
        if row is None:
            raise Problem(f"There is no session {session}.", "", "List them with `journeyman sessions`.")
        rows = (step for first in range(0, row.rows, PAGE) for step in self._reader.steps(session, first, PAGE))
        return [step for step in rows if not run or step.run == run]


def _merged(found: list[Failure], made: list[RunMade], limit: int) -> list[Failure]:
    return sorted([*found, *recent_failures(made, limit)], key=lambda each: -each.at)[:limit]


def items(talk: Conversation) -> list[Item]:
    """What a conversation consists of, as the window shows it."""
    return [
        Item(
            message.seq,
            message.kind,
            line(message.text) or line(", ".join(call.tool for call in message.calls)),
            weight(message),
            message.call_id,
            message.role == "tool" and message.call_id in talk.dropped,
        )
        for message in talk.messages
    ]
