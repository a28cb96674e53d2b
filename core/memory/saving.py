"""Saves memories: rejects disallowed content, merges a memory with an equal one, and marks contradictions."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from core.domain.ids import memory_id
from core.domain.memory import (
    CONTEXT_LIMIT,
    EVERYWHERE,
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
from core.memory.tokenizer import is_mentioned
from core.store.memory_records import IndexedScope, MemoryRecords

FIELD_KINDS = ("heuristic", "anti-pattern")  # The kinds of memories whose sentence can be composed from fields.
NEIGHBORS = 8  # number of similar memories that a new memory is compared with


@dataclass(frozen=True, slots=True)
class MemorySource:
    """Who or what made a memory or a change: the author, the session, the event and the reason."""

    author: MemoryAuthor
    session: str = ""
    seq: int = 0
    reason: str = ""

    def change(
        self, memory: str, number: int, at: int, action: MemoryAction, content: MemoryContent | None = None
    ) -> MemoryChange:
        """Return the entry for a memory's history that describes a change by this source.

        `number` is the number of the change, `at` its time, and `content` what the memory says after it.
        """
        return MemoryChange(
            memory=memory,
            number=number,
            at=at,
            action=action,
            author=self.author,
            content=content,
            session=self.session,
            seq=self.seq,
            reason=self.reason,
        )


@dataclass(frozen=True, slots=True)
class LearningLimits:
    """What an agent may learn, from its profile.

    Attributes:
        allowed: the only topics that it may learn about; empty for all topics.
        denied: topics that it may not learn about, even if they are in `allowed`.
        min_outcomes: how many similar outcomes are needed before a lesson is proposed; 0 for the usual number.
    """

    allowed: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()
    min_outcomes: int = 0

    @property
    def restrict_topics(self) -> bool:
        return bool(self.allowed or self.denied)

    def refusal_reason(self, content: MemoryContent) -> str:
        """Return why the agent may not learn the content, as a sentence, or "" if it may."""
        if denied_topic := next((topic for topic in self.denied if _is_about(topic, content)), ""):
            return f"This agent may never learn about {denied_topic!r}."
        if self.allowed and not any(_is_about(topic, content) for topic in self.allowed):
            return f"This agent may only learn about: {', '.join(self.allowed)}."
        return ""


@dataclass(frozen=True, slots=True)
class SaveResult:
    """The result of saving a memory: whether it was new, and the stored memory.

    `conflicts` are the memories that contradict it, for the user to review.
    """

    did: Literal["created", "reinforced"]
    memory: Memory
    conflicts: tuple[Memory, ...] = ()


class RelatedMemories(NamedTuple):
    """The stored memory that says the same as new content, if there is one, and those that contradict the content."""

    same: Memory | None = None
    conflicts: tuple[Memory, ...] = ()


NO_RELATED = RelatedMemories()


def validated(content: MemoryContent, limits: LearningLimits | None = None) -> MemoryContent:
    """Return the content normalized for saving. Raise Problem if it must not be remembered.

    `limits` is what the agent may learn; None if the content is not from an agent.
    """
    text = " ".join((content.text or sentence(content.kind, content.fields)).split())
    if content.kind not in MEMORY_KINDS or content.scope not in SCOPES:
        raise Problem(
            f"There is no memory of kind {content.kind!r} for {content.scope!r}.",
            "",
            f"Choose one of the kinds: {', '.join(MEMORY_KINDS)}.",
        )
    if not any(character.isalnum() for character in text):
        fix = "Give it as a sentence."
        if content.kind in FIELD_KINDS:
            fix = f"Give it as a sentence, or give {' and '.join(FIELDS[content.kind][:2])}."
        raise Problem("There is nothing to remember.", "The text is empty.", fix)
    if len(text) > TEXT_LIMIT:
        why = f"It has {len(text):,} characters; the limit is {TEXT_LIMIT:,}."
        raise Problem("This is too long to remember.", why, "Shorten it to one sentence, or write a skill.")
    if content.scope != "everywhere" and not content.scope_id:
        raise Problem(f"The memory is for one {content.scope}, but none is given.", "", f"Give the {content.scope}.")
    scope_id = "" if content.scope == "everywhere" else content.scope_id
    normalized = MemoryContent(
        kind=content.kind,
        text=text,
        scope=content.scope,
        scope_id=scope_id,
        context=content.context[:CONTEXT_LIMIT],
        confidence=min(1.0, max(0.0, content.confidence)),
        fields=_normalized_fields(content.fields),
    )
    # One part per line: a number at the end of one must not continue in the next, such as a date.
    all_text = "\n".join((text, normalized.context, *normalized.fields.values()))
    try:
        (all_text + scope_id).encode()
    except UnicodeEncodeError as error:
        why = "It contains invalid Unicode."
        raise Problem("This cannot be remembered.", why, "Remove the invalid characters.") from error
    if why := refusal_reason(all_text) or (limits.refusal_reason(normalized) if limits else ""):
        raise Problem("This was not remembered.", why, "Leave that out, or do not remember it.")
    return normalized


def save(
    rows: MemoryRecords,
    content: MemoryContent,
    source: MemorySource,
    at: int,
    similarities: Mapping[int, float] = NO_SIMILARITIES,
) -> SaveResult:
    """Save validated content in one transaction: as a new memory, or as further evidence for an equal memory.

    `similarities` maps keys of stored memories to the similarity of their embeddings to the content, where it is known.
    """
    same, conflicts = find_same_or_conflicting(rows, content, similarities)
    if same is not None:
        reinforcement = source.change(same.id, same.version + 1, at, "reinforced")
        return SaveResult("reinforced", rows.write(reinforcement) or same)
    new_id = memory_id()
    creation = source.change(new_id, 1, at, "created", content)
    rows.add_all([creation])
    memory = fold([creation])
    assert memory is not None
    for conflict in conflicts:
        memory = link_conflict(rows, memory, conflict, source, at)
    return SaveResult("created", memory, conflicts)


def link_conflict(rows: MemoryRecords, memory: Memory, other: Memory, source: MemorySource, at: int) -> Memory:
    """Record in both memories that they contradict each other. Return `memory` as it is afterwards."""
    for changed, contradicted in ((other, memory), (memory, other)):
        change = MemoryChange(
            memory=changed.id,
            number=changed.version + 1,
            at=at,
            action="conflict_found",
            author=source.author,
            related_memory=contradicted.id,
            reason="it contradicts this memory",
        )
        linked = rows.write(change)
    assert linked is not None
    return linked


def compared_scopes(content: MemoryContent) -> tuple[tuple[str, str], ...]:
    """Return the scopes whose memories a new memory is compared with: its own scope, and the one for every run."""
    return tuple({(content.scope, content.scope_id): None, EVERYWHERE: None})


def find_related(
    rows: MemoryRecords, content: MemoryContent, similarities: Mapping[int, float] = NO_SIMILARITIES
) -> RelatedMemories:
    """Return the memory of the same scope that says the same as the content, and the memories that contradict it."""
    return _search_related(rows, content, rows.scopes([(content.scope, content.scope_id)]), similarities)


def find_same_or_conflicting(
    rows: MemoryRecords, content: MemoryContent, similarities: Mapping[int, float] = NO_SIMILARITIES
) -> RelatedMemories:
    """Return the memory that says the same as the content, and the memories that contradict it.

    The memories are not searched if one has the same fingerprint, or if the content is an outcome, which is never
    merged. In these cases, no contradictions are returned. `find_related` always searches.
    """
    if content.kind == "outcome":
        return NO_RELATED
    scopes = rows.scopes([(content.scope, content.scope_id)])
    same_id = rows.find_same(scopes[0].number, content.kind, fingerprint(content.text)) if scopes else ""
    same = rows.get(same_id) if same_id else None
    if same and _says_same(same, content):
        return RelatedMemories(same)
    return _search_related(rows, content, scopes, similarities)


def _search_related(
    rows: MemoryRecords, content: MemoryContent, scopes: Sequence[IndexedScope], similarities: Mapping[int, float]
) -> RelatedMemories:
    neighbors = _neighbors(rows, content, scopes, similarities)
    same = next((neighbor for neighbor in neighbors if _says_same(neighbor, content)), None)
    if content.scope != "everywhere":
        neighbors += _neighbors(rows, content, rows.scopes([EVERYWHERE]), similarities)
    return RelatedMemories(same, _conflicting(rows, neighbors, content, similarities))


def _neighbors(
    rows: MemoryRecords, content: MemoryContent, scopes: Sequence[IndexedScope], similarities: Mapping[int, float]
) -> tuple[Memory, ...]:
    matches = rank_memories(rows, content.text, scopes, NEIGHBORS, 4 * NEIGHBORS, similarities)
    return tuple(rows.by_keys([match.key for match in matches]))


def _conflicting(
    rows: MemoryRecords, neighbors: Iterable[Memory], content: MemoryContent, similarities: Mapping[int, float]
) -> tuple[Memory, ...]:
    """Return the memories that contradict the content, among `neighbors` and those closest to it in meaning.

    `neighbors` are memories with similar words. `similarities` maps keys of stored memories to the similarity of their
    embeddings to the content, where it is known.
    """
    kinds = _comparable_kinds(content.kind)
    by_words = [
        memory
        for memory in neighbors
        if memory.content.kind in kinds and contradicts(memory.content.text, content.text)
    ]
    same_topic = (key for key, similarity in similarities.items() if similarity >= SAME_TOPIC)
    closest = sorted(same_topic, key=lambda key: -similarities[key])[:NEIGHBORS]
    if not closest:
        return tuple(by_words)
    by_words_ids = {memory.id for memory in by_words}
    by_meaning = (
        memory
        for memory in rows.by_keys(closest)
        if memory.content.kind in kinds
        and memory.id not in by_words_ids
        and paraphrase_contradicts(memory.content.text, content.text)
    )
    return (*by_words, *by_meaning)


def _says_same(memory: Memory, content: MemoryContent) -> bool:
    """Return whether a memory of the same kind and scope says the same as the content."""
    other = memory.content
    if (other.kind, other.scope, other.scope_id) != (content.kind, content.scope, content.scope_id):
        return False
    return says_same(other.text, content.text)


def _comparable_kinds(kind: str) -> frozenset[str]:
    """Return the kinds of memories that can say the same as a memory of this kind, or contradict it."""
    return frozenset({"outcome"}) if kind == "outcome" else frozenset(MEMORY_KINDS) - {"outcome"}


def _normalized_fields(fields: Mapping[str, str]) -> dict[str, str]:
    return {name: " ".join(str(text).split())[:TEXT_LIMIT] for name, text in fields.items() if str(text).strip()}


def _is_about(topic: str, content: MemoryContent) -> bool:
    """Return whether the content is about a topic: its kind has that name, or all words of the topic occur in it."""
    text = f"{content.text} {' '.join(content.fields.values())}"
    return topic.strip().lower() == content.kind or is_mentioned(topic, text)
