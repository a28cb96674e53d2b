"""Checks for content that must not be remembered: secrets, personal numbers, and content of no lasting value."""

import re
from collections.abc import Callable

from core.domain.redact import Redactor

_STATED_SECRET = re.compile(
    r"(?i)\b(pass(?:word|phrase|code)|passwd|pin|secret|api[ _-]?key|access[ _-]?key|token|kennwort|passwort)\b"
    r"[^\n.;]{0,40}?(?:\bis\b|\bist\b|=|:)\s*[\"'`]?(?P<value>[^\s\"'`,;]{4,200})"
)
_BARE_PASSWORD = re.compile(
    r"(?i)\b(?:pass(?:word|phrase|code)|passwd|kennwort|passwort)\s+[\"'`]?"
    r"(?P<value>(?=[^\s\"'`,;]*\d)(?=[^\s\"'`,;]*[a-z])[\w!#$%&*+?@^~-]{6,200})(?![\w/]|[.:=]\w)"
)  # may also match a name such as sha256
_HINTS = ("pass", "pin", "secret", "key", "token", "kennwort")  # every match of _STATED_SECRET contains a hint
_MANY_DIGITS = re.compile(r"\d(?:[^\d\n]{0,6}\d){8}")
_DIGITS = re.compile(r"(?<![\w.-])\d(?:[ -]?\d){12,18}(?![\w-])")
_IBAN = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]){11,30}\b")
_SOCIAL = re.compile(r"(?<![\w-])(?!000|666|9\d\d)\d{3}-(?!00)\d{2}-(?!0000)\d{4}(?![\w-])")
_PHONE = re.compile(r"(?<![\w.])(?:\+|00)\d{1,3}[ ./-]?(?:\(?\d{1,5}\)?[ ./-]?){2,6}\d{2,4}(?![\w])")
_NORTH_AMERICAN_PHONE = re.compile(r"(?<![\w.-])(?:\([2-9]\d{2}\) ?|[2-9]\d{2}[ .-])[2-9]\d{2}[.-]\d{4}(?![\w-])")
_STATED_PHONE = re.compile(  # a number with a word that says what it is; dates are not numbers
    r"(?i)\b(?:tele)?(?:phone|fon|fax|mobile|cell|tel|handy|whatsapp|call|text)\b[^\d\n;]{0,20}"
    r"(?!\d{4}-\d{2}-\d{2})\(?\d(?:[ ()/-]{0,2}\d){8,14}(?![\w.-]*\d)"
)
_PLAIN = Redactor()
_HARMLESS = frozenset(
    ("set", "needed", "required", "empty", "missing", "wrong", "asked", "stored", "kept", "found", "used", "read",
     "given", "not", "the")
)  # fmt: skip


def refusal_reason(text: str) -> str:
    """Return why this text must not be remembered, or "" if it may be."""
    if findings := _PLAIN.findings(text):
        return f"It contains a secret ({findings[0].kind})."
    stated = _STATED_SECRET.search(text) if _may_contain_secret(text) else None
    if stated and stated["value"].lower().rstrip(".") not in _HARMLESS:
        return f"It contains a secret ({stated[1].lower()})."
    numbers = _NUMBERS if _MANY_DIGITS.search(text) else ()
    for name, pattern, is_valid in numbers:
        if any(is_valid(match[0]) for match in pattern.finditer(text)):
            return f"It contains a personal number ({name})."
    return ""


def _may_contain_secret(text: str) -> bool:
    """Return whether to search the text with _STATED_SECRET. This is a fast filter before the regular expression.

    A non-ASCII text is always searched, because several characters can be case variants of the same letter.
    """
    folded = text.lower()
    return not text.isascii() or any(hint in folded for hint in _HINTS)


def redact(text: str) -> str:
    """Return the text with secrets and personal numbers replaced, for memories that are created automatically."""
    text = _PLAIN.redact(text)
    for stated in (_STATED_SECRET, _BARE_PASSWORD):
        text = stated.sub(lambda match: match[0].replace(match["value"], "[removed]"), text)
    for name, pattern, is_valid in _NUMBERS:
        numbers = {match[0] for match in pattern.finditer(text) if is_valid(match[0])}
        for number in numbers:
            text = text.replace(number, f"[{name} removed]")
    return text


def _luhn(text: str) -> bool:
    digits = [int(character) for character in text if character.isdigit()]
    doubled = [digit * 2 - 9 * (digit > 4) if index % 2 else digit for index, digit in enumerate(reversed(digits))]
    return len(set(digits)) > 1 and sum(doubled) % 10 == 0


def _iban(text: str) -> bool:
    compact = text.replace(" ", "")
    if not 15 <= len(compact) <= 34:
        return False
    return int("".join(str(int(character, 36)) for character in compact[4:] + compact[:4])) % 97 == 1


def _has_nine_digits(text: str) -> bool:
    return sum(character.isdigit() for character in text) >= 9


_NUMBERS: tuple[tuple[str, re.Pattern[str], Callable[[str], bool]], ...] = (
    ("card number", _DIGITS, _luhn),
    ("bank account", _IBAN, _iban),
    ("social security number", _SOCIAL, _has_nine_digits),
    ("phone number", _PHONE, _has_nine_digits),
    ("phone number", _NORTH_AMERICAN_PHONE, _has_nine_digits),
    ("phone number", _STATED_PHONE, _has_nine_digits),
)

# What a review must not learn, because it was true only once or only on this machine, or because it is a guess.
_LOW_VALUE: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "It describes this environment, not the work.",
        re.compile(
            r"(?i)\b(command not found|no such file or directory|permission denied|not installed|module not found|"
            r"no module named|disk (?:is )?full|no space left)\b"
        ),
    ),
    (
        "It describes a temporary error.",
        re.compile(
            r"(?i)\b(timed? ?out|rate.?limit\w*|429|50[0234]|temporarily|connection (?:reset|refused)|network)\b"
        ),
    ),
    (
        "It says that a tool does not work, which may be true only today.",
        re.compile(
            r"(?i)\b(?:tool|read|write|edit|search|find|fetch|run)\b[^.]{0,30}\b(?:does(?: not|n't)|do(?: not|n't)|"
            r"can(?:not|'t)|never|is broken|fails?)\b[^.]{0,10}\bwork\w*|\bis broken\b"
        ),
    ),
    (
        "It is an unconfirmed guess.",
        re.compile(
            r"(?i)\b(may ?be|perhaps|probably|might be|not sure|unclear|unresolved|could not (?:find|fix|solve))\b"
        ),
    ),
    (
        "It describes a single occasion.",
        re.compile(
            r"(?i)^\s*(?:today|just now|in this session|this time|earlier|"
            r"i (?:have )?(?:just )?(?:fixed|did|ran|made))\b"
        ),
    ),
)  # fmt: skip


def low_value_reason(text: str) -> str:
    """Return why a review should not remember this, or "" if it may."""
    return next((why for why, pattern in _LOW_VALUE if pattern.search(text)), "")
