"""Sample sessions for the screenshots: in every state, from a short letter to a run of many turns."""

from pathlib import Path
from typing import Final

from core.domain.decision_option import DecisionOption
from core.domain.events import (
    CallStarted,
    ContextCompacted,
    DecisionMade,
    FileChanged,
    RunEnded,
    RunInterrupted,
    RunRated,
    SessionEvent,
)
from core.domain.permissions import CallAllowed, PermissionRequest, PermissionRequested, canonical_json, fingerprint
from core.domain.question import Answer, Question, QuestionAnswered, QuestionAsked, QuestionOption, SubQuestion
from core.domain.session_metadata import SessionArchived, SessionPinned, SessionTrashed
from core.domain.text import Attachment, Text
from core.store.blobs import blob_hash
from tests.screens.sample_checkout import failed, mended
from tests.screens.sample_events import At, SampleSession, did, name_of, picture, thought, user_task
from tests.screens.sample_pumps import pumps, reading

HOUR: Final = 3600
LAWS: Final = (
    DecisionOption("Dates of the photos", ("kept by the camera",), ("can be edited",), 85),
    DecisionOption("A statement of mine", ("short",), ("only my word",), 40),
)
TONE: Final = Question(
    "q-tone",
    "Which tone should the letter take?",
    "The draft is ready. The tone decides whether I mention the council and a deadline.",
    (
        QuestionOption("Firm, with a 14-day deadline", "Names the clause and the next step.", recommended=True),
        QuestionOption("Friendly first reminder", "No deadline, no legal reference."),
        QuestionOption("Formal notice, copy to the council", "Starts the official route at once."),
    ),
)  # fmt: skip
FORM: Final = Question(
    "q-form",
    "Before I write the minutes (3 questions)",
    "The notes leave these open.",
    sub_questions=(
        SubQuestion(
            "Who gets them?",
            (QuestionOption("Everyone who was there", recommended=True), QuestionOption("The whole team")),
        ),
        SubQuestion(
            "What should they hold?",
            (
                QuestionOption("Decisions"),
                QuestionOption("Open points"),
                QuestionOption("Who said what", "Longer, and some may not like it."),
            ),
            multi_select=True,
        ),
        SubQuestion("When is the next meeting?"),
    ),
)
DATES: Final = """photos/bath-1.jpg  2026:09:02 18:11
photos/bath-2.jpg  2026:09:30 08:40
photos/wall-1.jpg  2026:10:11 19:22
"""
NOTES: Final = "Mould above the bath since 2 September. Told Mr Harrow twice, by letter and on the phone.\n"
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
REPORT: Final = "# Tickets of the third quarter\n\nBilling first: 41% of all, most about refunds.\n"
OLD_CODE: Final = """def rename(invoice: Path, date: str) -> None:
    target = invoice.with_name(f"{date}.pdf")
    invoice.rename(target)
"""
NEW_CODE: Final = """def rename(invoice: Path, date: str) -> None:
    target, number = invoice.with_name(f"{date}.pdf"), 1
    while target.exists():
        number += 1
        target = invoice.with_name(f"{date}-{number}.pdf")
    invoice.rename(target)
"""
PICTURE: Final = picture()
BODIES: Final = {
    blob_hash(body): body for body in (DRAFT.encode(), FIRM.encode(), PHOTOS.encode(), REPORT.encode(), PICTURE)
}
SEEN: Final = Attachment("photos/overview.png", "image/png", blob_hash(PICTURE), len(PICTURE))


def _letter() -> list[At]:
    changed = FileChanged("c5", "complaint.md", "", name_of(DRAFT), DRAFT.count("\n"))
    return [
        user_task("Write the letter to the landlord about the mould. My notes are in this folder."),
        *thought(1, "First I read what there is: the notes, then the agreement.", 4.2, 2_100,
                  "I will read your notes and the agreement first."),
        *did("c1", "read", "read", "notes.md", 0.012, NOTES),
        *did("c2", "read", "read", "agreement.txt", 0.016, "11.2 The landlord repairs damp within 14 days.\n" * 90),
        *did("c2a", "read", "read", "letters/2026-03-12.md", 0.011, NOTES * 3),
        *did("c2b", "read", "read", "letters/2026-06-02.md", 0.012, NOTES * 4),
        *did("c2c", "read", "read", "letters/reply-2026-06-20.md", 0.011, NOTES * 2),
        *thought(2, "The agreement puts damp repairs on the landlord, within fourteen days of a notice.", 6.1, 6_020),
        At(0.01, (CallAllowed("c3", "your rule run exiftool *", "r-exif"),)),
        *did("c3", "run", "command", "exiftool -DateTimeOriginal photos/*.jpg", 0.6, DATES, 0,
              FileChanged("c3", "photos.csv", "", name_of(PHOTOS), 4)),
        *did("c3a", "run", "command", "montage photos/*.jpg photos/overview.png", 0.9, "", 0,
              FileChanged("c3a", "photos/overview.png", "", blob_hash(PICTURE))),
        *did("c3b", "read", "read", "photos/overview.png", 0.02, "A picture of 320 × 200.", attached=(SEEN,)),
        At(0.1, (DecisionMade("c4", "How to prove when the mould was first seen", LAWS, LAWS[0].label,
                              "The photos carry their dates; a statement would be only my word."),)),
        *thought(3, "The dates prove when it was first seen. Now the draft.", 8.4, 9_400),
        *did("c5", "write", "write", "complaint.md", 0.031, "Wrote complaint.md (3,104 bytes).", change=changed),
        *did("c6", "run", "command", "pandoc complaint.md -o complaint.docx", 0.2, "sh: pandoc: not found\n", 127),
        *thought(4, "There is no pandoc; Markdown will do. The draft needs a tone, so I ask.", 3.3, 11_200),
    ]  # fmt: skip


def _answered() -> list[At]:
    return [
        *_letter(),
        At(0.02, (QuestionAsked(TONE, "c7"),)),
        At(64, (QuestionAnswered(TONE.id, "c7", Answer(TONE.options[0].label)),)),
        *thought(5, "Firm it is: the deadline and clause 11.2.", 7.2, 12_900),
        *did("c8", "write", "write", "complaint.md", 0.022, "Replaced complaint.md.",
              change=FileChanged("c8", "complaint.md", name_of(DRAFT), name_of(FIRM), 3, 2)),
        *thought(6, "", 5.5, 13_600, ANSWER),
        At(0.01, (RunEnded("completed"),)),
    ]  # fmt: skip


def _short(task: str, what: str, end: SessionEvent | None, rounds: int = 3) -> list[At]:
    facts = [user_task(task)]
    for number in range(1, rounds + 1):
        facts += thought(number, f"Next: {what}.", 2.5, 1_800 * number)
        facts += did(f"c{number}", "run", "command", what, 1.4, "ok\n", 0)
    return [*facts, At(0.1, (end,))] if end else facts


def _upgrade() -> list[At]:
    """Return a session that is waiting for approval of two commands."""
    facts = [user_task("Make the billing service run on Python 3.12.")]
    facts += thought(1, "First I see which Python the service asks for.", 2.5, 1_800)
    facts += did("u1", "read", "read", "pyproject.toml", 0.02, 'requires-python = ">=3.11"\n')
    facts += thought(2, "The type hints can use the syntax of 3.12. Do the tests pass as they are?", 4.1, 3_600)
    facts += did("u2", "run", "command", "pytest -q", 1.4, "41 passed\n", 0)
    facts += thought(3, "They pass. I format the code, test again, and delete the old environment.", 3.2, 5_400)
    return [*facts, At(0.1, _wanted())]


def _wanted() -> tuple[SessionEvent, ...]:
    """Return two permission requests: one that can be saved as a rule, and one for an irreversible command."""
    folder = str(Path.home() / "src/billing")
    why = "No saved rule allows this command, so it needs your approval."
    commands = (
        ("cw1", "ruff format src && pytest -q", why, ("ruff format *", "pytest *")),
        ("cw2", "rm -rf .venv-3.11", "rm deletes files permanently.", ()),
    )
    events: list[SessionEvent] = []
    for call, command, why, patterns in commands:
        told = canonical_json({"command": command, "timeout_s": 600.0})
        mark = fingerprint("run", told, folder, "verified", ())
        request = PermissionRequest(
            f"{call}-may", call, "run", command, folder, "verified", mark, why, access="execute",
            reversible=bool(patterns), patterns=patterns,
        )  # fmt: skip
        events.append(PermissionRequested(request, Text(told)))
    return tuple(events)


def _tickets() -> list[At]:
    """Return a long run whose context was compacted."""
    areas = ("billing", "login", "search", "export", "mobile", "email", "reports", "import")
    facts = [user_task("Summarize the support tickets of the third quarter: what hurts most, and what can we do?")]
    total = 0
    for number in range(1, 25):
        after = number - (0 if number < 17 else 14)
        room = {"tools": 4_005, "system": 2_670, "skills": 2_225, "memory": 890, "user": 335,
                "replies": 620 * after, "results:read": 4_300 * after, "results:run": 900 * after}  # fmt: skip
        room |= {"summary": 1_900} if number > 16 else {}
        before, total = total, sum(room.values())
        if number == 17:
            facts.append(
                At(
                    9.8,
                    (
                        ContextCompacted(
                            "103,000 of 102,400 tokens",
                            before,
                            total,
                            compacted_messages=46,
                            summary=Text("Billing and login make up half of the tickets."),
                        ),
                    ),
                )
            )
        area = areas[number % len(areas)]
        facts += thought(number, f"Next the tickets about {area}.", 3.1, total, room=room)
        for page in range(1, 4 if number % 3 else 5):
            facts += did(f"t{number}-{page}", "read", "read", f"tickets/{area}-{page}.md", 0.02, "Ticket.\n" * 700)
        facts += did(f"t{number}-c", "run", "command", f"grep -c refund tickets/{area}-*.md", 0.3, "17\n", 0)
    facts += did("t-w", "write", "write", "report.md", 0.03, "Wrote report.md.",
                 change=FileChanged("t-w", "report.md", "", name_of(REPORT), 3))  # fmt: skip
    answer = "Half of all tickets are about **billing** and **login**. See `report.md`."
    facts += thought(25, "", 6.0, total, answer, room=room)
    return [
        *facts,
        At(0.01, (RunEnded("completed"),)),
        At(40, (RunRated(1, "up", Text("Short and to the point.")),)),
    ]


def _minutes() -> list[At]:
    facts = [user_task("Write the minutes of Monday's meeting from my notes.")]
    facts += thought(1, "The notes leave some things open.", 3.0, 2_000)
    facts += did("m1", "read", "read", "notes/monday.md", 0.02, "Budget agreed. Venue open.\n")
    facts += thought(2, "Who gets them, and how much should they hold?", 2.2, 2_900)
    return [*facts, At(0.02, (QuestionAsked(FORM, "m2"),))]


def _edit_wanted() -> list[At]:
    """Return a session that is waiting for approval of a file edit."""
    folder, path = str(Path.home() / "src/invoices"), "rename.py"
    told = canonical_json({"path": path, "old_string": OLD_CODE, "new_string": NEW_CODE})
    mark = fingerprint("edit", told, folder, "verified", ())
    request = PermissionRequest(
        "ce1-may", "ce1", "edit", path, folder, "verified", mark, "This session asks before edits.", access="write",
    )  # fmt: skip
    facts = [user_task("The script must not overwrite an invoice that has the same name.")]
    facts += thought(1, "I look at the script first.", 2.4, 1_900)
    facts += did("e1", "read", "read", path, 0.02, OLD_CODE)
    facts += thought(2, "Path.rename replaces silently on Linux. I check first, and count up.", 5.2, 2_700)
    return [*facts, At(0.1, (PermissionRequested(request, Text(told)),))]


def sessions() -> list[SampleSession]:
    started = CallStarted("c9", "run", "command", "rsync -a ~/Pictures /mnt/archive")
    cut = RunInterrupted("Journeyman ended while the run was going.", ("c9",))
    done = RunEnded("completed")
    kept = [
        SampleSession("Mould complaint to landlord", "letters", 130,
             [*_letter(), At(0.02, (QuestionAsked(TONE, "c7"),))]),
        SampleSession("Upgrade billing service to 3.12", "src/billing", 660,
             _upgrade()),
        SampleSession("Tidy the invoice script", "src/invoices", 95, _edit_wanted()),
        SampleSession("Minutes of Monday's meeting", "work", 70, _minutes()),
        SampleSession("Weekly dependency audit", "src/shop", 4,
             _short("Which of our libraries have known holes?", "pip-audit --format json", None, 7)),
        SampleSession("Letter about the mould", "letters", HOUR, _answered()),
        SampleSession("Back up the photo archive", "Pictures", 2 * HOUR,
             [*_short("Copy the photos to the archive disk.", "du -sh ~/Pictures", None, 2),
              At(0.1, (started,)), At(31, (cut,))]),
        SampleSession("Fix flaky checkout test", "src/shop", 3 * HOUR,
             failed()),
        SampleSession("Fix flaky checkout test, again", "src/shop", 3 * HOUR - 1200, mended()),
        SampleSession("Rename invoices by date", "Documents", 4 * HOUR,
             _short("Name the invoices by their date.", "ls invoices", done, 9)),
        SampleSession("Summarize Q3 support tickets", "data/tickets", 5 * HOUR, _tickets()),
        SampleSession("Port charts to Plotly", "src/dash", 22 * HOUR,
             _short("Use Plotly for the charts.", "npm test", RunEnded("stopped", "stopped by you"))),
        SampleSession("Compare three heat pumps", "house", 26 * HOUR,
             [*pumps(), At(5, (SessionPinned(True),))], reading()),
    ]  # fmt: skip
    tasks = ("Summarize the tickets", "Sort the scans", "Check the links", "Draft the minutes", "Count the words")
    away: dict[int, SessionEvent] = {3: SessionArchived(True), 7: SessionArchived(True), 11: SessionTrashed(True)}
    old = [
        SampleSession(f"{tasks[n % len(tasks)]} of week {40 - n}", "work", (50 + 25 * n) * HOUR,
             [*_short("The same as last week.", "wc -l *.md", done, 2), *([At(9, (away[n],))] if n in away else [])])
        for n in range(30)
    ]  # fmt: skip
    return kept + old
