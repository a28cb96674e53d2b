"""The time axis: positions grow with time, pauses are shortened, and positions map back to the same row."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.store.row_sampling import RowSample
from core.timeline.time_axis import TimeAxis

WAYS = st.lists(st.integers(0, 10**9), min_size=1, max_size=60)


def marks(ways: list[int]) -> list[RowSample]:
    at, found = 0, list[RowSample]()
    for row, way in enumerate(ways):
        at += way
        found.append(RowSample(row * 3, "read", "done", at, at + 1, 0))
    return found


@given(WAYS)
def test_positions_increase_and_map_back(ways: list[int]) -> None:
    made = marks(ways)
    axis = TimeAxis.of(made, made[-1].started_at + 5)
    places = [axis.position_of_row(mark.row) for mark in made]
    assert places == sorted(places) and places[0] == 0.0 and places[-1] <= 1.0
    times = [axis.position_of_time(mark.started_at) for mark in made]
    assert times == sorted(times)
    assert [axis.row_at(place / 50) for place in range(51)] == sorted(axis.row_at(place / 50) for place in range(51))


def test_a_long_silence_takes_little_space() -> None:
    made = marks([0, *[10] * 20, 10**9, *[10] * 20])
    axis = TimeAxis.of(made, made[-1].started_at + 10)
    before, after = axis.position_of_time(made[20].started_at), axis.position_of_time(made[21].started_at)
    assert after - before < 0.2
    assert axis.row_at(axis.position_of_row(30)) == 30


def test_an_empty_timeline_has_an_axis_too() -> None:
    axis = TimeAxis.of((), 0)
    assert axis.position_of_time(5) == pytest.approx(1.0) and axis.row_at(0.0) == 0


def test_a_pause_after_a_step_does_not_shrink_the_step() -> None:
    """Only the pause is shortened: a step of two seconds before an hour of silence is as wide as one without it."""
    ways = [0, *[2_000] * 9, 3_600_000, *[2_000] * 9]
    steps = [mark._replace(ended_at=mark.started_at + 1_900) for mark in marks(ways)]
    axis = TimeAxis.of(steps, steps[-1].ended_at)

    def width(step: RowSample) -> float:
        return axis.position_of_time(step.ended_at) - axis.position_of_time(step.started_at)

    assert width(steps[9]) == pytest.approx(width(steps[3]))
    assert axis.position_of_row(steps[10].row) - axis.position_of_row(steps[9].row) < 0.3
