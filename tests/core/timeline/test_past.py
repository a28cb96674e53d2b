"""What a person looks back on, folded from lines as they are stored."""

from typing import Any

from core.domain.problems import Trouble
from core.timeline.past import KINDS, Past, choice
from tests.core.store.made import GOLDEN, examples


def line(kind: str, seq: int, run: int = 1, **values: Any) -> dict[str, Any]:
    return {"seq": seq, "run": run, "at": seq * 1000, "kind": kind, **values}


def heard(*lines: dict[str, Any]) -> Past:
    past = Past()
    past.hear(lines)
    return past


def compare(past: Past, bodies: dict[str, bytes]) -> None:
    while not past.compared:
        past.compare(bodies.get)


def test_every_example_ever_kept_can_be_heard() -> None:
    kinds = [file.stem for file in (GOLDEN / "events").glob("*.json")]
    past = Past()
    for kind in kinds:
        past.hear(line(kind, seq) | each["payload"] for seq, each in enumerate(examples(kind), 1))
    assert past.choices and past.files and past.verdicts
    told = {kind for kind in kinds for each in examples(kind) if choice(line(kind, 1) | each["payload"])}
    assert told <= set(KINDS) and {"consent_asked", "call_allowed", "decision_made", "problem_reported"} <= told


def test_a_file_tells_its_story() -> None:
    past = heard(
        line("file_changed", 1, path="a", before="", after="x", added=3),
        line("file_changed", 2, 2, path="a", before="x", after="y", added=1, removed=2),
        line("file_changed", 3, 2, path="b", before="q", after="", removed=9),
        line("files_rewound", 4, 2, to=0, files=[{"path": "b", "before": "", "after": "q"}]),
    )
    first, second = past.stories()
    assert (first.path, first.added, first.removed, first.new, first.gone, first.back) == (
        "a",
        4,
        2,
        True,
        False,
        False,
    )
    assert second.back and not second.new and second.changes[-1].rewound
    assert past.totals() == (4, 11)
    assert [story.path for story in past.of_run(1)] == ["a"] and past.of_run(2)[0].added == 1


def test_the_figures_of_a_file_are_those_of_its_difference() -> None:
    """Made and then edited it has no line less, in its run as in the session; then it is put back."""
    bodies = {"made": b"one\ntwo\n", "edited": b"one\n2\nthree\n"}
    past = heard(
        line("file_changed", 1, path="a", before="", after="made", added=2),
        line("file_changed", 2, path="a", before="made", after="edited", added=2, removed=1),
        line("file_changed", 3, path="b", before="", after="gone", added=4),
        line("file_changed", 4, path="b", before="gone", after="lost", added=1),
        line("file_changed", 5, path="c", added=1),
        line("file_changed", 6, path="c", added=1),
    )
    assert past.totals() == (11, 1)
    compare(past, bodies)
    assert [(each.added, each.removed) for each in past.stories()] == [(3, 0), (5, 0), (2, 0)]
    assert [(each.added, each.removed) for each in past.of_run(1)] == [(3, 0), (5, 0), (2, 0)]
    past.hear([line("files_rewound", 7, 2, to=0, files=[{"path": "a", "before": "edited", "after": "made"}])])
    compare(past, bodies)
    assert (past.stories()[0].added, past.stories()[0].removed) == (2, 0) and past.of_run(1)[0].added == 3


def test_what_was_asked_and_answered_is_one_choice() -> None:
    past = heard(
        line("consent_asked", 1, request={"id": "r1", "tool": "run", "object": "make", "why": "no rule"}),
        line("question_asked", 2, question={"id": "q1", "text": "Which?", "options": [{"label": "A"}]}),
        line("consent_given", 3, request_id="r1", allowed=True, scope="folder"),
        line("question_answered", 4, question_id="q1", answer={"option": "A"}),
    )
    consent, question = past.choices
    assert (consent.what, consent.chosen, consent.cause, consent.status) == (
        "run make",
        "allowed folder",
        "you",
        "done",
    )
    assert consent.why == "no rule" and consent.seq == 1
    assert (question.what, question.chosen, question.options) == ("Which?", "A", (("A", ""),))


def test_what_nobody_answered_waits_for_nobody_once_the_run_has_ended() -> None:
    asked = line("question_asked", 1, question={"id": "q1", "text": "Which?"})
    wanted = line("consent_asked", 2, request={"id": "r1", "tool": "write", "object": "a"})
    nobody = {"expired": True, "by": "nobody"}
    past = heard(asked, wanted, line("question_answered", 3, question_id="q1", answer=nobody))
    assert [(each.status, each.cause) for each in past.choices] == [("stopped", "nobody"), ("waiting", "")]
    past.hear([line("run_ended", 4, status="failed", trouble={"what": "It failed.", "why": "500", "do": "Wait."})])
    assert [each.status for each in past.choices] == ["stopped", "stopped"]
    assert past.troubles == {1: Trouble("It failed.", "500", "Wait.")}


def test_like_allows_are_told_as_one() -> None:
    allows = [line("call_allowed", seq, call_id=f"c{seq}", cause="reads only") for seq in range(1, 1001)]
    past = heard(*allows, line("call_allowed", 1001, call_id="c", cause="a rule", rule="r1"))
    assert [(each.count, each.rule) for each in past.choices] == [(1000, ""), (1, "r1")]


def test_the_last_word_of_a_person_counts() -> None:
    past = heard(
        line("verdict_given", 1, number=2, verdict="up", note={"head": "fine"}),
        line("verdict_given", 2, number=2, verdict="down", by="check"),
        line("verdict_given", 3, number=1, verdict=""),
    )
    assert past.verdicts == {2: ("up", "fine"), 1: ("", "")}
