"""Do two sentences say the same, or the opposite? Judged by their words, so that nothing is merged that differs."""

from collections.abc import Sequence
from functools import lru_cache

from core.memory.stems import stem
from core.memory.words import EMPTY, words

SAME = 0.8  # of the telling words of both
NEAR = 0.6
SHORTEST = 3  # telling words: of fewer, only the very same sentence is the same
SUBJECT = 0.6  # how near two sentences are by what they mean that speak of the same thing
_DENY = "not no never without avoid don dont cannot nor disable nobody none nothing"
NEGATIONS = frozenset(map(stem, _DENY.split()))
_OPPOSITES = tuple(
    frozenset((stem(a), stem(b)))
    for a, b in (
        ("always", "never"), ("use", "avoid"), ("before", "after"), ("enable", "disable"), ("allow", "forbid"),
        ("on", "off"), ("with", "without"), ("more", "less"), ("tabs", "spaces"), ("light", "dark"),
        ("like", "dislike"), ("love", "hate"), ("short", "long"), ("true", "false"), ("first", "last"),
        ("prefer", "avoid"), ("start", "stop"), ("increase", "decrease"), ("left", "right"),
    )
)  # fmt: skip
_EMPTY = (frozenset(map(stem, EMPTY)) | EMPTY) - NEGATIONS


def alike(a: str, b: str) -> bool:
    """Do they say the same in about the same words? Numbers, names and negations must agree."""
    one, other = _words(a), _words(b)
    if one == other:
        return True
    told, said = set(one) - _EMPTY, set(other) - _EMPTY
    if min(len(told), len(said)) < SHORTEST or _differ(told, said) or _replaced(one, other):
        return False
    return len(told & said) / len(told | said) >= SAME


def contrary(a: str, b: str) -> bool:
    """Do they speak of the same thing and say otherwise: a negation, an opposite, another value in the same place?"""
    one, other = _words(a), _words(b)
    told, said = set(one) - _EMPTY - NEGATIONS, set(other) - _EMPTY - NEGATIONS
    if len(told & said) < 2:
        return False
    near = len(told & said) / len(told | said)
    if near >= NEAR and (_denied(one) != _denied(other) or any(_opposed(pair, told, said) for pair in _OPPOSITES)):
        return True
    return len(told & said) >= SHORTEST - 1 and _replaced(one, other)


def at_odds(a: str, b: str) -> bool:
    """Of two sentences that mean about the same thing: does one deny it, say the opposite, or give another number?"""
    one, other = _words(a), _words(b)
    told, said = set(one) - _EMPTY - NEGATIONS, set(other) - _EMPTY - NEGATIONS
    if _denied(one) != _denied(other) or any(_opposed(pair, told, said) for pair in _OPPOSITES):
        return True
    numbers, others = ({word for word in words if word.isdigit()} for words in (told, said))
    return bool(numbers and others) and numbers.isdisjoint(others)


@lru_cache(maxsize=1024)
def _words(text: str) -> tuple[str, ...]:
    """A new sentence is compared with several, and each of them in two ways."""
    return tuple(words(text))


def _denied(told: Sequence[str]) -> bool:
    return len([word for word in told if word in NEGATIONS]) % 2 == 1


def _opposed(pair: frozenset[str], told: set[str], said: set[str]) -> bool:
    return len(pair & told) == 1 and len(pair & said) == 1 and pair & told != pair & said


def _differ(told: set[str], said: set[str]) -> bool:
    """In what changes the meaning however alike the rest is."""
    different = told ^ said
    if any(word in NEGATIONS or any(sign.isdigit() for sign in word) for word in different):
        return True
    return any(_opposed(pair, told, said) for pair in _OPPOSITES)


def _replaced(one: Sequence[str], other: Sequence[str]) -> bool:
    """The same sentence but for one word at the same place."""
    if len(one) != len(other):
        return False
    changed = [(a, b) for a, b in zip(one, other, strict=True) if a != b]
    return len(changed) == 1 and not ({*changed[0]} & _EMPTY)
