"""Ranks memories by how well their words match a question: rare words select candidates, and all words score them.

The work is bounded, however many memories there are. For a very common word, only few memories are read unless the
rarer words select too few candidates. Only the best MAX_SCORED candidates of each scope are scored.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from core.memory.tokenizer import content_words
from core.store.memory_records import IndexedScope, IndexedWords, MemoryRecords

SMALL_SCOPE = 2_000  # A scope with at most this many memories is small.
MAX_POSTINGS = 400  # maximum number of memories that are read from the index for a word
FIRST_POSTINGS = 64  # number of memories that are read for a word at first, in a scope that is not small
SUFFICIENT_CANDIDATES = 48  # With this many candidates, no further memories are read for the common words.
MAX_CANDIDATES = 1_000  # maximum number of candidates in a scope that its words select together
MAX_SCORED = 160  # maximum number of candidates in a scope that are scored
MAX_TERMS = 12  # maximum number of words of a question that are used for each scope: the rarest ones
MAX_LOOKUPS = 4 * MAX_TERMS  # number of words of a question whose frequency is looked up
# The parameters of BM25 were tuned on the first five conversations of LoCoMo-10, a public benchmark for memory. The
# other five were not used for tuning.
K1 = 0.7
B = 0.4  # for the sentence of a memory
B_CONTEXT = 1.0
CONTEXT_WEIGHT = 0.4  # weight of a word in the context, relative to one in the sentence
# Factor for the score of a memory in which the words of the question occur only in the context.
CONTEXT_ONLY_WEIGHT = 0.5
# The weight of the embedding similarity. The word scores are scaled so that the best one is 1. Tuning on either half of
# LoCoMo-10 gave this value.
SIMILARITY_WEIGHT = 1.2
# Number of memories that are also scored because their embeddings are the most similar ones.
MAX_SIMILAR_CANDIDATES = 64
NO_SIMILARITIES: Mapping[int, float] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class RankedMatch:
    """A memory, by its key, and how well it matches a question.

    The words are compared as stems. The weight of a word is higher the rarer it is.

    Attributes:
        score: the score by which the matches are ordered.
        share: the share of the question's total word weight that occurs in the sentence of the memory.
        matched: the words of the question that occur in the sentence.
        coverage: the share of the sentence's different words that are in `matched`.
        similarity: the similarity of the embeddings of the memory and the question; 0 if unknown.
        matched_context: the words of the question that occur in the context of the memory.
        context_share: their share of the question's total word weight.
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
    frequency: float  # estimated number of memories in the scope that contain the word


def rank_memories(
    rows: MemoryRecords,
    question: str,
    scopes: Iterable[IndexedScope],
    limit: int,
    max_scored: int = MAX_SCORED,
    similarities: Mapping[int, float] = NO_SIMILARITIES,
) -> list[RankedMatch]:
    """Return the best `limit` memories of all scopes, best first, by words and by `similarities`.

    `similarities` maps keys of memories to the similarity of their embeddings to the question, where it is known.
    """
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
    """Return the matches with scores that combine the words and the similarities of embeddings.

    `similarities` contains only the most similar memories. All other memories are counted with the lowest value in it,
    which is higher than their real one.
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
    """Return the rarest words of the question that occur in memories of a scope, the rarest first."""
    terms = [term for word in words[:MAX_LOOKUPS] if (term := _look_up(rows, word, scope)).keys]
    return sorted(terms, key=lambda term: term.frequency)[:MAX_TERMS]


def _weights(terms_by_scope: Sequence[tuple[IndexedScope, Sequence[_Term]]]) -> dict[str, float]:
    """Return the weight of each word: the rarer it is in all scopes together, the higher.

    The scopes are not weighted separately, because the frequencies in a scope with few memories mean little.
    """
    memories = sum(scope.memories for scope, _ in terms_by_scope)
    frequencies: dict[str, float] = {}
    for _, terms in terms_by_scope:
        for term in terms:
            frequencies[term.word] = frequencies.get(term.word, 0.0) + term.frequency
    return {
        word: math.log(1 + (memories - frequency + 0.5) / (frequency + 0.5)) for word, frequency in frequencies.items()
    }


def _rank_scope(
    rows: MemoryRecords,
    terms: Sequence[_Term],
    weights: Mapping[str, float],
    scope: IndexedScope,
    max_scored: int,
    similar_keys: Sequence[int],
) -> list[RankedMatch]:
    keys = _candidates(rows, terms, weights, scope)[:max_scored]
    if similar_keys:
        keys = list(dict.fromkeys(keys + [key for key in similar_keys if key >> 32 == scope.number]))
    return _score(rows.index_terms(keys), weights, scope) if keys else []


def _look_up(rows: MemoryRecords, word: str, scope: IndexedScope) -> _Term:
    """Return a word with the keys of the newest memories of a scope that contain it, and their number.

    If there are more memories than are read, their number is estimated from how close together the keys are.
    """
    limit = MAX_POSTINGS if scope.memories <= SMALL_SCOPE else FIRST_POSTINGS
    keys = rows.postings(word, scope.number, limit)
    if len(keys) < limit:
        return _Term(word, keys, frequency=float(len(keys)))
    key_range = max(1, keys[0] - keys[-1])
    share = min(1.0, limit / key_range)
    return _Term(word, keys, frequency=max(float(limit), share * scope.memories))


def _candidates(
    rows: MemoryRecords, terms: Sequence[_Term], weights: Mapping[str, float], scope: IndexedScope
) -> list[int]:
    """Return the keys of the candidates in a scope, those with the highest word weight first.

    `terms` are the words, rarest first. If all of them are common, the memories that contain all or the rarer half of
    them are candidates too, because they may not be among the newest.
    """
    scores: dict[int, float] = {}
    for rank, term in enumerate(terms):
        if len(term.keys) == FIRST_POSTINGS and len(scores) < SUFFICIENT_CANDIDATES:
            term.keys = rows.postings(term.word, scope.number, MAX_POSTINGS)
        if rank and len(scores) + len(term.keys) > MAX_CANDIDATES:
            break
        weight = weights[term.word]
        for key in term.keys:
            scores[key] = scores.get(key, 0.0) + weight
    common = [term.word for term in terms if term.frequency >= MAX_POSTINGS]
    if len(common) == len(terms) and len(common) > 1:
        rarer = common[: max(2, len(common) // 2)]
        rarer_keys = rows.containing_all(rarer, scope.number, MAX_SCORED)
        common_keys = _containing_all(rows, common, rarer, rarer_keys, scope)
        for words, keys in ((common, common_keys), (rarer, rarer_keys)):
            weight = sum(weights[word] for word in words)
            for key in keys:
                scores[key] = scores.get(key, 0.0) + weight
    # Among memories with equal scores, the newest comes first.
    return sorted(sorted(scores, reverse=True), key=scores.__getitem__, reverse=True)


def _containing_all(
    rows: MemoryRecords, common: Sequence[str], rarer: Sequence[str], rarer_keys: Sequence[int], scope: IndexedScope
) -> Sequence[int]:
    """Return the keys of memories in a scope that contain all words of `common`.

    `rarer_keys` are memories that contain all words of `rarer`, which is a part of `common`. The index is searched only
    if there may be more such memories; otherwise, it is enough to check these.
    """
    if len(rarer_keys) >= MAX_SCORED:
        return rows.containing_all(common, scope.number, MAX_SCORED)
    missing = set(common) - set(rarer)
    return [
        indexed.key
        for indexed in rows.index_terms(rarer_keys)
        if missing.issubset((*indexed.words.split(), *indexed.context_words.split()))
    ]


def _score(memories: Iterable[IndexedWords], weights: Mapping[str, float], scope: IndexedScope) -> list[RankedMatch]:
    """Return memories with their BM25 scores. Words in the context count less than words in the sentence."""
    average_text = max(1.0, scope.words / scope.memories)
    average_context = max(1.0, scope.context_words / scope.memories)
    return [_score_one(memory, weights, average_text, average_context) for memory in memories]


def _score_one(
    memory: IndexedWords, weights: Mapping[str, float], average_text: float, average_context: float
) -> RankedMatch:
    """Return a memory with its score. `average_text` and `average_context` are average lengths in words."""
    text, context = memory.words.split(), memory.context_words.split()
    text_norm = 1 - B + B * len(text) / average_text
    context_norm = 1 - B_CONTEXT + B_CONTEXT * len(context) / average_context
    text_counts, context_counts = Counter(text), Counter(context)
    matched = tuple(word for word in weights if word in text_counts)
    matched_context = tuple(word for word in weights if word in context_counts)
    score = 0.0
    for word, weight in weights.items():
        frequency = text_counts[word] / text_norm
        if word in context_counts:  # without a context, its norm is 0
            frequency += CONTEXT_WEIGHT * context_counts[word] / context_norm
        score += weight * frequency * (K1 + 1) / (frequency + K1)
    if not matched:
        score *= CONTEXT_ONLY_WEIGHT
    total_weight = sum(weights.values()) or 1.0
    return RankedMatch(
        key=memory.key,
        score=score,
        share=sum(weights[word] for word in matched) / total_weight,
        matched=matched,
        coverage=len(matched) / len(text_counts) if matched else 0.0,
        matched_context=matched_context,
        context_share=sum(weights[word] for word in matched_context) / total_weight,
    )
