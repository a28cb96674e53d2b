"""The secret formats that `resources/secrets/formats.toml` defines."""

import math
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import resources
from typing import Final, NamedTuple

# Least entropy of a random-looking secret, in bits per character; hexadecimal digits have about 3.6.
MIN_ENTROPY: Final = 3.0
MIN_LETTER_ENTROPY: Final = 4.2  # the same for a secret without digits, which could also be a name in code
MIN_LETTERS: Final = 24  # least characters of a random-looking secret without digits
MIN_RUN: Final = 16  # least characters of a token
_EDGES: Final = r"(?<![A-Za-z0-9])(?:{})(?![A-Za-z0-9])"


class SecretMatch(NamedTuple):
    """The position of a secret in a text. `context` is where the match begins, such as at the name before a secret."""

    context: int
    start: int
    end: int


@dataclass(frozen=True, eq=False)
class SecretFormat:
    """A format of secrets; a comment in `formats.toml` explains the fields."""

    kind: str
    hints: tuple[str, ...]
    pattern: str
    is_token: bool
    is_random: bool
    uncertain: bool
    min_run: int
    at_hint: bool

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        """The compiled pattern. Compiled when a hint of the format is found, because most formats are never needed."""
        return re.compile(_EDGES.format(self.pattern) if self.is_token else self.pattern)

    def matches(self, text: str, start: int = 0, end: int | None = None) -> Iterator[SecretMatch]:
        """Yield the secrets of this format in a part of a text."""
        group = "secret" if "secret" in self.compiled.groupindex else 0
        for match in self._iter_matches(text, start, len(text) if end is None else end):
            if not self.is_random or looks_random(match[group]):
                yield SecretMatch(context=match.start(), start=match.start(group), end=match.end(group))

    def _iter_matches(self, text: str, start: int, end: int) -> Iterator[re.Match[str]]:
        folded = text.lower() if self.at_hint else ""
        if len(folded) != len(text):  # lowercasing changed the length, so positions of hints would be wrong
            yield from self.compiled.finditer(text, start, end)
            return
        for hint in self.hints:
            position = folded.find(hint, start, end)
            while position >= 0:
                if match := self.compiled.match(text, position, end):
                    yield match
                position = folded.find(hint, position + len(hint), end)


@cache
def secret_formats() -> tuple[SecretFormat, ...]:
    rows = tomllib.loads((resources.files("resources") / "secrets" / "formats.toml").read_text("utf-8"))["format"]
    return tuple(
        SecretFormat(
            kind=row["kind"],
            hints=tuple(row["hints"]),
            pattern=row["pattern"],
            is_token=row.get("is_token", True),
            is_random=row.get("is_random", False),
            uncertain=row.get("uncertain", False),
            min_run=row.get("min_run", MIN_RUN),
            at_hint=row.get("at_hint", False),
        )
        for row in rows
    )


@cache
def _formats_by_hint(*, tokens: bool) -> dict[str, list[SecretFormat]]:
    table: dict[str, list[SecretFormat]] = {}
    for secret_format in secret_formats():
        if secret_format.is_token == tokens:
            for hint in secret_format.hints:
                table.setdefault(hint, []).append(secret_format)
    return table


def formats_with_hint(folded: str, *, tokens: bool) -> dict[SecretFormat, list[str]]:
    """Return the formats whose hints occur in a lowercase text, each with these hints.

    `tokens` selects the formats that match single tokens, or else all others.
    """
    hints_by_format: dict[SecretFormat, list[str]] = {}
    for hint, formats in _formats_by_hint(tokens=tokens).items():
        if hint in folded:
            for secret_format in formats:
                hints_by_format.setdefault(secret_format, []).append(hint)
    return hints_by_format


def looks_random(text: str) -> bool:
    """Return whether a text looks like a generated key, rather than a name in code, a number or a date."""
    counts = Counter(text)
    entropy = -sum(count / len(text) * math.log2(count / len(text)) for count in counts.values())
    if all(not word or word.isalpha() or word.isdigit() for word in re.split(r"[_\-/=+~.]", text)):
        capitals = len(re.findall("[a-z][A-Z]", text))  # a name such as MyClassName has far fewer per character
        return len(text) >= MIN_LETTERS and entropy >= MIN_LETTER_ENTROPY and capitals >= len(text) / 8
    return entropy >= MIN_ENTROPY
