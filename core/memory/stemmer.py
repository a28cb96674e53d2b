"""Reduces English words to stems by Martin Porter's algorithm of 1980. Most words of other languages stay as is.

The differences from the algorithm as published:

- An irregular form has the stem of its base form: *left* that of *leave*. Verbs and nouns are not told apart.
- A final *s* is kept after *u* and *i*, as in *status* and *this*.
- A final *y* becomes *i* only after a consonant that is not the first letter: *fly*, but not *say* or *by*.
- British spellings count: *-isation* and *-ise*. *happily* has the stem of *happy*.
- Words of fewer than three or more than 40 letters, and words with other characters than a to z, stay as is.

Memories are indexed under these stems, so a change of a stem needs a migration that replaces it in the index.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from itertools import pairwise
from types import MappingProxyType

_VOWELS = frozenset("aeiou")

# The irregular forms of words, which the rules would give a stem other than that of their base form.
_IRREGULAR_FORMS = {
    "be": "am is are was were been",
    "have": "has had",
    "do": "does did done",
    "go": "goes went gone",
    "get": "got gotten",
    "make": "made",
    "take": "took taken",
    "run": "ran",
    "write": "wrote written",
    "see": "saw seen",
    "give": "gave given",
    "come": "came",
    "know": "knew known",
    "think": "thought",
    "find": "found",
    "say": "said",
    "tell": "told",
    "leave": "left",
    "feel": "felt",
    "bring": "brought",
    "buy": "bought",
    "build": "built",
    "send": "sent",
    "keep": "kept",
    "hold": "held",
    "meet": "met",
    "pay": "paid",
    "teach": "taught",
    "catch": "caught",
    "fight": "fought",
    "choose": "chose chosen",
    "speak": "spoke spoken",
    "break": "broke broken",
    "drive": "drove driven",
    "fall": "fell fallen",
    "grow": "grew grown",
    "throw": "threw thrown",
    "draw": "drew drawn",
    "begin": "began begun",
    "swim": "swam swum",
    "sing": "sang sung",
    "ride": "rode ridden",
    "rise": "rose risen",
    "eat": "ate eaten",
    "forget": "forgot forgotten",
    "hide": "hid hidden",
    "lose": "lost",
    "win": "won",
    "sell": "sold",
    "stand": "stood",
    "understand": "understood",
    "spend": "spent",
    "lead": "led",
    "feed": "fed",
    "sleep": "slept",
    "sit": "sat",
    "wear": "wore worn",
    "steal": "stole stolen",
    "wake": "woke woken",
    "become": "became",
    "show": "shown",
    "fly": "flew flown",
    "hear": "heard",
    "mean": "meant",
    "child": "children",
    "person": "people",
    "man": "men",
    "woman": "women",
    "foot": "feet",
    "life": "lives",
    "wife": "wives",
    "mouse": "mice",
    "good": "better best",
    "bad": "worse worst",
}
BASE_FORMS: Mapping[str, str] = MappingProxyType(
    {form: base for base, forms in _IRREGULAR_FORMS.items() for form in forms.split()}
)

# The suffixes of the steps 2, 3 and 4 of the algorithm, and in steps 2 and 3 what replaces each. The first that fits
# is taken, so a suffix is before those that it ends with: *ational* before *tional*, *ization* before *ation*.
_STEP_2 = {
    "ational": "ate",
    "tional": "tion",
    "enci": "ence",
    "anci": "ance",
    "izer": "ize",
    "isation": "ize",
    "abli": "able",
    "alli": "al",
    "entli": "ent",
    "eli": "e",
    "ousli": "ous",
    "ization": "ize",
    "ation": "ate",
    "ator": "ate",
    "alism": "al",
    "iveness": "ive",
    "fulness": "ful",
    "ousness": "ous",
    "aliti": "al",
    "iviti": "ive",
    "biliti": "ble",
    "ili": "i",
}
_STEP_3 = {"icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": ""}
_STEP_4_TEXT = "ement ance ence able ible ment ant ent ism ate iti ous ive ize ise al er ic ou"
_STEP_4 = tuple(_STEP_4_TEXT.split())
_STEMMED_WORD = re.compile(r"[a-z]{3,40}")


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """Return the stem of a word, which has to be in lower case."""
    word = BASE_FORMS.get(word, word)
    if not _STEMMED_WORD.fullmatch(word):
        return word
    word = _without_past_ending(_singular(word))
    if word.endswith("y") and len(word) > 2 and not _is_vowel(word, len(word) - 2):
        word = word[:-1] + "i"
    word = _replace_suffix(word, _STEP_2)
    word = _replace_suffix(word, _STEP_3)
    return _without_final_letter(_without_suffix(word))


def _singular(word: str) -> str:
    if word.endswith("sses") or word.endswith("ies"):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


def _without_past_ending(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for ending in ("ed", "ing"):
        if word.endswith(ending) and _has_vowel(word[: -len(ending)]):
            return _respelled(word[: -len(ending)])
    return word


def _respelled(word: str) -> str:
    """Return a word without its ending (such as *ed* or *ing*) respelled: *hopp* as *hop*, *fil* as *file*."""
    if word.endswith(("at", "bl", "iz")):
        return word + "e"
    if len(word) > 1 and word[-1] == word[-2] and word[-1] not in "lszaeiou":
        return word[:-1]
    return word + "e" if _measure(word) == 1 and _is_short(word) else word


def _replace_suffix(word: str, replacements: Mapping[str, str]) -> str:
    """Replace the first of these suffixes that a word has, unless little of the word would be left."""
    for suffix, replacement in replacements.items():
        if word.endswith(suffix):
            base = word[: -len(suffix)]
            return base + replacement if _measure(base) > 0 else word
    return word


def _without_suffix(word: str) -> str:
    """Remove the first suffix of step 4 that a word has, unless little of the word would be left."""
    for ending in _STEP_4:
        if word.endswith(ending):
            base = word[: -len(ending)]
            return base if _measure(base) > 1 else word
    if word.endswith("ion") and len(word) > 3 and word[-4] in "st" and _measure(word[:-3]) > 1:
        return word[:-3]
    return word


def _without_final_letter(word: str) -> str:
    """Remove a final *e*, and one *l* of a final *ll*, from a word that is long enough."""
    if word.endswith("e"):
        base = word[:-1]
        if _measure(base) > 1 or (_measure(base) == 1 and not _is_short(base)):
            word = base
    return word[:-1] if word.endswith("ll") and _measure(word) > 1 else word


def _is_vowel(word: str, index: int) -> bool:
    letter = word[index]
    return letter in _VOWELS or (letter == "y" and index > 0 and not _is_vowel(word, index - 1))


def _has_vowel(word: str) -> bool:
    return any(_is_vowel(word, index) for index in range(len(word)))


def _measure(word: str) -> int:
    """Return Porter's measure of a word: the number of times that a consonant follows a vowel."""
    are_vowels = [_is_vowel(word, index) for index in range(len(word))]
    return sum(is_vowel and not next_is_vowel for is_vowel, next_is_vowel in pairwise(are_vowels))


def _is_short(word: str) -> bool:
    """Return whether a word ends in a consonant, a vowel and a consonant other than w, x and y."""
    if len(word) < 3 or word[-1] in "wxy":
        return False
    last_three = [_is_vowel(word, index) for index in range(len(word) - 3, len(word))]
    return last_three == [False, True, False]
