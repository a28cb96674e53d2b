"""Compares the words of two sentences to decide whether they say the same or contradict each other.

The rules are strict, so that two different statements are never merged.
"""

import re
from collections.abc import Sequence, Set
from functools import lru_cache

from core.memory.stemmer import stem
from core.memory.tokenizer import STOP_WORDS, tokenize

MIN_COMMON_SHARE = 0.6  # Two sentences can contradict each other only if this share of their content words is the same.
MIN_WORDS = 3  # Sentences that differ in one word contradict each other only if they have this many content words.
SAME_TOPIC = 0.6  # minimum embedding similarity of two sentences that are about the same thing
_NEGATION_TEXT = "not no never without avoid don dont cannot nor disable nobody none nothing"
NEGATIONS = frozenset(map(stem, _NEGATION_TEXT.split()))
_SYNONYMS_OF_NOT = frozenset(map(stem, ["no", "never", "don", "dont"]))
# "of" and "than" need not be listed here, because they are stop words.
_PREFERENCES = frozenset(map(stem, ["over", "instead", "rather"]))
_GENERAL_VERBS = frozenset(map(stem, ["use", "add", "write", "make", "put", "include"]))
_OPPOSITES_TEXT = (
    "always/never use/avoid before/after enable/disable allow/forbid on/off with/without more/less tabs/spaces "
    "light/dark like/dislike love/hate short/long true/false first/last prefer/avoid start/stop increase/decrease "
    "left/right"
)
_OPPOSITES = tuple(frozenset(map(stem, pair.split("/"))) for pair in _OPPOSITES_TEXT.split())
_FILLER_TEXT = "a an the am is are was were be been being do t also very please"
_FILLERS = frozenset(map(stem, _FILLER_TEXT.split()))
_WITH_SIGN = re.compile(r"\w+[+#]+|[-+<>≤≥$€£]\s?\d|\d\s?[%$€£]")
_NO_CONTENT = (frozenset(map(stem, STOP_WORDS)) | STOP_WORDS) - NEGATIONS


def says_same(a: str, b: str) -> bool:
    """Return whether both sentences have the same words in the same order, without words such as *the*.

    Signs are compared if they belong to a name or a number, as in *C++* and *50%*. "Use no X" says the same as "never
    use X".
    """
    return _words_with_signs(a) == _words_with_signs(b) and _without_fillers(_words(a)) == _without_fillers(_words(b))


def contradicts(a: str, b: str) -> bool:
    """Return whether two sentences are about the same thing but disagree.

    They disagree if one of them is negated, if they use opposites, or if they differ in one word at the same position.
    """
    words_a, words_b = _words(a), _words(b)
    content_a, content_b = _content(words_a), _content(words_b)
    common = content_a & content_b
    if len(common) < 2:
        return False
    is_same_topic = len(common) / len(content_a | content_b) >= MIN_COMMON_SHARE
    if is_same_topic and (_differ_in_negation(words_a, words_b) or _use_opposites(content_a, content_b)):
        return True
    # The word in which they differ is a content word of each, in addition to the common ones.
    return len(common) + 1 >= MIN_WORDS and _differ_in_one_word(words_a, words_b)


def paraphrase_contradicts(a: str, b: str) -> bool:
    """Return whether two sentences that were found similar in meaning disagree.

    They disagree if one of them is negated, if they use opposites, or if their numbers differ.
    """
    words_a, words_b = _words(a), _words(b)
    content_a, content_b = _content(words_a), _content(words_b)
    if _differ_in_negation(words_a, words_b) or _use_opposites(content_a, content_b):
        return True
    numbers_a = set(filter(str.isdigit, content_a))
    numbers_b = set(filter(str.isdigit, content_b))
    return bool(numbers_a and numbers_b) and numbers_a.isdisjoint(numbers_b)


def _content(words: Sequence[str]) -> set[str]:
    """Return the words that say what a sentence is about, without negations."""
    return set(words) - _NO_CONTENT - NEGATIONS


def _words_with_signs(text: str) -> list[str]:
    return ["".join(found.split()) for found in _WITH_SIGN.findall(text.casefold())]


def _without_fillers(words: Sequence[str]) -> list[str]:
    """Return the words without those that add no meaning. A negation comes before the general verb that it follows."""
    kept: list[str] = []
    for word in words:
        if word == "not" and kept and kept[-1] in _GENERAL_VERBS:
            kept.insert(-1, word)
        elif word not in _FILLERS:
            kept.append(word)
    return kept


@lru_cache(maxsize=1024)
def _words(text: str) -> tuple[str, ...]:
    """Return the stems of a text, with the same word for "not", "no" and "never".

    The results are cached, because a new sentence is compared with several stored ones, and twice with each.
    """
    return tuple("not" if word in _SYNONYMS_OF_NOT else word for word in tokenize(text))


def _is_negated(words: Sequence[str]) -> bool:
    """Return whether a sentence is negated. Two negations cancel each other out."""
    return sum(word in NEGATIONS for word in words) % 2 == 1


def _differ_in_negation(words_a: Sequence[str], words_b: Sequence[str]) -> bool:
    """Return whether exactly one sentence is negated. "Tabs, not spaces" says the same as "tabs over spaces"."""
    if _is_negated(words_a) == _is_negated(words_b):
        return False
    negated = _words_after(words_a, NEGATIONS) | _words_after(words_b, NEGATIONS)
    dispreferred = _words_after(words_a, _PREFERENCES) | _words_after(words_b, _PREFERENCES)
    negates_something_else = bool(negated - dispreferred)
    return negates_something_else or not negated


def _words_after(words: Sequence[str], markers: Set[str]) -> set[str]:
    """Return the first content word after each of the `markers`, skipping general verbs such as *use*."""
    skipped = _NO_CONTENT | _GENERAL_VERBS | markers
    positions = [position for position, word in enumerate(words) if word in markers]
    following = (next((word for word in words[position:] if word not in skipped), "") for position in positions)
    return {word for word in following if word}


def _use_opposites(words_a: set[str], words_b: set[str]) -> bool:
    """Return whether one sentence has exactly one word of a pair of opposites, and the other one the other word."""
    for pair in _OPPOSITES:
        from_a, from_b = pair & words_a, pair & words_b
        if len(from_a) == len(from_b) == 1 and from_a != from_b:
            return True
    return False


def _differ_in_one_word(words: Sequence[str], other_words: Sequence[str]) -> bool:
    """Return whether two sentences differ in exactly one content word, at the same position."""
    if len(words) != len(other_words):
        return False
    changed = [{a, b} for a, b in zip(words, other_words, strict=True) if a != b]
    return len(changed) == 1 and changed[0].isdisjoint(_NO_CONTENT)
