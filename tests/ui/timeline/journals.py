"""Sessions to look at: rows kept in a list, and a realistic run."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from core.domain.clock import SECOND
from core.domain.sessions import SessionRow
from core.domain.steps import Step
from core.store.marks import Mark

START = 1_790_000_000 * SECOND


@dataclass
class ListedRows:
    """Rows and words held in memory, read as the store's reader reads them."""

    rows: list[Step] = field(default_factory=list)
    texts: dict[tuple[int, str], str] = field(default_factory=dict)
    entries: dict[int, dict[str, Any]] = field(default_factory=dict)
    bodies: dict[str, bytes] = field(default_factory=dict)
    reads: int = 0

    def kept(self, blob: str) -> bytes | None:
        return self.bodies.get(blob)

    def steps(self, session: str, first: int, count: int) -> list[Step]:
        self.reads += 1
        return self.rows[first : first + count]

    def words(self, session: str, seq: int, field: str = "text", limit: int | None = None) -> str:
        return self.texts.get((seq, field), "")[:limit]

    def entry(self, session: str, seq: int) -> dict[str, Any]:
        return self.entries.get(seq, {})

    def sample(self, session: str, count: int, most: int) -> list[Mark]:
        return self.stretch(session, 0, count)[:: max(1, count // most)]

    def stretch(self, session: str, first: int, count: int) -> list[Mark]:
        return [Mark(s.row, s.kind, s.status, s.began, s.ended, s.depth) for s in self.rows[first : first + count]]

    def find_in(self, session: str, text: str) -> list[int]:
        return [step.first for step in self.rows if text and text.casefold() in step.object.casefold()]

    def row_of(self, session: str, seq: int) -> int | None:
        return next((step.row for step in self.rows if seq in (step.first, step.last)), None)

    def lines(
        self, session: str, kinds: Iterable[str], after: int, until: int, most: int = 1_000
    ) -> list[dict[str, Any]]:
        wanted = set(kinds)
        return [
            {"seq": seq, "run": 1, **entry}
            for seq, entry in sorted(self.entries.items())
            if after < seq <= until and entry.get("kind") in wanted
        ]

    def children(self, session: str) -> list[SessionRow]:
        return []

    def session(self, name: str) -> SessionRow | None:
        return None

    def add(self, kind: str, status: str = "done", *, said: str = "", **values: Any) -> Step:
        """One more row; `said` is the whole text of a row of words."""
        row = len(self.rows)
        began = values.pop("began", START + row * SECOND)
        step = Step(
            row=row,
            kind=kind,
            status=status,
            began=began,
            object=values.pop("object", said.split("\n", 1)[0][:300]),
            first=values.pop("first", row),
            last=values.pop("last", row),
            run=values.pop("run", 1),
            **values,
        )
        self.rows.append(step)
        if said:
            self.texts[step.first, "text"] = said
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


def letter() -> ListedRows:
    """Two runs as a person would see them: thoughts, calls, a question, an answer, an end."""
    rows = ListedRows()
    at = START

    def after(seconds: float) -> int:
        return at + int(seconds * SECOND)

    def work(kind: str, what: str, begin: float, took: float, number: int, status: str = "done", **marks: int) -> None:
        rows.add(
            kind, status, object=what, began=after(begin), ended=after(begin + took), number=number, marks=marks, run=2
        )

    rows.add("person", said="Write a complaint to my landlord about the mould", began=at, ended=at, run=2)
    rows.add(
        "run", "completed", began=at, ended=after(108), run=2, tokens=21_300,
        marks={"thoughts": 3, "calls": 7, "rounds": 12, "files": 2},
    )  # fmt: skip
    work("thinking", "The agreement puts damp repairs on the landlord, clause 11.2 and 11.4", 1, 6.1, 14, tokens=1_200)
    work("read", "agreement.pdf", 8, 0.3, 15, bytes=48_200)
    work("command", "exiftool -DateTimeOriginal photos/*.jpg", 22, 0.6, 18, exit=0)
    work("write", "complaint.md", 30, 0.031, 19, files=1, added=84, removed=3)
    work("command", "pandoc complaint.md -o complaint.docx", 34, 0.2, 20, "failed", exit=127)
    work("tool", "weather history, Leeds, September", 44, 1.8, 21, bytes=3_300)
    work("refused", "run: needs the network, and this folder has none", 50, 0, 22, "failed")
    work("question", "Firm, with a 14-day deadline", 52, 124, 23)
    rows.add("reply", said=ANSWER, began=after(106), ended=after(107), run=2)
    rows.add("end", "completed", began=at, ended=after(400), run=2, marks={"rounds": 12, "files": 2})
    rows.entries[4] = {
        "kind": "call_started",
        "seq": 4,
        "tool": "run",
        "object": "exiftool -DateTimeOriginal photos/*.jpg",
    }
    rows.entries[104] = {"kind": "tool_returned", "seq": 104, "output": {"head": EXIF, "size": len(EXIF)}}
    rows.texts[104, "output"] = EXIF
    rows.texts[2, "reasoning"] = "Dates of the photos prove when the mould was first seen."
    rows.rows[4] = rows.rows[4]._replace(last=104)
    return rows
