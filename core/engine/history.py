"""Go back in a session without losing it: fork it, send a message again in other words, try another model,
put its files back."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, cast

from core.domain.clock import Clock, now
from core.domain.events import Entry, PersonSpoke, QueueChanged, RunEvent, RunStarted, SessionForked, VerdictGiven
from core.domain.ids import session_id
from core.domain.modes import MODES
from core.domain.problems import Problem
from core.domain.rewinding import FilesRewound
from core.domain.sessions import SessionRow
from core.domain.text import Text
from core.engine.compaction import PERSON
from core.engine.conversation import conversation
from core.engine.family import with_children
from core.engine.fork import Why, fork_facts
from core.engine.imported import distrusted
from core.engine.rewind import (
    Kept,
    Plan,
    fact,
    last_rewind,
    overwritten,
    pasts,
    plan,
    plan_part,
    plan_undo,
    put_back,
)
from core.store.blobs import blob_hash
from core.store.journal import Journal
from core.store.reader import Reader
from core.workspace.thread import to_its_end

Begin = Callable[[str, tuple[RunEvent, ...]], Awaitable[None]]
Check = Callable[[RunStarted], object]
Still = Callable[[str], AbstractAsyncContextManager[None]]


@dataclass(frozen=True, slots=True)
class Told:
    """A run as it began: its first entry, how it was started, and the words it began with as its model read them.

    The first `waited` of these, by their entries, were sent while the run before it went on.
    """

    first: int
    words: tuple[PersonSpoke, ...]
    start: RunStarted
    waited: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Beginning:
    """A fork that is there, and the facts its next run begins with."""

    session: str
    facts: tuple[RunEvent, ...]


class History:
    """Makes sessions out of the past of others. `begin` starts a run, `check` says what is wrong with a model,
    `still` holds a session while nothing of it goes on."""

    def __init__(
        self, journal: Journal, reader: Reader, begin: Begin, check: Check, still: Still, clock: Clock = now
    ) -> None:
        self._journal = journal
        self._reader = reader
        self._begin = begin
        self._check = check
        self._still = still
        self._clock = clock

    async def fork(self, session: str, seq: int | None = None, why: Why = "fork") -> str:
        """A new session that begins with the facts up to `seq`, or with all of them. The other is left as it is."""
        row = self._row(session)
        last = row.seq if seq is None else seq
        if not 1 <= last <= row.seq:
            raise Problem(f"There is no entry {last}.", f"The journal ends at {row.seq}.", "")
        name = session_id()
        facts = fork_facts(await self._entries(session, last), name, last, why, self._clock())
        quiet = next(place for place, (_, event) in enumerate(facts) if event == SessionForked(session, last, why))
        await self._journal.copy(name, facts, quiet=quiet)
        return name

    async def begin(self, beginning: Beginning) -> None:
        """Let the run of a fork go. Apart from the forking, so that whoever follows it can listen first."""
        await self._begin(beginning.session, beginning.facts)

    async def at_step(self, session: str, number: int) -> int:
        """The last entry of a step: where a fork or a rewind to it ends."""
        step = self._reader.numbered(session, number) if number else None  # 0 is of rows without a number
        if step is None:
            last = self._row(session).steps
            raise Problem(f"There is no step {number}.", f"The session has {last}.", "Name one that `show` lists.")
        return step.last

    async def edit(self, session: str, seq: int, text: str) -> Beginning:
        """Fork before a message of the person, to send it in other words."""
        found = self._reader.entry(session, seq)
        if found.get("kind") != "person_spoke":
            raise Problem(f"Entry {seq} is no message of yours.", "", "Name one that is.")
        entries = await self._entries(session, self._row(session).seq)
        spoken = entries[seq - 1].event
        assert isinstance(spoken, PersonSpoke)
        start = next((e.event for e in entries[seq - 1 :] if isinstance(e.event, RunStarted)), None)
        start = start or next((e.event for e in reversed(entries[:seq]) if isinstance(e.event, RunStarted)), None)
        if start is None:
            raise Problem("This message began no run.", "", "Send it as a new one.")
        start = self._as_now(session, start)
        self._check(start)
        name = await self.fork(session, seq - 1, "edit")
        return Beginning(name, (replace(spoken, text=Text(text)), start))

    async def instead(self, session: str, run: int, text: str) -> Beginning:
        """Fork before a run, the last one for 0, to begin it with other words."""
        told = await self.told(session, run)
        if not told.waited:
            return await self.edit(session, told.first, text)
        start = self._as_now(session, told.start)
        self._check(start)
        name = await self.fork(session, told.first - 1, "edit")
        words = QueueChanged("edited", told.waited[0], told.waited[:1], Text(text))
        return Beginning(name, (words, start))

    async def again(
        self, session: str, run: int, model: str = "", script: str = "", *, without: Collection[str] = ()
    ) -> Beginning:
        """Fork at the start of a run, to let another model do it. Without a name: the same once more.

        `without` are ids of memories and names of skills that are kept from it, so that both can be compared.
        """
        told = await self.told(session, run)
        start = self._as_now(session, told.start)
        start = replace(start, without=tuple(dict.fromkeys((*start.without, *without))))
        if model or script:
            start = replace(start, model=model or start.model, script=Text(script))
        self._check(start)
        name = await self.fork(session, told.first - 1, "model")
        return Beginning(name, (*told.words[len(told.waited) :], start))  # what waited waits in the copy as well

    def _as_now(self, session: str, start: RunStarted) -> RunStarted:
        """With what the session asks about today."""
        row = self._row(session)
        if row.source:
            return cast(RunStarted, distrusted(start, row.source))
        return replace(start, mode=next((mode for mode in MODES if mode == row.mode), start.mode))

    async def plan(self, session: str, to: int, force: Iterable[str] = (), *, only: str = "") -> Plan:
        """What putting the files back to how they were after the entry would do; `only` one of them, if named.

        What sub-agents changed since goes back too.
        """
        row, entries = self._row(session), await self._family(session)
        kept = self._kept(past.then for past in pasts(entries, to))
        made = await asyncio.to_thread(plan, Path(row.folder), entries, to, kept, force)
        return replace(made, files=tuple(file for file in made.files if file.path == only)) if only else made

    async def plan_undo(self, session: str, force: Iterable[str] = ()) -> Plan:
        """What taking back the last rewind would do."""
        row, entries = self._row(session), await self._family(session)
        rewind = last_rewind(entries)
        files = rewind.event.files if rewind and isinstance(rewind.event, FilesRewound) else ()
        kept = self._kept(file.before for file in files)
        return await asyncio.to_thread(plan_undo, Path(row.folder), entries, kept, force)

    async def rewind(self, session: str, made: Plan) -> FilesRewound:
        """Put the files back, while nothing of the session goes on; what came of it."""
        folder = Path(self._row(session).folder)
        async with self._still(session):
            done = fact(made)
            if not done.files:
                return done
            kept = self._kept(file.then for file in made.doable)
            await self._journal.append(session, done, blobs=await to_its_end(overwritten, folder, made))
            stayed = await to_its_end(put_back, folder, made, kept)
            if stayed:  # somebody was quicker, or the disk refused: said as a fact too
                await self._journal.append(session, FilesRewound(made.to, left=stayed, undoes=made.undoes))
                files = tuple(file for file in done.files if file.path not in stayed)
                done = replace(done, files=files, left=(*done.left, *stayed))
        return done

    async def replace(self, session: str, path: str, held: str, body: bytes) -> FilesRewound:
        """Give a file that holds these contents others: one part of what the agent changed is taken back."""
        row = self._row(session)
        made = await asyncio.to_thread(plan_part, Path(row.folder), row.seq, path, held, body)
        async with self._still(session):
            done = fact(made)
            blobs = await to_its_end(overwritten, Path(row.folder), made)
            blobs[blob_hash(body)] = body
            await self._journal.append(session, done, blobs=blobs)
            stayed = await to_its_end(put_back, Path(row.folder), made, blobs.get)
        if stayed:
            raise Problem(f"{path} was not changed.", "Somebody else changed it in this moment.", "Look at it again.")
        return done

    def _kept(self, names: Iterable[str]) -> Kept:
        """These contents, read here: the connection stays in its thread."""
        return {name: self._reader.kept(name) for name in names}.get

    async def judge(
        self,
        session: str,
        verdict: Literal["up", "down", ""],
        *,
        run: int = 0,
        note: str = "",
        tags: tuple[str, ...] = (),
        by: Literal["person", "check"] = "person",
    ) -> int:
        """Say whether a run was any good, the last one for 0; its number. A later word replaces an earlier one."""
        row = self._row(session)
        number = run or row.runs
        if not 1 <= number <= row.runs:
            raise Problem(f"There is no run {number}.", f"The session has {row.runs}.", "")
        named = tuple(dict.fromkeys(tag.strip().removeprefix("#") for tag in tags if tag.strip()))
        await self._journal.append(session, VerdictGiven(number, verdict, Text(note), named, by))
        return number

    async def told(self, session: str, run: int) -> Told:
        """What a run was told; the last one for 0."""
        row = self._row(session)
        number = run or row.runs
        entries = await self._entries(session, row.seq)
        of_run = [entry for entry in entries if entry.run == number]
        place = next((i for i, e in enumerate(of_run) if isinstance(e.event, RunStarted)), None)
        if place is None:
            raise Problem(f"There is no run {number}.", f"The session has {row.runs}.", "")
        start, first = of_run[place].event, of_run[0].seq
        assert isinstance(start, RunStarted)
        talk = conversation(entry for entry in entries if entry.seq < of_run[place].seq)
        sent = sorted((one for one in talk.waiting if one.kind == PERSON), key=lambda one: one.seq >= first)
        words = tuple(PersonSpoke(one.text, one.attachments) for one in sent)
        return Told(first, words, start, tuple(one.seq for one in sent if one.seq < first))

    async def _entries(self, session: str, last: int) -> list[Entry]:
        found = [entry async for entry in self._journal.read(session)]
        return [entry for entry in found if entry.seq <= last]

    async def _family(self, session: str) -> list[Entry]:
        return await with_children(await self._entries(session, self._row(session).seq), self._journal.read)

    def _row(self, session: str) -> SessionRow:
        row = self._reader.session(session)
        if row is None:
            raise Problem(f"There is no session {session}.", "", "List them with `journeyman sessions`.")
        return row
