"""Follow a run to its end, printing what becomes durable, answering what can be answered."""

import asyncio

from app.commands.consenting import tell_consent
from app.commands.context import Context
from app.commands.exits import BY_STATUS, FAILED, STOPPED, WAITING
from app.output import plain_entry
from core.domain.consent import ConsentAsked
from core.domain.events import Replied, RunEnded, RunInterrupted, RunStarted
from core.domain.problems import Problem
from core.domain.question import Answer, Question, QuestionAsked
from core.domain.sessions import SessionRow
from core.domain.steps import OPEN, Step, verb
from core.engine.engine import Engine
from core.store.told import Told

NOBODY = "Nobody is there to be asked."


class Follower:
    """Hears everything from its making on, so that nothing is missed between a start and the following."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._heard: asyncio.Queue[Told | None] = asyncio.Queue()
        self._answers: list[str] = list(context.typed.answer)
        self._forget = context.engine.listen(self._heard.put_nowait)

    def close(self) -> None:
        self._forget()

    async def follow(self, session: str) -> int:
        """The exit code of the run that is going."""
        self._context.engine.when_gone(session, lambda: self._heard.put_nowait(None))
        try:
            return await self._until_code(session)
        except asyncio.CancelledError:
            if self._context.engine.going(session):
                await self._context.engine.stop(session)
            while not self._heard.empty():
                if (told := self._heard.get_nowait()) and told.entry.session == session:
                    self._print(told)
            return STOPPED

    async def _until_code(self, session: str) -> int:
        while told := await self._heard.get():
            if told.entry.session == session:
                self._print(told)
                code = await self._react(told)
                if code is not None:
                    return code
            elif isinstance(told.entry.event, QuestionAsked | ConsentAsked) and self._is_below(told.session, session):
                code = await self._react(told)
                if code is not None:
                    return code
        return FAILED  # the run is gone without a last word: its journal could not be written

    def _is_below(self, row: SessionRow, session: str) -> bool:
        """Is this a sub-agent of the session, at any depth?"""
        while row.parent and row.parent != session:
            row = self._context.engine.session(row.parent)
        return row.parent == session

    async def open_questions(self, session: str) -> int | None:
        """Questions and requests that were made before we listened."""
        for row, question in self._context.engine.questions():
            if row.id == session or self._is_below(row, session):
                code = await self._answer(question)
                if code is not None:
                    return code
        await self._context.engine.looked(session)
        return await self._decide(session)

    async def _decide(self, session: str) -> int | None:
        """Of what waits to happen; None when the run goes on."""
        engine, typed = self._context.engine, self._context.typed
        waiting = [each for row, each in engine.consents() if row.id == session or self._is_below(row, session)]
        for each in waiting:
            if typed.no_questions:
                await engine.deny(each.request.id, NOBODY)
            elif not typed.json:
                tell_consent(self._context, each)
        return WAITING if waiting and not typed.no_questions else None

    async def _react(self, told: Told) -> int | None:
        match told.entry.event:
            case RunEnded(status=status, trouble=trouble):
                if trouble:
                    self._context.out.trouble(trouble)
                return BY_STATUS[status]
            case RunInterrupted():
                return WAITING
            case QuestionAsked(question=question):
                return await self._answer(question)
            case ConsentAsked():
                return await self._decide(told.entry.session)
            case _:
                return None

    async def _answer(self, question: Question) -> int | None:
        """With what was given on the command line; None when the run goes on."""
        engine, typed = self._context.engine, self._context.typed
        if not any(open_.id == question.id for _, open_ in engine.questions()):
            return None  # answered already, from the record
        if self._answers:
            await engine.answer(question.id, chosen(question, self._answers.pop(0)))
        elif typed.no_questions:
            await engine.answer(question.id, Answer(declined=True))
        else:
            if not typed.json:
                tell_question(self._context, question)
            return WAITING
        return None

    def _print(self, told: Told) -> None:
        out, engine = self._context.out, self._context.engine
        if self._context.typed.json:
            out.json(plain_entry(told.entry, engine.blob))
            return
        if isinstance(told.entry.event, Replied) and told.entry.event.text.head:
            out.write(engine.whole(told.entry.event.text))
        if isinstance(told.entry.event, RunStarted):
            for guide in told.entry.event.guides:
                if guide.trouble:
                    out.write(f"{guide.name}: {guide.trouble}")
        for step in told.steps:
            if step.number and step.status not in OPEN:
                out.write(step_line(step))


def chosen(question: Question, text: str) -> Answer:
    """A text that is an option's label or number chooses it."""
    for place, option in enumerate(question.options, 1):
        if text.casefold() == option.label.casefold() or text == str(place):
            return Answer(option=option.label)
    return Answer(text=text)


def tell_question(context: Context, question: Question) -> None:
    """The question as a person reads it in a terminal, with the command that answers it."""
    out = context.out
    out.write(f"? {question.text}")
    if question.why:
        out.write(f"  {question.why}")
    for number, part in enumerate(question.parts, 1):
        out.write(f"  Question {number}: {part.text}" + (" (any number)" if part.several else ""))
        for option in part.options:
            out.write(f"     {option.label}" + (f": {option.description}" if option.description else ""))
    for place, option in enumerate(question.options, 1):
        mark = " (recommended)" if option.recommended else ""
        out.write(f"  {place}  {option.label}{mark}" + (f": {option.description}" if option.description else ""))
    choice = "--option N" if question.options else "TEXT"
    out.write(f"Waiting for an answer: journeyman answer {question.id} {choice}")


def step_line(step: Step) -> str:
    """A row of the timeline in a terminal."""
    marks = step.marks
    parts = [f"exit {marks['exit']}"] if "exit" in marks else []
    if marks.get("files"):
        parts.append(f"+{marks.get('added', 0)} −{marks.get('removed', 0)}")
    if step.status not in {"done", "completed"}:
        parts.append(step.status)
    parts.append(f"{(step.ended - step.began) / 1e6:.1f}s" if step.ended else "…")
    return f"{step.number:5}  {verb(step.kind, step.status):8} {step.object}  ({', '.join(parts)})"


async def follow_started(context: Context, follower: Follower, session: str) -> int:
    """Follow, and say what to do next where the run waits."""
    code = await follower.follow(session)
    if code == WAITING and not context.typed.json:
        context.out.write(f"Then go on: journeyman resume {session}")
    return code


def session_named(engine: Engine, name: str) -> str:
    """The whole id of a session a person typed the start of."""
    return engine.session(name).id


def read_file(context: Context, name: str) -> str:
    """A file the person named, from where they typed."""
    path = context.folder / name
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Problem(f"{name} cannot be read.", f"{error}.", "Name a text file that you may read.") from error
