"""The words of a text as memory compares them: in lower case, without accents, as stems, the empty ones left out."""

import re
import unicodedata

from core.memory.stems import stem

_SAYS_NOTHING = (
    "a an the and or but if then else of in on at to for from by with about as into than so that this these those "
    "it its is am are was were be been being do does did done doing has have had having i you he she we they me him "
    "her us them my your his our their what which who whom whose when where why how can could would should will "
    "shall may might must not no yes there here also just very please s t d ll m re ve let "
)
EMPTY = frozenset(_SAYS_NOTHING.split())
EMPTY_STEMS = frozenset(map(stem, EMPTY)) | EMPTY
_WORD = re.compile(r"[^\W_]+")
_PLAIN = "".join(chr(n).lower() if chr(n).isalnum() else " " for n in range(128))  # ASCII: what `_WORD` finds, at once
_CAMEL = re.compile(r"[A-Z](?<=[a-z][A-Z])")  # the sign that is rarer comes first
_SIGNS = re.compile("[぀-ヿ㐀-鿿가-힯]")
LONGEST = 40  # characters of one word: what is longer is no word anybody asks for


def words(text: str) -> list[str]:
    """Every word as a stem, in order, the empty ones too."""
    if text.isascii():
        found = _CAMEL.sub(r" \g<0>", text).translate(_PLAIN).split()
    else:
        text = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
        text = _SIGNS.sub(lambda sign: f" {sign[0]} ", unicodedata.normalize("NFC", text))
        found = _WORD.findall(_CAMEL.sub(r" \g<0>", text).lower())
    return [stem(word) for word in found if len(word) <= LONGEST]


def telling(text: str) -> list[str]:
    """The words that say something, in order, each as often as it stands there."""
    return [word for word in words(text) if word not in EMPTY_STEMS]
