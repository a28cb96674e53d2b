"""Ranks memories by how well their words match a question: rare words select candidates, all words score them.

The work is bounded: a very common word selects no candidates as long as rarer words select enough, and only the best
WEIGHED candidates are scored.
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
K1, B, B_AROUND, AROUND = 0.9, 0.4, 1.0, 0.3
# Weight of embedding similarity relative to the best word score. Tuning on either half of LoCoMo-10 gave this value.
SIMILARITY_WEIGHT = 1.2
MAX_SIMILAR_CANDIDATES = 64  # number of candidates that are selected by embedding similarity alone
NO_SIMILARITIES: Mapping[int, float] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class RankedMatch:
    """A memory and how well it matches.

    `share` is the share of the question's total word weight that occurs in the memory's sentence. `matched` are the
    matching stems, and `coverage` is their share of the sentence's words. `similarity` is the embedding similarity to
    the question, 0 if unknown.
    """

    key: int
    score: float
    share: float
    matched: tuple[str, ...] = ()
    coverage: float = 0.0
    similarity: float = 0.0


@dataclass(slots=True)
class _Term:
    word: str
    found: list[int]
    about: float  # estimated number of memories that contain it


def rank_memories(
    rows: MemoryRecords, question: str, places: Iterable[IndexedScope], most: int, weighed: int = MAX_SCORED,
    near: Mapping[int, float] = NO_SIMILARITIES,
) -> list[RankedMatch]:  # fmt: skip
    """Return the best matches of all scopes, best first, by words and, where known, by embedding similarity."""
    asked = list(dict.fromkeys(content_words(question)))
    also = sorted(near, key=lambda key: -near[key])[:MAX_SIMILAR_CANDIDATES]
    looked = [(place, _terms(rows, asked, place)) for place in places]
    weights = _weights(looked)
    found = [fit for place, terms in looked for fit in _rank_scope(rows, terms, weights, place, weighed, also)]
    if near:
        found = _blend(found, near)
    return sorted(found, key=lambda fit: (-fit.score, -fit.key))[:most]


def _blend(found: Sequence[RankedMatch], near: Mapping[int, float]) -> list[RankedMatch]:
    """Combine word scores and similarities.

    `near` contains only the most similar memories. Every other memory gets the lowest similarity in `near`, which is an
    upper bound.
    """
    best = max((fit.score for fit in found), default=0.0) or 1.0
    last = min(near.values())
    return [
        replace(
            fit, score=fit.score / best + SIMILARITY_WEIGHT * near.get(fit.key, last), similarity=near.get(fit.key, 0.0)
        )
        for fit in found
    ]


def _terms(rows: MemoryRecords, asked: Sequence[str], place: IndexedScope) -> list[_Term]:
    """Return the rarest words of the question that occur in a scope."""
    terms = [term for word in asked[: 4 * TERMS] if (term := _look_up(rows, word, place)).found]
    return sorted(terms, key=lambda term: term.about)[:TERMS]


def _weights(looked: Sequence[tuple[IndexedScope, Sequence[_Term]]]) -> dict[str, float]:
    """Return the weight of each word by its rarity in all scopes together, because a tiny scope says little."""
    memories = sum(place.memories for place, _ in looked)
    about: dict[str, float] = {}
    for term in (term for _, terms in looked for term in terms):
        about[term.word] = about.get(term.word, 0.0) + term.about
    return {word: math.log(1 + (memories - often + 0.5) / (often + 0.5)) for word, often in about.items()}


def _rank_scope(
    rows: MemoryRecords, terms: Sequence[_Term], weights: Mapping[str, float], place: IndexedScope, weighed: int,
    also: Sequence[int],
) -> list[RankedMatch]:  # fmt: skip
    keys = _candidates(rows, terms, weights, place)[:weighed]
    if also:
        keys = list(dict.fromkeys(keys + [key for key in also if key >> 32 == place.number]))
    return _score(rows.index_terms(keys), weights, place) if keys else []


def _look_up(rows: MemoryRecords, word: str, place: IndexedScope) -> _Term:
    """Look up a word in a scope.

    For a common word only the newest memories are read, and the total is estimated from the spacing of their keys.
    """
    most = POSTINGS if place.memories <= SMALL else PROBE
    found = rows.postings(word, place.number, most)
    if len(found) < most:
        return _Term(word, found, float(len(found)))
    spread = max(1, found[0] - found[-1])
    return _Term(word, found, max(float(most), min(1.0, most / spread) * place.memories))


def _candidates(
    rows: MemoryRecords, terms: Sequence[_Term], weights: Mapping[str, float], place: IndexedScope
) -> list[int]:
    """Select candidates by rare words first. If all words are common, select memories that contain most words."""
    points: dict[int, float] = {}
    for rank, term in enumerate(terms):
        if len(term.found) == PROBE and len(points) < SUFFICIENT_CANDIDATES:
            term.found = rows.postings(term.word, place.number, POSTINGS)
        if rank and len(points) + len(term.found) > MAX_CANDIDATES:
            break
        weight = weights[term.word]
        for key in term.found:
            points[key] = points.get(key, 0.0) + weight
    common = [term.word for term in terms if term.about >= POSTINGS]
    if len(common) == len(terms) and len(common) > 1:
        few = common[: max(2, len(common) // 2)]
        some = rows.containing_all(few, place.number, MAX_SCORED)
        for words, keys in ((common, _containing_all(rows, common, few, some, place)), (few, some)):
            weight = sum(weights[word] for word in words)
            for key in keys:
                points[key] = points.get(key, 0.0) + weight
    return sorted(sorted(points, reverse=True), key=points.__getitem__, reverse=True)  # Among equals, the newest first.


def _containing_all(
    rows: MemoryRecords, common: Sequence[str], few: Sequence[str], some: Sequence[int], place: IndexedScope
) -> Sequence[int]:
    """Return the memories that contain all words of `common`.

    `some` are memories that contain the words of `few`. The index is searched only if `some` reached its limit.
    """
    if len(some) >= MAX_SCORED:
        return rows.containing_all(common, place.number, MAX_SCORED)
    rest = set(common) - set(few)
    return [key for key, words, around in rows.index_terms(some) if rest.issubset((*words.split(), *around.split()))]


def _score(
    indexed: Iterable[tuple[int, str, str]], weights: Mapping[str, float], place: IndexedScope
) -> list[RankedMatch]:
    """Score memories with BM25 over two fields: the sentence, and its context at a lower weight."""
    average = max(1.0, place.words / place.memories)
    average_around = max(1.0, place.context_words / place.memories)
    whole = sum(weights.values()) or 1.0
    fits = []
    for key, words, around in indexed:
        inside, outside = words.split(), around.split()
        own_words, near_words = set(inside), set(outside)
        norm = 1 - B + B * len(inside) / average
        norm_around = 1 - B_AROUND + B_AROUND * len(outside) / average_around
        score = share = 0.0
        matched: list[str] = []
        for word, weight in weights.items():
            often = 0.0
            if word in own_words:
                often = inside.count(word) / norm
                matched.append(word)
                share += weight
            if word in near_words:
                often += AROUND * outside.count(word) / norm_around
            if often:
                score += weight * often * (K1 + 1) / (often + K1)
        own = len(matched) / len(own_words) if matched else 0.0
        fits.append(RankedMatch(key, score, share / whole, tuple(matched), own))
    return fits
