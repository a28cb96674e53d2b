"""What memory notes of runs, beside them: what they were told, how they ended, how they went. No reply waits for it."""

from collections.abc import Callable
from dataclasses import replace

from core.domain.clock import Clock, now
from core.domain.events import Entry, RunEnded, VerdictGiven
from core.domain.ids import memory_id
from core.domain.memory import Change
from core.domain.problems import Problem, Trouble
from core.domain.recalled import MemoryFailed, MemoryRecalled
from core.memory.memory import Memories
from core.memory.outcome import judged, outcome, used
from core.store.journal import Journal
from core.store.memory_rows import MemoryRows, Use
from core.store.memory_runs import RunFacts
from core.store.told import Told

REVIEW = "review"
HEARD = (MemoryRecalled, RunEnded, VerdictGiven)


class Notes:
    """Hears every fact. `on` says whether the person wants memory at all; what fails is a fact, and costs nothing."""

    def __init__(self, journal: Journal, memories: Memories, on: Callable[[], bool], clock: Clock = now) -> None:
        self._journal = journal
        self._memories = memories
        self._on = on
        self._clock = clock
        journal.listen(self.hear)

    def hear(self, told: Told) -> None:
        entry, row = told.entry, told.session
        if not isinstance(entry.event, HEARD) or row.called == REVIEW or row.source or not self._on():
            return  # of what a stranger wrote nothing is learnt
        match entry.event:
            case MemoryRecalled():
                self._do(entry, "noting what was recalled", lambda rows, _: self._recalled(rows, entry))
            case RunEnded():
                self._do(entry, "noting how the run ended", lambda rows, facts: self._ended(rows, facts, entry))
            case VerdictGiven(number=run):
                self._do(
                    entry, "noting how the run went", lambda rows, facts: self._judged(rows, facts, entry.session, run)
                )

    def _do(self, entry: Entry, doing: str, work: Callable[[MemoryRows, RunFacts], None]) -> None:
        def done(error: BaseException | None) -> None:
            if error is not None:
                trouble = error.trouble if isinstance(error, Problem) else Trouble(f"{type(error).__name__}: {error}")
                self._journal.note(entry.session, MemoryFailed(doing, trouble))

        self._memories.book.later(work, done)

    def _recalled(self, rows: MemoryRows, entry: Entry) -> None:
        event = entry.event
        assert isinstance(event, MemoryRecalled)
        rows.use(Use(entry.session, entry.run, one.memory, one.version, entry.at, one.score) for one in event.items)

    def _ended(self, rows: MemoryRows, facts: RunFacts, entry: Entry) -> None:
        """An outcome, whatever the status; and which of what it was told the run used."""
        event = entry.event
        assert isinstance(event, RunEnded)
        ended = facts.ended(entry.session, entry.run, entry.seq, event.status, event.reason)
        if ended is None:
            return
        said = outcome(ended)
        if said and not facts.outcome(entry.session, entry.run):
            rows.write(Change(memory_id(), 1, self._clock(), "kept", "run", said, entry.session, entry.seq))
        if not (told := rows.uses(entry.session, entry.run)):
            return
        question = next((row.object for row in ended.rows if row.kind == "person"), "")
        words = facts.last_words(entry.session)
        known = [(use, rows.memory(use.memory)) for use in told]
        rows.use(replace(use, used=1) for use, memory in known if memory and used(use, memory, question, words))

    def _judged(self, rows: MemoryRows, facts: RunFacts, session: str, run: int) -> None:
        went = facts.verdict(session, run)
        rows.judge(session, run, went)
        memory = rows.memory(facts.outcome(session, run))
        if memory:
            said = judged(memory, went)
            rows.write(Change(memory.id, memory.version + 1, self._clock(), "edited", "run", said, session))
