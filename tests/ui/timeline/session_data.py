"""In-memory sessions for the tests: a list-backed data source and a realistic run."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from core.domain.clock import SECOND
from core.domain.sessions import SessionRow
from core.domain.steps import Step
from core.store.reader import RecallOutcome
from core.store.row_sampling import RowSample

START = 1_790_000_000 * SECOND


@dataclass
class MemorySteps:
    """Rows and texts in memory, with the read functions of the store's reader."""

    rows: list[Step] = field(default_factory=list)
    texts: dict[tuple[int, str], str] = field(default_factory=dict)
    events: dict[int, dict[str, Any]] = field(default_factory=dict)
    blobs: dict[str, bytes] = field(default_factory=dict)
    outcomes: dict[str, RecallOutcome] = field(default_factory=dict)
    reads: int = 0

    def find_blob(self, blob: str) -> bytes | None:
        return self.blobs.get(blob)

    def steps(self, session: str, first: int, count: int) -> list[Step]:
        self.reads += 1
        return self.rows[first : first + count]

    def full_text(self, session: str, seq: int, field: str = "text", limit: int | None = None) -> str:
        return self.texts.get((seq, field), "")[:limit]

    def event(self, session: str, seq: int) -> dict[str, Any]:
        return self.events.get(seq, {})

    def sample(self, session: str, count: int, most: int) -> list[RowSample]:
        return self.row_samples(session, 0, count)[:: max(1, count // most)]

    def row_samples(self, session: str, first: int, count: int) -> list[RowSample]:
        return [
            RowSample(s.row, s.kind, s.status, s.started_at, s.ended_at, s.depth)
            for s in self.rows[first : first + count]
        ]

    def search_in_session(self, session: str, text: str) -> list[int]:
        return [step.first_seq for step in self.rows if text and text.casefold() in step.object.casefold()]

    def row_of(self, session: str, seq: int) -> int | None:
        return next((step.row for step in self.rows if seq in (step.first_seq, step.last_seq)), None)

    def events_of(
        self, session: str, kinds: Iterable[str], after: int, until: int, most: int = 1_000
    ) -> list[dict[str, Any]]:
        wanted = set(kinds)
        return [
            {"seq": seq, "run": 1, **entry}
            for seq, entry in sorted(self.events.items())
            if after < seq <= until and entry.get("kind") in wanted
        ]

    def recall_outcomes(self, session: str, run: int) -> dict[str, RecallOutcome]:
        return self.outcomes

    def children(self, session: str) -> list[SessionRow]:
        return []

    def session(self, name: str) -> SessionRow | None:
        return None

    def add(self, kind: str, status: str = "done", *, text: str = "", **values: Any) -> Step:
        """Append a row; `text` is the full text of a message or reply."""
        row = len(self.rows)
        started_at = values.pop("started_at", START + row * SECOND)
        step = Step(
            row=row,
            kind=kind,
            status=status,
            started_at=started_at,
            object=values.pop("object", text.split("\n", 1)[0][:300]),
            first_seq=values.pop("first_seq", row),
            last_seq=values.pop("last_seq", row),
            run=values.pop("run", 1),
            **values,
        )
        self.rows.append(step)
        if text:
            self.texts[step.first_seq, "text"] = text
        return step


ANSWER = """The letter is ready. It asks for the repair by **5 December 2026**, cites the Homes (Fitness for \
Human Habitation) Act 2018 and clause 11.2 of your agreement, and lists the three dated photos.

### Before you send it

- Put your phone number where it says `[phone]`.
- Keep the envelope receipt: the 14 days start when it arrives.

```
complaint.docx   22 KB   letter, two pages
complaint.md      3 KB   the same as text
```
"""


EXIF = "\n".join(
    f"======== photos/{name}.jpg\nDate/Time Original : 2026:{date}"
    for name, date in (("bath-1", "09:02 18:11"), ("bath-2", "09:30 08:40"), ("wall-1", "10:11 19:22"))
)


def letter_session() -> MemorySteps:
    """Return a session with a realistic run: a message, thinking, tool calls, a question, a reply and the end."""
    rows = MemorySteps()
    at = START

    def after(seconds: float) -> int:
        return at + int(seconds * SECOND)

    def work(
        kind: str, what: str, begin: float, took: float, number: int, status: str = "done", **metrics: int
    ) -> None:
        rows.add(
            kind,
            status,
            object=what,
            started_at=after(begin),
            ended_at=after(begin + took),
            number=number,
            metrics=metrics,
            run=2,
        )

    rows.add("user", text="Write a complaint to my landlord about the mould", started_at=at, ended_at=at, run=2)
    rows.add(
        "run", "completed", started_at=at, ended_at=after(108), run=2, tokens=21_300,
        metrics={"thoughts": 3, "calls": 7, "turns": 12, "files": 2},
    )  # fmt: skip
    work("thinking", "The agreement puts damp repairs on the landlord, clause 11.2 and 11.4", 1, 6.1, 14, tokens=1_200)
    work("read", "agreement.pdf", 8, 0.3, 15, bytes=48_200)
    work("command", "exiftool -DateTimeOriginal photos/*.jpg", 22, 0.6, 18, exit_code=0)
    work("write", "complaint.md", 30, 0.031, 19, files=1, added=84, removed=3)
    work("command", "pandoc complaint.md -o complaint.docx", 34, 0.2, 20, "failed", exit_code=127)
    work("tool", "weather history, Leeds, September", 44, 1.8, 21, bytes=3_300)
    work("refused", "run: needs network access, which this folder does not allow", 50, 0, 22, "failed")
    work("question", "Firm, with a 14-day deadline", 52, 124, 23)
    rows.add("reply", text=ANSWER, started_at=after(106), ended_at=after(107), run=2)
    rows.add("end", "completed", started_at=at, ended_at=after(400), run=2, metrics={"turns": 12, "files": 2})
    rows.events[4] = {
        "kind": "call_started",
        "seq": 4,
        "tool": "run",
        "object": "exiftool -DateTimeOriginal photos/*.jpg",
    }
    rows.events[104] = {"kind": "tool_returned", "seq": 104, "output": {"head": EXIF, "size": len(EXIF)}}
    rows.texts[104, "output"] = EXIF
    rows.texts[2, "reasoning"] = "Dates of the photos prove when the mould was first seen."
    rows.rows[4] = rows.rows[4]._replace(last_seq=104)
    return rows
