"""Fuzzy matching. The typed characters must occur in order; matches at the start of words and without gaps score
highest.
"""

from typing import Final, NamedTuple

WORD_START_SCORE = 12  # score of a match at the start of a word; added again at the start of the text
CHARACTER_SCORE = 8  # score for each character of a match without gaps
GAP_PENALTY = 1  # penalty for each character that neither continues a run of matches nor begins a word
MAX_OFFSET = 40  # positions in the text; the penalty for a match within a word grows with its position up to this limit
BREAKS: Final = frozenset(" /-_.:")


class FuzzyMatch(NamedTuple):
    """The score of a match (higher is better), and the positions of the matching characters."""

    score: int
    positions: tuple[int, ...]


def fuzzy_match(typed: str, text: str) -> FuzzyMatch | None:
    """Match the typed words, in any order, against a text; return None if one of them does not match."""
    score, positions = 0, set[int]()
    # Positions are valid only if lowercasing does not change the length.
    lowered = text.lower() if len(text.lower()) == len(text) else text
    for word in typed.lower().split():
        match = _match_word(word, lowered)
        if match is None:
            return None
        score += match.score
        positions.update(match.positions)
    # Among equal matches, a shorter text ranks higher.
    return FuzzyMatch(score - len(text) // 8, tuple(sorted(positions)))


def _match_word(word: str, text: str) -> FuzzyMatch | None:
    """Match one typed word: at the start of a word if possible, else within a word, else as scattered characters."""
    start = _find_at_word_start(word, text)
    if start >= 0:
        end = start + len(word)
        score = WORD_START_SCORE + CHARACTER_SCORE * len(word)
        if start == 0:
            score += WORD_START_SCORE
        if _is_word_end(text, end):
            score += WORD_START_SCORE // 2
        return FuzzyMatch(score, tuple(range(start, end)))
    start = text.find(word)
    if start >= 0:
        score = CHARACTER_SCORE * len(word) - min(start, MAX_OFFSET) // 4
        return FuzzyMatch(score, tuple(range(start, start + len(word))))
    return _match_scattered(word, text)


def _find_at_word_start(word: str, text: str) -> int:
    """Return where a word of the text begins with `word`, preferably a word equal to it; -1 if none does."""
    first = -1
    position = text.find(word)
    while position >= 0:
        if position == 0 or text[position - 1] in BREAKS:
            if _is_word_end(text, position + len(word)):
                return position
            if first < 0:
                first = position
        position = text.find(word, position + 1)
    return first


def _is_word_end(text: str, position: int) -> bool:
    return not text[position : position + 1].isalnum()


def _match_scattered(word: str, text: str) -> FuzzyMatch | None:
    """Match the characters of a word in order, with any other characters between them; None if one is missing."""
    positions: list[int] = []
    score = 0
    for character in word:
        previous = positions[-1] if positions else -1
        position = _find_character(character, text, previous + 1)
        if position < 0:
            return None
        if position == 0 or text[position - 1] in BREAKS:
            score += WORD_START_SCORE // 2
        elif position == previous + 1:
            score += CHARACTER_SCORE // 2
        else:
            score -= GAP_PENALTY
        positions.append(position)
    return FuzzyMatch(score, tuple(positions))


def _find_character(character: str, text: str, start: int) -> int:
    """Return the next position of a character, preferably at the start of a word; -1 if there is none."""
    position = first = text.find(character, start)
    while position > 0 and text[position - 1] not in BREAKS:
        position = text.find(character, position + 1)
    return position if position >= 0 else first
