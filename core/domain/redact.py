"""Take secrets out of what leaves: the very values that are known, then what looks like a key."""

import base64
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from urllib.parse import quote

SHORTEST = 6  # a shorter value would be found everywhere
TOKEN = r"[A-Za-z0-9_\-]"

# No nested repetition, and a bounded middle or a possessive end: the time grows with the length of the text only.
# Nothing possessive around a choice: Python before 3.11.4 goes on from the wrong place after it.
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
        "authorisation": r"(?i:authorization|proxy-authorization)[\"']?\s{0,5}[:=]\s{0,5}[\"']?"
        r"(?i:bearer|basic|token)\s{1,5}[A-Za-z0-9._~+/=\-]{8,}+",
        "bearer": r"(?<![A-Za-z])(?i:bearer)\s{1,5}[A-Za-z0-9._~+/=\-]{20,}+",
        "password in an address": r"://[^\s:/@\"'<>]{0,64}:[^\s/@\"'<>]{1,256}@",
        "password": r"(?i:(?:password|passwd|secret|api_?key|access_?token|auth_?token|client_?secret))"
        r"[\"']?\s{0,5}[=:]\s{0,5}[\"'][^\"'\n]{6,256}[\"']",
    }
)
HINTS: Mapping[str, tuple[str, ...]] = MappingProxyType(  # in lower case: without one of them the kind cannot be there
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
        "authorisation": ("authorization",),
        "bearer": ("bearer",),
        "password in an address": ("://",),
        "password": ("password", "passwd", "secret", "key", "token"),
    }
)
OPEN_END = {"private key": re.compile(r"(?s).*?-----END [A-Z0-9 ]{1,60}-----")}
NAMES = re.compile(r"(?i)(?:key|token|secret|password|passwd|credentials?)$")
TAIL = 512  # characters a stream holds back: no beginning of a key is longer
MOST_HELD = 65_536


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found where; the secret itself is not in it."""

    kind: str
    start: int
    end: int


class Redactor:
    """Knows the values in use; they do not show in its own text either."""

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
        raise TypeError("a redactor knows secrets and is not written down")

    def findings(self, text: str) -> list[Finding]:
        """Every secret, in order; for the preview of an export."""
        found = [Finding("known secret", *hit.span()) for hit in self._known.finditer(text)] if self._known else []
        folded = text.lower()
        if hints := {hint for hint in self._hints if hint in folded}:  # most texts hold none
            for kind, pattern in self._kinds.items():
                if not hints.isdisjoint(HINTS[kind]):
                    found += [Finding(kind, *hit.span()) for hit in pattern.finditer(text)]
        return _apart(found)

    def text(self, text: str) -> str:
        """The text without secrets."""
        return _without(text, self.findings(text))

    def stream(self) -> "Stream":
        return Stream(self)

    @property
    def held(self) -> int:
        """How much of a stream may be the beginning of something."""
        return max(TAIL, self._longest)


class Stream:
    """Redacts what comes in pieces: an end that may be the start of a secret is held back until more is known."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._held = ""
        self._inside: re.Pattern[str] | None = None

    def feed(self, piece: str) -> str:
        """What can be told by now."""
        self._held += piece
        if self._skipping():
            return ""
        found = self._redactor.findings(self._held)
        cut = max(0, len(self._held) - self._redactor.held)
        for finding in found:
            if finding.start < cut and finding.end >= cut:
                cut = finding.start
        if len(self._held) - cut > MOST_HELD:  # a secret without an end: the rest of it is dropped as it comes
            last = found[-1]
            self._inside = OPEN_END.get(last.kind, re.compile(r"[A-Za-z0-9._~+/=\-]*"))
            told = _without(self._held, found)
            self._held = ""
            return told
        told = _without(self._held[:cut], [each for each in found if each.end <= cut])
        self._held = self._held[cut:]
        return told

    def close(self) -> str:
        """The rest."""
        rest = "" if self._skipping() else self._redactor.text(self._held)
        self._held = ""
        return rest

    def _skipping(self) -> bool:
        """Inside of a secret that was told already; false once its end has come, and is dropped."""
        if self._inside is None:
            return False
        end = self._inside.match(self._held)
        if end is None or end.end() == len(self._held):
            self._held = self._held[-100:] if end is None else ""
            return True
        self._held = self._held[end.end() :]
        self._inside = None
        return False


def known_in(environment: Mapping[str, str]) -> list[str]:
    """The values of the variables that hold keys, by their names."""
    return [value for name, value in environment.items() if NAMES.search(name)]


def _forms(value: str) -> Iterable[str]:
    """A value as it stands, in JSON, in an address and in base64."""
    if len(value.strip()) < SHORTEST:
        return
    yield from (value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1], quote(value, safe=""))
    coded = base64.b64encode(value.encode("utf-8", "replace")).decode().rstrip("=")
    yield from (coded, coded.replace("+", "-").replace("/", "_"))


def _apart(found: list[Finding]) -> list[Finding]:
    """Findings that overlap become one, under the first one's name."""
    apart: list[Finding] = []
    for each in sorted(found, key=lambda f: (f.start, -f.end)):
        if apart and each.start < apart[-1].end:
            apart[-1] = Finding(apart[-1].kind, apart[-1].start, max(apart[-1].end, each.end))
        else:
            apart.append(each)
    return apart


def _without(text: str, found: list[Finding]) -> str:
    parts: list[str] = []
    at = 0
    for each in found:
        parts += (text[at : each.start], f"[{each.kind} removed]")
        at = each.end
    return "".join((*parts, text[at:]))
