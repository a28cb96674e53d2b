"""Alignment of two runs."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from core.domain.clock import SECOND
from core.domain.steps import Step
from core.timeline.run_alignment import align_runs, totals
from tests.core.engine.harness import call_reply, open_engine, run_bounded, scripted_replies

WHAT = st.lists(st.tuples(st.sampled_from(["read", "write", "command"]), st.sampled_from("abc")), max_size=12)


def steps(what: list[tuple[str, str]]) -> list[Step]:
    return [
        Step(row, kind, "done", row * 10, row + 1, object=name, ended_at=row * 10 + 5, tokens=1)
        for row, (kind, name) in enumerate(what)
    ]


@given(WHAT, WHAT)
def test_alignment_loses_nothing_and_keeps_the_order(one: list[tuple[str, str]], other: list[tuple[str, str]]) -> None:
    a, b = steps(one), steps(other)
    found = align_runs(a, b)
    assert [pair.a for pair in found.pairs if pair.a] == a
    assert [pair.b for pair in found.pairs if pair.b] == b
    for pair in found.pairs:
        same = pair.a and pair.b and (pair.a.kind, pair.a.object) == (pair.b.kind, pair.b.object)
        assert bool(same) or not pair.equal
    assert (found.first_difference is None) == (one == other)


@given(WHAT)
def test_a_run_compared_with_itself_is_equal(one: list[tuple[str, str]]) -> None:
    found = align_runs(steps(one), steps(one))
    assert found.first_difference is None and found.equal == len(one) and found.a == found.b


def test_an_additional_step_shifts_the_rest() -> None:
    a = steps([("read", "a"), ("write", "b"), ("command", "c")])
    b = steps([("read", "a"), ("read", "x"), ("write", "b"), ("command", "c")])
    found = align_runs(a, b)
    assert found.first_difference == 1 and found.equal == 3 and found.pairs[1].a is None
    assert (found.b.steps - found.a.steps, found.b.tokens - found.a.tokens) == (1, 1)


def test_the_same_step_with_another_result_is_a_difference() -> None:
    a = steps([("command", "make")])
    b = [Step(0, "command", "failed", 0, 1, object="make", ended_at=5)]
    found = align_runs(a, b)
    assert found.pairs[0].equal and found.first_difference == 0 and totals(b).failed == 1


def test_V11_long_similar_runs_are_compared_quickly() -> None:
    what = [("read", f"file {n}") for n in range(20_000)]
    found = align_runs(steps(what), steps([*what[:10_000], ("write", "x"), *what[10_000:]]))
    assert found.first_difference == 10_000 and found.equal == 20_000


def test_V11_a_repeated_run_is_compared_with_the_first(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            first = await scene.run(
                scripted_replies(call_reply("read", path="no"), {"text": "Done", "usage": {"input": 5}})
            )
            beginning = await scene.engine.history.fork_to_rerun(first, 1, script=scripted_replies({"text": "Done"}))
            await scene.engine.history.start_fork(beginning)
            await scene.engine.wait_idle(beginning.session_id)
            found = scene.engine.analytics.compare(first, beginning.session_id)
            assert found.first_difference == 1 and found.a.tokens == 5 and found.a.failed == 1 and found.b.failed == 0
            assert scene.engine.analytics.compare(first, first).first_difference is None

    run_bounded(main())


def test_an_unknown_cost_is_not_zero_and_a_known_price_of_zero_is() -> None:
    row, run = Step(1, "thinking", "done", 0, number=1, tokens=10), Step(0, "run", "done", 0)
    assert totals([run, row]).cost is None
    assert totals([run._replace(metrics={"priced": 1}), row]).cost == 0
    assert totals([run, row._replace(cost=0.25)]).cost == 0.25


def test_the_time_of_a_session_is_that_of_its_runs_with_every_wait_for_the_user() -> None:
    def wait(kind: str) -> list[Step]:
        run = Step(0, "run", "done", 0, run=1, ended_at=60 * SECOND)
        row = Step(1, kind, "done", SECOND, number=1, run=1, ended_at=50 * SECOND)
        return [run, row]

    assert totals(wait("question")).seconds == totals(wait("permission")).seconds == 60
    ended, open_run = wait("question"), Step(2, "run", "running", 70 * SECOND, run=2)
    row = Step(3, "read", "done", 72 * SECOND, number=2, run=2, ended_at=75 * SECOND)
    assert totals([*ended, open_run, row]).seconds == 65
