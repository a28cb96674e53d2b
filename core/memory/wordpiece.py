"""Splits text into WordPiece tokens, as BERT models use them: the longest parts of words in the vocabulary."""

import unicodedata
from collections.abc import Iterator, Mapping

MAX_CACHED_WORDS = 50_000
MAX_WORD_LENGTH = 100  # A word with more characters counts as unknown.
_CJK = ((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x2FA1F))


class WordPiece:
    """Converts text to token numbers.

    `vocabulary` maps each part of a word to its number. `marks` are the tokens for the start and the end of a text.
    """

    def __init__(
        self, vocabulary: Mapping[str, int], *, lower: bool = True, marks: tuple[str, str] = ("[CLS]", "[SEP]")
    ) -> None:
        self._pieces = vocabulary
        self._lower = lower
        self._unknown = vocabulary["[UNK]"]
        self._first, self._last = (vocabulary[mark] for mark in marks)
        self._cache: dict[str, tuple[int, ...]] = {}

    def encode(self, text: str, limit: int) -> list[int]:
        """Return the token numbers of a text, at most `limit`, including the tokens for the start and the end."""
        token_ids = [self._first]
        for word in _words(text, self._lower):
            if len(token_ids) >= limit - 1:
                break
            if word not in self._cache:
                if len(self._cache) > MAX_CACHED_WORDS:
                    self._cache.clear()
                self._cache[word] = tuple(self._split(word))
            token_ids += self._cache[word]
        return [*token_ids[: limit - 1], self._last]

    def _split(self, word: str) -> list[int]:
        """Return the numbers of the longest parts of a word that are in the vocabulary, from left to right."""
        if len(word) > MAX_WORD_LENGTH:
            return [self._unknown]
        token_ids: list[int] = []
        start = 0
        while start < len(word):
            prefix = "##" if start else ""
            end = len(word)
            while end > start and prefix + word[start:end] not in self._pieces:
                end -= 1
            if end == start:
                return [self._unknown]
            token_ids.append(self._pieces[prefix + word[start:end]])
            start = end
        return token_ids


def _words(text: str, lower: bool) -> Iterator[str]:
    """Yield the words of a text: runs of letters and digits, single punctuation marks and single CJK characters.

    With `lower`, the words are in lower case and without accents.
    """
    if lower:
        text = unicodedata.normalize("NFD", text.lower())
    word = ""
    for character in text:
        category = unicodedata.category(character)
        is_space = character.isspace()
        if not is_space and (category.startswith("C") or character == "\ufffd" or (lower and category == "Mn")):
            continue
        stands_alone = _is_separate(character, category)
        if not is_space and not stands_alone:
            word += character
            continue
        if word:
            yield word
            word = ""
        if stands_alone and not is_space:
            yield character
    if word:
        yield word


def _is_separate(character: str, category: str) -> bool:
    if category.startswith("P") or (character.isascii() and not character.isalnum()):
        return True
    return ord(character) >= 0x3400 and any(low <= ord(character) <= high for low, high in _CJK)
