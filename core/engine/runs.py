"""Start, stop, answer and resume runs. Owns their tasks; what they did is in the journal."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from weakref import WeakValueDictionary

from core.domain.consent import ConsentGiven
from core.domain.events import KINDS, PersonSpoke, RunEnded, RunEvent, RunInterrupted, RunStarted, SessionOpened
from core.domain.ids import session_id
from core.domain.problems import Problem, Trouble
from core.domain.question import QuestionAnswered
from core.domain.sessions import SessionRow
from core.domain.text import Attachment, Text
from core.engine.answers import Answers
from core.engine.bench import Bench
from core.engine.choosing import doubted_of, talk_of
from core.engine.conversation import Conversation, start_of
from core.engine.delegate import WITH_PARENT, Children
from core.engine.doubt import GOES_ON, Doubt, Settle, settled
from core.engine.going import LastWord, Live, surely, to_its_end
from core.engine.imported import refuse_imported
from core.engine.room import compact_at_rest
from core.engine.work import Work
from core.models.model import Model
from core.store.journal import Journal
from core.store.reader import Reader
from core.store.told import Told
from core.tools.place import Place

STOPPED = "stopped by you"
CUT = "Journeyman ended while the run was going."
UNHEARD = "The answer came when Journeyman had ended, so the run did not hear it yet."
OVER = {"done": "It is done.", "failed": "It failed.", "stopped": "It was stopped.", "limit": "It reached its limit."}
SAY_MORE = "Send it a message; on the command line: journeyman fork {} --say TEXT."
LOOK_S = 0.02


class Runs:
    """The runs that are going.

    Attributes:
        report: called with an exception that is a bug of ours.
        brief: says in the start of a run what its model is told; `place` opens where it works, by folder and session.
        bench: makes what a run works with.
        claimed: questions and requests that somebody is about to answer, so that each is answered once.
    """

    def __init__(
        self,
        journal: Journal,
        reader: Reader,
        report: Callable[[BaseException], None],
        brief: Callable[[RunStarted, Path], Awaitable[RunStarted]],
        place: Callable[[Path, str], Place],
        bench: Bench,
    ) -> None:
        self._journal = journal
        self._reader = reader
        self._report = report
        self._brief = brief
        self._place = place
        self._bench = bench
        self._live: dict[str, Live] = {}
        self.claimed: set[str] = set()
        self.answers = Answers(journal, reader, self.claimed)
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._closing = False
        self._forget = journal.listen(self._hear)
        self.children = Children(
            journal, reader, self.check, self._open, self.resume, self.stop, self.going, lambda: self._closing
        )

    def going(self, session: str) -> bool:
        return session in self._live

    async def recover(self) -> None:
        """Say of every run that a crash cut that it was interrupted. Nothing is run again by itself."""
        for row in self._reader.sessions():
            if row.source and row.status in GOES_ON:
                await self._journal.append(row.id, RunEnded("stopped", "Journeyman ended while it was being read."))
            elif row.status == "running" and not self.going(row.id):
                calls = tuple((await self.talk(row.id)).doubted())
                last = KINDS[self._reader.entry(row.id, row.seq)["kind"]]
                why = UNHEARD if issubclass(last, QuestionAnswered | ConsentGiven) else CUT
                await self._journal.append(row.id, RunInterrupted(why, calls))

    async def open(self, opened: SessionOpened, task: str, began: RunStarted, *why: RunEvent) -> str:
        """Open a session together with its first run, and with why it is there: a crash leaves all or none. Its id."""
        await self._open(name := opened.session_id or session_id(), opened, task, began, *why)
        return name

    async def _open(self, name: str, opened: SessionOpened, task: str, began: RunStarted, *why: RunEvent) -> None:
        model = self.check(began)
        began = await self._brief(began, Path(opened.workspace))
        async with self.turn(name):
            self._refuse_closing()
            facts = (replace(opened, session_id=name), *why, PersonSpoke(Text(task)), began)
            await self._go(name, opened.workspace, *facts, model=model)

    async def begin(self, session: str, facts: tuple[RunEvent, ...]) -> None:
        """Begin a run with facts that end in its start."""
        async with self.turn(session):
            await self._begin(session, *facts)

    @asynccontextmanager
    async def still(self, session: str) -> AsyncIterator[None]:
        """Nothing of the session goes on meanwhile."""
        async with self.turn(session):
            refuse_imported(row := self._row(session))
            self._refuse_going(row)
            yield

    def check(self, began: RunStarted) -> Model:
        """What is wrong with a model or its script is said before anything is written."""
        return self._bench.check(began)

    async def say(self, session: str, text: str, *, now: bool = False, attached: Sequence[Attachment] = ()) -> None:
        """A message: heard after this round where a run is going. One that rests goes on with it, or the next begins.

        With `now` the reply in progress is cut for it.
        """
        async with self.turn(session):
            refuse_imported(self._row(session))
            words = PersonSpoke(Text(text), tuple(attached))
            if live := self._live.get(session):
                await self._journal.append(session, words)
                if now:
                    live.work.cut()
                # The run ended meanwhile, without having heard it. One that was paused hears it when it goes on.
                if not self.going(session) and self._row(session).status not in GOES_ON:
                    await self._begin(session, start_of(await self.talk(session)))
            elif self._row(session).status in GOES_ON:
                # They wait where a person has to say more first, or where another session waits for this one.
                if self.children.root(session) != session or await self.doubted(session):
                    await self._journal.append(session, words)
                else:
                    await self._take_up(session, "", words)
            else:
                await self._begin(session, words, start_of(await self.talk(session)))

    async def talk(self, session: str) -> Conversation:
        """The conversation as it is."""
        live = self._live.get(session)
        return live.work.talk if live else await talk_of(self._journal, session)

    def cut(self, session: str) -> bool:
        """End the reply that is being read, for what waits; whether there is a run to hear it."""
        if live := self._live.get(session):
            live.work.cut()
        return live is not None

    async def pause(self, session: str) -> None:
        """After this round."""
        async with self.turn(session):
            if (live := self._live.get(session)) is None:
                raise Problem("This run is not going.", f"It is {self._row(session).status}.", "")
            live.work.pausing = True

    async def compact(self, session: str) -> None:
        """Make room in the context: after this round where a run is going, else now."""
        async with self.turn(session):
            if live := self._live.get(session):
                live.work.wants_room = True
                return
            self._refuse_closing()
            refuse_imported(row := self._row(session))
            place = self._place(Path(row.folder), session)
            try:
                await compact_at_rest(await self._work_of(session, place, None))
            finally:
                await place.close()

    async def stop(self, session: str, why: str = STOPPED) -> None:
        """Cut the model call, kill the process group, end the run, and the sub-agents with it."""
        async with self.turn(session):
            if live := self._live.get(session):
                live.stopping = why
                live.task.cancel()
                await asyncio.wait({live.task})
                if self._live.pop(session, None):  # it was cut before it had begun, so it has no word of its own
                    await live.work.place.close()
                    await self._journal.append(session, RunEnded("stopped", why))
                return
            if (row := self._row(session)).status not in GOES_ON:
                raise Problem("This run is not going.", f"It is {row.status}.", "")
            await self._journal.append(session, RunEnded("stopped", why))
        await self._stop_children(session)

    async def _stop_children(self, session: str) -> None:
        """What a session began that is not going does not go on without it."""
        for child in self._reader.children(session):
            if child.status in GOES_ON:
                await self.stop(child.id, WITH_PARENT)

    async def resume(self, session: str, settle: Settle = "") -> None:
        """Let an interrupted run go on. Calls that may have run need the person's word."""
        async with self.turn(session):
            await self._take_up(session, settle)

    async def _take_up(self, session: str, settle: Settle, *said: RunEvent) -> None:
        if (row := self._row(session)).status == "paused":  # its last word is written, so it is gone in a moment
            await self.wait(session)
        refuse_imported(row)
        self._refuse_going(row)
        self._refuse_closing()
        if row.status not in GOES_ON:
            raise Problem("There is nothing to resume.", OVER.get(row.status, "It is over."), SAY_MORE.format(session))
        talk, doubted = await self.talk(session), await self.doubted(session)
        if settle != "end":
            self.check(start_of(talk))
        if doubted and not settle:
            raise Doubt(session, tuple(doubted.values()))
        events = [*said, *settled(row.status, settle, talk.doubted(), doubted, talk.unanswered)]
        if settle != "end":
            await self._go(session, row.folder, *events)
            self._live[session].work.settle = settle
        else:
            await self._journal.append(session, *events)
            await self._stop_children(session)

    async def again(self, session: str) -> None:
        """Another run from where the last one ended, with no new words: what it failed for may be over."""
        await self.begin(session, (start_of(await self.talk(session)),))

    async def doubted(self, session: str) -> dict[str, str]:
        """The calls that started and did not return, those of sub-agents too: id → what a person sees of them."""
        return await doubted_of(self._journal, self._reader, session)

    async def wait(self, session: str) -> None:
        """Until the run has ended, or nothing of it is going."""
        if live := self._live.get(session):
            await asyncio.wait({live.task})

    async def looked(self, session: str) -> None:
        """Until a run that was taken up has judged what waits by the mode and the rules of now."""
        while (live := self._live.get(session)) and not live.task.done():
            if all(each.request.id in live.work.looked for each in self._reader.consents() if each.session == session):
                return
            await asyncio.wait({live.task}, timeout=LOOK_S)

    async def rung(self, session: str) -> None:
        """Until the person's own commands were told of what a run asks."""
        if live := self._live.get(session):
            await live.work.rung()

    def when_gone(self, session: str, call: Callable[[], None]) -> None:
        """Call once nothing of the session is going; at once when that is so."""
        if live := self._live.get(session):
            live.task.add_done_callback(lambda _: call())
        else:
            call()

    async def close(self) -> None:
        """Cut every run; those that were not waiting for a person are marked as interrupted."""
        if self._closing:
            return
        self._closing = True
        tasks = [live.task for live in self._live.values()]
        for live in self._live.values():
            live.work.closing = True
            live.task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        self._forget()

    async def _begin(self, session: str, *facts: RunEvent) -> None:
        refuse_imported(row := self._row(session))
        self._refuse_going(row)
        self._refuse_closing()
        model = next((self.check(fact) for fact in facts if isinstance(fact, RunStarted)), None)
        await self._go(session, row.folder, *[await self._briefed(session, fact) for fact in facts], model=model)

    async def _briefed(self, session: str, fact: RunEvent) -> RunEvent:
        """Every start says what its model is told."""
        return await self._brief(fact, Path(self._row(session).folder)) if isinstance(fact, RunStarted) else fact

    async def _go(self, session: str, folder: str, *facts: RunEvent, model: Model | None = None) -> None:
        """Let a run go with these facts. Its place comes first: where there is none, nothing is written."""
        place = self._place(Path(folder), session)
        try:
            if facts:
                await self._journal.append(session, *facts)
            work = await self._work_of(session, place, model)
        except BaseException:
            await place.close()
            raise
        self._live[session] = Live(asyncio.create_task(self._work(work), name=f"run {session}"), work)

    async def _work_of(self, session: str, place: Place, model: Model | None) -> Work:
        return await self._bench.work(session, place, model, self.claimed, self.children.delegate)

    async def _work(self, run: Work) -> None:
        """The end of a run is a fact, whatever it was. Words that came too late for it begin the next."""
        live = self._live[run.session]
        begun: tuple[RunEvent, ...] = ()
        try:
            while True:
                last = await self._last_word(live, begun)
                await surely(run.place.close())  # what it left running ends before it does
                if last is None:
                    return
                await surely(self._journal.append(run.session, last))
                await surely(run.ended(last))
                heard_all = not run.talk.waiting or getattr(last, "status", "") != "completed"
                if heard_all or live.stopping or self._closing:
                    return
                run.place = self._place(run.place.folder, run.session)
                begun = (await self._brief(start_of(run.talk), run.place.folder),)
        except Problem as problem:  # the journal itself fails: told, and found as interrupted at the next start
            self._report(problem)
        finally:
            self._live.pop(run.session, None)
            await surely(run.place.close())

    async def _last_word(self, live: Live, begun: tuple[RunEvent, ...]) -> LastWord | None:
        """Work a run to its end; None where it waits for a person and needs no last word."""
        try:
            return await to_its_end(live.work, begun, self._bench.do)
        except asyncio.CancelledError:
            if live.stopping:
                return RunEnded("stopped", live.stopping)
            if self._row(live.work.session).status == "waiting":
                return None
            return RunInterrupted("Journeyman was closed.", tuple(live.work.talk.doubted()))
        except Problem as problem:
            return RunEnded("failed", problem.trouble.what, problem.trouble)
        except Exception as error:  # a bug: the run ends, the program and the other runs go on
            self._report(error)
            trouble = Trouble("Journeyman made a mistake.", f"{type(error).__name__}: {error}")
            return RunEnded("failed", trouble.what, trouble)

    def _row(self, session: str) -> SessionRow:
        if row := self._reader.session(session):
            return row
        raise Problem(f"There is no session {session}.", "", "List them with `journeyman sessions`.")

    def turn(self, session: str) -> asyncio.Lock:
        """One person's wish after the other: a stop must not fall between a start and its run."""
        return self._turns.setdefault(session, asyncio.Lock())

    def _refuse_closing(self) -> None:
        if self._closing:
            raise Problem("Journeyman is closing.", "", "Start it again, then go on.")

    def _refuse_going(self, row: SessionRow) -> None:
        if self.going(row.id):
            raise Problem("This run is going already.", "", "Stop it first, or send it a message.")

    def _hear(self, told: Told) -> None:
        if live := self._live.get(told.entry.session):
            live.work.talk.hear(told.entry)
