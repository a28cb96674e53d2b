"""Splits text into the words that memory compares: lowercase stems without accents, with or without stop words."""

import re
import unicodedata

from core.memory.stemmer import stem

_STOP_WORD_TEXT = (
    "a an the and or but if then else of in on at to for from by with about as into than so that this these those "
    "it its is am are was were be been being do does did done doing has have had having i you he she we they me him "
    "her us them my your his our their what which who whom whose when where why how can could would should will "
    "shall may might must not no yes there here also just very please s t d ll m re ve let "
)
STOP_WORDS = frozenset(_STOP_WORD_TEXT.split())
STOP_STEMS = frozenset(map(stem, STOP_WORDS)) | STOP_WORDS
_WORD = re.compile(r"[^\W_]+")
_PLAIN = "".join(
    chr(n).lower() if chr(n).isalnum() else " " for n in range(128)
)  # for ASCII, a fast equivalent of `_WORD`
_CAMEL = re.compile(r"[A-Z](?<=[a-z][A-Z])")  # The rarer character is tested first, for speed.
_CJK = re.compile("[぀-ヿ㐀-鿿가-힯]")
LONGEST = 40  # characters; longer words are ignored, because nobody searches for them


def tokenize(text: str) -> list[str]:
    """Return every word as a stem, in order, including stop words."""
    if text.isascii():
        words = _CAMEL.sub(r" \g<0>", text).translate(_PLAIN).split()
    else:
        text = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
        text = _CJK.sub(lambda match: f" {match[0]} ", unicodedata.normalize("NFC", text))
        words = _WORD.findall(_CAMEL.sub(r" \g<0>", text).lower())
    return [stem(word) for word in words if len(word) <= LONGEST]


def content_words(text: str) -> list[str]:
    """Return the content words as stems, in order, with repetitions."""
    return [word for word in tokenize(text) if word not in STOP_STEMS]
