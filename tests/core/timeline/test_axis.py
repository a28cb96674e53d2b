"""The short line of a long session: places grow with time, silence is cut, and the way back leads to the same row."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.store.marks import Mark
from core.timeline.axis import Axis

WAYS = st.lists(st.integers(0, 10**9), min_size=1, max_size=60)


def marks(ways: list[int]) -> list[Mark]:
    at, found = 0, list[Mark]()
    for row, way in enumerate(ways):
        at += way
        found.append(Mark(row * 3, "read", "done", at, at + 1, 0))
    return found


@given(WAYS)
def test_places_grow_and_lead_back(ways: list[int]) -> None:
    made = marks(ways)
    axis = Axis.of(made, made[-1].began + 5)
    places = [axis.of_row(mark.row) for mark in made]
    assert places == sorted(places) and places[0] == 0.0 and places[-1] <= 1.0
    times = [axis.of_time(mark.began) for mark in made]
    assert times == sorted(times)
    assert [axis.row(place / 50) for place in range(51)] == sorted(axis.row(place / 50) for place in range(51))


def test_a_long_silence_takes_little_room() -> None:
    made = marks([0, *[10] * 20, 10**9, *[10] * 20])
    axis = Axis.of(made, made[-1].began + 10)
    before, after = axis.of_time(made[20].began), axis.of_time(made[21].began)
    assert after - before < 0.2
    assert axis.row(axis.of_row(30)) == 30


def test_of_nothing_there_is_an_axis_too() -> None:
    axis = Axis.of((), 0)
    assert axis.of_time(5) == pytest.approx(1.0) and axis.row(0.0) == 0
