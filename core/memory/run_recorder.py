"""Records in memory what runs recalled, how they ended and how they were rated, without blocking the runs."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace

from core.domain.clock import Clock, now
from core.domain.events import EventRecord, RunEnded, RunRated
from core.domain.ids import memory_id
from core.domain.memory import CONTEXT_LIMIT, MemoryChange, MemoryContent
from core.domain.message_authorship import MessageAuthorship
from core.domain.problems import ErrorDetails, Problem
from core.domain.recall_events import MemoriesRecalled, MemoryOperationFailed
from core.memory.memories import Memories
from core.memory.outcome import build_outcome, was_used, with_rating
from core.memory.saving import LearningLimits
from core.memory.surroundings import surroundings
from core.store.codec import decode_event
from core.store.journal import Journal
from core.store.journal_update import JournalUpdate
from core.store.memory_records import MemoryRecords, MemoryUse
from core.store.run_reader import FinishedRun, RunReader, StoredEvent

REVIEW = "review"
# The types of the events that are read to find out where the text of a task comes from.
TASK_EVENTS = ("run_started", "run_ended", "user_message", "untrusted_content_read", "session_forked")
RECORDED_EVENTS = (MemoriesRecalled, RunEnded, RunRated)


class RunRecorder:
    """Listens to the event journal and records each run in memory, in the background.

    A failure is recorded as an event and does not affect the run.

    Args:
        is_enabled: returns whether the user has turned memory on.
        limits: returns what may be learned from the work of an agent, given its name.
    """

    def __init__(
        self,
        journal: Journal,
        memories: Memories,
        is_enabled: Callable[[], bool],
        limits: Callable[[str], LearningLimits],
        clock: Clock = now,
    ) -> None:
        self._journal = journal
        self._memories = memories
        self._is_enabled = is_enabled
        self._limits = limits
        self._clock = clock
        journal.listen(self.on_update)

    def on_update(self, update: JournalUpdate) -> None:
        entry, session = update.entry, update.session
        is_own_run = session.subagent != REVIEW and not session.imported_from
        if not isinstance(entry.event, RECORDED_EVENTS) or not is_own_run or not self._is_enabled():
            return
        match entry.event:
            case MemoriesRecalled():
                self._record(entry, "recording what was recalled", lambda rows, _: self._record_recall(rows, entry))
            case RunEnded():
                is_subagent = bool(session.subagent)
                self._record(
                    entry,
                    "recording how the run ended",
                    lambda rows, runs: self._record_end(rows, runs, entry, is_subagent),
                )
            case RunRated(run_number=run):
                self._record(
                    entry,
                    "recording the rating of the run",
                    lambda rows, runs: self._record_rating(rows, runs, entry.session, run),
                )

    def _record(self, entry: EventRecord, operation: str, work: Callable[[MemoryRecords, RunReader], None]) -> None:
        def on_done(error: BaseException | None) -> None:
            if error is not None:
                details = (
                    error.details if isinstance(error, Problem) else ErrorDetails(f"{type(error).__name__}: {error}")
                )
                self._journal.append_in_background(entry.session, MemoryOperationFailed(operation, details))

        self._memories.store.write_in_background(work, on_done)

    def _record_recall(self, rows: MemoryRecords, entry: EventRecord) -> None:
        event = entry.event
        assert isinstance(event, MemoriesRecalled)
        rows.record_uses(
            MemoryUse(
                session=entry.session,
                run=entry.run,
                memory=recalled.memory_id,
                version=recalled.version,
                at=entry.at,
                score=recalled.score,
            )
            for recalled in event.memories
        )

    def _record_end(self, rows: MemoryRecords, runs: RunReader, entry: EventRecord, is_subagent: bool) -> None:
        """Save the outcome of a run, whatever its status, and mark the memories that the run used.

        An outcome quotes the task. No outcome is saved if untrusted content may have dictated the task.
        """
        event = entry.event
        assert isinstance(event, RunEnded)
        run = runs.finished_run(entry.session, entry.run, entry.seq, event.status, event.reason)
        if run is None:
            return
        events = runs.events(entry.session, TASK_EVENTS, before=entry.seq)
        untrusted = any(kind == "untrusted_content_read" or fields.get("untrusted_sources") for kind, fields in events)
        if not untrusted:
            _complete_contexts(rows, runs, entry.session, entry.run)
        starts = [fields for kind, fields in events if kind == "run_started"]
        limits = self._limits(starts[-1].get("profile", "") if starts else "")
        may_be_dictated = (untrusted and is_subagent) or _is_task_dictated(events)
        if not may_be_dictated and not runs.outcome_memory(entry.session, entry.run):
            outcome = build_outcome(run, limits.min_outcomes, untrusted=untrusted)
            if outcome and not limits.refusal_reason(outcome):
                has_context = not untrusted and not limits.restrict_topics
                context = surroundings(runs.messages(entry.session), outcome.text) if has_context else ""
                self._save_outcome(rows, entry, replace(outcome, context=context[:CONTEXT_LIMIT]))
        _mark_used(rows, runs, entry, run)

    def _save_outcome(self, rows: MemoryRecords, entry: EventRecord, outcome: MemoryContent) -> None:
        rows.write(
            MemoryChange(
                memory=memory_id(),
                number=1,
                at=self._clock(),
                action="created",
                author="run",
                content=outcome,
                session=entry.session,
                seq=entry.seq,
            )
        )

    def _record_rating(self, rows: MemoryRecords, runs: RunReader, session: str, run: int) -> None:
        rating = runs.rating(session, run)
        rows.rate_run(session, run, rating)
        memory = rows.get(runs.outcome_memory(session, run))
        if memory:
            content = with_rating(memory, rating)
            rows.write(
                MemoryChange(
                    memory=memory.id,
                    number=memory.version + 1,
                    at=self._clock(),
                    action="edited",
                    author="run",
                    content=content,
                    session=session,
                )
            )


def _is_task_dictated(events: Sequence[StoredEvent]) -> bool:
    """Return whether untrusted content may have dictated the text of a run's task, given the TASK_EVENTS before it."""
    authorship = MessageAuthorship()
    for kind, fields in events:
        authorship.apply(decode_event(kind, json.dumps(fields)))
    return bool(authorship.is_task_dictated)


def _mark_used(rows: MemoryRecords, runs: RunReader, entry: EventRecord, run: FinishedRun) -> None:
    """Record which of the memories that a run received it has used."""
    uses = rows.uses(entry.session, entry.run)
    if not uses:
        return
    question = next((step.object for step in run.steps if step.kind == "user"), "")
    replies = runs.last_replies(entry.session)
    received = [(use, rows.get(use.memory)) for use in uses]
    rows.record_uses(
        replace(use, used=1) for use, memory in received if memory and was_used(use, memory, question, replies)
    )


def _complete_contexts(rows: MemoryRecords, runs: RunReader, session: str, run: int) -> None:
    """Add the messages that came later to the contexts of the memories that the agent saved in this run."""
    for memory in rows.find(session=session):
        is_unchanged = memory.author == "agent" and memory.version == 1
        if not is_unchanged or not memory.content.context or runs.run_of(session, memory.seq) != run:
            continue
        context = surroundings(runs.messages_around(session, memory.seq), memory.content.text)[:CONTEXT_LIMIT]
        if context != memory.content.context:
            rows.set_context(memory, context)
