"""Removes secrets from text that leaves the app: known values first, then anything that looks like a key."""

import base64
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import quote

from core.domain.escaped_text import DecodedText, decode_escapes
from core.domain.secret_formats import MIN_LETTERS, MIN_RUN, SecretFormat, formats_with_hint

MIN_SECRET_LENGTH = 6  # characters; a shorter value would match ordinary text
KNOWN = "known secret"
TOKEN_RUN = re.compile(rf"[A-Za-z0-9+/_.=~-]{{{MIN_RUN},}}")
RUN_CONTEXT = 64  # characters before a run in which a token may begin
MIN_WRAPPED = 16  # characters of a known secret that is also found with spaces and line breaks in it
DIGIT = re.compile(r"\d")
# The end of a secret that is longer than MAX_HELD; other kinds end at the first character that keys do not contain.
OPEN_END = {"private key": re.compile(r"(?s).*?-----END [A-Z0-9 ]{1,60}-----")}
SECRET_VARIABLE = re.compile(r"(?i)(?:key|token|secret|password|passwd|credentials?)$")
MIN_HOLDBACK = 512  # characters a stream holds back; the recognizable start of a key is never longer
MAX_HELD = 65_536  # characters a stream holds back while a secret does not end; then its rest is dropped


@dataclass(frozen=True, slots=True)
class SecretFinding:
    """A secret found in a text, by position. The secret itself is not part of it.

    `context` is where the text begins that shows that it is a secret, such as the name before a password.
    """

    kind: str
    start: int
    end: int
    context: int = -1

    @property
    def first(self) -> int:
        return self.start if self.context < 0 else self.context


class Redactor:
    """Finds and removes secrets. `known` are the secret values in use; the object never reveals them, even by repr.

    If not `uncertain`, patterns that often match ordinary code are left out, such as a quoted password.
    """

    __slots__ = ("_longest", "_secrets", "_uncertain", "_wrapped")

    def __init__(self, secrets: Iterable[str] = (), *, uncertain: bool = True) -> None:
        self._secrets = sorted({form for value in secrets for form in _forms(value)}, key=len, reverse=True)
        self._uncertain = uncertain
        self._longest = max(map(len, self._secrets), default=0)
        self._wrapped = [form for form in self._secrets if len(form) >= MIN_WRAPPED]

    def __repr__(self) -> str:
        return "Redactor(•••)"

    def __reduce__(self) -> str:
        raise TypeError("a redactor contains secrets and cannot be pickled")

    def findings(self, text: str) -> list[SecretFinding]:
        """Return every secret in the text, in order, also inside JSON strings and URLs."""
        findings = list(self._search(text))
        if decoded := decode_escapes(text):
            findings += (_original_finding(decoded, finding) for finding in self._search(decoded.text))
        return _merge_overlaps(findings) if findings else findings

    def _search(self, text: str) -> Iterator[SecretFinding]:
        for start, end in _occurrences(self._secrets, text):
            yield SecretFinding(KNOWN, start, end)
        compact = "".join(text.split()) if self._wrapped else text  # lines of encoded text are wrapped anywhere
        if len(compact) < len(text) and (wrapped := list(_occurrences(self._wrapped, compact))):
            places = [place for place, character in enumerate(text) if not character.isspace()]
            yield from (SecretFinding(KNOWN, places[start], places[end - 1] + 1) for start, end in wrapped)
        folded = text.lower()
        tokens = [(run.start(), run.end(), run[0].lower()) for run in TOKEN_RUN.finditer(text)]
        joined = " ".join(lowered for _, _, lowered in tokens)
        for token, hints in formats_with_hint(joined, tokens=True).items():
            yield from _search_tokens(token, hints, text, tokens)
        for format in formats_with_hint(folded, tokens=False):
            if format.is_random:
                yield from _search_random(format, text, tokens)
            elif self._uncertain or not format.uncertain:
                for context, start, end in format.matches(text):
                    yield SecretFinding(format.kind, start, end, context)

    def redact(self, text: str) -> str:
        """Return the text with each secret replaced by its kind, as in `[GitHub token removed]`."""
        return _remove(text, self.findings(text))

    def stream(self) -> "RedactingStream":
        return RedactingStream(self)

    @property
    def holdback(self) -> int:
        """How many characters at the end of a stream may be the beginning of a secret."""
        return max(MIN_HOLDBACK, 2 * self._longest)  # with the spaces within it


class RedactingStream:
    """Redacts text that arrives in chunks. An end that may be the start of a secret is held back until more arrives."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._held = ""
        self._inside: re.Pattern[str] | None = None

    def feed(self, chunk: str) -> str:
        """Add a chunk. Return the redacted text that can be released, because no secret can begin in it any more."""
        self._held += chunk
        if self._skipping():
            return ""
        findings = self._redactor.findings(self._held)
        cut = max(0, len(self._held) - self._redactor.holdback)
        for finding in findings:
            if finding.first < cut and finding.end >= cut:
                cut = finding.first
        cut = _before_escape(self._held, cut)
        if len(self._held) - cut > MAX_HELD:  # a secret without an end in sight: its rest is dropped as it arrives
            last = findings[-1]
            self._inside = OPEN_END.get(last.kind, re.compile(r"[A-Za-z0-9._~+/=\-]*"))
            text = _remove(self._held, findings)
            self._held = ""
            return text
        text = _remove(self._held[:cut], [finding for finding in findings if finding.end <= cut])
        self._held = self._held[cut:]
        return text

    def close(self) -> str:
        """Return the rest of the text, redacted."""
        text = "" if self._skipping() else self._redactor.redact(self._held)
        self._held = ""
        return text

    def _skipping(self) -> bool:
        """Drop held text that belongs to a secret already removed. Return whether that secret has not ended yet."""
        if self._inside is None:
            return False
        end = self._inside.match(self._held)
        if end is None or end.end() == len(self._held):
            self._held = self._held[-100:] if end is None else ""
            return True
        self._held = self._held[end.end() :]
        self._inside = None
        return False


def secrets_in_environment(environment: Mapping[str, str]) -> list[str]:
    """Return the values of environment variables whose names say that they hold secrets."""
    return [value for name, value in environment.items() if SECRET_VARIABLE.search(name)]


def _occurrences(forms: Iterable[str], text: str) -> Iterator[tuple[int, int]]:
    for form in forms:
        at = text.find(form)
        while at >= 0:
            yield at, at + len(form)
            at = text.find(form, at + len(form))


def _forms(value: str) -> Iterable[str]:
    """Yield a value as it appears in plain text, JSON, URLs, UTF-16, hexadecimal digits, base32 and base64."""
    if len(value.strip()) < MIN_SECRET_LENGTH:
        return
    yield from (value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1], quote(value, safe=""))
    yield "\0".join(value)  # UTF-16 in either byte order, read as text
    for encoding in ("utf-8", "utf-16-le", "utf-16-be"):
        plain = value.encode(encoding, "replace")
        yield from (plain.hex(), plain.hex().upper())
        for form in (*_in_groups(plain, 3, 6, base64.b64encode), *_in_groups(plain, 5, 5, base64.b32encode)):
            if len(form) >= MIN_SECRET_LENGTH:
                yield from (form, form.replace("+", "-").replace("/", "_"), form.lower() if form.isupper() else form)


def _in_groups(plain: bytes, size: int, bits: int, encode: Callable[[bytes], bytes]) -> Iterator[str]:
    """Yield the encoded characters that depend on a value alone, for each of its places in a group of `size` bytes.

    The value may be anywhere in the text that is encoded, as in `user:password`. A character encodes `bits` bits.
    """
    for before in range(size):
        encoded = encode(bytes(before) + plain).decode().rstrip("=")
        yield encoded[-(-8 * before // bits) : 8 * (before + len(plain)) // bits]


def _search_tokens(
    format: SecretFormat, hints: list[str], text: str, runs: list[tuple[int, int, str]]
) -> Iterator[SecretFinding]:
    """Search around the runs of characters that contain a hint."""
    for start, end, lowered in runs:
        if end - start >= format.min_run and any(hint in lowered for hint in hints):
            for context, first, stop in format.matches(text, max(0, start - RUN_CONTEXT), end):
                yield SecretFinding(format.kind, first, stop, context)


def _search_random(format: SecretFormat, text: str, runs: list[tuple[int, int, str]]) -> Iterator[SecretFinding]:
    """Search around the runs that contain digits, since generated keys do."""
    for start, end, lowered in runs:
        if end - start >= MIN_LETTERS or DIGIT.search(lowered):
            context_start = max(0, start - RUN_CONTEXT)
            nearby_text = text[context_start:end].lower()
            if any(hint in nearby_text for hint in format.hints):
                for context, first, last in format.matches(text, context_start, end + 1):
                    yield SecretFinding(format.kind, first, last, context)


def _original_finding(decoded: DecodedText, finding: SecretFinding) -> SecretFinding:
    """Return a finding in a decoded text with its positions in the original."""
    start, end = decoded.original_span(finding.start, finding.end)
    return SecretFinding(finding.kind, start, end, decoded.original_span(finding.first, finding.end)[0])


def _before_escape(text: str, cut: int) -> int:
    """Return a place to split a text that is not inside an escape such as `\\u0022` or `%22`."""
    escape_start = re.search(r"(?:\\+[ux]?[0-9a-fA-F]{0,3}|%[0-9a-fA-F]{0,4})$", text[max(0, cut - 40) : cut])
    return max(0, cut - 40) + escape_start.start() if escape_start else cut


def _merge_overlaps(findings: list[SecretFinding]) -> list[SecretFinding]:
    """Merge overlapping findings into one with the kind of the first."""
    merged: list[SecretFinding] = []
    for finding in sorted(findings, key=lambda f: (f.start, -f.end)):
        if merged and finding.start < merged[-1].end:
            last = merged[-1]
            first = min(last.first, finding.first)
            merged[-1] = SecretFinding(last.kind, last.start, max(last.end, finding.end), first)
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
