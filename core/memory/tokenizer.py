"""Splits text into the words that memories are compared by: stems in lower case, without accents."""

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
# A translation table for ASCII text. It separates the same words as `_WORD`, but faster.
_ASCII_TABLE = "".join(chr(code).lower() if chr(code).isalnum() else " " for code in range(128))
_CAMEL_CASE = re.compile(r"[A-Z](?<=[a-z][A-Z])")  # The capital is tested first because it is rarer, which is faster.
_CJK = re.compile("[぀-ヿ㐀-鿿가-힯]")
# Unicode categories of characters that are removed: format characters, accents and control characters.
_INVISIBLE = frozenset({"Cf", "Mn", "Cc"})
_SINGLE_LETTER = re.compile(r"[AaDdIiMmSsTt](?![^\W_])(?<![^\W_].)")  # of those that are also stop words
_LETTER_NAME = re.compile(
    "|".join(
        (
            r"(?<=[^\W_] )A",  # after another word, so that it does not begin a sentence
            r"(?<=[-_/#])[AaIi]",  # in a name such as server-a or size_t, or an option such as -i
            r"[AaIi](?=[^\w\s'’]|\s*\Z)",  # before punctuation or at the end
            r"[Aa](?=\s(?:and|or|is|are|was|were|but|than)\b)",  # before a word that never follows an article
            r"(?<!['’(])[DdMmSsTt]",  # not in a contraction, or in a plural such as server(s)
        )
    )
)
_NAMED_SUFFIX = "letter0"  # the digit keeps the stemmer from changing it
MAX_WORD_LENGTH = 40  # words with more characters are ignored, because nobody searches for them


def tokenize(text: str) -> list[str]:
    """Return the stems of all words in a text, in order, including stop words such as *the*.

    A letter that is a name, as in "server A", is a word of its own, other than the article "a".
    """
    text = _SINGLE_LETTER.sub(_marked_if_name, text.lower() if text.isupper() else text)
    if text.isascii():
        words = _CAMEL_CASE.sub(r" \g<0>", text).translate(_ASCII_TABLE).split()
    else:
        decomposed = unicodedata.normalize("NFKD", text)
        text = "".join(character for character in decomposed if not unicodedata.combining(character))
        text = _CJK.sub(lambda match: f" {match[0]} ", unicodedata.normalize("NFC", text))
        words = _WORD.findall(_CAMEL_CASE.sub(r" \g<0>", text).lower())
    return [stem(word) for word in words if len(word) <= MAX_WORD_LENGTH]


def _marked_if_name(letter: re.Match[str]) -> str:
    is_name = _LETTER_NAME.match(letter.string, letter.start())
    return letter[0].lower() + _NAMED_SUFFIX if is_name else letter[0]


def content_words(text: str) -> list[str]:
    """Return the stems of the words in a text without stop words, in order, with repetitions."""
    return [word for word in tokenize(text) if word not in STOP_STEMS]


def strip_invisible(text: str) -> str:
    """Return the text without accents and invisible characters, and with plain letters instead of their variants.

    Line breaks are kept.
    """
    decomposed = unicodedata.normalize("NFKD", text)
    return "".join(
        character
        for character in decomposed
        if character.isspace() or unicodedata.category(character) not in _INVISIBLE
    )


def is_mentioned(topic: str, text: str) -> bool:
    """Return whether all words of a topic occur in a text, where `MyWord` can also mean two words.

    A topic that consists of stop words only, such as IT or will, has to occur in the same case if it has capital
    letters.
    """
    topic, text = strip_invisible(topic), strip_invisible(text)
    letters = {letter + _NAMED_SUFFIX for letter in tokenize(text) if len(letter) == 1}
    if not {word.removesuffix(_NAMED_SUFFIX) for word in content_words(topic)} <= STOP_STEMS:
        words = {*content_words(text), *content_words(text.lower()), *letters}
        return any(set(content_words(form)) <= words for form in (topic, topic.lower()))
    topic_words = set(_WORD.findall(topic))
    return bool(topic_words) and topic_words <= set(_WORD.findall(text.lower() if topic.islower() else text))
