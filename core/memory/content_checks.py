"""Checks for content that must not be remembered: secrets, personal numbers, and content without lasting value."""

import re
from collections.abc import Callable
from typing import NamedTuple

from core.domain.redact import Redactor
from core.memory.stated_secrets import stated_secrets
from core.memory.tokenizer import strip_invisible

_PLACEHOLDER = re.compile(r"(\[[^\[\]\n]{0,60}removed\])")  # what replaces a secret in a redacted text
_MANY_DIGITS = re.compile(r"\d(?:[^\d\n]{0,6}\d){8}")
_CARD_NUMBER = re.compile(r"(?<![\w.-])\d(?:[ -]?\d){12,18}(?![\w-])")
_GROUPED_CARD_NUMBER = re.compile(  # also next to other numbers
    r"(?<!\d)(?:(?:[3-6]\d{3}|2[2-7]\d\d)([ .-]?)\d{4}\1\d{4}\1\d{4}|3\d{3}([ .-]?)\d{6}\2\d{4,5})(?!\d)"
)
_IBAN = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]){11,30}\b")
_GROUPED_IBAN = re.compile(  # the same before other words in capitals or numbers
    r"\b[A-Z]{2}\d{2}(?:[A-Z0-9]{11,30}|(?: [A-Z0-9]{4}){3,7}(?: [A-Z0-9]{1,3})?)\b"
)
_US_SOCIAL_SECURITY = re.compile(r"(?<![\w-])(?!000|666|9\d\d)\d{3}-(?!00)\d{2}-(?!0000)\d{4}(?![\w-])")
_PHONE = re.compile(r"(?<![\w.])(?:\+|00)\d{1,3}[ ./-]?(?:\(?\d{1,5}\)?[ ./-]?){2,6}\d{2,4}(?![\w])")
_NORTH_AMERICAN_PHONE = re.compile(r"(?<![\w.-])(?:\([2-9]\d{2}\) ?|[2-9]\d{2}[ .-])[2-9]\d{2}[.-]\d{4}(?![\w-])")
_STATED_PHONE = re.compile(  # a number after a word such as "phone"; dates do not match
    r"(?i)\b(?:tele)?(?:phone|fon|fax|mobile|cell|tel|handy|whatsapp|call|text)\b[^\d\n;]{0,20}"
    r"(?!\d{4}-\d{2}-\d{2})\(?\d(?:[ ()/-]{0,2}\d){8,14}(?![\w.-]*\d)"
)
_REDACTOR = Redactor()


def refusal_reason(text: str) -> str:
    """Return why a text must not be remembered, or "" if it may be. Invisible characters are ignored."""
    text = _PLACEHOLDER.sub("none", text)  # a value that never counts as a secret
    return _refusal_reason(text) or ("" if text.isascii() else _refusal_reason(strip_invisible(text)))


def _refusal_reason(text: str) -> str:
    if findings := _REDACTOR.findings(text):
        return f"It contains a secret ({findings[0].kind})."
    if stated := next(stated_secrets(text), None):
        return f"It contains a secret ({stated.name})."
    if _MANY_DIGITS.search(text):
        for number in _PERSONAL_NUMBERS:
            if any(number.is_valid(match[0]) for match in number.pattern.finditer(text)):
                return f"It contains a personal number ({number.name})."
    return ""


def redact(text: str) -> str:
    """Return a text with secrets and personal numbers replaced, for memories that are created automatically."""
    parts = _PLACEHOLDER.split(_REDACTOR.redact(text))
    text = "".join(part if _PLACEHOLDER.fullmatch(part) else _without_stated_secrets(part) for part in parts)
    for number in _PERSONAL_NUMBERS:
        found = {match[0] for match in number.pattern.finditer(text) if number.is_valid(match[0])}
        for digits in found:
            text = text.replace(digits, f"[{number.name} removed]")
    return text


def _without_stated_secrets(text: str) -> str:
    found = sorted(stated_secrets(text), key=lambda secret: (secret.start, secret.end))
    kept, position = "", 0
    for secret in found:
        if secret.start >= position:
            kept += text[position : secret.start] + "[removed]"
        position = max(position, secret.end)
    return kept + text[position:]


def _is_card_number(text: str) -> bool:
    """Return whether the digits of a text have the checksum of a card number, by the Luhn algorithm."""
    digits = [int(character) for character in text if character.isdigit()]
    checksum = 0
    for index, digit in enumerate(reversed(digits)):
        checksum += sum(divmod(2 * digit, 10)) if index % 2 else digit
    return len(set(digits)) > 1 and checksum % 10 == 0


def _contains_iban(text: str) -> bool:
    """Return whether a text is an IBAN, or one and another number after a space."""
    return _is_iban(text) or _is_iban(text.rpartition(" ")[0])


def _is_iban(text: str) -> bool:
    compact = text.replace(" ", "")
    if not 15 <= len(compact) <= 34:
        return False
    return int("".join(str(int(character, 36)) for character in compact[4:] + compact[:4])) % 97 == 1


def _has_nine_digits(text: str) -> bool:
    return sum(character.isdigit() for character in text) >= 9


class _PersonalNumber(NamedTuple):
    """A kind of personal number. `is_valid` decides whether a match of the pattern is one."""

    name: str
    pattern: re.Pattern[str]
    is_valid: Callable[[str], bool]


_PERSONAL_NUMBERS = (
    _PersonalNumber("card number", _CARD_NUMBER, _is_card_number),
    _PersonalNumber("card number", _GROUPED_CARD_NUMBER, _is_card_number),
    _PersonalNumber("bank account", _IBAN, _is_iban),
    _PersonalNumber("bank account", _GROUPED_IBAN, _contains_iban),
    _PersonalNumber("social security number", _US_SOCIAL_SECURITY, _has_nine_digits),
    _PersonalNumber("phone number", _PHONE, _has_nine_digits),
    _PersonalNumber("phone number", _NORTH_AMERICAN_PHONE, _has_nine_digits),
    _PersonalNumber("phone number", _STATED_PHONE, _has_nine_digits),
)

# Content that a review must not learn, because it was true only once or only on this machine, or is a guess.
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
)


def low_value_reason(text: str) -> str:
    """Return why a review should not remember a text, or "" if it may."""
    return next((why for why, pattern in _LOW_VALUE if pattern.search(text)), "")
