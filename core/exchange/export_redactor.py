"""Removes secrets from exported events, counts them and keeps samples for the export preview."""

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, cast

from core.domain.events import SessionEvent
from core.domain.redact import Redactor
from core.domain.sessions import SessionRow
from core.domain.text import Text

CONTEXT_LENGTH = 30  # characters of context shown on each side of a removed secret
MAX_SAMPLES = 200
ID_FIELDS = frozenset(
    {
        "id",
        "call_id",
        "child_session",
        "session_id",
        "parent",
        "parent_call",
        "forked_from",
        "question_id",
        "request_id",
    }
)


@dataclass(frozen=True, slots=True)
class RemovedSecret:
    """A removed secret: its kind and the text around it, never the secret itself."""

    kind: str
    session: str
    seq: int
    context: str


class ExportRedactor:
    """Removes secrets from the texts, blobs and events of one export. With `redactor` None it changes nothing.

    Attributes:
        counts: How many secrets of each kind were removed.
        samples: The first `MAX_SAMPLES` removed secrets.
        session, seq: The event being processed, set by the caller. A sample refers to it.
    """

    def __init__(self, redactor: Redactor | None) -> None:
        self._redactor = redactor
        self.counts: Counter[str] = Counter()
        self.samples: list[RemovedSecret] = []
        self.session = ""
        self.seq = 0

    def redact_text(self, text: str) -> str:
        """Return the text with each secret replaced by a placeholder."""
        if self._redactor is None or not text:
            return text
        findings = self._redactor.findings(text)
        if not findings:
            return text
        ends = [0, *(finding.end for finding in findings)]
        starts = [*(finding.start for finding in findings), len(text)]
        # The context of a sample ends at the next secret: the detector would not recognize a truncated one.
        contexts = [text[end:start] for end, start in zip(ends, starts, strict=True)]
        for index, finding in enumerate(findings):
            self.counts[finding.kind] += 1
            if len(self.samples) < MAX_SAMPLES:
                sample = (
                    f"{contexts[index][-CONTEXT_LENGTH:]}[{finding.kind} removed]{contexts[index + 1][:CONTEXT_LENGTH]}"
                )
                self.samples.append(RemovedSecret(finding.kind, self.session, self.seq, " ".join(sample.split())))
        return self._redactor.redact(text)

    def redact_row(self, row: SessionRow) -> SessionRow:
        """Return the session without secrets in its texts, for example in the name that an agent gave a sub-agent."""
        self.session, self.seq = row.id, 0
        clean = self.redact_text
        return row._replace(
            title=clean(row.title), folder=clean(row.folder), subagent=clean(row.subagent), model=clean(row.model)
        )

    def redact_json(self, text: str) -> str:
        """Redact the strings of a JSON text so that it stays valid JSON.

        Text that is not JSON, or is nested too deeply, is redacted as text.
        """
        if self._redactor is None:
            return text
        try:
            plain = json.loads(text)
            cleaned = self._plain(plain)
            return text if cleaned == plain else json.dumps(cleaned, ensure_ascii=False)
        except (ValueError, RecursionError):
            return self.redact_text(text)

    def redact_blob(self, body: bytes, *, counted: bool = False) -> bytes:
        """Redact the contents of a file, also if they are not UTF-8. Contents without a secret are returned unchanged.

        With `counted`, the removed secrets are not counted, because the same contents were redacted and counted before.
        """
        if self._redactor is None:
            return body
        encoding = _encoding(body)
        text = body.decode(encoding, "surrogatepass")
        cleaned = self._redactor.redact(text) if counted else self.redact_text(text)
        return body if cleaned == text else cleaned.encode(encoding, "surrogatepass")

    def redact_event(self, event: SessionEvent, contents: Callable[[str], str]) -> SessionEvent:
        """Return the event without secrets. `contents` maps a blob hash to the hash of the redacted blob."""
        return event if self._redactor is None else cast(SessionEvent, self._value(event, contents))

    def _value(self, value: Any, contents: Callable[[str], str], name: str = "") -> Any:
        if isinstance(value, str):
            return value if name in ID_FIELDS else self.redact_text(value)
        if isinstance(value, Text):
            return self._text(value, name)
        if isinstance(value, tuple):
            return tuple(self._value(item, contents) for item in value)
        if isinstance(value, Mapping):
            return {self.redact_text(key): self._value(item, contents) for key, item in value.items()}
        if is_dataclass(value) and not isinstance(value, type):
            return self._record(value, contents)
        return value

    def _record(self, value: Any, contents: Callable[[str], str]) -> Any:
        changes: dict[str, Any] = {}
        for field in fields(value):
            old = getattr(value, field.name)
            is_blob = field.name in {"blob", "before", "after"} and isinstance(old, str)
            new = contents(old) if is_blob else self._value(old, contents, field.name)
            if new is not old and new != old:
                changes[field.name] = new
        return replace(value, **changes) if changes else value

    def _text(self, text: Text, name: str) -> Text:
        """Redact the text, which must be whole in its `head`. If a secret is removed, the result has no blob."""
        cleaned = self.redact_json(text.head) if name == "arguments" else self.redact_text(text.head)
        return text if cleaned == text.head else Text(cleaned)

    def _plain(self, plain: Any) -> Any:
        if isinstance(plain, str):
            return self.redact_text(plain)
        if isinstance(plain, list):
            return [self._plain(item) for item in plain]
        if isinstance(plain, dict):
            return {self.redact_text(key): self._pair(key, item) for key, item in plain.items()}
        return plain

    def _pair(self, key: str, value: Any) -> Any:
        """Return the value without secrets. A value can be a secret because of its key, such as `password`."""
        cleaned = self._plain(value)
        if isinstance(value, str) and cleaned == value and self._redactor:
            pair = f'"{key}": "{value}"'
            if findings := self._redactor.findings(pair):
                self.redact_text(pair)
                return f"[{findings[0].kind} removed]"
        return cleaned


def _encoding(body: bytes) -> str:
    """Return an encoding that decodes the contents and encodes the result back to the same bytes."""
    for encoding in (*_wide_encodings(body), "utf-8"):
        try:
            if body.decode(encoding).encode(encoding) == body:
                return encoding
        except UnicodeError:
            continue
    return "latin-1"


def _wide_encodings(body: bytes) -> tuple[str, ...]:
    """Return the variants of UTF-16 and UTF-32 to try, judging by the zero bytes at the beginning."""
    head = body[:200]
    if not head.count(0) * 4 > len(head):
        return ()
    return ("utf-32-le", "utf-32-be", "utf-16-le" if head[1::2].count(0) > head[::2].count(0) else "utf-16-be")
