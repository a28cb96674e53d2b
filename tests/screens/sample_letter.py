"""Sample events for the screenshots: a letter to a landlord, with an attached image, a decision and a question."""

from typing import Final

from core.domain.decision_option import DecisionOption
from core.domain.events import DecisionMade, FileChanged, RunEnded
from core.domain.permissions import CallAllowed
from core.domain.question import Answer, Question, QuestionAnswered, QuestionAsked, QuestionOption
from core.domain.text import Attachment
from core.store.blobs import blob_hash
from tests.screens.sample_events import (
    TimedEvents,
    after,
    damp_wall_png,
    model_turn,
    read_file,
    run_command,
    start_run,
    text_hash,
    tool_call,
)

NOTES: Final = "Mould above the bath since 2 September. Told Mr Harrow twice, by letter and on the phone.\n"
PHOTO_DATES: Final = """photos/bath-1.jpg  2026:09:02 18:11
photos/bath-2.jpg  2026:09:30 08:40
photos/wall-1.jpg  2026:10:11 19:22
"""
PHOTO_LIST: Final = "photo,taken\nbath-1.jpg,2026-09-02\nbath-2.jpg,2026-09-30\nwall-1.jpg,2026-10-11\n"
DRAFT: Final = """# Complaint about damp and mould

Dear Mr Harrow,

on 2 September, 30 September and 11 October I took the
photos attached to this letter. They show mould in the
bathroom and on the outer wall.

Under clause 11.2 of our agreement the landlord repairs damp
within fourteen days of a notice. This letter is that notice.

Photo 1: above the bath.
Photo 2: the window frame.
Photo 3: the outer wall.

I would be glad if the repair were made soon.
Yours sincerely,
the tenant
"""
FIRM_LETTER: Final = DRAFT.replace(
    "I would be glad if the repair were made soon.",
    "Please carry out the repair by 5 December.\nIf nothing has happened by then I shall ask the council to inspect.",
).replace("the tenant", "A. Berg, Flat 4")
FINAL_REPLY: Final = """The letter is ready. It asks for the repair by **5 December**, cites clause 11.2 of your \
agreement, and lists the three dated photos.

### Before you send it

- Put your phone number where it says `[phone]`.
- Keep the envelope receipt: the 14 days start when it arrives.

```
complaint.md    letter, one page
photos.csv      the photos to attach
```
"""
OVERVIEW_PNG: Final = damp_wall_png()
OVERVIEW: Final = Attachment(
    name="photos/overview.png", media_type="image/png", blob=blob_hash(OVERVIEW_PNG), size=len(OVERVIEW_PNG)
)
CONTENTS: Final = (DRAFT.encode(), FIRM_LETTER.encode(), PHOTO_LIST.encode(), OVERVIEW_PNG)  # of the changed files

PHOTOS_AS_PROOF: Final = DecisionOption(
    "Dates of the photos", pros=("kept by the camera",), cons=("can be edited",), confidence=85
)
STATEMENT_AS_PROOF: Final = DecisionOption(
    "A statement of mine", pros=("short",), cons=("only my word",), confidence=40
)
FIRM_TONE: Final = QuestionOption(
    "Firm, with a 14-day deadline", "Names the clause and the next step.", recommended=True
)
TONE: Final = Question(
    id="q-tone",
    text="Which tone should the letter take?",
    reason="The draft is ready. The tone decides whether I mention the council and a deadline.",
    options=(
        FIRM_TONE,
        QuestionOption("Friendly first reminder", "No deadline, no legal reference."),
        QuestionOption("Formal notice, copy to the council", "Starts the official route at once."),
    ),
)


def open_letter() -> list[TimedEvents]:
    """Return the session while it waits for an answer about the tone."""
    return [*_write_draft(), after(0.02, QuestionAsked(TONE, "c7"))]


def finished_letter() -> list[TimedEvents]:
    """Return the session in which the user has answered the question."""
    firm = FileChanged("c8", "complaint.md", before=text_hash(DRAFT), after=text_hash(FIRM_LETTER), added=3, removed=2)
    return [
        *open_letter(),
        after(64, QuestionAnswered(TONE.id, "c7", Answer(FIRM_TONE.label))),
        *model_turn(5, "Firm it is: the deadline and clause 11.2.", seconds=7.2, tokens=12_900),
        *tool_call("c8", "write", "complaint.md", seconds=0.022, output="Replaced complaint.md.", change=firm),
        *model_turn(6, "", seconds=5.5, tokens=13_600, reply=FINAL_REPLY),
        after(0.01, RunEnded("completed")),
    ]


def _write_draft() -> list[TimedEvents]:
    return [
        start_run("Write the letter to the landlord about the mould. My notes are in this folder."),
        *_read_folder(),
        *_date_photos(),
        *_choose_proof(),
        *model_turn(3, "The dates prove when it was first seen. Now the draft.", seconds=8.4, tokens=9_400),
        *tool_call(
            "c5",
            "write",
            "complaint.md",
            seconds=0.031,
            output="Wrote complaint.md (3,104 bytes).",
            change=FileChanged("c5", "complaint.md", after=text_hash(DRAFT), added=DRAFT.count("\n")),
        ),
        *run_command(
            "c6",
            "pandoc complaint.md -o complaint.docx",
            "sh: pandoc: not found\n",
            seconds=0.2,
            exit_code=127,
        ),
        *model_turn(
            4,
            "There is no pandoc; Markdown will do. The draft needs a tone, so I ask.",
            seconds=3.3,
            tokens=11_200,
        ),
    ]


def _read_folder() -> list[TimedEvents]:
    return [
        *model_turn(
            1,
            "First I read what there is: the notes, then the agreement.",
            seconds=4.2,
            tokens=2_100,
            reply="I will read your notes and the agreement first.",
        ),
        *read_file("c1", "notes.md", NOTES, seconds=0.012),
        *read_file("c2", "agreement.txt", "11.2 The landlord repairs damp within 14 days.\n" * 90, seconds=0.016),
        *read_file("c2a", "letters/2026-03-12.md", NOTES * 3, seconds=0.011),
        *read_file("c2b", "letters/2026-06-02.md", NOTES * 4, seconds=0.012),
        *read_file("c2c", "letters/reply-2026-06-20.md", NOTES * 2, seconds=0.011),
    ]


def _date_photos() -> list[TimedEvents]:
    return [
        *model_turn(
            2,
            "The agreement puts damp repairs on the landlord, within fourteen days of a notice.",
            seconds=6.1,
            tokens=6_020,
        ),
        after(0.01, CallAllowed("c3", reason="your rule run exiftool *", rule_id="r-exif")),
        *run_command(
            "c3",
            "exiftool -DateTimeOriginal photos/*.jpg",
            PHOTO_DATES,
            seconds=0.6,
            change=FileChanged("c3", "photos.csv", after=text_hash(PHOTO_LIST), added=4),
        ),
        *run_command(
            "c3a",
            "montage photos/*.jpg photos/overview.png",
            "",
            seconds=0.9,
            change=FileChanged("c3a", OVERVIEW.name, after=OVERVIEW.blob),
        ),
        *tool_call(
            "c3b",
            "read",
            OVERVIEW.name,
            seconds=0.02,
            output="A picture of 320 × 200.",
            attachments=(OVERVIEW,),
        ),
    ]


def _choose_proof() -> list[TimedEvents]:
    decision = DecisionMade(
        "c4",
        intent="How to prove when the mould was first seen",
        options=(PHOTOS_AS_PROOF, STATEMENT_AS_PROOF),
        choice=PHOTOS_AS_PROOF.label,
        reason="The photos carry their dates; a statement would be only my word.",
    )
    return [after(0.1, decision)]
