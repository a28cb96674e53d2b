"""The operations on memories for the window and the command line, with plain values in and out."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from core.domain.clock import SECOND, now
from core.domain.memory import (
    DAY,
    MemoryAuthor,
    MemoryChange,
    MemoryContent,
    MemoryKind,
    MemoryScope,
    RelevanceLevel,
    relevance,
    relevance_level,
)
from core.domain.memory import Memory as Remembered
from core.domain.memory import MemoryStatus as Where
from core.domain.problems import Problem
from core.domain.proposal import Proposal
from core.memory.approval import sensitive_topic
from core.memory.daily_maintenance import run_daily_maintenance
from core.memory.memories import Memories, with_text
from core.memory.saving import MemorySource, SaveResult
from core.memory.semantic_search import SemanticSearch, SemanticSearchStatus
from core.memory.serialization import ParsedMemory, from_json, from_markdown, to_json, to_proposal_details
from core.store.memory_records import MemoryUse
from core.store.proposal_store import ProposalStore
from core.store.reader import Reader

if TYPE_CHECKING:
    from core.engine.services.proposal_queue import ProposalQueue

FORECAST_DAYS = (0, 30, 90, 180, 365)  # Days ahead for which relevance is predicted.


@dataclass(frozen=True, slots=True)
class MemoryListing:
    """A memory in a list, with its current relevance from 0 to 1.

    In search results, `score` says how well it matches and `match_reason` why.
    """

    memory: Remembered
    relevance: float
    state: RelevanceLevel
    score: float = 0.0
    match_reason: str = ""


@dataclass(frozen=True, slots=True)
class RunOutcomes:
    """Numbers of runs: all, those with a rating, and those rated good."""

    runs: int = 0
    rated: int = 0
    good: int = 0


@dataclass(frozen=True, slots=True)
class MemoryDetails:
    """Everything about one memory.

    Attributes:
        changes: its versions, oldest first.
        uses: the runs that received the memory, newest first.
        conflicts: active memories that contradict the memory.
        forecast: relevance after a number of days without use, as (days, relevance).
        relevance_history: relevance at its creation, at each use and now, as (time in microseconds, relevance).
        outcomes_used: outcomes of the runs that used the memory.
        outcomes_unused: outcomes of the runs that received the memory but did not use it.
    """

    listed: MemoryListing
    changes: tuple[MemoryChange, ...]
    uses: tuple[MemoryUse, ...]
    conflicts: tuple[Remembered, ...]
    forecast: tuple[tuple[int, float], ...]
    relevance_history: tuple[tuple[int, float], ...]
    outcomes_used: RunOutcomes
    outcomes_unused: RunOutcomes


@dataclass(frozen=True, slots=True)
class ImportedMemories:
    """The memories that an import saved, and those that it only proposed because of their topic."""

    saved: tuple[SaveResult, ...]
    proposed: tuple[Proposal, ...] = ()


@dataclass(frozen=True, slots=True)
class TidyResult:
    """The IDs of the memories that were archived and of the proposals that were made."""

    archived: tuple[str, ...]
    proposed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ForgetResult:
    """The IDs of the forgotten memories, and of the proposals that were rejected or undone together with them.

    `skills` are the undone proposals for skills.
    """

    memories: tuple[str, ...] = ()
    proposals: tuple[str, ...] = ()
    skills: tuple[Proposal, ...] = ()


@dataclass(frozen=True, slots=True)
class LearnedDay:
    """What was learned on one day (YYYY-MM-DD, local time), newest first. `runs` counts the outcome memories."""

    day: str
    learned: tuple[Remembered, ...]
    runs: int


class MemoryService:
    """Operations on memories. A change is durable when its method returns.

    Everything but `erase` can be reverted with `undo` or `restore`.
    """

    def __init__(
        self,
        memories: Memories,
        reader: Reader,
        proposals: ProposalStore,
        tray: Callable[[], "ProposalQueue"] | None = None,
    ) -> None:
        self._memories = memories
        self._reader = reader
        self._proposals = proposals
        self._decide = tray

    async def list_memories(
        self, *, kind: MemoryKind | None = None, status: Where | None = "active", session: str = "", scope: str = "",
        place: str = "", limit: int = -1,
    ) -> list[MemoryListing]:  # fmt: skip
        """List memories, newest first. `status` None includes archived and forgotten ones."""
        found = self._memories.listed(
            status=status, kind=kind, session=session, scope=scope, scope_id=place, limit=limit
        )
        at = now()
        return [_listing(one, at) for one in found]

    async def find(self, text: str, *, folder: str = "", limit: int = 50) -> list[MemoryListing]:
        """Search the active memories, best match first; with `folder`, only those that a run there may receive."""
        wanted = (("everywhere", ""), ("folder", folder)) if folder else None
        at = now()
        near = await self._memories.similarities(text, wanted)
        found = self._memories.find(text, scopes=wanted, limit=limit, similarities=near)
        return [replace(_listing(one.memory, at), score=one.score, match_reason=one.reason) for one in found]

    async def show(self, name: str) -> MemoryDetails:
        """Return one memory in full, by its ID or by an unambiguous prefix."""
        memory, at = self._memories.get(name), now()
        uses, changes = self._memories.uses(memory.id), self._memories.changes(memory.id)
        links = [self._memories.get(link) for link in memory.conflicts if self._exists(link)]
        moments = sorted({memory.created_at, *(use.at for use in uses), at})
        return MemoryDetails(
            _listing(memory, at),
            tuple(changes),
            tuple(uses),
            tuple(one for one in links if one.status == "active"),
            tuple((days, relevance(memory, at + days * DAY)) for days in FORECAST_DAYS),
            tuple((moment, relevance(_with_uses_until(memory, uses, moment), moment)) for moment in moments),
            _run_outcomes([use for use in uses if use.used]),
            _run_outcomes([use for use in uses if not use.used]),
        )

    async def add(
        self, text: str, kind: MemoryKind = "knowledge", *, scope: MemoryScope = "everywhere", place: str = "",
        parts: dict[str, str] | None = None,
    ) -> SaveResult:  # fmt: skip
        """Save a memory written by the user. The result tells whether an equal memory existed, and lists conflicts."""
        return await self._memories.save(
            MemoryContent(kind, text, scope, place, "", 1.0, parts or {}), MemorySource("user")
        )

    async def edit(
        self, name: str, text: str, *, base: int = 0, kind: MemoryKind | None = None, scope: MemoryScope | None = None,
        place: str = "", parts: dict[str, str] | None = None,
    ) -> Remembered:  # fmt: skip
        """Change a memory's text, kind, scope or fields (`parts`).

        With `base`, raise Problem unless `base` is still the current version.
        """
        memory = self._memories.get(name)
        said = with_text(memory, text) if text and text != memory.content.text else memory.content
        said = replace(said, kind=kind or said.kind, fields=said.fields if parts is None else parts)
        if scope:
            said = replace(said, scope=scope, scope_id=place)
        return await self._memories.edit(memory.id, said, base=base)

    async def pin(self, name: str, on: bool = True) -> Remembered:
        return await self._memories.pin(name, on)

    async def archive(self, name: str) -> Remembered:
        """Archive a memory. It stays stored but is no longer added to any context."""
        return await self._memories.archive(name)

    async def restore(self, name: str) -> Remembered:
        """Make an archived or forgotten memory active again."""
        return await self._memories.restore(name)

    async def forget(self, name: str) -> Remembered:
        """Hide a memory everywhere. It can be restored until it is erased."""
        return await self._memories.forget(name)

    async def erase(self, name: str) -> None:
        """Delete a memory permanently, with its versions and its usage."""
        await self._memories.erase(name)

    async def undo(self, name: str, number: int = 0) -> Remembered | None:
        """Undo the change with this number, or the last change for 0. Return None if that removes the memory."""
        return await self._memories.undo(name, number)

    async def changes(self, name: str) -> tuple[MemoryChange, ...]:
        """Return the changes of a memory, oldest first, even if the memory no longer exists."""
        known = self._memories.get(name).id if self._exists(name) else name
        return tuple(self._memories.changes(known))

    async def forget_session(self, session: str) -> ForgetResult:
        """Forget the memories learned from a session, undo its skill changes and reject its open proposals.

        Memories and changes that the user wrote stay.
        """
        gone = await self._memories.forget_all(session=session)
        waiting = [one.id for one in self._proposals.find(state="pending", session=session)]
        for name in waiting:
            await self._proposals.resolve(name, "rejected")
        skills = await self._tray().undo_session(session, self._edited_proposals(session))
        return ForgetResult(tuple(gone), (*waiting, *(one.id for one in skills)), skills)

    def _edited_proposals(self, session: str) -> set[str]:
        """Return the IDs of the session's proposals that the user edited before accepting them."""
        settled = self._memories.store.read_runs(lambda facts: facts.events(session, ("proposal_state_changed",)))
        return {said["proposal_id"] for _, said in settled if said.get("text", {}).get("head")}

    async def forget_folder(self, folder: str) -> ForgetResult:
        """Forget the memories learned in a folder, except those that the user wrote."""
        return ForgetResult(tuple(await self._memories.forget_all(folder=folder)))

    async def undo_forget(self, memories: Sequence[str], proposals: Sequence[str] = ()) -> None:
        """Revert `forget_session`: restore the memories and return the proposals to their previous states."""
        for name in memories:
            await self._memories.restore(name)
        for name in reversed(proposals):
            await self._tray().reopen(name)

    async def tidy(self) -> TidyResult:
        """Archive memories with low relevance. Propose lessons from similar runs and merges of similar memories."""
        archived, proposed = await run_daily_maintenance(self._memories, self._proposals)
        return TidyResult(tuple(archived), tuple(one.id for one in proposed))

    async def learned_by_day(self, limit: int = 1_000) -> list[LearnedDay]:
        """Group the newest `limit` memories by the day they were learned, newest first."""
        return await asyncio.to_thread(_journey, self._memories.listed(status=None, limit=limit))

    async def export(self, *, include_archived: bool = False) -> str:
        """Export memories as JSON: active memories, and with `include_archived` also archived ones."""
        found = self._memories.listed(status=None if include_archived else "active")
        return to_json(one for one in found if one.status != "forgotten")

    async def import_file(self, file: Path, *, scope: MemoryScope = "everywhere", place: str = "") -> ImportedMemories:
        """Import all memories in a file, or none if one is invalid.

        The file is a JSON export of Journeyman, whose pinned memories stay pinned, a Markdown list of another agent, or
        an ALMA database. Memories on a sensitive topic, such as permissions, are only proposed.
        """
        by: MemoryAuthor = "import"
        source = MemorySource(by, reason=f"from {file.name}")
        told = await asyncio.to_thread(_read_memories, file)
        made = [(replace(said, scope=scope, scope_id=place) if place else said, pinned) for said, pinned in told]
        for number, (said, _) in enumerate(made, 1):
            self._check(said, f"memory {number} of {file.name}")
        asked = [
            said for said, _ in made if sensitive_topic(" ".join((said.text, said.context, *said.fields.values())))
        ]
        saved = await self._memories.save_all([one for one in made if one[0] not in asked], source)
        proposed = [await self._propose_import(self._memories.validate(said), source) for said in asked]
        return ImportedMemories(tuple(saved), tuple(one for one in proposed if one))

    async def _propose_import(self, said: MemoryContent, source: MemorySource) -> Proposal | None:
        """Propose a memory from a file, unless an equal one exists."""
        if any(one.memory.content.text == said.text for one in self._memories.find(said.text, limit=3)):
            return None
        details = to_proposal_details(said)
        return await self._proposals.create(
            Proposal(
                "", "memory", "create", "", said.text, f"Imported {source.reason}.", details=details, author="import"
            )
        )

    def _check(self, said: MemoryContent, named: str) -> None:
        try:
            self._memories.validate(said)
        except Problem as problem:
            trouble = problem.details
            what = f"Nothing was imported, because of {named}."
            raise Problem(what, f"{trouble.message} {trouble.cause}".strip(), "Correct it in the file.") from problem

    async def semantic_search_status(self) -> SemanticSearchStatus:
        """Return the embedding model in use, its error, if any, and how many memories are indexed."""
        return await self._meaning.status()

    async def embed_missing(self, on_progress: Callable[[int], None]) -> int:
        """Compute the missing embeddings and return their number. `on_progress` is called with the number so far."""
        return await self._meaning.catch_up(on_progress)

    def _tray(self) -> "ProposalQueue":
        assert self._decide is not None
        return self._decide()

    @property
    def _meaning(self) -> SemanticSearch:
        assert self._memories.semantic_search is not None
        return self._memories.semantic_search

    def _exists(self, name: str) -> bool:
        try:
            self._memories.get(name)
        except Problem:
            return False
        return True


def _read_memories(file: Path) -> list[ParsedMemory]:
    from core.store.alma_db import is_sqlite_file, read_alma_memories

    if file.exists() and not file.is_file():
        raise Problem(f"{file} is not a regular file.", "", "Choose a file.")
    try:
        if is_sqlite_file(file):
            return [ParsedMemory(MemoryContent(**one)) for one in read_alma_memories(file)]
        text = file.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise Problem(f"{file} cannot be read.", f"{error}.", "Choose a file that exists.") from error
    return list(map(ParsedMemory, from_markdown(text))) if file.suffix.lower() == ".md" else from_json(text)


def _journey(memories: Sequence[Remembered]) -> list[LearnedDay]:
    days: dict[str, list[Remembered]] = {}
    for one in memories:
        day = datetime.fromtimestamp(one.created_at / SECOND).astimezone().date().isoformat()
        days.setdefault(day, []).append(one)
    return [_day(day, made) for day, made in days.items()]


def _day(day: str, made: Sequence[Remembered]) -> LearnedDay:
    learnt = tuple(one for one in made if one.content.kind != "outcome")
    return LearnedDay(day, learnt, len(made) - len(learnt))


def _listing(memory: Remembered, at: int) -> MemoryListing:
    left = relevance(memory, at)
    return MemoryListing(memory, left, relevance_level(left))


def _with_uses_until(memory: Remembered, uses: Sequence[MemoryUse], at: int) -> Remembered:
    """Return the memory with its usage up to `at`, a time in microseconds."""
    until = [use for use in uses if use.at <= at]
    counted = replace(
        memory.usage,
        use_count=sum(use.used for use in until),
        good_runs=sum(use.run_rating == "good" and use.used for use in until),
        last_recalled=max((use.at for use in until), default=0),
    )
    return replace(memory, usage=counted)


def _run_outcomes(uses: Sequence[MemoryUse]) -> RunOutcomes:
    return RunOutcomes(
        len(uses), sum(bool(use.run_rating) for use in uses), sum(use.run_rating == "good" for use in uses)
    )
