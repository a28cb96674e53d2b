"""Sample sessions for the screenshots: in every state, from a short letter to a run of many turns."""

from pathlib import Path
from typing import Final

from core.domain.events import (
    CallStarted,
    ContextCompacted,
    FileChanged,
    RunEnded,
    RunInterrupted,
    RunRated,
    SessionEvent,
)
from core.domain.permissions import PermissionRequest, PermissionRequested, canonical_json, fingerprint
from core.domain.question import Question, QuestionAsked, QuestionOption, SubQuestion
from core.domain.session_metadata import SessionArchived, SessionPinned, SessionTrashed
from core.domain.text import Text
from core.store.blobs import blob_hash
from tests.screens import sample_letter
from tests.screens.sample_checkout import failed_search_for_cause, successful_search_for_cause
from tests.screens.sample_events import (
    SampleSession,
    TimedEvents,
    after,
    model_turn,
    read_file,
    run_command,
    start_run,
    text_hash,
    tool_call,
)
from tests.screens.sample_pumps import compare_pumps, read_quotes

HOUR: Final = 3600  # in seconds
COMPLETED: Final = RunEnded("completed")
MINUTES_FORM: Final = Question(
    id="q-form",
    text="Before I write the minutes (3 questions)",
    reason="The notes leave these open.",
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
BLOBS: Final = {blob_hash(contents): contents for contents in (*sample_letter.CONTENTS, REPORT.encode())}

TICKET_TURNS: Final = 24
COMPACTING_TURN: Final = 17  # the turn before which the context is compacted
TURNS_SUMMARIZED: Final = 14


def sessions() -> list[SampleSession]:
    return _recent_sessions() + _old_sessions()


def _recent_sessions() -> list[SampleSession]:
    return [
        SampleSession("Mould complaint to landlord", "letters", 130, sample_letter.open_letter()),
        SampleSession("Upgrade billing service to 3.12", "src/billing", 660, _upgrade()),
        SampleSession("Tidy the invoice script", "src/invoices", 95, _script_edit()),
        SampleSession("Minutes of Monday's meeting", "work", 70, _minutes()),
        SampleSession(
            "Weekly dependency audit",
            "src/shop",
            4,
            _repeat_command("Which of our libraries have known holes?", "pip-audit --format json", times=7),
        ),
        SampleSession("Letter about the mould", "letters", HOUR, sample_letter.finished_letter()),
        SampleSession("Back up the photo archive", "Pictures", 2 * HOUR, _interrupted_backup()),
        SampleSession("Fix flaky checkout test", "src/shop", 3 * HOUR, failed_search_for_cause()),
        SampleSession("Fix flaky checkout test, again", "src/shop", 3 * HOUR - 1200, successful_search_for_cause()),
        SampleSession(
            "Rename invoices by date",
            "Documents",
            4 * HOUR,
            [*_repeat_command("Name the invoices by their date.", "ls invoices", times=9), after(0.1, COMPLETED)],
        ),
        SampleSession("Summarize Q3 support tickets", "data/tickets", 5 * HOUR, _tickets()),
        SampleSession(
            "Port charts to Plotly",
            "src/dash",
            22 * HOUR,
            [
                *_repeat_command("Use Plotly for the charts.", "npm test", times=3),
                after(0.1, RunEnded("stopped", "stopped by you")),
            ],
        ),
        SampleSession(
            "Compare three heat pumps",
            "house",
            26 * HOUR,
            [*compare_pumps(), after(5, SessionPinned(True))],
            subagent=read_quotes(),
        ),
    ]


def _old_sessions() -> list[SampleSession]:
    """Return a session for each of the last 30 weeks, some of which were archived or moved to the trash."""
    tasks = ("Summarize the tickets", "Sort the scans", "Check the links", "Draft the minutes", "Count the words")
    removals: dict[int, SessionEvent] = {3: SessionArchived(True), 7: SessionArchived(True), 11: SessionTrashed(True)}
    old: list[SampleSession] = []
    for number in range(30):
        timeline = _repeat_command("The same as last week.", "wc -l *.md", times=2)
        timeline.append(after(0.1, COMPLETED))
        if number in removals:
            timeline.append(after(9, removals[number]))
        title = f"{tasks[number % len(tasks)]} of week {40 - number}"
        old.append(SampleSession(title, "work", (50 + 25 * number) * HOUR, timeline))
    return old


def _repeat_command(task: str, command: str, *, times: int) -> list[TimedEvents]:
    """Return a run in which each turn executes the same command. The run does not end."""
    timeline = [start_run(task)]
    for number in range(1, times + 1):
        timeline += model_turn(number, f"Next: {command}.", seconds=2.5, tokens=1_800 * number)
        timeline += run_command(f"c{number}", command, "ok\n", seconds=1.4)
    return timeline


def _interrupted_backup() -> list[TimedEvents]:
    """Return a session that was interrupted while a command was running."""
    return [
        *_repeat_command("Copy the photos to the archive disk.", "du -sh ~/Pictures", times=2),
        after(0.1, CallStarted("c9", "run", "command", "rsync -a ~/Pictures /mnt/archive")),
        after(31, RunInterrupted("Journeyman ended while the run was going.", call_ids=("c9",))),
    ]


def _upgrade() -> list[TimedEvents]:
    """Return a session that waits for approval of two commands: one for which a rule can be saved, one irreversible."""
    format_and_test = _permission_request(
        "cw1",
        "ruff format src && pytest -q",
        reason="No saved rule allows this command, so it needs your approval.",
        patterns=("ruff format *", "pytest *"),
    )
    delete = _permission_request("cw2", "rm -rf .venv-3.11", reason="rm deletes files permanently.", reversible=False)
    return [
        start_run("Make the billing service run on Python 3.12."),
        *model_turn(1, "First I see which Python the service asks for.", seconds=2.5, tokens=1_800),
        *read_file("u1", "pyproject.toml", 'requires-python = ">=3.11"\n'),
        *model_turn(
            2,
            "The type hints can use the syntax of 3.12. Do the tests pass as they are?",
            seconds=4.1,
            tokens=3_600,
        ),
        *run_command("u2", "pytest -q", "41 passed\n", seconds=1.4),
        *model_turn(
            3,
            "They pass. I format the code, test again, and delete the old environment.",
            seconds=3.2,
            tokens=5_400,
        ),
        after(0.1, format_and_test, delete),
    ]


def _permission_request(
    call_id: str, command: str, *, reason: str, patterns: tuple[str, ...] = (), reversible: bool = True
) -> PermissionRequested:
    folder = str(Path.home() / "src/billing")
    arguments = canonical_json({"command": command, "timeout_s": 600.0})
    request = PermissionRequest(
        id=f"{call_id}-may",
        call_id=call_id,
        tool="run",
        object=command,
        cwd=folder,
        sandbox_level="verified",
        fingerprint=fingerprint("run", arguments, folder, "verified", untrusted_sources=()),
        reason=reason,
        access="execute",
        reversible=reversible,
        patterns=patterns,
    )
    return PermissionRequested(request, Text(arguments))


def _script_edit() -> list[TimedEvents]:
    """Return a session that waits for approval of a file edit."""
    folder, path = str(Path.home() / "src/invoices"), "rename.py"
    arguments = canonical_json({"path": path, "old_string": OLD_CODE, "new_string": NEW_CODE})
    request = PermissionRequest(
        id="ce1-may",
        call_id="ce1",
        tool="edit",
        object=path,
        cwd=folder,
        sandbox_level="verified",
        fingerprint=fingerprint("edit", arguments, folder, "verified", untrusted_sources=()),
        reason="This session asks before edits.",
        access="write",
    )
    return [
        start_run("The script must not overwrite an invoice that has the same name."),
        *model_turn(1, "I look at the script first.", seconds=2.4, tokens=1_900),
        *read_file("e1", path, OLD_CODE),
        *model_turn(
            2,
            "Path.rename replaces silently on Linux. I check first, and count up.",
            seconds=5.2,
            tokens=2_700,
        ),
        after(0.1, PermissionRequested(request, Text(arguments))),
    ]


def _minutes() -> list[TimedEvents]:
    """Return a session that waits for the answers to a form."""
    return [
        start_run("Write the minutes of Monday's meeting from my notes."),
        *model_turn(1, "The notes leave some things open.", seconds=3.0, tokens=2_000),
        *read_file("m1", "notes/monday.md", "Budget agreed. Venue open.\n"),
        *model_turn(2, "Who gets them, and how much should they hold?", seconds=2.2, tokens=2_900),
        after(0.02, QuestionAsked(MINUTES_FORM, "m2")),
    ]


def _tickets() -> list[TimedEvents]:
    """Return a long run whose context was compacted."""
    timeline = [start_run("Summarize the support tickets of the third quarter: what hurts most, and what can we do?")]
    for number in range(1, TICKET_TURNS + 1):
        context = _ticket_context(number)
        if number == COMPACTING_TURN:
            compaction = ContextCompacted(
                reason="103,000 of 102,400 tokens",
                tokens_before=sum(_ticket_context(number - 1).values()),
                tokens_after=sum(context.values()),
                compacted_messages=46,
                summary=Text("Billing and login make up half of the tickets."),
            )
            timeline.append(after(9.8, compaction))
        timeline += _ticket_turn(number, context)
    context = _ticket_context(TICKET_TURNS)
    report = FileChanged("t-w", "report.md", after=text_hash(REPORT), added=3)
    return [
        *timeline,
        *tool_call("t-w", "write", "report.md", seconds=0.03, output="Wrote report.md.", change=report),
        *model_turn(
            TICKET_TURNS + 1,
            "",
            seconds=6.0,
            tokens=sum(context.values()),
            reply="Half of all tickets are about **billing** and **login**. See `report.md`.",
            context=context,
        ),
        after(0.01, COMPLETED),
        after(40, RunRated(1, "up", Text("Short and to the point."))),
    ]


def _ticket_context(turn: int) -> dict[str, int]:
    """Return the number of tokens sent in a turn, by category."""
    is_compacted = turn >= COMPACTING_TURN
    turns_in_full = turn - TURNS_SUMMARIZED if is_compacted else turn
    context = {
        "tools": 4_005,
        "system": 2_670,
        "skills": 2_225,
        "memory": 890,
        "user": 335,
        "replies": 620 * turns_in_full,
        "results:read": 4_300 * turns_in_full,
        "results:run": 900 * turns_in_full,
    }
    return context | {"summary": 1_900} if is_compacted else context


def _ticket_turn(number: int, context: dict[str, int]) -> list[TimedEvents]:
    """Return a turn that reads the tickets about one area and counts those about refunds."""
    areas = ("billing", "login", "search", "export", "mobile", "email", "reports", "import")
    area = areas[number % len(areas)]
    file_count = 3 if number % 3 else 4
    tokens = sum(context.values())
    timeline = model_turn(number, f"Next the tickets about {area}.", seconds=3.1, tokens=tokens, context=context)
    for page in range(1, file_count + 1):
        timeline += read_file(f"t{number}-{page}", f"tickets/{area}-{page}.md", "Ticket.\n" * 700)
    timeline += run_command(f"t{number}-c", f"grep -c refund tickets/{area}-*.md", "17\n", seconds=0.3)
    return timeline
