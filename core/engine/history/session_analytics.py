"""Reports and comparisons of past runs, computed from the event log by the functions in `core.timeline`."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from typing import Any

from core.domain.clock import Clock, now
from core.domain.problems import Problem
from core.domain.steps import Step, first_line
from core.engine.state.conversation import Conversation
from core.engine.state.token_counts import message_tokens
from core.store.journal import Journal
from core.store.reader import Reader
from core.timeline.call_arguments import ARGUMENT_KINDS, find_arguments
from core.timeline.context_item import ContextItem
from core.timeline.run_alignment import Alignment, align_runs
from core.timeline.run_queries import Failure, recent_failures
from core.timeline.run_report import DEFAULT_THRESHOLDS, RunReport, Thresholds, report_run
from core.timeline.run_summary import RunSummary, RunSummaryBuilder
from core.timeline.used_knowledge import KNOWLEDGE_KINDS, UsedKnowledge, find_used_knowledge
from core.tools.catalogue import tool_named
from core.tools.tool import READ_ONLY_ACCESS

PAGE_SIZE = 1000
MAX_SEQ = (1 << 31) - 1  # Higher than any sequence number.


class SessionAnalytics:
    """Answers questions about past runs. It never writes.

    `is_active` returns whether a run of a session is active. The duration of an active run extends to `clock()`.
    """

    def __init__(
        self,
        journal: Journal,
        reader: Reader,
        is_active: Callable[[str], bool] = lambda session: False,
        clock: Clock = now,
    ) -> None:
        self._journal = journal
        self._reader = reader
        self._is_active = is_active
        self._clock = clock

    async def runs(self, session: str) -> list[RunSummary]:
        """Return the runs of a session in order."""
        builder = RunSummaryBuilder(self._reader.read_text)
        async for entry in self._journal.read(session):
            builder.apply(entry)
        runs = list(builder.summaries.values())
        if runs and self._is_active(session):
            runs[-1].ended_at = max(runs[-1].ended_at, self._clock())
        return runs

    async def context(self, session: str, seq: int = 0) -> list[ContextItem]:
        """Return the items in the context of the request that is event `seq`, or of the next request if `seq` is 0."""
        return context_items(await self._conversation(session, seq))

    async def _conversation(self, session: str, until: int) -> Conversation:
        conversation = Conversation()
        async for entry in self._journal.read(session):
            if until and entry.seq > until:
                break
            conversation.apply(entry)
        return conversation

    async def all_runs(self) -> AsyncIterator[RunSummary]:
        """Yield all runs, starting with the newest session. Only one session is in memory at a time."""
        for row in self._reader.sessions():
            for run in await self.runs(row.id):
                yield run

    async def failures(self, limit: int = 20) -> list[Failure]:
        """Return the `limit` most recent failed runs. Older sessions are not read once enough failures are found."""
        failures: list[Failure] = []
        for row in self._reader.sessions():
            if len(failures) >= limit and (not failures or row.updated_at <= failures[-1].at):
                break
            if row.runs:
                failures = _merged(failures, await self.runs(row.id), limit)
        return failures

    async def report(self, session: str, run: int = 0, thresholds: Thresholds = DEFAULT_THRESHOLDS) -> RunReport:
        """Return the report of a run (0 for the last one)."""
        runs = {run_summary.number: run_summary for run_summary in await self.runs(session)}
        number = run or max(runs, default=0)
        if number not in runs:
            raise Problem(f"There is no run {number}.", f"Runs in this session: {len(runs)}.", "")
        return report_run(runs[number], thresholds)

    def compare(self, a: str, b: str, run_a: int = 0, run_b: int = 0) -> Alignment:
        """Compare two sessions step by step, or one run of each."""
        alignment = align_runs(self._steps(a, run_a), self._steps(b, run_b), self._arguments(a), self._arguments(b))
        return replace(alignment, used_a=self._used_knowledge(a, run_a), used_b=self._used_knowledge(b, run_b))

    async def compare_in_thread(self, a: str, b: str) -> Alignment:
        """Compare two sessions in a thread, so that the window and other runs are not blocked."""

        def work() -> Alignment:
            with closing(self._reader.reopen()) as reader:
                return SessionAnalytics(self._journal, reader).compare(a, b)

        return await asyncio.to_thread(work)

    def _used_knowledge(self, session: str, run: int) -> UsedKnowledge:
        return find_used_knowledge(
            line for line in self._events(session, KNOWLEDGE_KINDS) if not run or line["run"] == run
        )

    def _arguments(self, session: str) -> Mapping[str, str]:
        """Return the arguments of calls that may have changed something, by call ID, to compare two sessions.

        The timeline row of any other call shows the call in full, so comparing the rows is enough.
        """
        return find_arguments(self._events(session, ARGUMENT_KINDS), _may_change)

    def _events(self, session: str, kinds: tuple[str, ...]) -> Iterator[Mapping[str, Any]]:
        after = 0
        while page := self._reader.events_of(session, kinds, after, MAX_SEQ, PAGE_SIZE):
            yield from page
            after = page[-1]["seq"]

    def _steps(self, session: str, run: int) -> list[Step]:
        row = self._reader.require_session(session)
        rows = (
            step for first in range(0, row.rows, PAGE_SIZE) for step in self._reader.steps(session, first, PAGE_SIZE)
        )
        return [step for step in rows if not run or step.run == run]


def _may_change(name: str) -> bool:
    tool = tool_named(name)
    return tool is not None and tool.access not in READ_ONLY_ACCESS


def _merged(failures: list[Failure], runs: list[RunSummary], limit: int) -> list[Failure]:
    return sorted([*failures, *recent_failures(runs, limit)], key=lambda failure: -failure.at)[:limit]


def context_items(conversation: Conversation) -> list[ContextItem]:
    """Return the items of a conversation for the context panel."""
    return [
        ContextItem(
            seq=message.seq,
            category=message.category,
            description=first_line(message.text) or first_line(", ".join(call.tool for call in message.calls)),
            tokens=message_tokens(message),
            call_id=message.call_id,
            truncated=message.role == "tool" and message.call_id in conversation.compacted_calls,
        )
        for message in conversation.messages
    ]
