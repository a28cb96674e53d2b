"""Characters that look like others, and with which a path or a command could pass for a different one."""

import re
import unicodedata
from typing import Final

MAX_CHARS: Final = 100_000  # a longer text, which is longer than any command, is not checked
# Cyrillic, Greek and Armenian letters that look like one from a to z, in upper or lower case.
_CYRILLIC: Final = (
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u04bb\u0501\u051b\u051d\u04cf\u0475\u04af"
    "\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0425\u0406\u0408\u0405\u0423\u04ae\u051a\u051c\u04c0"
)
_GREEK: Final = (
    "\u03b1\u03bf\u03bd\u03c1\u03b9\u03c5\u03f2\u03f3"
    "\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7\u03f9\u037f"
)
_ARMENIAN: Final = "\u0585\u057d\u0578\u0570\u0581\u0566"
_LETTERS: Final = re.compile(f"[{_CYRILLIC}{_GREEK}{_ARMENIAN}]")
_ALPHABETS: Final = re.compile("[\u0370-\u058f]")
_WORD: Final = re.compile(r"[^\W\d_]+")
# A shorter word in which all letters look like others is a real word, such as the Russian word for "with".
MIN_WORD: Final = 3
# Signs that look like a slash, backslash, hyphen, dot, bar or colon, letters that look like `a` and `g`, and the
# letters for mathematics, which look like ordinary ones in another font.
_SIGNS: Final = re.compile(
    "[\u2044\u2215\u29f8\uff0f\u2216\u29f5\u29f9\ufe68\uff3c\u2010\u2011\ufe63\uff0d\u2024\ua4f8\uff0e"
    "\u2223\u01c0\u2236\ua789\u0251\u0261\U0001d400-\U0001d7ff]"
)


def lookalikes(text: str) -> set[int]:
    """Return the positions of the characters in a text that look like others.

    A letter of another alphabet counts if its word also contains letters from a to z, or if all letters of those
    alphabets in the text look like others. So does a character that is equal to another one or, together with the one
    before, to a single one in Unicode, such as an `e` and an accent.
    """
    if text.isascii() or len(text) > MAX_CHARS:
        return set()
    positions = {match.start() for match in _SIGNS.finditer(text)}
    if _LETTERS.search(text):
        shows_alphabet = _ALPHABETS.search(_LETTERS.sub("", text)) is not None
        for word in _WORD.finditer(text):
            positions.update(_foreign_letters(word, shows_alphabet=shows_alphabet))
    if not unicodedata.is_normalized("NFC", text):
        positions.update(index for index in range(len(text)) if _is_equal_to_another(text, index))
    return positions


def _foreign_letters(word: re.Match[str], *, shows_alphabet: bool) -> list[int]:
    """Return the positions of the letters in a word that look like others, if the word could pass for another.

    `shows_alphabet`: the text contains letters of the same alphabets that look like no other.
    """
    found = [match.start() + word.start() for match in _LETTERS.finditer(word[0])]
    is_mixed = any(letter.isascii() for letter in word[0])
    looks_latin = len(found) == len(word[0]) >= MIN_WORD and not shows_alphabet
    return found if is_mixed or looks_latin else []


def _is_equal_to_another(text: str, index: int) -> bool:
    char = text[index]
    if char.isascii():
        return False
    pair = text[index - 1 : index + 1] if index else ""
    return unicodedata.normalize("NFC", char) != char or (bool(pair) and len(unicodedata.normalize("NFC", pair)) == 1)
