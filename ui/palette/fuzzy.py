"""Fuzzy matching: characters match in order, best at the start of words and next to each other."""

from typing import Final, NamedTuple

START, NEXT, FAR, LATE = 12, 8, 1, 40
BREAKS: Final = frozenset(" /-_.:")


class FuzzyMatch(NamedTuple):
    """The score of a match (higher is better) and the positions of the matching characters."""

    score: int
    positions: tuple[int, ...]


def fuzzy_match(typed: str, text: str) -> FuzzyMatch | None:
    """Match the typed words, in any order, against a text; return None if a character is missing."""
    total, places = 0, set[int]()
    low = text.lower() if len(text.lower()) == len(text) else text  # same length, so positions hold
    for word in typed.lower().split():
        found = _word(word, low)
        if found is None:
            return None
        total += found.score
        places.update(found.positions)
    return FuzzyMatch(total - len(text) // 8, tuple(sorted(places)))


def _word(word: str, text: str) -> FuzzyMatch | None:
    whole = _at_start_of_word(word, text)
    if whole >= 0:
        places = tuple(range(whole, whole + len(word)))
        ends = START // 2 if _ends(text, whole + len(word)) else 0
        return FuzzyMatch(START + NEXT * len(word) + (START if whole == 0 else 0) + ends, places)
    inside = text.find(word)
    if inside >= 0:
        return FuzzyMatch(NEXT * len(word) - min(inside, LATE) // 4, tuple(range(inside, inside + len(word))))
    return _scattered(word, text)


def _at_start_of_word(word: str, text: str) -> int:
    """Return the position of a word of the text that begins with `word`, preferably equals it; -1 if there is none."""
    starts, place = list[int](), text.find(word)
    while place >= 0:
        if place == 0 or text[place - 1] in BREAKS:
            starts.append(place)
        place = text.find(word, place + 1)
    return next((start for start in starts if _ends(text, start + len(word))), starts[0] if starts else -1)


def _ends(text: str, place: int) -> bool:
    return not text[place : place + 1].isalnum()


def _scattered(word: str, text: str) -> FuzzyMatch | None:
    places: list[int] = []
    score = 0
    for letter in word:
        before = places[-1] if places else -1
        place = _next(letter, text, before + 1)
        if place < 0:
            return None
        if place == 0 or text[place - 1] in BREAKS:
            score += START // 2
        elif place == before + 1:
            score += NEXT // 2
        else:
            score -= FAR
        places.append(place)
    return FuzzyMatch(score, tuple(places))


def _next(letter: str, text: str, start: int) -> int:
    """Return the next position of a character, preferring the start of a word; -1 if there is none."""
    place = first = text.find(letter, start)
    while place > 0 and text[place - 1] not in BREAKS:
        place = text.find(letter, place + 1)
    return place if place >= 0 else first
