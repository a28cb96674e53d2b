"""Let the agent ask, as often as its run may, and answer from the record what was answered before."""

from dataclasses import dataclass, field, replace

from core.domain.events import CallRefused, DecisionMade, RunStarted
from core.domain.ids import question_id
from core.domain.question import CAPS, Answer, Question, QuestionAnswered, QuestionAsked, same_question, withdrawn
from core.domain.text import Text
from core.engine.work import Work
from core.tools.ask import AskUser, question

MINUTE_S = 60


async def ask_person(run: Work, parameters: AskUser, call: str, tool: str) -> None:
    """The call gets its result: an answer, one from the record, or the word that it may not ask any more."""
    name = question_id(run.session, call)
    asked = _timed(question(parameters, name), run.talk.start)
    if name not in run.talk.questions:
        if answer := _answered_before(run, asked):
            known = replace(answer, by="record")
            await run.record(QuestionAsked(asked, call), QuestionAnswered(name, call, known))
            return
        cap = CAPS[run.talk.start.autonomy] if run.talk.start else CAPS["balanced"]
        if _asked_so_far(run) >= cap:
            await _decide_instead(run, asked, call, tool, cap)
            return
    await run.ask(asked, call)


@dataclass(slots=True)
class AskedInCall:
    """Questions of a call that is going. Their answers are not its result, and they do not count as the agent's own."""

    run: Work
    call: str
    waiting: set[str] = field(default_factory=set)

    async def __call__(self, question: Question) -> Answer:
        """Its name holds that of the call: made again after a crash, the call finds what was answered."""
        asked = _timed(
            replace(question, id=question_id(self.run.session, f"{self.call}-{question.id}")), self.run.talk.start
        )
        self.waiting.add(asked.id)
        answer = await self.run.ask(asked)
        self.waiting.discard(asked.id)
        return answer

    async def withdraw(self) -> None:
        """The call is over, so nobody wants to know any more; a word that is about to be said is said."""
        for name in self.waiting - self.run.claimed:
            await self.run.record(QuestionAnswered(name, "", withdrawn("the call that asked has ended")))


def _answered_before(run: Work, asked: Question) -> Answer | None:
    for earlier in run.talk.asked.values():
        answer = run.talk.questions.get(earlier.id)
        if answer and not answer.expired and same_question(earlier, asked):
            return answer
    return None


def _asked_so_far(run: Work) -> int:
    """Questions somebody had to answer; a form is one."""
    answers = (run.talk.questions.get(name) for name in run.talk.asked)
    return sum(answer is None or answer.by != "record" for answer in answers)


async def _decide_instead(run: Work, asked: Question, call: str, tool: str, cap: int) -> None:
    times = "one question" if cap == 1 else f"{cap} questions"
    told = f"[Not asked: this run may ask {times}, and has. Decide by yourself, and record it with decide.]"
    reason = f"the run may ask {times}, and has"
    made = DecisionMade(call, asked.text, choice="left to the agent", reason=reason)
    await run.record(made, CallRefused(call, tool, Text(told)))


def _timed(asked: Question, start: RunStarted | None) -> Question:
    """How long it waits, as the run says. Without a default there is none to go on with: then it pauses."""
    if start is None or start.unanswered == "wait" or not start.answer_minutes:
        return asked
    then = start.unanswered if start.unanswered != "default" or asked.default else "pause"
    return replace(asked, expires_s=start.answer_minutes * MINUTE_S, then=then)
