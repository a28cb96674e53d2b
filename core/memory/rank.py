"""Which memories fit a question, by their words: rare words choose, all of them weigh.

The work is bounded: a word that stands in very many memories chooses none while a rarer one is there, and only the
best few hundred are weighed.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from core.memory.words import telling
from core.store.memory_rows import MemoryRows, Place

SMALL = 2_000  # memories of a place in which every word can be looked up
POSTINGS = 400  # memories of one word that are looked at
PROBE = 64  # the same at first, where a place is large
ENOUGH = 48  # chosen ones: no commoner word is asked then
CHOSEN = 1_000  # that may be chosen by all the words together
WEIGHED = 160  # that are weighed word by word
TERMS = 12  # words of a question that count: the rarest
# Tuned on the first five conversations of LoCoMo-10; the other five were held out.
K1, B, B_AROUND, AROUND = 0.9, 0.4, 1.0, 0.3
# How much nearness of meaning counts beside the best fit of words: chosen on either half, each time the same.
MEANS = 1.2
BY_MEANING = 64  # that are weighed for what they mean, although no word of them chose them
NOTHING: Mapping[int, float] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Fit:
    """A memory and how well its words fit.

    `share` is the part of the question, by weight, that it holds itself; `matched` are the words of it, as stems, and
    `own` is their part of all that it says. `near` is how near it is by what it means, 0 where nobody knows.
    """

    key: int
    score: float
    share: float
    matched: tuple[str, ...] = ()
    own: float = 0.0
    near: float = 0.0


@dataclass(slots=True)
class _Term:
    word: str
    found: list[int]
    about: float  # memories in which it stands, about


def fitting(
    rows: MemoryRows, question: str, places: Iterable[Place], most: int, weighed: int = WEIGHED,
    near: Mapping[int, float] = NOTHING,
) -> list[Fit]:  # fmt: skip
    """The best of all the places, the best first: by their words, and where it is known by what they mean."""
    asked = list(dict.fromkeys(telling(question)))
    also = sorted(near, key=lambda key: -near[key])[:BY_MEANING]
    looked = [(place, _terms(rows, asked, place)) for place in places]
    weights = _weights(looked)
    found = [fit for place, terms in looked for fit in _in_place(rows, terms, weights, place, weighed, also)]
    if near:
        found = _blended(found, near)
    return sorted(found, key=lambda fit: (-fit.score, -fit.key))[:most]


def _blended(found: Sequence[Fit], near: Mapping[int, float]) -> list[Fit]:
    """Both at once. What is not among the nearest is at the most as near as the last of them."""
    best = max((fit.score for fit in found), default=0.0) or 1.0
    last = min(near.values())
    return [
        replace(fit, score=fit.score / best + MEANS * near.get(fit.key, last), near=near.get(fit.key, 0.0))
        for fit in found
    ]


def _terms(rows: MemoryRows, asked: Sequence[str], place: Place) -> list[_Term]:
    """The rarest words of the question that stand in a place."""
    terms = [term for word in asked[: 4 * TERMS] if (term := _looked_up(rows, word, place)).found]
    return sorted(terms, key=lambda term: term.about)[:TERMS]


def _weights(looked: Sequence[tuple[Place, Sequence[_Term]]]) -> dict[str, float]:
    """How rare each word is in all the places together: what is rare among two memories alone says little."""
    memories = sum(place.memories for place, _ in looked)
    about: dict[str, float] = {}
    for term in (term for _, terms in looked for term in terms):
        about[term.word] = about.get(term.word, 0.0) + term.about
    return {word: math.log(1 + (memories - often + 0.5) / (often + 0.5)) for word, often in about.items()}


def _in_place(
    rows: MemoryRows, terms: Sequence[_Term], weights: Mapping[str, float], place: Place, weighed: int,
    also: Sequence[int],
) -> list[Fit]:  # fmt: skip
    keys = _chosen(rows, terms, weights, place)[:weighed]
    if also:
        keys = list(dict.fromkeys(keys + [key for key in also if key >> 32 == place.number]))
    return _weighed(rows.indexed(keys), weights, place) if keys else []


def _looked_up(rows: MemoryRows, word: str, place: Place) -> _Term:
    """Where a word stands. Of a common one the newest are seen, and from how close together they are, how many."""
    most = POSTINGS if place.memories <= SMALL else PROBE
    found = rows.postings(word, place.number, most)
    if len(found) < most:
        return _Term(word, found, float(len(found)))
    spread = max(1, found[0] - found[-1])
    return _Term(word, found, max(float(most), min(1.0, most / spread) * place.memories))


def _chosen(rows: MemoryRows, terms: Sequence[_Term], weights: Mapping[str, float], place: Place) -> list[int]:
    """Rare words first, while there is room; where all are common, those in which most of them stand together."""
    points: dict[int, float] = {}
    for rank, term in enumerate(terms):
        if len(term.found) == PROBE and len(points) < ENOUGH:
            term.found = rows.postings(term.word, place.number, POSTINGS)
        if rank and len(points) + len(term.found) > CHOSEN:
            break
        weight = weights[term.word]
        for key in term.found:
            points[key] = points.get(key, 0.0) + weight
    common = [term.word for term in terms if term.about >= POSTINGS]
    if len(common) == len(terms) and len(common) > 1:
        few = common[: max(2, len(common) // 2)]
        some = rows.all_of(few, place.number, WEIGHED)
        for words, keys in ((common, _whole(rows, common, few, some, place)), (few, some)):
            weight = sum(weights[word] for word in words)
            for key in keys:
                points[key] = points.get(key, 0.0) + weight
    return sorted(sorted(points, reverse=True), key=points.__getitem__, reverse=True)  # of equals the newest


def _whole(
    rows: MemoryRows, common: Sequence[str], few: Sequence[str], some: Sequence[int], place: Place
) -> Sequence[int]:
    """Those with all the words: among those with a few of them, unless there are more of these than were told."""
    if len(some) >= WEIGHED:
        return rows.all_of(common, place.number, WEIGHED)
    rest = set(common) - set(few)
    return [key for key, words, around in rows.indexed(some) if rest.issubset((*words.split(), *around.split()))]


def _weighed(indexed: Iterable[tuple[int, str, str]], weights: Mapping[str, float], place: Place) -> list[Fit]:
    """Okapi's measure over two fields: words of the sentence, and those around it for less."""
    average = max(1.0, place.words / place.memories)
    average_around = max(1.0, place.around / place.memories)
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
        fits.append(Fit(key, score, share / whole, tuple(matched), own))
    return fits
