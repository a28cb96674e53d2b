"""A data folder for pictures: sessions in every state, with times that count back from now."""

import asyncio
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Final, NamedTuple

from app import places
from core.domain.clock import SECOND, now
from core.domain.consent import ConsentRequest, canonical, fingerprint
from core.domain.decision import Choice
from core.domain.events import (
    Call,
    CallAllowed,
    CallStarted,
    ConsentAsked,
    DecisionMade,
    FileChanged,
    PersonSpoke,
    QuestionAnswered,
    QuestionAsked,
    Replied,
    RequestSent,
    RunEnded,
    RunEvent,
    RunInterrupted,
    RunStarted,
    Text,
    ToolReturned,
    Usage,
)
from core.domain.problems import Trouble
from core.domain.question import Answer, Option, Part, Question
from core.store.blobs import blob_hash
from core.store.database import Database
from core.store.journal import Journal
from core.store.reader import Reader

HOUR: Final = 3600
MODEL: Final = "scripted"
LAWS: Final = (
    Choice("Dates of the photos", ("kept by the camera",), ("can be edited",), 85),
    Choice("A statement of mine", ("short",), ("only my word",), 40),
)
TONE: Final = Question(
    "q-tone",
    "Which tone should the letter take?",
    "The draft is ready. The tone decides whether I mention the council and a deadline.",
    (
        Option("Firm, with a 14-day deadline", "Names the clause and the next step.", recommended=True),
        Option("Friendly first reminder", "No deadline, no legal reference."),
        Option("Formal notice, copy to the council", "Starts the official route at once."),
    ),
)  # fmt: skip
FORM: Final = Question(
    "q-form",
    "Before I write the minutes (3 questions)",
    "The notes leave these open.",
    parts=(
        Part(
            "Who gets them?",
            (Option("Everyone who was there", recommended=True), Option("The whole team")),
        ),
        Part(
            "What should they hold?",
            (Option("Decisions"), Option("Open points"), Option("Who said what", "Longer, and some may not like it.")),
            several=True,
        ),
        Part("When is the next meeting?"),
    ),
)
DATES: Final = """photos/bath-1.jpg  2026:09:02 18:11
photos/bath-2.jpg  2026:09:30 08:40
photos/wall-1.jpg  2026:10:11 19:22
"""
ANSWER: Final = """The letter is ready. It asks for the repair by **5 December**, cites clause 11.2 of your agreement, \
and lists the three dated photos.

### Before you send it

- Put your phone number where it says `[phone]`.
- Keep the envelope receipt: the 14 days start when it arrives.

```
complaint.md    letter, one page
photos.csv      the photos to attach
```
"""


DRAFT: Final = "# Complaint about damp and mould\n\nDear Mr Harrow,\n\n" + "\n".join(
    [
        "on 2 September, 30 September and 11 October I took the",
        "photos attached to this letter. They show mould in the",
        "bathroom and on the outer wall.",
        "",
        "Under clause 11.2 of our agreement the landlord repairs damp",
        "within fourteen days of a notice. This letter is that notice.",
        "",
        *(
            f"Photo {n}: {place}."
            for n, place in enumerate(("above the bath", "the window frame", "the outer wall"), 1)
        ),
        "",
        "I would be glad if the repair were made soon.",
        "Yours sincerely,",
        "the tenant",
        "",
    ]
)
FIRM: Final = DRAFT.replace(
    "I would be glad if the repair were made soon.",
    "Please carry out the repair by 5 December.\nIf nothing has happened by then I shall ask the council to inspect.",
).replace("the tenant", "A. Berg, Flat 4")
PHOTOS: Final = "photo,taken\nbath-1.jpg,2026-09-02\nbath-2.jpg,2026-09-30\nwall-1.jpg,2026-10-11\n"
BODIES: Final = {blob_hash(text.encode()): text.encode() for text in (DRAFT, FIRM, PHOTOS)}


class At(NamedTuple):
    """Facts, and how many seconds after the former ones."""

    after: float
    events: tuple[RunEvent, ...]


class Made(NamedTuple):
    title: str
    folder: str
    ago: float
    facts: Sequence[At]


def make(home: Path) -> None:
    """Write every session, the oldest first."""
    home.mkdir(parents=True, mode=0o700)
    with closing(Database(places.database(home))) as database, closing(Reader(database.path)) as reader:
        clock = _Clock()
        journal = Journal(database, reader, clock)
        with asyncio.Runner() as runner:
            for made in sorted(_sessions(), key=lambda made: -made.ago):
                runner.run(_write(journal, clock, made))


class _Clock:
    def __init__(self) -> None:
        self.start, self.time = now(), 0

    def __call__(self) -> int:
        return self.time


async def _write(journal: Journal, clock: _Clock, made: Made) -> None:
    lasts = sum(at.after for at in made.facts)
    clock.time = clock.start - int((made.ago + lasts) * SECOND)
    name = await journal.open(str(Path.home() / made.folder), made.title)
    for at in made.facts:
        clock.time += int(at.after * SECOND)
        await journal.append(name, *at.events, blobs=BODIES)


def _asked(task: str) -> At:
    return At(0, (PersonSpoke(Text(task)), RunStarted(MODEL, 60)))


def _thought(number: int, words: str, seconds: float, tokens: int, text: str = "", *calls: Call) -> list[At]:
    reply = Replied(Text(text), Text(words), calls, Usage(tokens * 4 // 5, tokens // 5))
    filled = {
        "tools": 2_005,
        "system": 1_270,
        "person": 335,
        "replies": 130 * number,
        "results:read": 900 + 240 * number,
    }
    filled["results:run"] = 1 + 410 * (number - 1)
    sent = RequestSent(MODEL, number, tokens=filled, window=32_000)
    return [At(0.1, (sent,)), At(seconds, (reply,))]


def _did(
    call: str, tool: str, kind: str, what: str, seconds: float, output: str = "", code: int | None = None,
    change: FileChanged | None = None,
) -> list[At]:  # fmt: skip
    back: tuple[RunEvent, ...] = (ToolReturned(call, Text(output), bool(code), code),)
    return [
        At(0.05, (CallStarted(call, tool, kind, what),)),
        At(seconds, (change, *back) if change else back),
    ]


def _name(text: str) -> str:
    return blob_hash(text.encode())


def _letter() -> list[At]:
    changed = FileChanged("c5", "complaint.md", "", _name(DRAFT), DRAFT.count("\n"))
    return [
        _asked("Write the letter to the landlord about the mould. My notes are in this folder."),
        *_thought(1, "First I read what there is: the notes, then the agreement.", 4.2, 2_100,
                  "I will read your notes and the agreement first."),
        *_did("c1", "read", "read", "notes.md", 0.012, "Mould above the bath since 2 September.\n"),
        *_did("c2", "read", "read", "agreement.txt", 0.016, "11.2 The landlord repairs damp within 14 days.\n"),
        *_thought(2, "The agreement puts damp repairs on the landlord, within fourteen days of a notice.", 6.1, 6_020),
        At(0.01, (CallAllowed("c3", "your rule run exiftool *", "r-exif"),)),
        *_did("c3", "run", "command", "exiftool -DateTimeOriginal photos/*.jpg", 0.6, DATES, 0,
              FileChanged("c3", "photos.csv", "", _name(PHOTOS), 4)),
        At(0.1, (DecisionMade("c4", "How to prove when the mould was first seen", LAWS, LAWS[0].label,
                              "The photos carry their dates; a statement would be only my word."),)),
        *_thought(3, "The dates prove when it was first seen. Now the draft.", 8.4, 9_400),
        *_did("c5", "write", "write", "complaint.md", 0.031, "Wrote complaint.md (3,104 bytes).", change=changed),
        *_did("c6", "run", "command", "pandoc complaint.md -o complaint.docx", 0.2, "sh: pandoc: not found\n", 127),
        *_thought(4, "There is no pandoc; Markdown will do. The draft needs a tone, so I ask.", 3.3, 11_200),
    ]  # fmt: skip


def _answered() -> list[At]:
    return [
        *_letter(),
        At(0.02, (QuestionAsked(TONE, "c7"),)),
        At(64, (QuestionAnswered(TONE.id, "c7", Answer(TONE.options[0].label)),)),
        *_thought(5, "Firm it is: the deadline and clause 11.2.", 7.2, 12_900),
        *_did("c8", "write", "write", "complaint.md", 0.022, "Replaced complaint.md.",
              change=FileChanged("c8", "complaint.md", _name(DRAFT), _name(FIRM), 3, 2)),
        *_thought(6, "", 5.5, 13_600, ANSWER),
        At(0.01, (RunEnded("completed"),)),
    ]  # fmt: skip


def _short(task: str, what: str, end: RunEvent | None, rounds: int = 3) -> list[At]:
    facts = [_asked(task)]
    for number in range(1, rounds + 1):
        facts += _thought(number, f"Next: {what}.", 2.5, 1_800 * number)
        facts += _did(f"c{number}", "run", "command", what, 1.4, "ok\n", 0)
    return [*facts, At(0.1, (end,))] if end else facts


def _wanted() -> tuple[RunEvent, ...]:
    """Two commands that wait for consent: one can be remembered, one is for good."""
    folder = str(Path.home() / "src/billing")
    upgrade = 'pip install --upgrade "sqlalchemy>=2.1" && pytest -q'
    asked = (
        ("cw1", upgrade, "No rule allows this command.", ("pip install *", "pytest *")),
        ("cw2", "rm -rf .venv-3.11", "rm deletes files for good.", ()),
    )
    events: list[RunEvent] = []
    for call, command, why, patterns in asked:
        told = canonical({"command": command, "timeout_s": 600.0})
        mark = fingerprint("run", told, folder, "verified", ())
        request = ConsentRequest(
            f"{call}-may", call, "run", command, folder, "verified", mark, why, touches="runs",
            undoable=bool(patterns), patterns=patterns,
        )  # fmt: skip
        events.append(ConsentAsked(request, Text(told)))
    return tuple(events)


def _sessions() -> list[Made]:
    started = CallStarted("c9", "run", "command", "rsync -a ~/Pictures /mnt/archive")
    cut = RunInterrupted("Journeyman ended while the run was going.", ("c9",))
    limited = Trouble("The model server takes no more requests for now.", "It asked to wait 60 s.", "Try again later.")
    done = RunEnded("completed")
    kept = [
        Made("Mould complaint to landlord", "letters", 130, [*_letter(), At(0.02, (QuestionAsked(TONE, "c7"),))]),
        Made("Upgrade billing service to 3.12", "src/billing", 660,
             [*_short("Upgrade", "pytest -q", None), At(0.1, _wanted())]),
        Made("Weekly dependency audit", "src/shop", 4, _short("Audit", "pip-audit --format json", None, 7)),
        Made("Letter about the mould", "letters", HOUR, _answered()),
        Made("Back up the photo archive", "Pictures", 2 * HOUR,
             [*_short("Back up", "du -sh ~/Pictures", None, 2), At(0.1, (started,)), At(31, (cut,))]),
        Made("Fix flaky checkout test", "src/shop", 3 * HOUR,
             _short("Fix", "pytest -x tests/checkout", RunEnded("failed", limited.what, limited))),
        Made("Rename invoices by date", "Documents", 4 * HOUR, _short("Rename", "ls invoices", done, 9)),
        Made("Port charts to Plotly", "src/dash", 22 * HOUR,
             _short("Port", "npm test", RunEnded("stopped", "stopped by you"))),
        Made("Compare three heat pumps", "house", 26 * HOUR, _short("Compare", "cat quotes.md", done, 6)),
    ]  # fmt: skip
    tasks = ("Summarise the tickets", "Sort the scans", "Check the links", "Draft the minutes", "Count the words")
    old = [
        Made(f"{tasks[n % len(tasks)]} of week {40 - n}", "work", (50 + 25 * n) * HOUR,
             _short("Go", "wc -l *.md", done, 2))
        for n in range(30)
    ]  # fmt: skip
    return kept + old
