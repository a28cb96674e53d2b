"""Removes secrets from text before it leaves the application: known values, and anything that looks like a secret."""

import base64
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import quote

from core.domain.escaped_text import DecodedText, TextSpan, decode_escapes
from core.domain.secret_formats import MIN_LETTERS, MIN_RUN, SecretFormat, formats_with_hint

MIN_SECRET_LENGTH = 6  # characters; a shorter value would match ordinary text
KNOWN = "known secret"
TOKEN_RUN = re.compile(rf"[A-Za-z0-9+/_.=~-]{{{MIN_RUN},}}")
RUN_CONTEXT = 64  # characters before a run of token characters in which the match may begin
MIN_WRAPPED = 16  # characters; a longer known secret is also found if white space has been inserted into it
DIGIT = re.compile(r"\d")
SECRET_VARIABLE = re.compile(r"(?i)(?:key|token|secret|password|passwd|credentials?)$")


@dataclass(frozen=True, slots=True)
class SecretFinding:
    """The position and kind of a secret in a text, without the secret itself.

    `context` is where the text begins that reveals the secret, such as the name before a password; None without one.
    """

    kind: str
    start: int
    end: int
    context: int | None = None

    @property
    def context_start(self) -> int:
        return self.start if self.context is None else self.context


class _TokenRun(NamedTuple):
    """A run of characters that tokens consist of: its position in a text, and it in lowercase."""

    start: int
    end: int
    lowered: str


class Redactor:
    """Finds and removes secrets. The object does not reveal the known `secrets`, not even by repr.

    Without `uncertain`, patterns that often match ordinary code are not used, such as a quoted password.
    """

    __slots__ = ("_secrets", "_uncertain", "_wrapped")

    def __init__(self, secrets: Iterable[str] = (), *, uncertain: bool = True) -> None:
        self._secrets = sorted({form for value in secrets for form in _forms(value)}, key=len, reverse=True)
        self._uncertain = uncertain
        self._wrapped = [form for form in self._secrets if len(form) >= MIN_WRAPPED]

    def __repr__(self) -> str:
        return "Redactor(•••)"

    def __reduce__(self) -> str:
        raise TypeError("a redactor contains secrets and cannot be pickled")

    def findings(self, text: str) -> list[SecretFinding]:
        """Return every secret in a text in order, without overlaps, including those escaped in JSON or URLs."""
        findings = list(self._search(text))
        if decoded := decode_escapes(text):
            findings += (_original_finding(decoded, finding) for finding in self._search(decoded.text))
        return _merge_overlaps(findings) if findings else findings

    def _search(self, text: str) -> Iterator[SecretFinding]:
        for start, end in _occurrences(self._secrets, text):
            yield SecretFinding(KNOWN, start, end)
        compact = "".join(text.split()) if self._wrapped else text  # encoded text may be wrapped at any position
        if len(compact) < len(text) and (wrapped := list(_occurrences(self._wrapped, compact))):
            places = [place for place, character in enumerate(text) if not character.isspace()]
            yield from (SecretFinding(KNOWN, places[start], places[end - 1] + 1) for start, end in wrapped)
        runs = [_TokenRun(match.start(), match.end(), match[0].lower()) for match in TOKEN_RUN.finditer(text)]
        joined_runs = " ".join(run.lowered for run in runs)
        for token_format, hints in formats_with_hint(joined_runs, tokens=True).items():
            yield from _search_tokens(token_format, hints, text, runs)
        for secret_format in formats_with_hint(text.lower(), tokens=False):
            if secret_format.is_random and not secret_format.at_hint:
                yield from _search_random(secret_format, text, runs)
            elif self._uncertain or not secret_format.uncertain:
                for match in secret_format.matches(text):
                    yield SecretFinding(secret_format.kind, match.start, match.end, match.context)

    def redact(self, text: str) -> str:
        """Return the text with each secret replaced by its kind, as in `[GitHub token removed]`."""
        return _remove(text, self.findings(text))


def secrets_in_environment(environment: Mapping[str, str]) -> list[str]:
    """Return the values of environment variables whose names suggest a secret, such as `API_KEY`."""
    return [value for name, value in environment.items() if SECRET_VARIABLE.search(name)]


def _occurrences(forms: Iterable[str], text: str) -> Iterator[TextSpan]:
    for form in forms:
        start = text.find(form)
        while start >= 0:
            end = start + len(form)
            yield TextSpan(start, end)
            start = text.find(form, end)


def _forms(value: str) -> Iterable[str]:
    """Yield a secret in the forms in which text may contain it: plain, in JSON or URLs, UTF-16, hex, base32, base64."""
    if len(value.strip()) < MIN_SECRET_LENGTH:
        return
    yield from (value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1], quote(value, safe=""))
    yield "\0".join(value)  # UTF-16 of either byte order, if decoded as text
    for encoding in ("utf-8", "utf-16-le", "utf-16-be"):
        plain = value.encode(encoding, "replace")
        yield from (plain.hex(), plain.hex().upper())
        for form in (*_in_groups(plain, 3, 6, base64.b64encode), *_in_groups(plain, 5, 5, base64.b32encode)):
            if len(form) >= MIN_SECRET_LENGTH:
                yield from (form, form.replace("+", "-").replace("/", "_"), form.lower() if form.isupper() else form)


def _in_groups(plain: bytes, size: int, bits: int, encode: Callable[[bytes], bytes]) -> Iterator[str]:
    """Yield the base32 or base64 characters that depend only on the secret, for each position in an encoded group.

    The secret may be anywhere in the encoded text, as in `user:password`. A group has `size` bytes, and an encoded
    character stands for `bits` bits.
    """
    for before in range(size):
        encoded = encode(bytes(before) + plain).decode().rstrip("=")
        yield encoded[-(-8 * before // bits) : 8 * (before + len(plain)) // bits]


def _search_tokens(
    token_format: SecretFormat, hints: list[str], text: str, runs: list[_TokenRun]
) -> Iterator[SecretFinding]:
    """Search for a token format near the runs of token characters that contain one of the hints."""
    for start, end, lowered in runs:
        if end - start >= token_format.min_run and any(hint in lowered for hint in hints):
            for match in token_format.matches(text, max(0, start - RUN_CONTEXT), end):
                yield SecretFinding(token_format.kind, match.start, match.end, match.context)


def _search_random(random_format: SecretFormat, text: str, runs: list[_TokenRun]) -> Iterator[SecretFinding]:
    """Search for random-looking secrets near runs with digits, which most generated keys have, and near long runs."""
    for start, end, lowered in runs:
        if end - start >= MIN_LETTERS or DIGIT.search(lowered):
            context_start = max(0, start - RUN_CONTEXT)
            nearby_text = text[context_start:end].lower()
            if any(hint in nearby_text for hint in random_format.hints):
                for match in random_format.matches(text, context_start, end + 1):
                    yield SecretFinding(random_format.kind, match.start, match.end, match.context)


def _original_finding(decoded: DecodedText, finding: SecretFinding) -> SecretFinding:
    """Return a finding in a decoded text with its position in the original text."""
    span = decoded.original_span(finding.start, finding.end)
    context = decoded.original_span(finding.context_start, finding.end).start
    return SecretFinding(finding.kind, span.start, span.end, context)


def _merge_overlaps(findings: list[SecretFinding]) -> list[SecretFinding]:
    """Return the findings in order, with overlapping ones merged into one of the kind that begins first."""
    merged: list[SecretFinding] = []
    for finding in sorted(findings, key=lambda finding: (finding.start, -finding.end)):
        if merged and finding.start < merged[-1].end:
            last = merged[-1]
            context = min(last.context_start, finding.context_start)
            merged[-1] = SecretFinding(last.kind, last.start, max(last.end, finding.end), context)
        else:
            merged.append(finding)
    return merged


def _remove(text: str, findings: list[SecretFinding]) -> str:
    parts: list[str] = []
    position = 0
    for finding in findings:
        parts += (text[position : finding.start], f"[{finding.kind} removed]")
        position = finding.end
    return "".join((*parts, text[position:]))
