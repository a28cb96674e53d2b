"""Diffs: the rows reproduce both texts, a hunk can be reverted, and large files stay fast."""

from time import perf_counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.engine.run.execute import count_changed_lines
from core.timeline.text_diff import TextDiff, changed_blocks, diff_texts, is_text

LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "", "d", "é\n"]), max_size=40).map("".join)


def old_of(found: TextDiff) -> str:
    """Rebuild the old text from the rows and the lines they hide."""
    lines, at = list[str](), 0
    for row in found.rows():
        if row.sign == "head":
            lines += found.old[at : at + int(row.text)]
            at += int(row.text)
        elif row.old:
            assert row.old == at + 1
            lines.append(found.old[at])
            at += 1
    return "".join(lines) if found.blocks else "".join(found.old)


def new_of(found: TextDiff) -> str:
    lines, at = list[str](), 0
    for row in found.rows():
        if row.sign == "head":
            lines += found.new[at : at + int(row.text)]
            at += int(row.text)
        elif row.new:
            assert row.new == at + 1 and row.text == found.new[at]
            lines.append(row.text)
            at += 1
    return "".join(lines) if found.blocks else "".join(found.new)


@given(LINES, LINES)
def test_diff_rows_contain_both_texts(old: str, new: str) -> None:
    found = diff_texts(old, new)
    assert (old_of(found), new_of(found)) == (old, new)


@given(LINES, LINES)
def test_reverting_all_hunks_gives_the_old_text(old: str, new: str) -> None:
    text = new
    for _ in range(len(diff_texts(old, new).hunks())):
        text = diff_texts(old, text).without_hunk(0)
    assert text == old


def test_adjacent_hunks_are_one() -> None:
    old = "".join(f"{n}\n" for n in range(40))
    found = diff_texts(old, old.replace("5\n", "five\n", 1).replace("8\n", "eight\n", 1).replace("30\n", "x\n"))
    assert len(found.hunks()) == 2 and (found.added, found.removed) == (3, 3)
    heads = [(row.text, row.hunk) for row in found.rows() if row.sign == "head"]
    assert heads == [("2", 0), ("15", 1), ("6", -1)]
    assert found.without_hunk(1) == old.replace("5\n", "five\n", 1).replace("8\n", "eight\n", 1)


def test_a_large_file_is_compared_in_time() -> None:
    old = [f"line {n}\n" for n in range(60_000)]
    new = [line if n % 5_000 else f"changed {n}\n" for n, line in enumerate(old)]
    began = perf_counter()
    found = diff_texts("".join(old), "".join(new))
    assert (found.added, found.removed) == (12, 12) and perf_counter() - began < 5
    alike = diff_texts("same\n" * 20_000 + "a\n", "same\n" * 19_000 + "b\n")
    assert "".join(alike.new).endswith("b\n") and alike.removed - alike.added == 1_000


def test_binary_content_is_detected() -> None:
    assert is_text("Grüße\n".encode()) and is_text(b"") and not is_text(b"\x89PNG\0\0")


@pytest.mark.parametrize("count", [400, 1_990, 20_000])
def test_lines_that_occur_often_are_not_matched_one_by_one(count: int) -> None:
    """With difflib, that takes minutes, and the window and all runs wait."""
    old, new = ["a"] * count, ["a", "b"] * (count // 2)
    assert changed_blocks(old, new) == ((1, count, 1, count),)
    assert count_changed_lines(b"a\n" * count, b"a\nb\n" * (count // 2)) == (count - 1, count - 1)
    unique = [str(number) for number in range(count)]
    assert changed_blocks(unique, [*unique[:100], "x", *unique[101:]]) == ((100, 101, 100, 101),)
