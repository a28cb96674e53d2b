"""Word differences: lines that replace each other are found, and the parts in which they differ."""

from hypothesis import given
from hypothesis import strategies as st

from core.timeline.text_diff import diff_texts
from core.timeline.word_diff import changed_ranges, pair_lines

LINE = st.text(alphabet="ab _(,)é", max_size=40)


def test_only_the_changed_words_are_marked() -> None:
    old, new = "def pay(amount, user):", "def pay(amount, account, user):"
    before, after = changed_ranges(old, new)
    assert before == [] and [new[start:end] for start, end in after] in (["account, "], [" account,"])


def test_lines_with_little_in_common_are_not_compared_by_words() -> None:
    assert changed_ranges("import json", "return total + tax") == ([], [])
    assert changed_ranges("", "x = 1") == ([], [])


@given(LINE, LINE)
def test_what_is_not_marked_is_equal(old: str, new: str) -> None:
    before, after = changed_ranges(old, new)
    rest = [
        "".join(char for at, char in enumerate(text) if not any(start <= at < end for start, end in ranges))
        for text, ranges in ((old, before), (new, after))
    ]
    assert rest[0] == rest[1] or not (before or after)


def test_a_line_is_paired_with_the_one_that_resembles_it() -> None:
    old = ["total = price * count", "return total"]
    new = ["# the tax is added later", "total = price * amount", "log(total)", "return total"]
    assert pair_lines(old, new) == [(0, 1), (1, 3)]
    assert pair_lines(["x"], ["y"]) == [(0, 0)]


def test_more_context_and_whole_files_are_shown() -> None:
    lines = [f"{n}\n" for n in range(100)]
    diff = diff_texts("".join(lines), "".join(lines).replace("50\n", "fifty\n"))
    assert [row.text for row in diff.rows() if row.sign == "head"] == ["47", "46"]
    assert [row.text for row in diff.rows(more={0: 20}) if row.sign == "head"] == ["27", "46"]
    whole = list(diff.rows(more={0: 1000, 1: 1000}))
    assert [row.text for row in whole if row.sign == "head"] == ["0"] and len(whole) == 102
    assert [row.old for row in whole if row.sign == " "] == [n for n in range(1, 101) if n != 51]


def test_the_key_of_a_hunk_stays_if_the_file_changes_elsewhere() -> None:
    lines = [f"{n}\n" for n in range(100)]
    old = "".join(lines)
    first = diff_texts(old, old.replace("50\n", "fifty\n"))
    second = diff_texts(old, old.replace("50\n", "fifty\n").replace("5\n", "five\n", 1))
    assert first.hunk_keys()[0] == second.hunk_keys()[1] != second.hunk_keys()[0]
    same = diff_texts("a\n" * 40, "x\na\n" + "a\n" * 30 + "x\n" + "a\n" * 9)
    assert len(set(same.hunk_keys())) == len(same.hunk_keys())


def test_lines_of_very_many_equal_words_are_not_compared_word_by_word() -> None:
    assert changed_ranges("a " * 240, "a b " * 120) == ([], [])
    assert changed_ranges("a b c " * 10, "a b d " * 10) != ([], [])
