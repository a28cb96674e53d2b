"""Chooses the memories to add to a run's context, within a budget: pinned ones and preferences, then matches."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from core.domain.memory import Memory, MemoryKind, relevance
from core.domain.memory_marks import is_expired, user_rating_of
from core.domain.recall_events import RecalledMemory
from core.memory.ranking import NO_SIMILARITIES, RankedMatch, rank_memories
from core.memory.similarity import says_same
from core.store.memory_records import MemoryRecords

TOKENS = 1_200
MUST, SHOULD = 0.4, 0.75  # share of the budget for memories that are always recalled, and for those plus matches
FULL_TEXT_CHARS = 240  # maximum number of characters of a memory that is recalled in full
MAX_MATCHES = 30  # maximum number of matches that are considered
ALWAYS = 12  # maximum number of preferences and pinned memories
MIN_OUTCOME_SHARE = 0.4  # minimum share of the question that an outcome must cover
MIN_COVERAGE = 0.4  # minimum share of the words of the memory's sentence that match
MIN_SIMILARITY = 0.5  # minimum similarity of a match by embedding alone
MIN_SEARCH_SIMILARITY = 0.35  # lower for a search by the user, who can ignore the weaker matches at the end
LEAST_SHARE, SURE_SHARE = 0.2, 0.6  # share of the question: the minimum, and enough if only one word matches
REASON_WORDS = 6  # maximum number of matching words that the reason of a memory lists
MAX_BY_KIND: Mapping[MemoryKind, int] = MappingProxyType(
    {"preference": 12, "heuristic": 6, "knowledge": 6, "outcome": 2, "anti-pattern": 4}
)
# Maximum bonuses for freshness, helpfulness and confidence. Their sum is less than the weight of a matching word.
FRESH, HELPED, SURE = 0.04, 0.04, 0.02


@dataclass(frozen=True, slots=True)
class FoundMemory:
    """A memory that matches, with its score and the reason.

    `share` is the share of the question that the memory covers. `several_words` says whether several words matched.
    """

    memory: Memory
    score: float
    share: float
    reason: str
    several_words: bool = True


@dataclass(frozen=True, slots=True)
class RecallResult:
    """The memories to add to the context, in order; `omitted` counts matches that did not fit the budget."""

    items: tuple[RecalledMemory, ...] = ()
    omitted: int = 0


def find_memories(
    rows: MemoryRecords, question: str, scopes: Iterable[tuple[str, str]], at: int, limit: int,
    similarities: Mapping[int, float] = NO_SIMILARITIES,
) -> list[FoundMemory]:  # fmt: skip
    """Return the memories in these scopes that match a question, best first."""
    matches = [
        match
        for match in rank_memories(rows, question, rows.scopes(scopes), limit, similarities=similarities)
        if match.matched or match.matched_context or match.similarity >= MIN_SEARCH_SIMILARITY
    ]
    return rerank(matches, rows.by_keys([match.key for match in matches]), at)


def rerank(matches: Collection[RankedMatch], memories: Iterable[Memory], at: int) -> list[FoundMemory]:
    """Order matches by score, preferring fresh, helpful and confident memories among similar scores."""
    best = max((match.score for match in matches), default=0.0)
    results = []
    for match, memory in zip(matches, memories, strict=True):
        uses = memory.usage
        rated = {"good": 1.0, "bad": -1.0}.get(user_rating_of(memory.content))
        helped = rated or (uses.good_runs - uses.bad_runs) / (uses.good_runs + uses.bad_runs + 1)
        bonus = FRESH * relevance(memory, at) + HELPED * helped + SURE * memory.content.confidence
        score = match.score / best * (1 + bonus) / (1 + FRESH + HELPED + SURE) if best else 0.0
        results.append(
            FoundMemory(
                memory,
                round(score, 4),
                round(match.share, 4),
                _reason(match),
                len(match.matched) > 1,
            )
        )
    return sorted(results, key=lambda result: -result.score)


def _reason(match: RankedMatch) -> str:
    parts = []
    if match.matched:
        parts.append(f"words: {', '.join(match.matched[:REASON_WORDS])}")
    around = [word for word in match.matched_context if word not in match.matched]
    if around:
        parts.append(f"words in its context: {', '.join(around[:REASON_WORDS])}")
    if match.similarity >= MIN_SEARCH_SIMILARITY:
        parts.append(f"similarity: {match.similarity:.2f}")
    return "; ".join(parts)


def recall(
    rows: MemoryRecords, question: str, scopes: Collection[tuple[str, str]], at: int, *,
    already_recalled: Collection[str] = (), tokens: int = TOKENS,
    similarities: Mapping[int, float] = NO_SIMILARITIES,
) -> RecallResult:  # fmt: skip
    """Return the memories to add for a user message, leaving out the IDs that were added before."""
    indexed_scopes = rows.scopes(scopes)
    if not indexed_scopes:
        return RecallResult()
    always, repeated = _always_recalled(rows, [scope.number for scope in indexed_scopes], at)
    must = [
        FoundMemory(memory, 1.0, 0.0, "pinned by the user" if memory.pinned else "preference")
        for memory in always
        if memory.id not in already_recalled
    ]
    excluded = {candidate.memory.id for candidate in must} | repeated | set(already_recalled)
    matches = rank_memories(rows, question, indexed_scopes, MAX_MATCHES, similarities=similarities)
    relevant = [match for match in matches if _is_relevant(match)]
    ranked = rerank(relevant, rows.by_keys([match.key for match in relevant]), at)
    new = [
        candidate for candidate in ranked if candidate.memory.id not in excluded and _is_worth_recalling(candidate, at)
    ]
    return _within_budget(must, _limit_by_kind(new), tokens)


def _always_recalled(rows: MemoryRecords, scope_numbers: Sequence[int], at: int) -> tuple[list[Memory], set[str]]:
    """Return the preferences and pinned memories to recall, and the IDs of those that say the same as one of them.

    The same preference can be in several scopes.
    """
    kept: list[Memory] = []
    repeated: set[str] = set()
    for memory in rows.always_recalled(scope_numbers):
        if len(kept) == ALWAYS:
            break
        if any(says_same(memory.content.text, other.content.text) for other in kept):
            repeated.add(memory.id)
        elif _is_usable(memory, at):
            kept.append(memory)
    return kept, repeated


def _is_relevant(match: RankedMatch) -> bool:
    """Return whether a match is unlikely to be accidental.

    Either the embeddings are similar, or several words in the memory's context cover SURE_SHARE of the question, or the
    matching words cover enough of the question or of the memory's sentence; then there must also be several of them, or
    a single one that covers SURE_SHARE of the question.
    """
    enough = match.share >= LEAST_SHARE or match.coverage >= MIN_COVERAGE
    in_context = len(match.matched_context) > 1 and match.context_share >= SURE_SHARE
    return _is_similar(match) or in_context or (enough and (len(match.matched) > 1 or match.share >= SURE_SHARE))


def _is_similar(match: RankedMatch) -> bool:
    return match.similarity >= MIN_SIMILARITY


def _is_worth_recalling(candidate: FoundMemory, at: int) -> bool:
    """Return whether a memory is worth recalling. An outcome must have details and belong to a similar task."""
    memory = candidate.memory
    if not _is_usable(memory, at):
        return False
    if memory.content.kind != "outcome":
        return True
    return (
        candidate.share >= MIN_OUTCOME_SHARE
        and bool(memory.content.fields.keys() & {"tried", "error", "rating"})
        and candidate.several_words
    )


def _is_usable(memory: Memory, at: int) -> bool:
    """Return whether a memory has not expired and the user has not called it unhelpful."""
    return not is_expired(memory.content, at) and user_rating_of(memory.content) != "bad"


def _limit_by_kind(candidates: Iterable[FoundMemory]) -> list[FoundMemory]:
    counts: dict[MemoryKind, int] = {}
    limited = []
    for candidate in candidates:
        kind = candidate.memory.content.kind
        counts[kind] = counts.get(kind, 0) + 1
        if counts[kind] <= MAX_BY_KIND[kind]:
            limited.append(candidate)
    return limited


def _within_budget(must: Iterable[FoundMemory], matches: Iterable[FoundMemory], tokens: int) -> RecallResult:
    items: list[RecalledMemory] = []
    spent, omitted = 0, 0
    for share, group in ((MUST, must), (SHOULD, matches)):
        for candidate in group:
            item = _item(candidate)
            if spent + _tokens(item.text) > share * tokens:
                omitted += 1
                continue
            spent += _tokens(item.text)
            items.append(item)
    return RecallResult(tuple(items), omitted)


def _item(candidate: FoundMemory) -> RecalledMemory:
    memory, text = candidate.memory, candidate.memory.content.text
    is_complete = len(text) <= FULL_TEXT_CHARS
    shortened = text if is_complete else text[: FULL_TEXT_CHARS - 1].rsplit(" ", 1)[0] + " …"
    return RecalledMemory(
        memory.id,
        memory.version,
        memory.content.kind,
        candidate.score,
        candidate.reason,
        shortened,
        candidate.share,
        is_complete,
    )


def _tokens(text: str) -> int:
    return len(text.encode("utf-8", "replace")) // 4 + 12
