"""Splits text into WordPiece tokens, as BERT models use them: the longest parts of words in the vocabulary."""

import unicodedata
from collections.abc import Iterator, Mapping

MAX_WORD_LENGTH = 100  # A word with more characters counts as unknown.
_CJK = ((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x2FA1F))


class WordPiece:
    """Converts text to token numbers. `vocabulary` maps each part of a word to its number."""

    def __init__(self, vocabulary: Mapping[str, int], *, lower: bool = True) -> None:
        self._pieces = vocabulary
        self._lower = lower
        self._unknown, self._first, self._last = (vocabulary[name] for name in ("[UNK]", "[CLS]", "[SEP]"))
        self._known: dict[str, tuple[int, ...]] = {}

    def encode(self, text: str, limit: int) -> list[int]:
        """Return the token numbers of a text, at most `limit`, including the tokens for the start and the end."""
        token_ids = [self._first]
        for word in _words(text, self._lower):
            if len(token_ids) >= limit - 1:
                break
            if word not in self._known:
                if len(self._known) > 50_000:
                    self._known.clear()
                self._known[word] = tuple(self._cut(word))
            token_ids += self._known[word]
        return [*token_ids[: limit - 1], self._last]

    def _cut(self, word: str) -> list[int]:
        if len(word) > MAX_WORD_LENGTH:
            return [self._unknown]
        token_ids: list[int] = []
        start = 0
        while start < len(word):
            prefix, end = "##" if start else "", len(word)
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
    word: list[str] = []
    for character in text:
        category = unicodedata.category(character)
        if character.isspace() or (category.startswith("C") and character in "\t\n\r"):
            separate, is_part = "", False
        elif category.startswith("C") or character == "\ufffd" or (lower and category == "Mn"):
            continue
        else:
            separate, is_part = (character, False) if _is_separate(character, category) else ("", True)
        if is_part:
            word.append(character)
            continue
        if word:
            yield "".join(word)
            word.clear()
        if separate:
            yield separate
    if word:
        yield "".join(word)


def _is_separate(character: str, category: str) -> bool:
    if category.startswith("P") or (character.isascii() and not character.isalnum()):
        return True
    return ord(character) >= 0x3400 and any(low <= ord(character) <= high for low, high in _CJK)
