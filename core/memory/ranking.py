"""Ranks memories by how well their words match a question: rare words select candidates, all words score them.

The work is bounded: a very common word selects no candidates as long as rarer words select enough, and only the best
MAX_SCORED candidates are scored.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from core.memory.tokenizer import content_words
from core.store.memory_records import IndexedScope, MemoryRecords

SMALL = 2_000  # a scope with at most this many memories is small
POSTINGS = 400  # maximum number of memories read for a word
PROBE = 64  # number of memories read for a word at first, in a scope that is not small
SUFFICIENT_CANDIDATES = 48  # with this many candidates, no further memories are read for common words
MAX_CANDIDATES = 1_000  # maximum number of candidates that all words together select
MAX_SCORED = 160  # maximum number of candidates that are scored
TERMS = 12  # number of words of a question that are used: the rarest ones
# Tuned on the first five conversations of LoCoMo-10; the other five were held out.
K1, B, B_CONTEXT, CONTEXT_WEIGHT = 0.7, 0.4, 1.0, 0.4
CONTEXT_ONLY_WEIGHT = 0.5  # factor for the score of a memory of which only the context matches
# Weight of embedding similarity relative to the best word score. Tuning on either half of LoCoMo-10 gave this value.
SIMILARITY_WEIGHT = 1.2
MAX_SIMILAR_CANDIDATES = 64  # number of candidates that are selected by embedding similarity alone
NO_SIMILARITIES: Mapping[int, float] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class RankedMatch:
    """A memory and how well it matches.

    `share` is the share of the question's total word weight that occurs in the memory's sentence. `matched` are the
    matching stems, and `coverage` is their share of the sentence's words. `matched_context` are the stems that occur in
    its context, and `context_share` their share of the word weight. `similarity` is the embedding similarity to the
    question, 0 if unknown.
    """

    key: int
    score: float
    share: float
    matched: tuple[str, ...] = ()
    coverage: float = 0.0
    similarity: float = 0.0
    matched_context: tuple[str, ...] = ()
    context_share: float = 0.0


@dataclass(slots=True)
class _Term:
    word: str
    keys: list[int]
    frequency: float  # estimated number of memories that contain it


def rank_memories(
    rows: MemoryRecords, question: str, scopes: Iterable[IndexedScope], limit: int, max_scored: int = MAX_SCORED,
    similarities: Mapping[int, float] = NO_SIMILARITIES,
) -> list[RankedMatch]:  # fmt: skip
    """Return the best matches of all scopes, best first, by words and, where known, by embedding similarity."""
    words = list(dict.fromkeys(content_words(question)))
    similar_keys = sorted(similarities, key=lambda key: -similarities[key])[:MAX_SIMILAR_CANDIDATES]
    terms_by_scope = [(scope, _terms(rows, words, scope)) for scope in scopes]
    weights = _weights(terms_by_scope)
    matches = [
        match
        for scope, terms in terms_by_scope
        for match in _rank_scope(rows, terms, weights, scope, max_scored, similar_keys)
    ]
    if similarities:
        matches = _blend(matches, similarities)
    return sorted(matches, key=lambda match: (-match.score, -match.key))[:limit]


def _blend(matches: Sequence[RankedMatch], similarities: Mapping[int, float]) -> list[RankedMatch]:
    """Combine word scores and similarities.

    `similarities` contains only the most similar memories. Every other memory gets the lowest of them, which is an
    upper bound.
    """
    best = max((match.score for match in matches), default=0.0) or 1.0
    lowest = min(similarities.values())
    return [
        replace(
            match,
            score=match.score / best + SIMILARITY_WEIGHT * similarities.get(match.key, lowest),
            similarity=similarities.get(match.key, 0.0),
        )
        for match in matches
    ]


def _terms(rows: MemoryRecords, words: Sequence[str], scope: IndexedScope) -> list[_Term]:
    """Return the rarest words of the question that occur in a scope."""
    terms = [term for word in words[: 4 * TERMS] if (term := _look_up(rows, word, scope)).keys]
    return sorted(terms, key=lambda term: term.frequency)[:TERMS]


def _weights(terms_by_scope: Sequence[tuple[IndexedScope, Sequence[_Term]]]) -> dict[str, float]:
    """Return the weight of each word by its rarity in all scopes together, because a tiny scope says little."""
    memories = sum(scope.memories for scope, _ in terms_by_scope)
    frequencies: dict[str, float] = {}
    for term in (term for _, terms in terms_by_scope for term in terms):
        frequencies[term.word] = frequencies.get(term.word, 0.0) + term.frequency
    return {
        word: math.log(1 + (memories - frequency + 0.5) / (frequency + 0.5)) for word, frequency in frequencies.items()
    }


def _rank_scope(
    rows: MemoryRecords, terms: Sequence[_Term], weights: Mapping[str, float], scope: IndexedScope, max_scored: int,
    similar_keys: Sequence[int],
) -> list[RankedMatch]:  # fmt: skip
    keys = _candidates(rows, terms, weights, scope)[:max_scored]
    if similar_keys:
        keys = list(dict.fromkeys(keys + [key for key in similar_keys if key >> 32 == scope.number]))
    return _score(rows.index_terms(keys), weights, scope) if keys else []


def _look_up(rows: MemoryRecords, word: str, scope: IndexedScope) -> _Term:
    """Look up a word in a scope.

    For a common word only the newest memories are read, and the total is estimated from the spacing of their keys.
    """
    limit = POSTINGS if scope.memories <= SMALL else PROBE
    keys = rows.postings(word, scope.number, limit)
    if len(keys) < limit:
        return _Term(word, keys, float(len(keys)))
    spread = max(1, keys[0] - keys[-1])
    return _Term(word, keys, max(float(limit), min(1.0, limit / spread) * scope.memories))


def _candidates(
    rows: MemoryRecords, terms: Sequence[_Term], weights: Mapping[str, float], scope: IndexedScope
) -> list[int]:
    """Select candidates by rare words first. If all words are common, select memories that contain most words."""
    scores: dict[int, float] = {}
    for rank, term in enumerate(terms):
        if len(term.keys) == PROBE and len(scores) < SUFFICIENT_CANDIDATES:
            term.keys = rows.postings(term.word, scope.number, POSTINGS)
        if rank and len(scores) + len(term.keys) > MAX_CANDIDATES:
            break
        weight = weights[term.word]
        for key in term.keys:
            scores[key] = scores.get(key, 0.0) + weight
    common = [term.word for term in terms if term.frequency >= POSTINGS]
    if len(common) == len(terms) and len(common) > 1:
        rarer = common[: max(2, len(common) // 2)]
        rarer_keys = rows.containing_all(rarer, scope.number, MAX_SCORED)
        for words, keys in ((common, _containing_all(rows, common, rarer, rarer_keys, scope)), (rarer, rarer_keys)):
            weight = sum(weights[word] for word in words)
            for key in keys:
                scores[key] = scores.get(key, 0.0) + weight
    return sorted(sorted(scores, reverse=True), key=scores.__getitem__, reverse=True)  # Among equals, the newest first.


def _containing_all(
    rows: MemoryRecords, common: Sequence[str], rarer: Sequence[str], rarer_keys: Sequence[int], scope: IndexedScope
) -> Sequence[int]:
    """Return the memories that contain all words of `common`.

    `rarer_keys` are memories that contain the words of `rarer`. The index is searched only if they reached their limit.
    """
    if len(rarer_keys) >= MAX_SCORED:
        return rows.containing_all(common, scope.number, MAX_SCORED)
    missing = set(common) - set(rarer)
    return [
        key
        for key, text, context in rows.index_terms(rarer_keys)
        if missing.issubset((*text.split(), *context.split()))
    ]


def _score(
    index_terms: Iterable[tuple[int, str, str]], weights: Mapping[str, float], scope: IndexedScope
) -> list[RankedMatch]:
    """Score memories with BM25 over two fields: the sentence, and its context at a lower weight."""
    average_text = max(1.0, scope.words / scope.memories)
    average_context = max(1.0, scope.context_words / scope.memories)
    total_weight = sum(weights.values()) or 1.0
    matches = []
    for key, text, context in index_terms:
        text_stems, context_stems = text.split(), context.split()
        text_set, context_set = set(text_stems), set(context_stems)
        text_norm = 1 - B + B * len(text_stems) / average_text
        context_norm = 1 - B_CONTEXT + B_CONTEXT * len(context_stems) / average_context
        score = share = context_share = 0.0
        matched: list[str] = []
        matched_context: list[str] = []
        for word, weight in weights.items():
            frequency = 0.0
            if word in text_set:
                frequency = text_stems.count(word) / text_norm
                matched.append(word)
                share += weight
            if word in context_set:
                frequency += CONTEXT_WEIGHT * context_stems.count(word) / context_norm
                matched_context.append(word)
                context_share += weight
            if frequency:
                score += weight * frequency * (K1 + 1) / (frequency + K1)
        if not matched:
            score *= CONTEXT_ONLY_WEIGHT
        coverage = len(matched) / len(text_set) if matched else 0.0
        matches.append(
            RankedMatch(
                key, score, share / total_weight, tuple(matched), coverage, 0.0, tuple(matched_context),
                context_share / total_weight,
            )
        )  # fmt: skip
    return matches
