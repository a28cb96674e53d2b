"""Chooses the memories to add to a run's context, within a budget: pinned ones and preferences, then matches."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from core.domain.memory import Memory, MemoryKind, relevance
from core.domain.recall_events import RecalledMemory
from core.memory.ranking import NO_SIMILARITIES, RankedMatch, rank_memories
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
    rows: MemoryRecords, question: str, wanted: Iterable[tuple[str, str]], at: int, most: int,
    near: Mapping[int, float] = NO_SIMILARITIES,
) -> list[FoundMemory]:  # fmt: skip
    """Return the memories in these scopes that match a question, best first."""
    fits = [
        fit
        for fit in rank_memories(rows, question, rows.scopes(wanted), most, near=near)
        if fit.matched or fit.similarity >= MIN_SEARCH_SIMILARITY
    ]
    return rerank(fits, rows.by_keys([fit.key for fit in fits]), at)


def rerank(fits: Collection[RankedMatch], memories: Iterable[Memory], at: int) -> list[FoundMemory]:
    """Order matches by score, preferring fresh, helpful and confident memories among similar scores."""
    best = max((fit.score for fit in fits), default=0.0)
    told = []
    for fit, memory in zip(fits, memories, strict=True):
        uses = memory.usage
        helped = (uses.good_runs - uses.bad_runs) / (uses.good_runs + uses.bad_runs + 1)
        bonus = FRESH * relevance(memory, at) + HELPED * helped + SURE * memory.content.confidence
        score = fit.score / best * (1 + bonus) / (1 + FRESH + HELPED + SURE) if best else 0.0
        told.append(
            FoundMemory(
                memory,
                round(score, 4),
                round(fit.share, 4),
                _why(fit),
                len(fit.matched) > 1,
            )
        )
    return sorted(told, key=lambda one: -one.score)


def _why(fit: RankedMatch) -> str:
    words = f"words: {', '.join(fit.matched[:6])}" if fit.matched else ""
    return "; ".join(
        part
        for part in (words, f"similarity: {fit.similarity:.2f}" if fit.similarity >= MIN_SEARCH_SIMILARITY else "")
        if part
    )


def recall(
    rows: MemoryRecords, question: str, wanted: Collection[tuple[str, str]], at: int, *, told: Collection[str] = (),
    tokens: int = TOKENS, near: Mapping[int, float] = NO_SIMILARITIES,
) -> RecallResult:  # fmt: skip
    """Return the memories to add for a user message, leaving out the IDs in `told`, which were added before."""
    places = rows.scopes(wanted)
    if not places:
        return RecallResult()
    always = [one for one in rows.always_recalled([place.number for place in places], ALWAYS) if one.id not in told]
    must = [FoundMemory(one, 1.0, 0.0, "pinned by the user" if one.pinned else "preference") for one in always]
    known = {one.memory.id for one in must} | set(told)
    fits = rank_memories(rows, question, places, MAX_MATCHES, near=near)
    good = [fit for fit in fits if _is_relevant(fit)]
    best = rerank(good, rows.by_keys([fit.key for fit in good]), at)
    return _within_budget(
        must, _limit_by_kind(one for one in best if one.memory.id not in known and _is_worth_recalling(one)), tokens
    )


def _is_relevant(fit: RankedMatch) -> bool:
    """Return whether a match is unlikely to be accidental.

    Either the embeddings are similar, or the matching words cover enough of the question or of the memory's sentence;
    then there must also be several of them, or a single one that covers SURE_SHARE of the question.
    """
    enough = fit.share >= LEAST_SHARE or fit.coverage >= MIN_COVERAGE
    return _is_similar(fit) or (enough and (len(fit.matched) > 1 or fit.share >= SURE_SHARE))


def _is_similar(fit: RankedMatch) -> bool:
    return fit.similarity >= MIN_SIMILARITY


def _is_worth_recalling(found: FoundMemory) -> bool:
    """Return whether a memory is worth recalling. An outcome must have details and belong to a similar task."""
    memory = found.memory
    if memory.content.kind != "outcome":
        return True
    return (
        found.share >= MIN_OUTCOME_SHARE
        and bool(memory.content.fields.keys() & {"tried", "error", "rating"})
        and found.several_words
    )


def _limit_by_kind(found: Iterable[FoundMemory]) -> list[FoundMemory]:
    counts: dict[MemoryKind, int] = {}
    few = []
    for one in found:
        kind = one.memory.content.kind
        counts[kind] = counts.get(kind, 0) + 1
        if counts[kind] <= MAX_BY_KIND[kind]:
            few.append(one)
    return few


def _within_budget(must: Iterable[FoundMemory], fits: Iterable[FoundMemory], tokens: int) -> RecallResult:
    items: list[RecalledMemory] = []
    spent, left = 0, 0
    for share, group in ((MUST, must), (SHOULD, fits)):
        for one in group:
            item = _item(one)
            if spent + _tokens(item.text) > share * tokens:
                left += 1
                continue
            spent += _tokens(item.text)
            items.append(item)
    return RecallResult(tuple(items), left)


def _item(found: FoundMemory) -> RecalledMemory:
    memory, text = found.memory, found.memory.content.text
    whole = len(text) <= FULL_TEXT_CHARS
    short = text if whole else text[: FULL_TEXT_CHARS - 1].rsplit(" ", 1)[0] + " …"
    return RecalledMemory(
        memory.id, memory.version, memory.content.kind, found.score, found.reason, short, found.share, whole
    )


def _tokens(text: str) -> int:
    return len(text.encode("utf-8", "replace")) // 4 + 12
