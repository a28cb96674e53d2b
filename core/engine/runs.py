"""Start, stop, answer and resume runs. Owns their tasks; what they did is in the journal."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from core.domain.events import (
    PersonSpoke,
    QuestionAnswered,
    RunEnded,
    RunEvent,
    RunInterrupted,
    RunResumed,
    RunStarted,
    Text,
    ToolReturned,
)
from core.domain.problems import Problem, Trouble
from core.domain.question import Answer
from core.domain.sessions import SessionRow
from core.engine.conversation import Conversation
from core.engine.drafts import Drafts
from core.engine.loop import Work, work
from core.models.catalogue import model_for
from core.store.journal import Journal
from core.store.reader import Reader
from core.store.told import Told

Settle = Literal["", "again", "skip", "end"]  # what to do with calls that may have run
SKIPPED = Text("[Journeyman ended while this call ran, so it may have had its effect. It was not run again.]")


@dataclass(slots=True)
class _Live:
    task: asyncio.Task[None]
    work: Work
    stopping: bool = False


class Runs:
    """The runs that are going.

    Attributes:
        report: called with an exception that is a bug of ours.
    """

    def __init__(
        self, journal: Journal, reader: Reader, drafts: Drafts, report: Callable[[BaseException], None]
    ) -> None:
        self._journal = journal
        self._reader = reader
        self._drafts = drafts
        self._report = report
        self._live: dict[str, _Live] = {}
        self._answering: set[str] = set()
        self._forget = journal.listen(self._hear)

    def going(self, session: str) -> bool:
        return session in self._live

    async def recover(self) -> None:
        """Say of every run that a crash cut that it was interrupted. Nothing is run again by itself."""
        for row in self._reader.sessions():
            if row.status == "running" and not self.going(row.id):
                await self._interrupt(row.id, "Journeyman ended while the run was going.")

    async def start(self, session: str, task: str, model: str, script: str, max_rounds: int) -> None:
        """Begin a run of a session with a message of the person."""
        row = self._row(session)
        self._refuse_going(row)
        self.check(model, script)
        await self._journal.append(session, PersonSpoke(Text(task)), RunStarted(model, max_rounds, Text(script)))
        await self._go(session)

    def check(self, model: str, script: str) -> None:
        """What is wrong with a model or its script is said before anything is written."""
        model_for(model, script)

    async def say(self, session: str, text: str) -> None:
        """A message: heard after this round where a run is going, else the start of the next run."""
        if self.going(session):
            await self._journal.append(session, PersonSpoke(Text(text)))
            return
        started = _start_of(await self._talk(session))
        await self.start(session, text, started.model, self._whole(started.script), started.max_rounds)

    async def stop(self, session: str) -> None:
        """Cut the model call, kill the process group, end the run."""
        live = self._live.get(session)
        if live is None:
            row = self._row(session)
            if row.status not in {"running", "waiting", "interrupted"}:
                raise Problem("This run is not going.", f"It is {row.status}.", "")
            await self._journal.append(session, RunEnded("stopped", "stopped by you"))
            return
        live.stopping = True
        live.task.cancel()
        await asyncio.wait({live.task})

    async def answer(self, question: str, answer: Answer) -> str:
        """Make an answer a fact, once; the session it belongs to."""
        asked = self._reader.asked(question)
        if asked is None or question in self._answering:
            raise Problem(
                f"The question {question} is not open.",
                "It was answered already, or its run has ended.",
                "List the open ones with `journeyman questions`.",
            )
        self._answering.add(question)
        try:
            session, call = asked
            await self._journal.append(session, QuestionAnswered(question, call, answer))
        finally:
            self._answering.discard(question)
        return session

    async def resume(self, session: str, settle: Settle = "") -> None:
        """Let an interrupted run go on. Calls that may have run need the person's word."""
        row = self._row(session)
        self._refuse_going(row)
        if row.status not in {"running", "waiting", "interrupted"}:
            raise Problem("There is nothing to resume.", f"This run is {row.status}.", "Start another with a message.")
        doubted = await self.doubted(session)
        if doubted and not settle:
            raise Doubt(session, tuple(doubted.values()))
        if row.status == "interrupted" or doubted:
            events: list[RunEvent] = [RunResumed(settle if doubted else "")]
            if settle == "skip":
                events += [ToolReturned(call, SKIPPED, failed=True) for call in doubted]
            await self._journal.append(session, *events)
        if settle == "end":
            await self._journal.append(session, RunEnded("stopped", "ended by you"))
        else:
            await self._go(session)

    async def doubted(self, session: str) -> dict[str, str]:
        """The calls that started and did not return: id → what a person sees of them."""
        talk = await self._talk(session)
        return {call: talk.started[call] for call in talk.pending if call in talk.started}

    async def wait(self, session: str) -> None:
        """Until the run has ended, or nothing of it is going."""
        if live := self._live.get(session):
            await asyncio.wait({live.task})

    async def close(self) -> None:
        """Cut every run; those that were not waiting for a person are marked as interrupted."""
        tasks = [live.task for live in self._live.values()]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        self._forget()

    async def _go(self, session: str) -> None:
        row = self._row(session)
        talk = await self._talk(session)
        started = _start_of(talk)
        work = Work(
            session=session,
            workspace=Path(row.folder),
            model_name=started.model,
            model=model_for(started.model, self._whole(started.script)),
            max_rounds=started.max_rounds,
            talk=talk,
            journal=self._journal,
            reader=self._reader,
            drafts=self._drafts,
        )
        self._refuse_going(row)
        self._live[session] = _Live(asyncio.create_task(self._work(work), name=f"run {session}"), work)

    async def _work(self, run: Work) -> None:
        """The end of a run is a fact, whatever it was."""
        try:
            try:
                ended = await work(run)
            except asyncio.CancelledError:
                await self._cut(run.session)
                return
            except Problem as problem:
                ended = RunEnded("failed", problem.trouble.what, problem.trouble)
            except Exception as error:  # a bug: the run ends, the program and the other runs go on
                self._report(error)
                trouble = Trouble("Journeyman made a mistake.", f"{type(error).__name__}: {error}")
                ended = RunEnded("failed", trouble.what, trouble)
            await self._journal.append(run.session, ended)
        except Problem as problem:  # the journal itself fails: told, and found as interrupted at the next start
            self._report(problem)
        finally:
            self._live.pop(run.session, None)

    async def _cut(self, session: str) -> None:
        if self._live[session].stopping:
            await self._journal.append(session, RunEnded("stopped", "stopped by you"))
        elif self._row(session).status != "waiting":
            await self._interrupt(session, "Journeyman was closed.")

    async def _interrupt(self, session: str, why: str) -> None:
        await self._journal.append(session, RunInterrupted(why, tuple(await self.doubted(session))))

    async def _talk(self, session: str) -> Conversation:
        talk = Conversation()
        async for entry in self._journal.read(session):
            talk.hear(entry)
        return talk

    def _row(self, session: str) -> SessionRow:
        row = self._reader.session(session)
        if row is None:
            raise Problem(f"There is no session {session}.", "", "List them with `journeyman sessions`.")
        return row

    def _refuse_going(self, row: SessionRow) -> None:
        if self.going(row.id):
            raise Problem("This run is going already.", "", "Stop it first, or send it a message.")

    def _whole(self, text: Text) -> str:
        return self._reader.blob(text.blob).decode() if text.blob else text.head

    def _hear(self, told: Told) -> None:
        if live := self._live.get(told.entry.session):
            live.work.talk.hear(told.entry)


def _start_of(talk: Conversation) -> RunStarted:
    if talk.start is None:
        raise Problem("This session has no run.", "", "Start one with a message.")
    return talk.start


class Doubt(Problem):
    """Calls may have run; only a person can say what now."""

    def __init__(self, session: str, calls: tuple[str, ...]) -> None:
        super().__init__(
            f"{', '.join(calls)} may have run.",
            "Journeyman ended while it was running, so nobody saw the end of it.",
            f"Look, then choose: journeyman resume {session} --again, --skip or --end.",
        )
        self.calls = calls
