"""What is never kept: secrets, numbers of persons, and what is not worth remembering."""

import re
from collections.abc import Callable

from core.domain.redact import Redactor

_SPOKEN = re.compile(
    r"(?i)\b(pass(?:word|phrase|code)|passwd|pin|secret|api[ _-]?key|access[ _-]?key|token|kennwort|passwort)\b"
    r"[^\n.;]{0,40}?(?:\bis\b|\bist\b|=|:)\s*[\"'`]?(?P<value>[^\s\"'`,;]{4,200})"
)
_HINTS = ("pass", "pin", "secret", "key", "token", "kennwort")  # without one of them it tells none
_MANY_DIGITS = re.compile(r"\d(?:[^\d\n]{0,6}\d){8}")
_DIGITS = re.compile(r"(?<![\w.-])\d(?:[ -]?\d){12,18}(?![\w-])")
_IBAN = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]){11,30}\b")
_SOCIAL = re.compile(r"(?<![\w-])(?!000|666|9\d\d)\d{3}-(?!00)\d{2}-(?!0000)\d{4}(?![\w-])")
_PHONE = re.compile(r"(?<![\w.])(?:\+|00)\d{1,3}[ ./-]?(?:\(?\d{1,5}\)?[ ./-]?){2,6}\d{2,4}(?![\w])")
_PLAIN = Redactor()
_HARMLESS = frozenset(
    ("set", "needed", "required", "empty", "missing", "wrong", "asked", "stored", "kept", "found", "used", "read",
     "given", "not", "the")
)  # fmt: skip


def refusal(text: str) -> str:
    """Why this may not be kept, in words; empty when it may."""
    if found := _PLAIN.findings(text):
        return f"It holds a secret ({found[0].kind})."
    spoken = _SPOKEN.search(text) if _may_tell(text) else None
    if spoken and spoken["value"].lower().rstrip(".") not in _HARMLESS:
        return f"It tells a secret ({spoken[1].lower()})."
    numbers = _NUMBERS if _MANY_DIGITS.search(text) else ()
    for name, pattern, is_one in numbers:
        if any(is_one(match[0]) for match in pattern.finditer(text)):
            return f"It holds a number of a person ({name})."
    return ""


def _may_tell(text: str) -> bool:
    """Few sentences hold a hint. Outside of ASCII more than one sign counts as the same letter."""
    folded = text.lower()
    return not text.isascii() or any(hint in folded for hint in _HINTS)


def without_secrets(text: str) -> str:
    """The same text for what is kept by itself: secrets and numbers of persons are left out."""
    text = _SPOKEN.sub(lambda match: match[0].replace(match["value"], "[removed]"), _PLAIN.text(text))
    for name, pattern, is_one in _NUMBERS:
        found = {match[0] for match in pattern.finditer(text) if is_one(match[0])}
        for number in found:
            text = text.replace(number, f"[{name} removed]")
    return text


def _luhn(text: str) -> bool:
    digits = [int(sign) for sign in text if sign.isdigit()]
    doubled = [digit * 2 - 9 * (digit > 4) if place % 2 else digit for place, digit in enumerate(reversed(digits))]
    return len(set(digits)) > 1 and sum(doubled) % 10 == 0


def _iban(text: str) -> bool:
    plain = text.replace(" ", "")
    if not 15 <= len(plain) <= 34:
        return False
    return int("".join(str(int(sign, 36)) for sign in plain[4:] + plain[:4])) % 97 == 1


def _always(text: str) -> bool:
    return sum(sign.isdigit() for sign in text) >= 9


_NUMBERS: tuple[tuple[str, re.Pattern[str], Callable[[str], bool]], ...] = (
    ("card number", _DIGITS, _luhn),
    ("bank account", _IBAN, _iban),
    ("social security number", _SOCIAL, _always),
    ("phone number", _PHONE, _always),
)

# What a review must not learn: it was so once, it was here, or nobody knows.
_NOT_WORTH: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "It is about this environment, not about the work.",
        re.compile(
            r"(?i)\b(command not found|no such file or directory|permission denied|not installed|module not found|"
            r"no module named|disk (?:is )?full|no space left)\b"
        ),
    ),
    (
        "It will be over soon: an error of the moment.",
        re.compile(
            r"(?i)\b(timed? ?out|rate.?limit\w*|429|50[0234]|temporarily|connection (?:reset|refused)|network)\b"
        ),
    ),
    (
        "It says that a tool does not work, which may be so only today.",
        re.compile(
            r"(?i)\b(?:tool|read|write|edit|search|find|fetch|run)\b[^.]{0,30}\b(?:does(?: not|n't)|do(?: not|n't)|"
            r"can(?:not|'t)|never|is broken|fails?)\b[^.]{0,10}\bwork\w*|\bis broken\b"
        ),
    ),
    (
        "It is a guess that nobody has settled.",
        re.compile(
            r"(?i)\b(may ?be|perhaps|probably|might be|not sure|unclear|unresolved|could not (?:find|fix|solve))\b"
        ),
    ),
    (
        "It tells of one occasion only.",
        re.compile(
            r"(?i)^\s*(?:today|just now|in this session|this time|earlier|"
            r"i (?:have )?(?:just )?(?:fixed|did|ran|made))\b"
        ),
    ),
)  # fmt: skip


def not_worth(text: str) -> str:
    """Why a review should not keep this; empty when it may."""
    return next((why for why, pattern in _NOT_WORTH if pattern.search(text)), "")
