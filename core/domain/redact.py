"""Removes secrets from text that leaves the app: known values first, then anything that looks like a key."""

import base64
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from urllib.parse import quote

MIN_SECRET_LENGTH = 6  # characters; a shorter value would match ordinary text
TOKEN = r"[A-Za-z0-9_\-]"

# To match in linear time, the patterns have no nested quantifiers, and every quantifier is either bounded or
# possessive. A possessive quantifier must not follow an alternation: before 3.11.4, Python resumes at the wrong
# position.
PATTERNS: Mapping[str, str] = MappingProxyType(
    {
        "private key": r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY(?: BLOCK)?-----(?s:.*?)"
        r"(?:-----END [A-Z0-9 ]{1,60}-----|\Z)",
        "AWS key": r"(?<![A-Za-z0-9])(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])",
        "AWS secret": r"(?i:aws_?secret_?(?:access_?)?key)[\"']?\s{0,5}[=:]\s{0,5}[\"']?[A-Za-z0-9/+=]{40}",
        "GitHub token": rf"(?<![A-Za-z0-9])(?:gh[pousr]_[A-Za-z0-9]{{20,}}+|github_pat_{TOKEN}{{20,}}+)",
        "GitLab token": rf"(?<![A-Za-z0-9])glpat-{TOKEN}{{16,}}+",
        "Slack token": r"(?<![A-Za-z0-9])xox[abeoprs]-[A-Za-z0-9-]{10,}+|https://hooks\.slack\.com/services/[\w/]{20,}+",
        "Google key": rf"(?<![A-Za-z0-9])(?:AIza{TOKEN}{{30,}}+|ya29\.{TOKEN}{{20,}}+|GOCSPX-{TOKEN}{{20,}}+)",
        "API key": rf"(?<![A-Za-z0-9])(?:sk|pk|rk)[-_](?:[a-z0-9]{{2,12}}[-_]){{0,3}}{TOKEN}{{20,}}+",
        "token": rf"(?<![A-Za-z0-9])(?:npm_[A-Za-z0-9]{{30,}}+|hf_[A-Za-z0-9]{{30,}}+|pypi-{TOKEN}{{40,}}+"
        rf"|dop_v1_[a-f0-9]{{60,}}+|SG\.{TOKEN}{{16,}}+\.{TOKEN}{{16,}}+)",
        "JWT": rf"(?<![A-Za-z0-9_-])eyJ{TOKEN}{{8,}}+\.eyJ{TOKEN}{{8,}}+(?:\.{TOKEN}*+)?",
        "authorization": r"(?i:authorization|proxy-authorization)[\"']?\s{0,5}[:=]\s{0,5}[\"']?"
        r"(?i:bearer|basic|token)\s{1,5}[A-Za-z0-9._~+/=\-]{8,}+",
        "bearer": r"(?<![A-Za-z])(?i:bearer)\s{1,5}[A-Za-z0-9._~+/=\-]{20,}+",
        "password in an address": r"://[^\s:/@\"'<>]{0,64}:[^\s/@\"'<>]{1,256}@",
        "password": r"(?i:(?:password|passwd|secret|api_?key|access_?token|auth_?token|client_?secret))"
        r"[\"']?\s{0,5}[=:]\s{0,5}[\"'][^\"'\n]{6,256}[\"']",
    }
)
HINTS: Mapping[str, tuple[str, ...]] = MappingProxyType(  # lowercase; each match contains at least one of its hints
    {
        "private key": ("private key",),
        "AWS key": ("akia", "asia", "abia", "acca"),
        "AWS secret": ("secret",),
        "GitHub token": ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        "GitLab token": ("glpat-",),
        "Slack token": ("xox", "hooks.slack.com"),
        "Google key": ("aiza", "ya29.", "gocspx-"),
        "API key": ("sk-", "sk_", "pk-", "pk_", "rk-", "rk_"),
        "token": ("npm_", "hf_", "pypi-", "dop_v1_", "sg."),
        "JWT": ("eyj",),
        "authorization": ("authorization",),
        "bearer": ("bearer",),
        "password in an address": ("://",),
        "password": ("password", "passwd", "secret", "key", "token"),
    }
)
# The end of a secret that is longer than MAX_HELD; other kinds end at the first character that keys do not contain.
OPEN_END = {"private key": re.compile(r"(?s).*?-----END [A-Z0-9 ]{1,60}-----")}
SECRET_VARIABLE = re.compile(r"(?i)(?:key|token|secret|password|passwd|credentials?)$")
MIN_HOLDBACK = 512  # characters a stream holds back; the recognizable start of a key is never longer
MAX_HELD = 65_536  # characters a stream holds back while a secret does not end; then its rest is dropped


@dataclass(frozen=True, slots=True)
class SecretFinding:
    """A secret found in a text, by position. The secret itself is not part of it."""

    kind: str
    start: int
    end: int


class Redactor:
    """Finds and removes secrets. `known` are the secret values in use; the object never reveals them, even by repr."""

    __slots__ = ("_hints", "_kinds", "_known", "_longest")

    def __init__(self, known: Iterable[str] = (), kinds: Iterable[str] = PATTERNS) -> None:
        forms = sorted({form for value in known for form in _forms(value)}, key=len, reverse=True)
        exact = "|".join(map(re.escape, forms))
        self._known = re.compile(exact) if forms else None
        self._kinds = {kind: re.compile(PATTERNS[kind]) for kind in kinds}
        self._hints = tuple(dict.fromkeys(hint for kind in self._kinds for hint in HINTS[kind]))
        self._longest = max(map(len, forms), default=0)

    def __repr__(self) -> str:
        return "Redactor(•••)"

    def __reduce__(self) -> str:
        raise TypeError("a redactor contains secrets and cannot be pickled")

    def findings(self, text: str) -> list[SecretFinding]:
        """Return every secret in the text, in order; also used for the preview of an export."""
        found = (
            [SecretFinding("known secret", *hit.span()) for hit in self._known.finditer(text)] if self._known else []
        )
        folded = text.lower()
        if hints := {hint for hint in self._hints if hint in folded}:  # most texts contain none
            for kind, pattern in self._kinds.items():
                if not hints.isdisjoint(HINTS[kind]):
                    found += [SecretFinding(kind, *hit.span()) for hit in pattern.finditer(text)]
        return _merge_overlaps(found)

    def redact(self, text: str) -> str:
        """Return the text with each secret replaced by its kind, as in `[GitHub token removed]`."""
        return _remove(text, self.findings(text))

    def stream(self) -> "RedactingStream":
        return RedactingStream(self)

    @property
    def holdback(self) -> int:
        """How many characters at the end of a stream may be the beginning of a secret."""
        return max(MIN_HOLDBACK, self._longest)


class RedactingStream:
    """Redacts text that arrives in pieces. An end that may be the start of a secret is held back until more arrives."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._held = ""
        self._inside: re.Pattern[str] | None = None

    def feed(self, piece: str) -> str:
        """Add a piece. Return the redacted text that can be released, because no secret can begin in it any more."""
        self._held += piece
        if self._skipping():
            return ""
        found = self._redactor.findings(self._held)
        cut = max(0, len(self._held) - self._redactor.holdback)
        for finding in found:
            if finding.start < cut and finding.end >= cut:
                cut = finding.start
        if len(self._held) - cut > MAX_HELD:  # a secret without an end in sight: its rest is dropped as it arrives
            last = found[-1]
            self._inside = OPEN_END.get(last.kind, re.compile(r"[A-Za-z0-9._~+/=\-]*"))
            text = _remove(self._held, found)
            self._held = ""
            return text
        text = _remove(self._held[:cut], [finding for finding in found if finding.end <= cut])
        self._held = self._held[cut:]
        return text

    def close(self) -> str:
        """Return the rest of the text, redacted."""
        rest = "" if self._skipping() else self._redactor.redact(self._held)
        self._held = ""
        return rest

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


def _forms(value: str) -> Iterable[str]:
    """Yield a value as it appears in plain text, JSON, URLs and base64."""
    if len(value.strip()) < MIN_SECRET_LENGTH:
        return
    yield from (value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1], quote(value, safe=""))
    coded = base64.b64encode(value.encode("utf-8", "replace")).decode().rstrip("=")
    yield from (coded, coded.replace("+", "-").replace("/", "_"))


def _merge_overlaps(found: list[SecretFinding]) -> list[SecretFinding]:
    """Merge overlapping findings into one with the kind of the first."""
    apart: list[SecretFinding] = []
    for finding in sorted(found, key=lambda f: (f.start, -f.end)):
        if apart and finding.start < apart[-1].end:
            apart[-1] = SecretFinding(apart[-1].kind, apart[-1].start, max(apart[-1].end, finding.end))
        else:
            apart.append(finding)
    return apart


def _remove(text: str, found: list[SecretFinding]) -> str:
    parts: list[str] = []
    at = 0
    for finding in found:
        parts += (text[at : finding.start], f"[{finding.kind} removed]")
        at = finding.end
    return "".join((*parts, text[at:]))
