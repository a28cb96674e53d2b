"""Compares the words of two sentences to decide whether they say the same or contradict each other.

The rules are strict, so that different statements are never merged.
"""

from collections.abc import Sequence
from functools import lru_cache

from core.memory.stemmer import stem
from core.memory.tokenizer import STOP_WORDS, tokenize

SAME = 0.8  # minimum share of common content words for the same statement
NEAR = 0.6  # minimum share of common content words for a contradiction
SHORTEST = 3  # content words; shorter sentences are the same only if they are identical
SAME_TOPIC = 0.6  # minimum embedding similarity of two sentences about the same thing
_NEGATION_TEXT = "not no never without avoid don dont cannot nor disable nobody none nothing"
NEGATIONS = frozenset(map(stem, _NEGATION_TEXT.split()))
_OPPOSITES = tuple(
    frozenset((stem(a), stem(b)))
    for a, b in (
        ("always", "never"), ("use", "avoid"), ("before", "after"), ("enable", "disable"), ("allow", "forbid"),
        ("on", "off"), ("with", "without"), ("more", "less"), ("tabs", "spaces"), ("light", "dark"),
        ("like", "dislike"), ("love", "hate"), ("short", "long"), ("true", "false"), ("first", "last"),
        ("prefer", "avoid"), ("start", "stop"), ("increase", "decrease"), ("left", "right"),
    )
)  # fmt: skip
_EMPTY = (frozenset(map(stem, STOP_WORDS)) | STOP_WORDS) - NEGATIONS


def says_same(a: str, b: str) -> bool:
    """Return whether both sentences say the same in nearly the same words, with equal numbers, names and negations."""
    words_a, words_b = _words(a), _words(b)
    if words_a == words_b:
        return True
    content_a, content_b = set(words_a) - _EMPTY, set(words_b) - _EMPTY
    if (
        min(len(content_a), len(content_b)) < SHORTEST
        or _differ_in_meaning(content_a, content_b)
        or _differ_in_one_word(words_a, words_b)
    ):
        return False
    return len(content_a & content_b) / len(content_a | content_b) >= SAME


def contradicts(a: str, b: str) -> bool:
    """Return whether both sentences are about the same thing but disagree.

    They disagree if one negates the other, if one uses an opposite, or if they differ in one word at the same position.
    """
    words_a, words_b = _words(a), _words(b)
    content_a, content_b = set(words_a) - _EMPTY - NEGATIONS, set(words_b) - _EMPTY - NEGATIONS
    if len(content_a & content_b) < 2:
        return False
    overlap = len(content_a & content_b) / len(content_a | content_b)
    if overlap >= NEAR and (
        _is_negated(words_a) != _is_negated(words_b)
        or any(_are_opposite(pair, content_a, content_b) for pair in _OPPOSITES)
    ):
        return True
    return len(content_a & content_b) >= SHORTEST - 1 and _differ_in_one_word(words_a, words_b)


def paraphrase_contradicts(a: str, b: str) -> bool:
    """Return whether one of two sentences with about the same meaning contradicts the other.

    It does if it negates the other, if it uses an opposite, or if the numbers differ.
    """
    words_a, words_b = _words(a), _words(b)
    content_a, content_b = set(words_a) - _EMPTY - NEGATIONS, set(words_b) - _EMPTY - NEGATIONS
    if _is_negated(words_a) != _is_negated(words_b) or any(
        _are_opposite(pair, content_a, content_b) for pair in _OPPOSITES
    ):
        return True
    numbers_a, numbers_b = ({word for word in words if word.isdigit()} for words in (content_a, content_b))
    return bool(numbers_a and numbers_b) and numbers_a.isdisjoint(numbers_b)


@lru_cache(maxsize=1024)
def _words(text: str) -> tuple[str, ...]:
    """Return the stems of a text. Cached, because a new sentence is compared with several stored ones, each twice."""
    return tuple(tokenize(text))


def _is_negated(words: Sequence[str]) -> bool:
    return len([word for word in words if word in NEGATIONS]) % 2 == 1


def _are_opposite(pair: frozenset[str], first: set[str], second: set[str]) -> bool:
    return len(pair & first) == 1 and len(pair & second) == 1 and pair & first != pair & second


def _differ_in_meaning(first: set[str], second: set[str]) -> bool:
    """Return whether the sentences differ in a word that changes the meaning: a negation, a number or an opposite."""
    different = first ^ second
    if any(word in NEGATIONS or any(character.isdigit() for character in word) for word in different):
        return True
    return any(_are_opposite(pair, first, second) for pair in _OPPOSITES)


def _differ_in_one_word(words: Sequence[str], other_words: Sequence[str]) -> bool:
    """Return whether the sentences differ in exactly one word, at the same position."""
    if len(words) != len(other_words):
        return False
    changed = [(a, b) for a, b in zip(words, other_words, strict=True) if a != b]
    return len(changed) == 1 and not ({*changed[0]} & _EMPTY)
