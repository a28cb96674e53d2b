"""Formatting of durations, sizes, amounts and money."""

import pytest

from ui.style.number_formats import amount, duration, money, size


@pytest.mark.parametrize(
    ("milliseconds", "said"),
    [
        (0, ""), (1, "1ms"), (31, "31ms"), (99, "99ms"), (100, "0.1s"), (600, "0.6s"), (6_100, "6.1s"),
        (9_949, "9.9s"), (9_960, "10s"), (38_000, "38s"), (59_600, "1m 00s"), (124_000, "2m 04s"),
        (3_599_000, "59m 59s"), (4_320_000, "1h 12m"),
    ],
)  # fmt: skip
def test_durations(milliseconds: int, said: str) -> None:
    assert duration(milliseconds * 1_000) == said


@pytest.mark.parametrize(
    ("number", "said"),
    [(0, "0"), (999, "999"), (1_200, "1.2k"), (21_300, "21.3k"), (99_949, "99.9k"), (123_400, "123k"),
     (999_600, "1.0M"), (1_234_000, "1.2M"), (2_500_000_000, "2.5G")],
)  # fmt: skip
def test_amounts(number: int, said: str) -> None:
    assert amount(number) == said


@pytest.mark.parametrize(
    ("octets", "said"),
    [(1, "1 byte"), (212, "212 bytes"), (3_400, "3.3 KB"), (22_528, "22 KB"), (13_000_000, "12.4 MB")],
)
def test_sizes(octets: int, said: str) -> None:
    assert size(octets) == said


def test_money() -> None:
    assert [money(value) for value in (0, 0.08, 1.5, 0.0042)] == ["$0.00", "$0.08", "$1.50", "$0.0042"]
