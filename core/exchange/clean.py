"""Take secrets out of facts that leave, count them, and remember a few for a preview."""

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, cast

from core.domain.events import RunEvent
from core.domain.redact import Redactor
from core.domain.text import Text

AROUND = 30  # characters shown on both sides of what was removed
SAMPLES = 200
NAMES = frozenset(
    {"id", "call_id", "child", "session_id", "parent", "parent_call", "origin", "question_id", "request_id"}
)


@dataclass(frozen=True, slots=True)
class Removed:
    """A secret that was taken out: its kind, and the words around it, never itself."""

    kind: str
    session: str
    seq: int
    around: str


class Cleaner:
    """Cleans what it is given. Without a redactor everything stays as it is.

    Attributes:
        counts: how many of each kind were removed; `samples` are the first of them.
        session, seq: the fact that is being cleaned.
    """

    def __init__(self, redactor: Redactor | None) -> None:
        self._redactor = redactor
        self.counts: Counter[str] = Counter()
        self.samples: list[Removed] = []
        self.session = ""
        self.seq = 0

    def text(self, text: str) -> str:
        """The words without secrets."""
        if self._redactor is None or not text:
            return text
        found = self._redactor.findings(text)
        if not found:
            return text
        ends = [0, *(each.end for each in found)]
        starts = [*(each.start for each in found), len(text)]
        between = [text[end:start] for end, start in zip(ends, starts, strict=True)]  # half a secret looks like none
        for place, each in enumerate(found):
            self.counts[each.kind] += 1
            if len(self.samples) < SAMPLES:
                shown = f"{between[place][-AROUND:]}[{each.kind} removed]{between[place + 1][:AROUND]}"
                self.samples.append(Removed(each.kind, self.session, self.seq, " ".join(shown.split())))
        return self._redactor.text(text)

    def json(self, text: str) -> str:
        """The same for JSON, which stays JSON; for other words as they are."""
        if self._redactor is None:
            return text
        try:
            plain = json.loads(text)
        except (ValueError, RecursionError):
            return self.text(text)
        cleaned = self._plain(plain)
        return text if cleaned == plain else json.dumps(cleaned, ensure_ascii=False)

    def body(self, body: bytes, *, again: bool = False) -> bytes:
        """Contents of a file; those that are no text stay as they are. `again`: they were counted before."""
        if self._redactor is None:
            return body
        try:
            text = body.decode("utf-8")
        except UnicodeDecodeError:
            return body
        cleaned = self._redactor.text(text) if again else self.text(text)
        return body if cleaned == text else cleaned.encode()

    def event(self, event: RunEvent, contents: Callable[[str], str]) -> RunEvent:
        """The fact without secrets. `contents` gives the new name of contents that were cleaned themselves."""
        return event if self._redactor is None else cast(RunEvent, self._value(event, contents))

    def _value(self, value: Any, contents: Callable[[str], str], name: str = "") -> Any:
        if isinstance(value, str):
            return value if name in NAMES else self.text(value)
        if isinstance(value, Text):
            return self._words(value, name)
        if isinstance(value, tuple):
            return tuple(self._value(item, contents) for item in value)
        if isinstance(value, Mapping):
            return {self.text(key): self._value(item, contents) for key, item in value.items()}
        if is_dataclass(value) and not isinstance(value, type):
            return self._record(value, contents)
        return value

    def _record(self, value: Any, contents: Callable[[str], str]) -> Any:
        changes: dict[str, Any] = {}
        for field in fields(value):
            old = getattr(value, field.name)
            named = field.name in {"blob", "before", "after"} and isinstance(old, str)
            new = contents(old) if named else self._value(old, contents, field.name)
            if new is not old and new != old:
                changes[field.name] = new
        return replace(value, **changes) if changes else value

    def _words(self, text: Text, name: str) -> Text:
        """Whole by now, so that one that changed needs no contents kept apart."""
        cleaned = self.json(text.head) if name == "arguments" else self.text(text.head)
        return text if cleaned == text.head else Text(cleaned)

    def _plain(self, plain: Any) -> Any:
        if isinstance(plain, str):
            return self.text(plain)
        if isinstance(plain, list):
            return [self._plain(item) for item in plain]
        if isinstance(plain, dict):
            return {key: self._pair(key, item) for key, item in plain.items()}
        return plain

    def _pair(self, key: str, value: Any) -> Any:
        """A value that only its name gives away: the pair is looked at as it would be written."""
        cleaned = self._plain(value)
        if isinstance(value, str) and cleaned == value and self._redactor:
            written = f'"{key}": "{value}"'
            if found := self._redactor.findings(written):
                self.text(written)
                return f"[{found[0].kind} removed]"
        return cleaned
