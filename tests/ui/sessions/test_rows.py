"""Grouping, order and texts of the sessions in the list."""

from datetime import datetime
from typing import Any

import pytest

from core.domain.clock import SECOND
from core.domain.sessions import SessionRow
from ui.sessions.session_rows import (
    ListItem,
    SessionHeading,
    SessionHit,
    SessionLine,
    group_hits,
    group_sessions,
    matches,
    second_line,
    side_text,
    status_text,
)
from ui.style.number_formats import short_folder

NOON = int(datetime(2026, 11, 20, 12, 0).astimezone().timestamp()) * SECOND
MINUTE = 60 * SECOND
DAY = 24 * 60 * MINUTE


def row(name: str, status: str = "done", age: int = MINUTE, **more: Any) -> SessionRow:
    """Return a session last updated `age` microseconds before noon."""
    return SessionRow(id=name, title=f"Title {name}", status=status, updated_at=NOON - age, **more)


def listed(items: list[ListItem]) -> list[str]:
    return [item.row.id if isinstance(item, SessionLine) else f"[{item.title}]" for item in items]


def test_groups_come_by_urgency_then_by_day() -> None:
    rows = [
        row("old", age=40 * DAY),
        row("week", age=4 * DAY),
        row("yesterday", age=DAY),
        row("today"),
        row("runs", "running"),
        row("waits", "waiting"),
    ]
    assert listed(group_sessions(rows, NOON)) == [
        "[Waiting for you]", "waits", "[Running]", "runs", "[Today]", "today",
        "[Yesterday]", "yesterday", "[Monday]", "week", "[October 2026]", "old",
    ]  # fmt: skip


def test_a_sub_agent_is_listed_only_while_it_waits_for_the_user() -> None:
    rows = [row("parent", "running"), row("busy", "running", parent="parent"), row("done", parent="parent")]
    waits = row("asks", "waiting", parent="parent", subagent="counter", folder="/home/a/work")
    assert listed(group_sessions(rows, NOON)) == ["[Running]", "parent"]
    assert listed(group_sessions([*rows, waits], NOON)) == ["[Waiting for you]", "asks", "[Running]", "parent"]
    assert second_line(waits, "/home/a").startswith("counter · asks")
    assert listed(group_hits(rows, [SessionHit("done", "here")], "Title done", NOON)) == ["[Found in the text]", "done"]


def test_a_session_is_found_by_the_error_that_it_shows() -> None:
    failed, done = row("a", "failed", activity="The provider is down."), row("b", activity="The provider is down.")
    assert matches(failed, "provider down") and not matches(done, "provider down")


def test_an_interrupted_session_waits_for_the_user() -> None:
    rows = [row("a", "interrupted"), row("b", "interrupted", imported_from="codex:1")]
    assert listed(group_sessions(rows, NOON)) == ["[Waiting for you]", "a", "[Today]", "b"]


def test_the_waiting_group_shows_a_count_and_days_do_not() -> None:
    headings = group_sessions([row("a", "waiting"), row("b", "waiting"), row("c")], NOON)
    assert [item.count for item in headings if isinstance(item, SessionHeading)] == [2, 0]


def test_running_sessions_keep_their_order() -> None:
    first = row("a", "running", age=MINUTE, created_at=1)
    second = row("b", "running", age=9 * MINUTE, created_at=2)
    assert listed(group_sessions([first, second], NOON))[1:] == ["b", "a"]


def test_newest_first_within_a_day() -> None:
    assert listed(group_sessions([row("a", age=9 * MINUTE), row("b", age=MINUTE)], NOON))[1:] == ["b", "a"]


def test_no_sessions_give_an_empty_list() -> None:
    assert group_sessions([], NOON) == []


def test_text_hits_follow_title_hits() -> None:
    rows = [row("a"), row("b"), row("c")]
    hits = [
        SessionHit("c", "in the middle"),
        SessionHit("a", "also"),
        SessionHit("c", "again"),
        SessionHit("gone", "deleted since"),
    ]
    items = group_hits(rows, hits, "title a", NOON)
    assert listed(items) == ["[Today]", "a", "[Found in the text]", "c"]
    assert items[-1] == SessionLine(rows[2], "in the middle", query="title a")


def test_every_word_has_to_match() -> None:
    one = row("a", folder="/home/me/letters")
    assert matches(one, "LETTERS title")
    assert not matches(one, "letters bill")


def test_a_short_number_is_not_found_inside_others() -> None:
    one = row("letter 14", folder="/tmp/walk-9f4c/report2026/7")
    assert matches(one, "letter 1") and matches(one, "2026") and matches(one, "letter 7")
    assert not matches(one, "letter 4") and not matches(one, "letter 9")


@pytest.mark.parametrize(
    ("status", "more", "said"),
    [
        ("waiting", {"activity": "which tone?"}, "~/letters · asks: which tone?"),
        ("waiting", {}, "~/letters · asks you"),
        (
            "running",
            {"steps": 14, "activity_kind": "command", "activity": "make"},
            "~/letters · step 14 · running make",
        ),
        ("running", {}, "~/letters · starting"),
        ("done", {"steps": 1}, "~/letters · 1 step"),
        ("done", {"steps": 3341}, "~/letters · 3,341 steps"),
        ("done", {}, "~/letters · not started"),
        ("done", {"steps": 12, "forked_from": "b"}, "~/letters · fork · 12 steps"),
        ("failed", {"activity": "rate limited"}, "~/letters · failed: rate limited"),
        ("failed", {}, "~/letters · failed"),
        ("stopped", {"steps": 6}, "~/letters · stopped at step 6"),
        ("limit", {"steps": 60}, "~/letters · limit reached at step 60"),
        ("interrupted", {}, "~/letters · interrupted"),
        ("done", {"steps": 2, "imported_from": "Claude Code:7f"}, "from Claude Code · ~/letters · 2 steps"),
    ],
)
def test_the_second_line_shows_folder_and_activity(status: str, more: dict[str, Any], said: str) -> None:
    assert second_line(row("a", status, folder="/home/me/letters", **more), "/home/me") == said


@pytest.mark.parametrize(
    ("folder", "said"),
    [
        ("/home/me/work/2026/letters", "…/letters · asks you"),
        ("/home/me/letters", "~/letters · asks you"),
        ("/", "/ · asks you"),
        ("/srv/" + "a" * 30 + "-end", "…/aaaaaaaaaa…aaa-end · asks you"),
    ],
)
def test_the_folder_gives_way_to_the_pending_question(folder: str, said: str) -> None:
    assert second_line(row("a", "waiting", folder=folder), "/home/me", short=True) == said


def test_the_side_text_is_age_cost_or_time() -> None:
    assert side_text(row("a", "waiting", 2 * MINUTE), NOON) == "2m"
    assert side_text(row("a", "running", cost=0.08), NOON) == "$0.08"
    assert side_text(row("a", "running"), NOON) == ""
    assert side_text(row("a", "done", 5 * MINUTE), NOON) == "11:55"


def test_folders_in_the_home_are_shortened() -> None:
    assert short_folder("/home/me", "/home/me") == "~"
    assert short_folder("/home/me/a/b", "/home/me") == "~/a/b"
    assert short_folder("/home/merlin", "/home/me") == "/home/merlin"
    assert short_folder("", "/home/me") == ""


def test_statuses_have_accessible_text() -> None:
    assert status_text("waiting") == "waiting for you"
    assert status_text("new one") == "new one"


def test_pinned_sessions_precede_the_days_and_archived_ones_are_last() -> None:
    rows = [
        row("gone", trashed=1, pinned=1),
        row("kept", archived=1),
        row("pin", pinned=1),
        row("today"),
        row("asks", "waiting", archived=1),
    ]
    assert listed(group_sessions(rows, NOON)) == [
        "[Waiting for you]", "asks", "[Pinned]", "pin", "[Today]", "today", "[Archived]", "kept", "[Trash]", "gone",
    ]  # fmt: skip
    closed = group_sessions(rows, NOON, expanded=())
    assert listed(closed)[-2:] == ["[Archived]", "[Trash]"]
    assert [item.count for item in closed if isinstance(item, SessionHeading)][-2:] == [1, 1]
