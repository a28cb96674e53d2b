"""Chooses the memories to add to a run's context within a token limit: preferences and pinned ones, then matches."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from core.domain.memory import Memory, MemoryKind, relevance
from core.domain.memory_marks import is_expired, user_rating_of
from core.domain.recall_events import RecalledMemory
from core.memory.ranking import NO_SIMILARITIES, RankedMatch, rank_memories
from core.memory.similarity import says_same
from core.store.memory_records import MemoryRecords

TOKENS = 1_200  # maximum length of the recalled memories in a request
PINNED_TOKEN_SHARE = 0.4  # share of the token limit for the preferences and pinned memories
TOTAL_TOKEN_SHARE = 0.75  # share of the token limit for these and the matches together
FULL_TEXT_CHARS = 240  # maximum number of characters of a memory that is added in full; of a longer one, only the start
MAX_MATCHES = 30  # maximum number of matches that are considered
MAX_PINNED = 12  # maximum number of preferences and pinned memories
MIN_OUTCOME_SHARE = 0.4  # minimum share of the question that an outcome memory must cover
MIN_COVERAGE = 0.4  # minimum share of the words in the memory's sentence that occur in the question
MIN_SIMILARITY = 0.5  # minimum embedding similarity of a memory that matches without common words
# The same for a search by the user: lower, because the user can ignore the weaker matches at the end.
MIN_SEARCH_SIMILARITY = 0.35
MIN_SHARE = 0.2  # minimum share of the question that a memory must cover
SUFFICIENT_SHARE = 0.6  # share of the question that is enough with a single common word
REASON_WORDS = 6  # maximum number of common words that are listed in the reason why a memory was found
MAX_BY_KIND: Mapping[MemoryKind, int] = MappingProxyType(
    {"preference": 12, "heuristic": 6, "knowledge": 6, "outcome": 2, "anti-pattern": 4}
)
# How much a memory's score increases at most because it is new, helped before, or has a high confidence. The sum is
# less than the score of a matching word.
NEW_BONUS = 0.04
HELPED_BONUS = 0.04
CONFIDENCE_BONUS = 0.02
MAX_BONUS = NEW_BONUS + HELPED_BONUS + CONFIDENCE_BONUS


@dataclass(frozen=True, slots=True)
class FoundMemory:
    """A memory that matches a question, with its score and the reason, as a text for the user.

    Attributes:
        share: the share of the question's total word weight that occurs in the memory.
        several_words: whether several words of the question occur in it.
    """

    memory: Memory
    score: float
    share: float
    reason: str
    several_words: bool = True


@dataclass(frozen=True, slots=True)
class RecallResult:
    """The memories to add to the context, in order, and the number of those that exceeded the limit (`omitted`)."""

    items: tuple[RecalledMemory, ...] = ()
    omitted: int = 0


def find_memories(
    rows: MemoryRecords,
    question: str,
    scopes: Iterable[tuple[str, str]],
    at: int,
    limit: int,
    similarities: Mapping[int, float] = NO_SIMILARITIES,
) -> list[FoundMemory]:
    """Return the memories in these scopes that match a question at the time `at`, best first.

    `similarities` maps keys of memories to the similarity of their embeddings to the question, where it is known.
    """
    matches = [
        match
        for match in rank_memories(rows, question, rows.scopes(scopes), limit, similarities=similarities)
        if match.matched or match.matched_context or match.similarity >= MIN_SEARCH_SIMILARITY
    ]
    return rerank(matches, rows.by_keys([match.key for match in matches]), at)


def rerank(matches: Collection[RankedMatch], memories: Iterable[Memory], at: int) -> list[FoundMemory]:
    """Return matches by score, with their memories. Among similar scores, new and helpful memories come first."""
    best = max((match.score for match in matches), default=0.0)
    results = []
    for match, memory in zip(matches, memories, strict=True):
        uses = memory.usage
        rated = {"good": 1.0, "bad": -1.0}.get(user_rating_of(memory.content))
        helped = rated or (uses.good_runs - uses.bad_runs) / (uses.good_runs + uses.bad_runs + 1)
        bonus = NEW_BONUS * relevance(memory, at) + HELPED_BONUS * helped + CONFIDENCE_BONUS * memory.content.confidence
        score = match.score / best * (1 + bonus) / (1 + MAX_BONUS) if best else 0.0
        results.append(
            FoundMemory(
                memory=memory,
                score=round(score, 4),
                share=round(match.share, 4),
                reason=_reason(match),
                several_words=len(match.matched) > 1,
            )
        )
    return sorted(results, key=lambda result: -result.score)


def _reason(match: RankedMatch) -> str:
    parts = []
    if match.matched:
        parts.append(f"words: {', '.join(match.matched[:REASON_WORDS])}")
    only_in_context = [word for word in match.matched_context if word not in match.matched]
    if only_in_context:
        parts.append(f"words in its context: {', '.join(only_in_context[:REASON_WORDS])}")
    if match.similarity >= MIN_SEARCH_SIMILARITY:
        parts.append(f"similarity: {match.similarity:.2f}")
    return "; ".join(parts)


def recall(
    rows: MemoryRecords,
    question: str,
    scopes: Collection[tuple[str, str]],
    at: int,
    *,
    already_recalled: Collection[str] = (),
    tokens: int = TOKENS,
    similarities: Mapping[int, float] = NO_SIMILARITIES,
) -> RecallResult:
    """Return the memories to add to the context for the user message `question`, with `tokens` tokens at most.

    `already_recalled` are the IDs of the memories that were added before; they are left out.
    """
    indexed_scopes = rows.scopes(scopes)
    if not indexed_scopes:
        return RecallResult()
    always = _always_recalled(rows, [scope.number for scope in indexed_scopes], at)
    pinned = [
        FoundMemory(memory, score=1.0, share=0.0, reason="pinned by the user" if memory.pinned else "preference")
        for memory in always[:MAX_PINNED]
        if memory.id not in already_recalled
    ]
    matches = rank_memories(rows, question, indexed_scopes, MAX_MATCHES, similarities=similarities)
    relevant = [match for match in matches if _is_relevant(match)]
    ranked = rerank(relevant, rows.by_keys([match.key for match in relevant]), at)
    added = [candidate.memory for candidate in pinned]
    new: list[FoundMemory] = []
    for candidate in ranked:
        memory = candidate.memory
        is_new = memory.id not in already_recalled and not _is_repeated(memory, added)
        if is_new and _is_worth_recalling(candidate, at):
            added.append(memory)
            new.append(candidate)
    limited = _limit_by_kind(new)
    chosen = {candidate.memory.id for candidate in limited} | set(already_recalled)
    beyond_limit = [memory for memory in always[MAX_PINNED:] if memory.id not in chosen]
    return _within_budget(pinned, limited, tokens, len(beyond_limit))


def _always_recalled(rows: MemoryRecords, scope_numbers: Sequence[int], at: int) -> list[Memory]:
    """Return the preferences and pinned memories of the scopes, without repetitions; those to add first come first."""
    kept: list[Memory] = []
    for memory in rows.always_recalled(scope_numbers):
        if _is_usable(memory, at) and not _is_repeated(memory, kept[:MAX_PINNED]):
            kept.append(memory)
    return kept


def _is_repeated(memory: Memory, others: Iterable[Memory]) -> bool:
    """Return whether another memory says the same. A statement can be stored in several scopes, as several kinds.

    An outcome never counts as a repetition, because each one is about another run.
    """
    if memory.content.kind == "outcome":
        return any(memory.id == other.id for other in others)
    return any(says_same(memory.content.text, other.content.text) for other in others)


def _is_relevant(match: RankedMatch) -> bool:
    """Return whether a match is unlikely to be accidental. One of these conditions is sufficient.

    - The embeddings are similar.
    - Several words of the question occur in the memory's context and make up SUFFICIENT_SHARE of the question.
    - The words of the question in the memory's sentence make up enough of the question or of the sentence. There must
      be several of them, or a single one that makes up SUFFICIENT_SHARE of the question.
    """
    if match.similarity >= MIN_SIMILARITY:
        return True
    if len(match.matched_context) > 1 and match.context_share >= SUFFICIENT_SHARE:
        return True
    covers_enough = match.share >= MIN_SHARE or match.coverage >= MIN_COVERAGE
    return covers_enough and (len(match.matched) > 1 or match.share >= SUFFICIENT_SHARE)


def _is_worth_recalling(candidate: FoundMemory, at: int) -> bool:
    """Return whether to add a match to the context. An outcome must have details and be of a similar task."""
    memory = candidate.memory
    if not _is_usable(memory, at):
        return False
    if memory.content.kind != "outcome":
        return True
    has_details = bool(memory.content.fields.keys() & {"tried", "error", "rating"})
    return has_details and candidate.several_words and candidate.share >= MIN_OUTCOME_SHARE


def _is_usable(memory: Memory, at: int) -> bool:
    """Return whether a memory has not expired at the time `at` and the user has not rated it as unhelpful."""
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


def _within_budget(
    pinned: Iterable[FoundMemory], matches: Iterable[FoundMemory], tokens: int, omitted: int
) -> RecallResult:
    """Return as many of the memories as fit. `omitted` is the number of those that were left out before."""
    items: list[RecalledMemory] = []
    spent = 0
    for share, group in ((PINNED_TOKEN_SHARE, pinned), (TOTAL_TOKEN_SHARE, matches)):
        for candidate in group:
            item = _to_recalled(candidate)
            if spent + _tokens(item.text) > share * tokens:
                omitted += 1
                continue
            spent += _tokens(item.text)
            items.append(item)
    return RecallResult(tuple(items), omitted)


def _to_recalled(candidate: FoundMemory) -> RecalledMemory:
    memory = candidate.memory
    text = memory.content.text
    is_complete = len(text) <= FULL_TEXT_CHARS
    return RecalledMemory(
        memory_id=memory.id,
        version=memory.version,
        kind=memory.content.kind,
        score=candidate.score,
        reason=candidate.reason,
        text=text if is_complete else f"{_start_of(text)} …",
        keyword_score=candidate.share,
        in_full=is_complete,
    )


def _start_of(text: str) -> str:
    """Return the start of a long text. It ends with a whole word unless that shortens it by more than a third."""
    start = text[: FULL_TEXT_CHARS - 2]
    space = start.rfind(" ")
    return start[:space] if space > len(start) * 2 // 3 else start


def _tokens(text: str) -> int:
    """Estimate the number of tokens of a memory in a request, including its ID and kind."""
    return len(text.encode("utf-8", "replace")) // 4 + 12
