"""Forks sessions, edits and reruns their tasks, rewinds their files and rates their runs."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

from core.domain.clock import Clock, now
from core.domain.events import EventRecord, QueueChanged, RunRated, RunStarted, SessionEvent, SessionForked, UserMessage
from core.domain.ids import session_id
from core.domain.messages import Message
from core.domain.modes import MODES
from core.domain.problems import Problem
from core.domain.rewind_events import FilesRewound
from core.domain.sessions import SessionRow
from core.domain.text import Text
from core.engine.history.child_events import merge_child_events
from core.engine.history.fork import ForkReason, fork_events
from core.engine.history.rewind import (
    ReadBlob,
    RewindPlan,
    apply_plan,
    file_histories,
    last_rewind,
    overwritten_contents,
    plan_replacement,
    plan_rewind,
    plan_undo,
    rewind_event,
)
from core.engine.policy.imported_sessions import without_permissions
from core.engine.state.compaction import USER
from core.engine.state.conversation import fold_events
from core.store.blobs import blob_hash
from core.store.journal import Journal
from core.store.reader import Reader
from core.workspace.threads import run_to_completion

if TYPE_CHECKING:
    from core.engine.history.stepped_replay import SteppedReplay  # imported at runtime only when a replay starts

StartRun = Callable[[str, tuple[SessionEvent, ...]], Awaitable[None]]
CheckStart = Callable[[RunStarted], object]
HoldIdle = Callable[[str], AbstractAsyncContextManager[None]]


@dataclass(frozen=True, slots=True)
class RunInput:
    """How a run was started: its first event, the user messages it began with, and its RunStarted event.

    `queued_seqs` are the sequence numbers of messages that were queued during the previous run. They come first in
    `messages`.
    """

    first_seq: int
    messages: tuple[UserMessage, ...]
    start: RunStarted
    queued_seqs: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class PreparedFork:
    """A fork that has been created but not started, with the events that start its run."""

    session_id: str
    events: tuple[SessionEvent, ...]


class SessionHistory:
    """Forks sessions, rewinds files and rates runs.

    `start_run` starts a run of a session, `check_start` raises Problem for an invalid model, and `hold_idle` returns a
    context manager that prevents runs of a session from starting.
    """

    def __init__(
        self,
        journal: Journal,
        reader: Reader,
        start_run: StartRun,
        check_start: CheckStart,
        hold_idle: HoldIdle,
        clock: Clock = now,
    ) -> None:
        self._journal = journal
        self._reader = reader
        self._start_run = start_run
        self._check_start = check_start
        self._hold_idle = hold_idle
        self._clock = clock

    async def fork(self, session: str, seq: int | None = None, reason: ForkReason = "fork") -> str:
        """Create a session with a copy of the events up to `seq`, or of all of them, and return its ID."""
        row = self._reader.require_session(session)
        last = row.last_seq if seq is None else seq
        if not 1 <= last <= row.last_seq:
            raise Problem(f"There is no event {last}.", f"The session ends at {row.last_seq}.", "")
        name = session_id()
        events = fork_events(await self._entries(session, last), name, last, reason, self._clock())
        silent_count = max(index for index, timed in enumerate(events) if isinstance(timed.event, SessionForked))
        await self._journal.append_timed(name, events, silent_count=silent_count)
        return name

    async def run_replay(self, replay: "SteppedReplay") -> None:
        """Play a replay to its end, or until it is closed."""
        await replay.run(self._reader)

    async def start_fork(self, prepared: PreparedFork) -> None:
        """Start the run of a fork. This is a separate step so that callers can subscribe to the fork's events first."""
        await self._start_run(prepared.session_id, prepared.events)

    async def last_seq_of_step(self, session: str, number: int) -> int:
        """Return the sequence number of a step's last event, up to which a fork or rewind to the step extends."""
        step = self._reader.step_by_number(session, number) if number else None  # 0 marks rows without a number.
        if step is None:
            last = self._reader.require_session(session).steps
            fix = f"List them with `journeyman show {session}`."
            raise Problem(f"There is no step {number}.", f"Steps in this session: {last}.", fix)
        return step.last_seq

    async def edit(self, session: str, seq: int, text: str) -> PreparedFork:
        """Fork before a message of the user and replace its text."""
        row = self._reader.event(session, seq)
        if row.get("kind") != "user_message":
            raise Problem(f"Event {seq} is not a message of yours.", "", "Choose one of your messages.")
        entries = await self._all_entries(session)
        message = entries[seq - 1].event
        assert isinstance(message, UserMessage)
        start = _first_start(entries[seq - 1 :]) or _first_start(reversed(entries[:seq]))
        if start is None:
            raise Problem("This message did not start a run.", "", "Send it as a new one.")
        start = self._with_current_mode(session, _with_last_model(start, entries))
        self._check_start(start)
        name = await self.fork(session, seq - 1, "edit")
        typed = None if message.typed is None else 0  # Which characters the user typed is unknown after an edit.
        return PreparedFork(name, (replace(message, text=Text(text), typed=typed), start))

    async def edit_run_message(self, session: str, run: int, text: str) -> PreparedFork:
        """Fork before a run (0 for the last one) and replace the message that started it."""
        run_input = await self.run_input(session, run)
        return await self.edit_message(session, next(iter(run_input.queued_seqs), run_input.first_seq), text)

    async def edit_message(self, session: str, seq: int, text: str) -> PreparedFork:
        """Fork before a message of the user and replace its text.

        If the message was queued during a run and started the next run together with others, keep the others.
        """
        run_input = await self.run_input(session, await self.run_of_message(session, seq))
        if seq not in run_input.queued_seqs:
            return await self.edit(session, seq, text)
        entries = await self._all_entries(session)
        start = self._with_current_mode(session, _with_last_model(run_input.start, entries))
        self._check_start(start)
        name = await self.fork(session, run_input.first_seq - 1, "edit")
        change = QueueChanged("edited", seq, run_input.queued_seqs, Text(text))
        return PreparedFork(name, (change, start))

    async def fork_to_rerun(
        self, session: str, run: int, model: str = "", script: str = "", *, excluded: Collection[str] = ()
    ) -> PreparedFork:
        """Fork before a run (0 for the last one) to run its task again, with another model if one is named.

        `excluded` are memory IDs and skill names that the new run must not get, so that both runs can be compared.
        """
        run_input = await self.run_input(session, run)
        start = self._with_current_mode(session, run_input.start)
        start = replace(start, excluded=tuple(dict.fromkeys((*start.excluded, *excluded))))
        if model or script:
            start = replace(start, model=model or start.model, script=Text(script))
        self._check_start(start)
        name = await self.fork(session, run_input.first_seq - 1, "rerun")
        # Messages that were queued when the run started are queued in the fork too.
        new_messages = run_input.messages[len(run_input.queued_seqs) :]
        return PreparedFork(name, (*new_messages, start))

    def _with_current_mode(self, session: str, start: RunStarted) -> RunStarted:
        """Return the start configuration with the session's current permission mode.

        For an imported session, also remove everything that grants permissions.
        """
        row = self._reader.require_session(session)
        if row.imported_from:
            return cast(RunStarted, without_permissions(start, row.imported_from))
        return replace(start, mode=next((mode for mode in MODES if mode == row.mode), start.mode))

    async def plan_rewind(self, session: str, to_seq: int, force: Iterable[str] = (), *, only: str = "") -> RewindPlan:
        """Return the plan for rewinding the files to the event `to_seq`, including files that sub-agents changed.

        `only` limits the plan to one file. Files in `force` are overwritten even if other programs changed them.
        """
        row = self._writable_row(session)
        entries = await self._merged_entries(session)
        read_blob = self._load_blobs(history.target_hash for history in file_histories(entries, to_seq))
        plan = await asyncio.to_thread(plan_rewind, Path(row.folder), entries, to_seq, read_blob, force)
        return replace(plan, files=tuple(file for file in plan.files if file.path == only)) if only else plan

    async def plan_undo(self, session: str, force: Iterable[str] = ()) -> RewindPlan:
        """Return the plan for undoing the last rewind. Raise Problem if there is no rewind to undo."""
        row = self._writable_row(session)
        entries = await self._merged_entries(session)
        rewind = last_rewind(entries)
        files = rewind.event.files if rewind and isinstance(rewind.event, FilesRewound) else ()
        read_blob = self._load_blobs(file.before for file in files)
        return await asyncio.to_thread(plan_undo, Path(row.folder), entries, read_blob, force)

    async def rewind(self, session: str, plan: RewindPlan) -> FilesRewound:
        """Execute the plan and return the recorded event. Raise Problem if a run of the session is active."""
        folder = Path(self._writable_row(session).folder)
        async with self._hold_idle(session):
            event = rewind_event(plan)
            if not event.files:
                return event
            read_blob = self._load_blobs(file.target_hash for file in plan.changing_files)
            await self._journal.append(
                session, event, blobs=await run_to_completion(overwritten_contents, folder, plan)
            )
            skipped = await run_to_completion(apply_plan, folder, plan, read_blob)
            if skipped:  # These files changed after planning, or writing failed. Record that as well.
                await self._journal.append(
                    session, FilesRewound(plan.to_seq, skipped=skipped, undoes_seq=plan.undoes_seq)
                )
                files = tuple(file for file in event.files if file.path not in skipped)
                event = replace(event, files=files, skipped=(*event.skipped, *skipped))
        return event

    async def replace_contents(self, session: str, path: str, expected_hash: str, body: bytes) -> FilesRewound:
        """Replace the contents of a file whose blob hash is still `expected_hash`. Used to revert a single hunk."""
        row = self._writable_row(session)
        plan = await asyncio.to_thread(plan_replacement, Path(row.folder), row.last_seq, path, expected_hash, body)
        async with self._hold_idle(session):
            event = rewind_event(plan)
            blobs = await run_to_completion(overwritten_contents, Path(row.folder), plan)
            blobs[blob_hash(body)] = body
            await self._journal.append(session, event, blobs=blobs)
            skipped = await run_to_completion(apply_plan, Path(row.folder), plan, blobs.get)
        if skipped:
            why = "It was changed outside this session at the same moment."
            raise Problem(f"{path} was not changed.", why, "Look at it again.")
        return event

    def _load_blobs(self, names: Iterable[str]) -> ReadBlob:
        """Read these blobs now, and return a function that looks them up in memory.

        Other threads need it, because they cannot use the database connection.
        """
        return {name: self._reader.find_blob(name) for name in names}.get

    async def rate(
        self,
        session: str,
        rating: Literal["up", "down", ""],
        *,
        run: int = 0,
        note: str | None = None,
        tags: Sequence[str] | None = None,
        rated_by: Literal["user", "check"] = "user",
    ) -> int:
        """Rate a run (0 for the last one) and return its number. A later rating replaces an earlier one.

        A note or tags of None are those of the user's earlier rating. A check, or a rating removed, has none.
        """
        row = self._reader.require_session(session)
        number = run or row.runs
        if not 1 <= number <= row.runs:
            raise Problem(f"There is no run {number}.", f"Runs in this session: {row.runs}.", "")
        if rated_by == "user" and rating and (note is None or tags is None):
            earlier = await self._rating_of(session, number, row.last_seq)
            note = self._reader.read_text(earlier.note) if earlier and note is None else note
            tags = earlier.tags if earlier and tags is None else tags
        unique_tags = tuple(dict.fromkeys(tag.strip().removeprefix("#") for tag in tags or () if tag.strip()))
        await self._journal.append(session, RunRated(number, rating, Text(note or ""), unique_tags, rated_by))
        return number

    async def _rating_of(self, session: str, run: int, last_seq: int) -> RunRated | None:
        """Return the latest rating of a run by the user, or None if there is none or it was removed."""
        for entry in reversed(await self._entries(session, last_seq)):
            if isinstance(entry.event, RunRated) and entry.event.by == "user" and entry.event.run_number == run:
                return entry.event if entry.event.rating else None
        return None

    async def run_input(self, session: str, run: int) -> RunInput:
        """Return how a run (0 for the last one) was started."""
        row = self._reader.require_session(session)
        number = run or row.runs
        entries = await self._entries(session, row.last_seq)
        run_entries = [entry for entry in entries if entry.run == number]
        start_entry = next((entry for entry in run_entries if isinstance(entry.event, RunStarted)), None)
        if start_entry is None:
            raise Problem(f"There is no run {number}.", f"Runs in this session: {row.runs}.", "")
        assert isinstance(start_entry.event, RunStarted)
        first_seq = run_entries[0].seq
        before_start = fold_events(entry for entry in entries if entry.seq < start_entry.seq)
        messages = [message for message in before_start.queued if message.category == USER]
        queued_before = [message for message in messages if message.seq < first_seq]
        new = [message for message in messages if message.seq >= first_seq]
        sent = {entry.seq: entry.event for entry in entries if isinstance(entry.event, UserMessage)}
        return RunInput(
            first_seq=first_seq,
            messages=tuple(_as_queued(sent[message.seq], message) for message in (*queued_before, *new)),
            start=start_entry.event,
            queued_seqs=tuple(message.seq for message in queued_before),
        )

    async def run_of_message(self, session: str, seq: int) -> int:
        """Return the number of the run that received a message: the active run when it was sent, or else the next."""
        run = next((entry.run for entry in await self._entries(session, seq) if entry.seq == seq), 0)
        next_run = await self.run_input(session, run + 1) if run < self._reader.require_session(session).runs else None
        return run + 1 if next_run and seq in next_run.queued_seqs else run

    async def _entries(self, session: str, last: int) -> list[EventRecord]:
        entries = [entry async for entry in self._journal.read(session)]
        return [entry for entry in entries if entry.seq <= last]

    async def _all_entries(self, session: str) -> list[EventRecord]:
        return await self._entries(session, self._reader.require_session(session).last_seq)

    async def _merged_entries(self, session: str) -> list[EventRecord]:
        return await merge_child_events(await self._all_entries(session), self._journal.read)

    def _writable_row(self, session: str) -> SessionRow:
        """Return the session's row. Raise Problem for an imported session, because its files must not be changed."""
        row = self._reader.require_session(session)
        if row.imported_from:
            raise Problem(
                "The files of an imported session cannot be reverted.",
                "Imported sessions are read-only.",
                "Fork the session to continue its work.",
            )
        return row


def _first_start(entries: Iterable[EventRecord]) -> RunStarted | None:
    return next((entry.event for entry in entries if isinstance(entry.event, RunStarted)), None)


def _as_queued(sent: UserMessage, message: Message) -> UserMessage:
    """Return the message as it was in the queue, where the user may have edited it after it was sent."""
    if sent.text == message.text:
        return sent
    return UserMessage(message.text, message.attachments, None if sent.typed is None else 0)


def _with_last_model(start: RunStarted, entries: Iterable[EventRecord]) -> RunStarted:
    """Return the start configuration with the model and model options that the session uses now."""
    last = fold_events(entries).start or start
    return replace(
        start,
        model=last.model,
        effort=last.effort,
        max_output_tokens=last.max_output_tokens,
        temperature=last.temperature,
    )
