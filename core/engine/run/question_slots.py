"""The limit on the questions that a run and its sub-agents ask the user together."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from core.domain.events import RunStarted, SubagentStarted
from core.domain.question import QUESTION_LIMITS, Answer, QuestionAnswered, QuestionAsked
from core.engine.run.run_context import RunContext
from core.engine.state.unresolved_calls import root_session
from core.store.journal import Journal


def question_limit(run: RunContext) -> int:
    start = run.conversation.start
    return QUESTION_LIMITS[start.autonomy if start else "balanced"]


@dataclass(slots=True)
class QuestionSlots:
    """Admits questions up to the limit. Shared by all runs.

    The event log counts, so that a restart changes nothing. `reserved` are questions that were admitted and are not in
    the event log yet, by ID, with the session to which they count: several may be asked at once.
    """

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    reserved: dict[str, str] = field(default_factory=dict)

    @asynccontextmanager
    async def admit(self, run: RunContext, question: str, _call: str) -> AsyncIterator[bool]:
        """Return whether the user may be asked this question. In the context, the caller records it."""
        async with self.lock:
            root = root_session(run.reader, run.session)
            reserved = {name for name, session in self.reserved.items() if session == root}
            asked = await _asked(run.journal, root) | reserved
            is_admitted = len(asked - {question}) < question_limit(run)
            if is_admitted:
                self.reserved[question] = root
        try:
            yield is_admitted
        finally:
            self.reserved.pop(question, None)


async def _asked(journal: Journal, session: str) -> set[str]:
    """Return the IDs of the questions of the last run of a session and its sub-agents, except those reusing an answer.

    A form with several questions counts once.
    """
    asked: set[str] = set()
    children: list[str] = []
    async for entry in journal.read(session):
        match entry.event:
            case RunStarted():
                asked.clear()
                children.clear()
            case QuestionAsked(question=question, call_id=call) if call:
                asked.add(question.id)
            case QuestionAnswered(question_id=name, answer=Answer(answered_by="earlier_answer")):
                asked.discard(name)
            case SubagentStarted(child_session=child):
                children.append(child)
            case _:
                pass
    for child in children:
        asked |= await _asked(journal, child)
    return asked
