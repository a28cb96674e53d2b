"""The search text of sessions: words, and filters as `key:value`."""

from datetime import date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.clock import SECOND
from core.domain.search_query import SessionQuery, add_filter, matches_filters, parse_query, remove_filter
from core.domain.sessions import SessionRow

TODAY = date(2026, 11, 25)


def at(text: str) -> int:
    return int(datetime.fromisoformat(f"{text}T12:00:00").timestamp()) * SECOND


ROW = SessionRow(
    "s1", "Fix it", "/home/me/my work", "ollama/qwen3", "failed",
    created_at=at("2026-11-20"), updated_at=at("2026-11-22"),
)  # fmt: skip


def fits(text: str) -> bool:
    return matches_filters(parse_query(text), ROW, TODAY)


def test_words_and_filters_are_separated() -> None:
    query = parse_query('fix folder:"my work" the  status:failed bug')
    assert query.words == "fix the bug"
    assert [(item.key, item.value) for item in query.filters] == [("folder", "my work"), ("status", "failed")]
    assert parse_query("kind:change kind:command").step_kinds == {"write", "edit", "command"}


@pytest.mark.parametrize("text", ["fix status:", 'fix folder:"', "fix kind: "])
def test_a_filter_without_a_value_yet_is_ignored(text: str) -> None:
    assert parse_query(text) == SessionQuery("fix")


@pytest.mark.parametrize(
    "text", ["http://a.b/c", "status:odd", "date:2026-13-01", "kind:x", "color:red", "a:b", "folder: x"]
)
def test_anything_else_is_a_word(text: str) -> None:
    assert parse_query(text) == SessionQuery(text)


@pytest.mark.parametrize(
    "text",
    [
        "", "folder:WORK", 'folder:"me/my work"', "model:qwen", "status:failed", "status:done status:failed",
        "date:week", "date:2026-11-21", "date:2026-11", "after:2026-11-22", "before:2026-11-21",
        "after:2026-11 before:2026-12",
    ],
)  # fmt: skip
def test_a_session_fits(text: str) -> None:
    assert fits(text)


@pytest.mark.parametrize(
    "text",
    [
        "folder:other", "model:gpt", "status:completed", "date:today", "date:2026-11-23", "after:2026-11-23",
        "before:2026-11-20", "status:failed folder:other",
    ],
)  # fmt: skip
def test_a_session_does_not_fit(text: str) -> None:
    assert not fits(text)


def test_a_filter_is_added_once_and_removed_again() -> None:
    text = add_filter(add_filter("fix", "folder", "/a b"), "status", "failed")
    assert text == 'fix folder:"/a b" status:failed' == add_filter(text, "status", "failed")
    folder, status = parse_query(text).filters
    assert remove_filter(text, folder) == "fix status:failed"
    assert remove_filter(text, status) == 'fix folder:"/a b"'


@given(st.text(alphabet='abk :"-0192dfolder', max_size=40))
def test_removing_every_filter_leaves_the_words(text: str) -> None:
    query = parse_query(text)
    for item in query.filters:
        text = remove_filter(text, item)
    assert parse_query(text).words == query.words and not parse_query(text).filters
