"""The operations on memories for the window and the command line, with plain values in and out."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from core.domain.clock import SECOND, now
from core.domain.memory import (
    DAY,
    Memory,
    MemoryChange,
    MemoryContent,
    MemoryKind,
    MemoryScope,
    MemoryStatus,
    relevance,
    relevance_level,
)
from core.domain.memory_marks import (
    EXPIRES,
    TAGS,
    USER_RATING,
    UserRating,
    is_expired,
    join_tags,
    marks_of,
    parse_expiry,
    with_marks,
)
from core.domain.problems import Problem
from core.domain.proposal import Proposal
from core.engine.services.memory_results import (
    ForgetResult,
    ImportedMemories,
    LearnedDay,
    MemoryDetails,
    MemoryListing,
    PastRelevance,
    RelevanceForecast,
    RunOutcomes,
    TidyPreview,
    TidyResult,
)
from core.memory.approval import sensitive_topic_of
from core.memory.daily_maintenance import pending_proposals, run_daily_maintenance
from core.memory.memories import Memories, with_text
from core.memory.saving import LearningLimits, MemorySource, SaveResult
from core.memory.semantic_search import SemanticSearch, SemanticSearchStatus
from core.memory.serialization import ParsedMemory, from_json, from_markdown, to_json, to_proposal_details
from core.memory.surroundings import describe_day
from core.store.memory_records import MemoryUse
from core.store.proposal_store import ProposalStore
from core.store.reader import Reader

if TYPE_CHECKING:
    from core.engine.services.proposal_queue import ProposalQueue

FORECAST_DAYS = (0, 30, 90, 180, 365)  # Days ahead for which relevance is predicted.


class MemoryService:
    """Operations on memories. A change is durable when its method returns.

    Everything but `erase` can be reverted with `undo` or `restore`.
    """

    def __init__(
        self,
        memories: Memories,
        reader: Reader,
        proposals: ProposalStore,
        proposal_queue: Callable[[], "ProposalQueue"] | None = None,
        limits: Callable[[str], LearningLimits] = lambda _agent: LearningLimits(),
    ) -> None:
        self._memories = memories
        self._reader = reader
        self._proposals = proposals
        self._find_proposal_queue = proposal_queue
        self._limits = limits

    def subscribe(self, listener: Callable[[], None]) -> None:
        """Call `listener` after each change of the memories."""
        self._memories.store.listen(listener)

    async def list_memories(
        self,
        *,
        kind: MemoryKind | None = None,
        status: MemoryStatus | None = "active",
        session: str = "",
        scope: str = "",
        scope_id: str = "",
        limit: int = -1,
    ) -> list[MemoryListing]:
        """List memories, newest first. `status` None includes archived and forgotten ones."""
        memories = self._memories.listed(
            status=status, kind=kind, session=session, scope=scope, scope_id=scope_id, limit=limit
        )
        now_us = now()
        return [_listing(memory, now_us) for memory in memories]

    async def find(self, text: str, *, folder: str = "", limit: int = 50) -> list[MemoryListing]:
        """Search the active memories, best match first; with `folder`, only those that a run there may receive."""
        scopes = (("everywhere", ""), ("folder", folder)) if folder else None
        now_us = now()
        similarities = await self._memories.similarities(text, scopes)
        hits = self._memories.find(text, scopes=scopes, limit=limit, similarities=similarities)
        return [replace(_listing(hit.memory, now_us), score=hit.score, match_reason=hit.reason) for hit in hits]

    async def show(self, name: str) -> MemoryDetails:
        """Return one memory in full, by its ID or by an unambiguous prefix."""
        memory = self._memories.get(name)
        uses = self._memories.uses(memory.id)
        conflicts = [self._memories.get(conflict) for conflict in memory.conflicts if self._exists(conflict)]
        now_us = now()
        moments = sorted({memory.created_at, *(use.at for use in uses), now_us})
        return MemoryDetails(
            listed=_listing(memory, now_us),
            changes=tuple(self._memories.changes(memory.id)),
            uses=tuple(uses),
            conflicts=tuple(conflict for conflict in conflicts if conflict.status == "active"),
            forecast=tuple(
                RelevanceForecast(days, _relevance_without_use(memory, now_us + days * DAY)) for days in FORECAST_DAYS
            ),
            relevance_history=tuple(
                PastRelevance(moment, relevance(_with_uses_until(memory, uses, moment), moment)) for moment in moments
            ),
            outcomes_used=_run_outcomes([use for use in uses if use.used]),
            outcomes_unused=_run_outcomes([use for use in uses if not use.used]),
        )

    async def add(
        self,
        text: str,
        kind: MemoryKind = "knowledge",
        *,
        scope: MemoryScope = "everywhere",
        scope_id: str = "",
        parts: dict[str, str] | None = None,
        context: str = "",
        tags: Sequence[str] = (),
        expires: str = "",
    ) -> SaveResult:
        """Save a memory written by the user. The result tells whether an equal memory existed, and lists conflicts.

        `expires` is a date or a number of days, as `parse_expiry` reads it. `context` is what surrounds the text, such
        as the question that it answers. The date is added to it.
        """
        dated = f"{context.strip()}\n{describe_day(now())}".strip()
        content = MemoryContent(
            kind=kind, text=text, scope=scope, scope_id=scope_id, context=dated, confidence=1.0, fields=parts or {}
        )
        marks = {TAGS: join_tags(tags), EXPIRES: parse_expiry(expires, now())}
        return await self._memories.save(with_marks(content, marks), MemorySource("user"))

    async def edit(
        self,
        name: str,
        text: str,
        *,
        base: int = 0,
        kind: MemoryKind | None = None,
        scope: MemoryScope | None = None,
        scope_id: str = "",
        parts: dict[str, str] | None = None,
        tags: Sequence[str] | None = None,
        expires: str | None = None,
    ) -> Memory:
        """Change a memory's text, kind, scope, fields (`parts`), tags or expiry date.

        With `base`, raise Problem unless `base` is still the current version.
        """
        memory = self._memories.get(name)
        content = with_text(memory, text) if text and text != memory.content.text else memory.content
        fields = content.fields if parts is None else marks_of(content) | parts
        content = replace(content, kind=kind or content.kind, fields=fields)
        if scope:
            content = replace(content, scope=scope, scope_id=scope_id)
        return await self._memories.edit(memory.id, with_marks(content, _marks(content, tags, expires)), base=base)

    async def pin(self, name: str, on: bool = True) -> Memory:
        return await self._memories.pin(name, on)

    async def archive(self, name: str) -> Memory:
        """Archive a memory. It stays stored but is no longer added to any context."""
        return await self._memories.archive(name)

    async def restore(self, name: str) -> Memory:
        """Make an archived or forgotten memory active again."""
        return await self._memories.restore(name)

    async def forget(self, name: str) -> Memory:
        """Hide a memory everywhere. It can be restored until it is erased."""
        return await self._memories.forget(name)

    async def erase(self, name: str) -> None:
        """Delete a memory permanently, with its versions and its usage."""
        await self._memories.erase(name)

    async def undo(self, name: str, number: int = 0) -> Memory | None:
        """Undo the change with this number, or the last change for 0. Return None if that removes the memory."""
        return await self._memories.undo(name, number)

    async def changes(self, name: str) -> tuple[MemoryChange, ...]:
        """Return the changes of a memory, oldest first, even if the memory no longer exists."""
        memory_id = self._memories.get(name).id if self._exists(name) else name
        return tuple(self._memories.changes(memory_id))

    async def forget_session(self, session: str) -> ForgetResult:
        """Forget the memories learned from a session, undo its skill changes and reject its open proposals.

        Memories and changes that the user wrote stay.
        """
        forgotten = await self._memories.forget_all(session=session)
        pending_ids = [proposal.id for proposal in self._proposals.find(state="pending", session=session)]
        for name in pending_ids:
            await self._proposals.resolve(name, "rejected")
        skills = await self._proposal_queue().undo_session(session, self._edited_proposals(session))
        return ForgetResult(tuple(forgotten), (*pending_ids, *(proposal.id for proposal in skills)), skills)

    def _edited_proposals(self, session: str) -> set[str]:
        """Return the IDs of the session's proposals that the user edited before accepting them."""
        settled = self._memories.store.read_runs(lambda reader: reader.events(session, ("proposal_state_changed",)))
        return {payload["proposal_id"] for _, payload in settled if payload.get("text", {}).get("head")}

    async def forget_folder(self, folder: str) -> ForgetResult:
        """Forget the memories learned in a folder, except those that the user wrote."""
        return ForgetResult(tuple(await self._memories.forget_all(folder=folder)))

    async def undo_forget(self, memories: Sequence[str], proposals: Sequence[str] = ()) -> None:
        """Revert `forget_session`: restore the memories and return the proposals to their previous states."""
        for name in memories:
            await self._memories.restore(name)
        for name in reversed(proposals):
            await self._proposal_queue().reopen(name)

    async def tidy(self) -> TidyResult:
        """Archive memories with low relevance. Propose lessons from similar runs and merges of similar memories."""
        archived, proposed = await run_daily_maintenance(self._memories, self._proposals, self._limits)
        return TidyResult(tuple(archived), tuple(proposal.id for proposal in proposed))

    async def preview_tidy(self) -> TidyPreview:
        """Return what `tidy` would archive and propose now. Nothing is changed."""
        proposed = pending_proposals(self._memories, self._proposals, self._limits)
        return TidyPreview(tuple(self._memories.decayed()), tuple(proposed))

    async def mark(
        self,
        name: str,
        *,
        tags: Sequence[str] | None = None,
        expires: str | None = None,
        user_rating: UserRating | None = None,
    ) -> Memory:
        """Set the tags, the expiry date or the user's rating of a memory. None leaves the value unchanged."""
        memory = self._memories.get(name)
        marks = _marks(memory.content, tags, expires)
        if user_rating is not None:
            marks[USER_RATING] = user_rating
        return await self._memories.edit(memory.id, with_marks(memory.content, marks))

    async def learned_by_day(self, limit: int = 1_000) -> list[LearnedDay]:
        """Group the newest `limit` memories by the day they were learned, newest first."""
        return await asyncio.to_thread(_group_by_day, self._memories.listed(status=None, limit=limit))

    async def export(self, *, include_archived: bool = False) -> str:
        """Export memories as JSON: active memories, and with `include_archived` also archived ones."""
        memories = self._memories.listed(status=None if include_archived else "active")
        return to_json(memory for memory in memories if memory.status != "forgotten")

    async def import_file(
        self, file: Path, *, scope: MemoryScope = "everywhere", scope_id: str = ""
    ) -> ImportedMemories:
        """Import all memories in a file, or none if one is invalid.

        The file is a JSON export of Journeyman, whose pinned memories stay pinned, a Markdown list of another agent, or
        an ALMA database. Memories on a sensitive topic, such as permissions, are only proposed.
        """
        memories = await asyncio.to_thread(_read_memories, file)
        if scope_id:
            memories = [
                memory._replace(content=replace(memory.content, scope=scope, scope_id=scope_id)) for memory in memories
            ]
        for number, memory in enumerate(memories, 1):
            self._check(memory.content, f"memory {number} of {file.name}")
        sensitive = [memory for memory in memories if sensitive_topic_of(memory.content)]
        others = [memory for memory in memories if not sensitive_topic_of(memory.content)]
        saved = await self._memories.save_all(others, MemorySource("import", reason=f"from {file.name}"))
        reason = f"Imported from {file.name}."
        proposed = [await self._propose_import(self._memories.validate(memory.content), reason) for memory in sensitive]
        return ImportedMemories(tuple(saved), tuple(item for item in proposed if item))

    async def _propose_import(self, content: MemoryContent, reason: str) -> Proposal | None:
        """Propose a memory from a file, unless an equal one exists."""
        if any(hit.memory.content.text == content.text for hit in self._memories.find(content.text, limit=3)):
            return None
        return await self._proposals.create(
            Proposal(
                id="",
                target_kind="memory",
                action="create",
                target="",
                text=content.text,
                reason=reason,
                details=to_proposal_details(content),
                author="import",
            )
        )

    async def propose(self, text: str, kind: MemoryKind, reason: str) -> Proposal | None:
        """Propose a memory on behalf of another program; return None if an equal one exists."""
        return await self._propose_import(self._memories.validate(MemoryContent(kind, text)), reason)

    def _check(self, content: MemoryContent, label: str) -> None:
        try:
            self._memories.validate(content)
        except Problem as problem:
            details = problem.details
            message = f"Nothing was imported, because of {label}."
            raise Problem(message, f"{details.message} {details.cause}".strip(), "Correct it in the file.") from problem

    async def semantic_search_status(self) -> SemanticSearchStatus:
        """Return the embedding model in use, its error, if any, and how many memories are indexed."""
        return await self._semantic_search.status()

    async def embed_missing(self, on_progress: Callable[[int], None]) -> int:
        """Compute the missing embeddings and return their number. `on_progress` is called with the number so far."""
        return await self._semantic_search.catch_up(on_progress)

    def _proposal_queue(self) -> "ProposalQueue":
        assert self._find_proposal_queue is not None
        return self._find_proposal_queue()

    @property
    def _semantic_search(self) -> SemanticSearch:
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
            return [ParsedMemory(MemoryContent(**columns)) for columns in read_alma_memories(file)]
        text = file.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise Problem(f"{file} cannot be read.", f"{error}.", "Choose a file that exists.") from error
    if file.suffix.lower() == ".md":
        return [ParsedMemory(content) for content in from_markdown(text)]
    return from_json(text)


def _group_by_day(memories: Sequence[Memory]) -> list[LearnedDay]:
    days: dict[str, list[Memory]] = {}
    for memory in memories:
        day = datetime.fromtimestamp(memory.created_at / SECOND).astimezone().date().isoformat()
        days.setdefault(day, []).append(memory)
    result = []
    for day, learned in days.items():
        lasting = tuple(memory for memory in learned if memory.content.kind != "outcome")
        result.append(LearnedDay(day, lasting, runs=len(learned) - len(lasting)))
    return result


def _marks(content: MemoryContent, tags: Sequence[str] | None, expires: str | None) -> dict[str, str]:
    """Return the metadata fields to change, with the expiry date parsed. None, or an unchanged date, is omitted.

    So an unchanged date may be in the past, which `parse_expiry` would reject.
    """
    marks = {} if tags is None else {TAGS: join_tags(tags)}
    if expires is not None and expires != content.fields.get(EXPIRES, ""):
        marks[EXPIRES] = parse_expiry(expires, now())
    return marks


def _listing(memory: Memory, now_us: int) -> MemoryListing:
    score = relevance(memory, now_us)
    return MemoryListing(memory, score, relevance_level(score))


def _relevance_without_use(memory: Memory, at: int) -> float:
    """Return the relevance that the memory will have at time `at` if it is not used before; 0 once it has expired."""
    return 0.0 if is_expired(memory.content, at) else relevance(memory, at)


def _with_uses_until(memory: Memory, uses: Sequence[MemoryUse], at: int) -> Memory:
    """Return the memory with usage counts that include only uses up to the time `at`, in microseconds."""
    earlier = [use for use in uses if use.at <= at]
    usage = replace(
        memory.usage,
        use_count=sum(use.used for use in earlier),
        good_runs=sum(use.run_rating == "good" and use.used for use in earlier),
        last_recalled=max((use.at for use in earlier), default=0),
    )
    return replace(memory, usage=usage)


def _run_outcomes(uses: Sequence[MemoryUse]) -> RunOutcomes:
    return RunOutcomes(
        runs=len(uses),
        rated=sum(bool(use.run_rating) for use in uses),
        good=sum(use.run_rating == "good" for use in uses),
    )
