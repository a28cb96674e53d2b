"""Saves a memory: rejects disallowed content, merges equal memories and links contradicting ones."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from core.domain.ids import memory_id
from core.domain.memory import (
    CONTEXT_LIMIT,
    FIELDS,
    MEMORY_KINDS,
    SCOPES,
    TEXT_LIMIT,
    Memory,
    MemoryAction,
    MemoryAuthor,
    MemoryChange,
    MemoryContent,
    fold,
    sentence,
)
from core.domain.problems import Problem
from core.memory.content_checks import refusal_reason
from core.memory.index_terms import fingerprint
from core.memory.ranking import NO_SIMILARITIES, rank_memories
from core.memory.similarity import SAME_TOPIC, contradicts, paraphrase_contradicts, says_same
from core.memory.tokenizer import content_words
from core.store.memory_records import IndexedScope, MemoryRecords

FIELD_KINDS = ("heuristic", "anti-pattern")  # kinds whose text can be composed from fields
NEIGHBORS = 8  # number of similar memories that a new memory is compared with


@dataclass(frozen=True, slots=True)
class MemorySource:
    """Where a memory or a change comes from: its author, session and event, and the reason."""

    author: MemoryAuthor
    session: str = ""
    seq: int = 0
    reason: str = ""

    def change(
        self, memory: str, number: int, at: int, did: MemoryAction, said: MemoryContent | None = None
    ) -> MemoryChange:
        """Return a change to a memory, made by this source."""
        return MemoryChange(memory, number, at, did, self.author, said, self.session, self.seq, self.reason)


@dataclass(frozen=True, slots=True)
class LearningLimits:
    """The topics that an agent may learn about, from its profile.

    If `allowed` is empty, all topics are allowed. `denied` takes precedence over `allowed`.
    """

    allowed: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()

    def refusal_reason(self, said: MemoryContent) -> str:
        """Return why the content may not be learned, or "" if it may be."""
        if found := next((topic for topic in self.denied if _is_about(topic, said)), ""):
            return f"This agent may never learn about {found!r}."
        if self.allowed and not any(_is_about(topic, said) for topic in self.allowed):
            return f"This agent may only learn about: {', '.join(self.allowed)}."
        return ""


@dataclass(frozen=True, slots=True)
class SaveResult:
    """The result of saving a memory. `conflicts` are memories that contradict it, for the user to review."""

    did: Literal["created", "reinforced"]
    memory: Memory
    conflicts: tuple[Memory, ...] = ()


def validated(said: MemoryContent, limits: LearningLimits | None = None) -> MemoryContent:
    """Return the content normalized for saving. Raise Problem if it must not be remembered."""
    text = " ".join((said.text or sentence(said.kind, said.fields)).split())
    if said.kind not in MEMORY_KINDS or said.scope not in SCOPES:
        raise Problem(
            f"There is no memory of kind {said.kind!r} for {said.scope!r}.",
            "",
            f"Choose one of the kinds: {', '.join(MEMORY_KINDS)}.",
        )
    if not any(character.isalnum() for character in text):
        fields = f", or give {' and '.join(FIELDS[said.kind][:2])}" if said.kind in FIELD_KINDS else ""
        raise Problem("There is nothing to remember.", "The text is empty.", f"Give it as a sentence{fields}.")
    if len(text) > TEXT_LIMIT:
        why = f"It has {len(text):,} characters; the limit is {TEXT_LIMIT:,}."
        raise Problem("This is too long to remember.", why, "Shorten it to one sentence, or write a skill.")
    if said.scope != "everywhere" and not said.scope_id:
        raise Problem(f"The memory is for one {said.scope}, but none is given.", "", f"Give the {said.scope}.")
    place = "" if said.scope == "everywhere" else said.scope_id
    sure = min(1.0, max(0.0, said.confidence))
    made = MemoryContent(
        said.kind,
        text,
        said.scope,
        place,
        said.context[:CONTEXT_LIMIT],
        sure,
        _parts(said.fields) if said.fields else {},
    )
    whole = " ".join((text, made.context, *made.fields.values()))
    if any("\ud800" <= character <= "\udfff" for character in whole + place):
        raise Problem("This cannot be remembered.", "It contains invalid Unicode.", "Remove the invalid characters.")
    if why := refusal_reason(whole) or (limits.refusal_reason(made) if limits else ""):
        raise Problem("This was not remembered.", why, "Leave that out, or do not remember it.")
    return made


def save(
    rows: MemoryRecords,
    said: MemoryContent,
    source: MemorySource,
    at: int,
    means: Mapping[int, float] = NO_SIMILARITIES,
) -> SaveResult:
    """Save validated content in one transaction: as a new memory, or as further evidence for an equal memory.

    `means` maps keys of stored memories to their embedding similarity to the content, where known.
    """
    same, others = find_same_or_conflicting(rows, said, means)
    if same:
        again = source.change(same.id, same.version + 1, at, "reinforced")
        return SaveResult("reinforced", rows.write(again) or same)
    name = memory_id()
    first = source.change(name, 1, at, "created", said)
    rows.add_all([first])
    memory = fold([first])
    assert memory is not None
    for other in others:
        memory = link_conflict(rows, memory, other, source, at)
    return SaveResult("created", memory, others)


def link_conflict(rows: MemoryRecords, memory: Memory, other: Memory, source: MemorySource, at: int) -> Memory:
    """Record in both memories that they contradict each other. Return the updated `memory`."""
    for one, named in ((other, memory), (memory, other)):
        change = MemoryChange(
            one.id,
            one.version + 1,
            at,
            "conflict_found",
            source.author,
            related_memory=named.id,
            reason="it contradicts this memory",
        )
        linked = rows.write(change)
    assert linked is not None
    return linked


def find_related(
    rows: MemoryRecords, said: MemoryContent, means: Mapping[int, float] = NO_SIMILARITIES
) -> tuple[Memory | None, tuple[Memory, ...]]:
    """Search for the memory that says the same as the content, and for the memories that contradict it."""
    return _related(rows, said, rows.scopes([(said.scope, said.scope_id)]), means)


def find_same_or_conflicting(
    rows: MemoryRecords, said: MemoryContent, means: Mapping[int, float] = NO_SIMILARITIES
) -> tuple[Memory | None, tuple[Memory, ...]]:
    """Return the memory that says the same as the content, and the memories that contradict it.

    Unlike `find_related`, this skips the search if a memory has the same fingerprint, and for an outcome, which is
    never merged.
    """
    if said.kind == "outcome":
        return None, ()
    places = rows.scopes([(said.scope, said.scope_id)])
    known = rows.find_same(places[0].number, said.kind, fingerprint(said.text)) if places else ""
    return (rows.get(known), ()) if known else _related(rows, said, places, means)


def _related(
    rows: MemoryRecords, said: MemoryContent, places: Sequence[IndexedScope], means: Mapping[int, float]
) -> tuple[Memory | None, tuple[Memory, ...]]:
    near = _neighbors(rows, said, places, means)
    same = next((one for one in near if _same(one, said)), None)
    return same, _conflicting(rows, near, said, means)


def _neighbors(
    rows: MemoryRecords, said: MemoryContent, places: Sequence[IndexedScope], means: Mapping[int, float]
) -> tuple[Memory, ...]:
    fits = rank_memories(rows, said.text, places, NEIGHBORS, 4 * NEIGHBORS, means)
    return tuple(rows.by_keys([fit.key for fit in fits]))


def _conflicting(
    rows: MemoryRecords, near: Iterable[Memory], said: MemoryContent, means: Mapping[int, float]
) -> tuple[Memory, ...]:
    """Return the memories that contradict the content, with similar words or a high embedding similarity."""
    kinds = _comparable_kinds(said.kind)
    found = [one for one in near if one.content.kind in kinds and contradicts(one.content.text, said.text)]
    known = {one.id for one in found}
    subject = sorted((key for key, one in means.items() if one >= SAME_TOPIC), key=lambda key: -means[key])[:NEIGHBORS]
    meant = [
        one for one in (rows.by_keys(subject) if subject else ()) if one.content.kind in kinds and one.id not in known
    ]
    return (*found, *(one for one in meant if paraphrase_contradicts(one.content.text, said.text)))


def _same(known: Memory, said: MemoryContent) -> bool:
    return known.content.kind == said.kind and says_same(known.content.text, said.text)


def _comparable_kinds(kind: str) -> frozenset[str]:
    """Return the kinds of memories that are compared with a memory of this kind."""
    return frozenset({"outcome"}) if kind == "outcome" else frozenset(MEMORY_KINDS) - {"outcome"}


def _parts(parts: Mapping[str, str]) -> dict[str, str]:
    return {name: " ".join(str(text).split())[:TEXT_LIMIT] for name, text in parts.items() if str(text).strip()}


def _is_about(topic: str, said: MemoryContent) -> bool:
    """Return whether the topic equals the kind of the content, or all words of the topic occur in the content."""
    wanted = set(content_words(topic))
    inside = set(content_words(f"{said.text} {' '.join(said.fields.values())}"))
    return topic.strip().lower() == said.kind or bool(wanted and wanted <= inside)
