"""Follow a run to its end, printing what becomes durable, answering what can be answered."""

import asyncio

from app.commands.consenting import tell_consent
from app.commands.context import Context
from app.commands.exits import BY_STATUS, FAILED, STOPPED, WAITING
from app.output import plain_entry
from core.domain.agents import AGENT
from core.domain.consent import ConsentAsked, OpenConsent
from core.domain.events import Entry, Replied, RunEnded, RunEvent, RunInterrupted, RunPaused, RunStarted
from core.domain.problems import Problem, Trouble
from core.domain.question import Answer, Question, QuestionAsked, QuestionHeld
from core.domain.sessions import SessionRow
from core.domain.steps import OPEN, Step, verb
from core.engine.engine import Engine
from core.store.told import Told

NOBODY = "Nobody is there to be asked."
UNPRICED = "The price of this model is unknown, so the limit of {:g} US dollars does not hold."
HANDED_OVER = ("/dev/stdin", "/dev/fd/", "/proc/self/fd/")
ASKING = (QuestionAsked, QuestionHeld, ConsentAsked)


class Follower:
    """Hears everything from its making on, so that nothing is missed between a start and the following."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._heard: asyncio.Queue[Told | None] = asyncio.Queue()
        self._answers: list[str] = list(context.typed.answer)
        self._shown: set[str] = set()
        self._most = 0.0
        self._forget = context.engine.listen(self._heard.put_nowait)

    def close(self) -> None:
        self._forget()

    async def follow(self, session: str) -> int:
        """The exit code of the run that is going."""
        self._context.engine.when_gone(session, lambda: self._heard.put_nowait(None))
        try:
            code = await self._until_code(session)
        except asyncio.CancelledError:
            if self._context.engine.going(session):
                await self._context.engine.stop(session)
            code = STOPPED
        while not self._heard.empty():
            if (told := self._heard.get_nowait()) and told.entry.session == session:
                self._print(told)
        return code

    async def _until_code(self, session: str) -> int:
        while told := await self._heard.get():
            own = told.entry.session == session
            if own:
                self._print(told)
            if own or (isinstance(told.entry.event, ASKING) and self._is_below(told.session, session)):
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
                code = await self._answer(row.id, question)
                if code is not None:
                    return code
        await self._context.engine.looked(session)
        return await self._decide(session)

    async def _decide(self, session: str) -> int | None:
        """Of what waits to happen; None when the run goes on."""
        engine = self._context.engine
        waiting = self._consents(session)
        for row, each in waiting:
            if self._context.typed.no_questions:
                await engine.deny(each.request.id, NOBODY)
            elif self._context.typed.json:
                await self._show(row.id, each.request.id)
            else:
                tell_consent(self._context, each)
        for row, _ in waiting:
            await engine.rung(row.id)
        return WAITING if self._consents(session) else None

    def _consents(self, session: str) -> list[tuple[SessionRow, OpenConsent]]:
        waiting = self._context.engine.consents()
        return [(row, each) for row, each in waiting if row.id == session or self._is_below(row, session)]

    async def _react(self, told: Told) -> int | None:
        match told.entry.event:
            case RunEnded(status=status, trouble=trouble):
                if trouble:
                    self._context.out.trouble(trouble)
                return BY_STATUS[status]
            case RunPaused(trouble=trouble, why=why):
                self._tell_pause(why, trouble)
                return WAITING
            case RunInterrupted() | QuestionHeld():  # one that is held waits for ever
                return WAITING
            case QuestionAsked(question=question):
                return await self._answer(told.entry.session, question)
            case ConsentAsked():
                return await self._decide(told.entry.session)
            case _:
                return None

    async def _answer(self, session: str, question: Question) -> int | None:
        """With what was given on the command line; None when the run goes on."""
        engine, typed = self._context.engine, self._context.typed
        if not self._is_open(question):
            return None  # answered already, from the record
        if self._answers:
            await engine.answer(question.id, chosen(question, self._answers.pop(0)))
        elif typed.no_questions:
            await engine.answer(question.id, Answer(declined=True))
        else:
            return await self._leave_open(session, question)
        return None

    async def _leave_open(self, session: str, question: Question) -> int | None:
        """Nobody else would let it run out of time, so the run is followed until it has; any other is left here."""
        if self._context.typed.json:
            await self._show(session, question.id)
        else:
            tell_question(self._context, question)
        if question.expires_s and not await self._is_held(session, question.id):
            return None
        await self._context.engine.rung(session)
        return WAITING if self._is_open(question) else None

    def _is_open(self, question: Question) -> bool:
        return any(open_.id == question.id for _, open_ in self._context.engine.questions())

    async def _is_held(self, session: str, name: str) -> bool:
        """Has somebody begun to answer?"""
        events = [entry.event async for entry in self._context.engine.entries(session)]
        return any(isinstance(event, QuestionHeld) and event.question_id == name for event in events)

    async def _show(self, session: str, name: str) -> None:
        """The entry that asks, where it is of a sub-agent or was made before we listened."""
        if name in self._shown:
            return
        async for entry in self._context.engine.entries(session):
            if asked_by(entry) == name:
                self._print_entry(entry)

    def _print_entry(self, entry: Entry) -> None:
        self._shown.add(asked_by(entry))
        self._context.out.json(plain_entry(entry, self._context.engine.blob))

    def _tell_pause(self, why: str, trouble: Trouble | None) -> None:
        if trouble:
            self._context.out.trouble(trouble)
        elif not self._context.typed.json:
            self._context.out.write(f"Paused: {why}.")

    def _print(self, told: Told) -> None:
        out = self._context.out
        self._tell_unpriced(told.entry.event)
        if self._context.typed.json:
            self._print_entry(told.entry)
            return
        if isinstance(told.entry.event, Replied):
            self._tell_reply(told.entry.event)
        if isinstance(told.entry.event, RunStarted):
            for guide in told.entry.event.guides:
                if guide.trouble:
                    out.write(f"{guide.name}: {guide.trouble}")
        for step in told.steps:
            if step.number and step.status not in OPEN:
                out.write(step_line(step))

    def _tell_reply(self, reply: Replied) -> None:
        if reply.text.head:
            self._context.out.write(self._context.engine.whole(reply.text))
        if reply.note:
            self._context.out.complain(reply.note)

    def _tell_unpriced(self, event: RunEvent) -> None:
        """Once, where money is limited and the model has no price. What an agent of others costs comes at its end."""
        if isinstance(event, RunStarted):
            self._most = 0.0 if event.model.startswith(AGENT) else event.max_cost
        elif isinstance(event, Replied) and event.cost is None and self._most:
            self._context.out.complain(UNPRICED.format(self._most))
            self._most = 0.0


def asked_by(entry: Entry) -> str:
    """The id of the question or request that an entry asks."""
    match entry.event:
        case QuestionAsked(question=question):
            return question.id
        case ConsentAsked(request=request):
            return request.id
        case _:
            return ""


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
    lines = ", with a line for each question" if len(question.parts) > 1 else ""
    out.write(f"Waiting for an answer: journeyman answer {question.id} {choice}{lines}")


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
    """A file the person named, from where they typed, or what their shell hands over."""
    path = context.folder / name
    if path.exists() and not path.is_file() and not str(path).startswith(HANDED_OVER):
        raise Problem(f"{name} is no ordinary file.", "", "Name a text file.")
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Problem(f"{name} cannot be read.", f"{error}.", "Name a text file that you may read.") from error
