"""Cut a text into the pieces that a BERT model knows: in lower case, without accents, the longest piece first."""

import unicodedata
from collections.abc import Iterator, Mapping

LONGEST = 100  # characters of a word that is cut; a longer one is unknown
_CJK = ((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x2FA1F))


class WordPiece:
    """Of a vocabulary: piece → number."""

    def __init__(self, vocabulary: Mapping[str, int], *, lower: bool = True) -> None:
        self._pieces = vocabulary
        self._lower = lower
        self._unknown, self._first, self._last = (vocabulary[name] for name in ("[UNK]", "[CLS]", "[SEP]"))
        self._known: dict[str, tuple[int, ...]] = {}

    def numbers(self, text: str, most: int) -> list[int]:
        """Those of its pieces, with the marks of beginning and end; at most so many."""
        found = [self._first]
        for word in _words(text, self._lower):
            if len(found) >= most - 1:
                break
            if word not in self._known:
                if len(self._known) > 50_000:
                    self._known.clear()
                self._known[word] = tuple(self._cut(word))
            found += self._known[word]
        return [*found[: most - 1], self._last]

    def _cut(self, word: str) -> list[int]:
        if len(word) > LONGEST:
            return [self._unknown]
        pieces: list[int] = []
        start = 0
        while start < len(word):
            mark, end = "##" if start else "", len(word)
            while end > start and mark + word[start:end] not in self._pieces:
                end -= 1
            if end == start:
                return [self._unknown]
            pieces.append(self._pieces[mark + word[start:end]])
            start = end
        return pieces


def _words(text: str, lower: bool) -> Iterator[str]:
    """Runs of letters and digits; every sign of punctuation and every Chinese character is a word of its own."""
    if lower:
        text = unicodedata.normalize("NFD", text.lower())
    word: list[str] = []
    for sign in text:
        category = unicodedata.category(sign)
        if sign.isspace() or (category.startswith("C") and sign in "\t\n\r"):
            alone, kept = "", False
        elif category.startswith("C") or sign == "\ufffd" or (lower and category == "Mn"):
            continue
        else:
            alone, kept = (sign, False) if _is_alone(sign, category) else ("", True)
        if kept:
            word.append(sign)
            continue
        if word:
            yield "".join(word)
            word.clear()
        if alone:
            yield alone
    if word:
        yield "".join(word)


def _is_alone(sign: str, category: str) -> bool:
    if category.startswith("P") or (sign.isascii() and not sign.isalnum()):
        return True
    return ord(sign) >= 0x3400 and any(low <= ord(sign) <= high for low, high in _CJK)
