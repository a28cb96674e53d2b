"""Which group a session is listed in, in which order, and what its lines say."""

from datetime import datetime
from typing import Any

import pytest

from core.domain.clock import SECOND
from core.domain.sessions import SessionRow
from ui.figures import short_folder
from ui.sessions.rows import (
    Heading,
    Hit,
    Line,
    arrange,
    arrange_hits,
    matches,
    second_line,
    side_text,
    status_words,
)

NOON = int(datetime(2026, 11, 20, 12, 0).astimezone().timestamp()) * SECOND
MINUTE = 60 * SECOND
DAY = 24 * 60 * MINUTE


def row(name: str, status: str = "done", age: int = MINUTE, **more: Any) -> SessionRow:
    """A session touched `age` before noon."""
    return SessionRow(id=name, title=f"Title {name}", status=status, updated=NOON - age, **more)


def listed(items: list[Heading | Line]) -> list[str]:
    return [f"[{item.title}]" if isinstance(item, Heading) else item.row.id for item in items]


def test_groups_come_by_urgency_then_by_day() -> None:
    rows = [
        row("old", age=40 * DAY),
        row("week", age=4 * DAY),
        row("yesterday", age=DAY),
        row("today"),
        row("runs", "running"),
        row("waits", "waiting"),
    ]
    assert listed(arrange(rows, NOON)) == [
        "[Waiting for you]", "waits", "[Running]", "runs", "[Today]", "today",
        "[Yesterday]", "yesterday", "[Monday]", "week", "[October 2026]", "old",
    ]  # fmt: skip


def test_a_sub_agent_is_listed_only_while_it_waits_for_the_person() -> None:
    rows = [row("parent", "running"), row("busy", "running", parent="parent"), row("done", parent="parent")]
    waits = row("asks", "waiting", parent="parent", called="counter", folder="/home/a/work")
    assert listed(arrange(rows, NOON)) == ["[Running]", "parent"]
    assert listed(arrange([*rows, waits], NOON)) == ["[Waiting for you]", "asks", "[Running]", "parent"]
    assert second_line(waits, "/home/a").startswith("counter · asks")
    assert listed(arrange_hits(rows, [Hit("done", "here")], "Title done", NOON)) == ["[Found in the text]", "done"]


def test_waiting_counts_and_days_do_not() -> None:
    headings = arrange([row("a", "waiting"), row("b", "waiting"), row("c")], NOON)
    assert [item.count for item in headings if isinstance(item, Heading)] == [2, 0]


def test_running_sessions_keep_their_places() -> None:
    first = row("a", "running", age=MINUTE, opened=1)
    second = row("b", "running", age=9 * MINUTE, opened=2)
    assert listed(arrange([first, second], NOON))[1:] == ["b", "a"]


def test_newest_first_within_a_day() -> None:
    assert listed(arrange([row("a", age=9 * MINUTE), row("b", age=MINUTE)], NOON))[1:] == ["b", "a"]


def test_nothing_is_an_empty_list() -> None:
    assert arrange([], NOON) == []


def test_hits_in_the_text_follow_the_titles() -> None:
    rows = [row("a"), row("b"), row("c")]
    hits = [Hit("c", "in the middle"), Hit("a", "also"), Hit("c", "again"), Hit("gone", "deleted since")]
    items = arrange_hits(rows, hits, "title a", NOON)
    assert listed(items) == ["[Today]", "a", "[Found in the text]", "c"]
    assert items[-1] == Line(rows[2], "in the middle")


def test_every_word_has_to_match() -> None:
    one = row("a", folder="/home/me/letters")
    assert matches(one, "LETTERS title")
    assert not matches(one, "letters bill")


def test_a_short_number_is_not_found_inside_of_others() -> None:
    one = row("letter 14", folder="/tmp/walk-9f4c/report2026/7")
    assert matches(one, "letter 1") and matches(one, "2026") and matches(one, "letter 7")
    assert not matches(one, "letter 4") and not matches(one, "letter 9")


@pytest.mark.parametrize(
    ("status", "more", "said"),
    [
        ("waiting", {"doing": "which tone?"}, "~/letters · asks: which tone?"),
        ("waiting", {}, "~/letters · asks you"),
        ("running", {"steps": 14, "doing_kind": "command", "doing": "make"}, "~/letters · step 14 · running make"),
        ("running", {}, "~/letters · starting"),
        ("done", {"steps": 1}, "~/letters · 1 step"),
        ("done", {"steps": 3341}, "~/letters · 3,341 steps"),
        ("done", {}, "~/letters · not started"),
        ("done", {"steps": 12, "origin": "b"}, "~/letters · fork · 12 steps"),
        ("failed", {"doing": "rate limited"}, "~/letters · failed: rate limited"),
        ("failed", {}, "~/letters · failed"),
        ("stopped", {"steps": 6}, "~/letters · stopped at step 6"),
        ("limit", {"steps": 60}, "~/letters · limit met at step 60"),
        ("interrupted", {}, "~/letters · interrupted"),
        ("done", {"steps": 2, "source": "Claude Code:7f"}, "from Claude Code · ~/letters · 2 steps"),
    ],
)
def test_second_line_says_where_and_what(status: str, more: dict[str, Any], said: str) -> None:
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
def test_a_folder_gives_way_to_what_is_asked(folder: str, said: str) -> None:
    assert second_line(row("a", "waiting", folder=folder), "/home/me", short=True) == said


def test_side_text_is_age_cost_or_time() -> None:
    assert side_text(row("a", "waiting", 2 * MINUTE), NOON) == "2m"
    assert side_text(row("a", "running", cost=0.08), NOON) == "$0.08"
    assert side_text(row("a", "running"), NOON) == ""
    assert side_text(row("a", "done", 5 * MINUTE), NOON) == "11:55"


def test_folders_of_the_person_are_short() -> None:
    assert short_folder("/home/me", "/home/me") == "~"
    assert short_folder("/home/me/a/b", "/home/me") == "~/a/b"
    assert short_folder("/home/merlin", "/home/me") == "/home/merlin"
    assert short_folder("", "/home/me") == ""


def test_statuses_are_read_aloud_in_words() -> None:
    assert status_words("waiting") == "waiting for you"
    assert status_words("new one") == "new one"


def test_pinned_come_before_the_days_and_what_is_put_away_last() -> None:
    rows = [
        row("gone", trashed=1, pinned=1),
        row("kept", archived=1),
        row("pin", pinned=1),
        row("today"),
        row("asks", "waiting", archived=1),
    ]
    assert listed(arrange(rows, NOON)) == [
        "[Waiting for you]", "asks", "[Pinned]", "pin", "[Today]", "today", "[Archived]", "kept", "[Trash]", "gone",
    ]  # fmt: skip
    closed = arrange(rows, NOON, opened=())
    assert listed(closed)[-2:] == ["[Archived]", "[Trash]"]
    assert [item.count for item in closed if isinstance(item, Heading)][-2:] == [1, 1]
