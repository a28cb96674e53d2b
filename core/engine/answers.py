"""A person's answers become facts, each once, whoever waits for them."""

from dataclasses import dataclass

from core.domain.problems import Problem
from core.domain.question import Answer, QuestionAnswered, QuestionHeld
from core.store.journal import Journal
from core.store.reader import Reader


@dataclass(frozen=True, slots=True)
class Answers:
    """`claimed` are the questions that somebody is about to answer."""

    journal: Journal
    reader: Reader
    claimed: set[str]

    async def answer(self, question: str, answer: Answer) -> str:
        """Make an answer a fact, once; the session it belongs to."""
        asked = self.reader.asked(question)
        if asked is None or question in self.claimed:
            raise Problem(
                f"The question {question} is not open.",
                "It was answered already, or its run has ended.",
                "List the open ones with `journeyman questions`.",
            )
        self.claimed.add(question)
        try:
            session, call = asked
            await self.journal.append(session, QuestionAnswered(question, call, answer))
        finally:
            self.claimed.discard(question)
        return session

    async def hold(self, question: str) -> None:
        """No more time limit for a question that is open; of one that is not there is nothing to hold."""
        if asked := self.reader.asked(question):
            await self.journal.append(asked[0], QuestionHeld(question))
