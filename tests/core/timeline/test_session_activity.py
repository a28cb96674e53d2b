"""The history of a session, folded from stored events."""

from typing import Any

from core.domain.problems import ErrorDetails
from core.timeline.decision_entry import decision_of
from core.timeline.session_activity import ACTIVITY_KINDS, SessionActivity, UserRating
from tests.core.store.made import GOLDEN, examples


def line(kind: str, seq: int, run: int = 1, **values: Any) -> dict[str, Any]:
    return {"seq": seq, "run": run, "at": seq * 1000, "kind": kind, **values}


def activity_of(*lines: dict[str, Any]) -> SessionActivity:
    past = SessionActivity()
    past.apply(lines)
    return past


def compare(past: SessionActivity, bodies: dict[str, bytes]) -> None:
    while not past.all_compared:
        past.compare_next(bodies.get)


def test_every_golden_event_can_be_read() -> None:
    kinds = [file.stem for file in (GOLDEN / "events").glob("*.json")]
    past = SessionActivity()
    for kind in kinds:
        past.apply(line(kind, seq) | each["payload"] for seq, each in enumerate(examples(kind), 1))
    assert past.decisions and past.files and past.ratings
    told = {kind for kind in kinds for each in examples(kind) if decision_of(line(kind, 1) | each["payload"])}
    assert (
        told <= set(ACTIVITY_KINDS)
        and {"permission_requested", "call_allowed", "decision_made", "issue_reported"} <= told
    )


def test_a_file_has_its_history() -> None:
    past = activity_of(
        line("file_changed", 1, path="a", before="", after="x", added=3),
        line("file_changed", 2, 2, path="a", before="x", after="y", added=1, removed=2),
        line("file_changed", 3, 2, path="b", before="q", after="", removed=9),
        line("files_rewound", 4, 2, to_seq=0, files=[{"path": "b", "before": "", "after": "q"}]),
    )
    first, second = past.changed_files()
    assert (first.path, first.added, first.removed, first.created, first.deleted, first.unchanged) == (
        "a",
        4,
        2,
        True,
        False,
        False,
    )
    assert second.unchanged and not second.created and second.changes[-1].rewound
    assert past.line_totals() == (4, 2)
    assert [story.path for story in past.changed_files_of_run(1)] == ["a"] and past.changed_files_of_run(2)[
        0
    ].added == 1


def test_line_counts_of_a_file_match_its_diff() -> None:
    """A file is created, edited and then rewound; its counts are net changes, per run and per session."""
    bodies = {"made": b"one\ntwo\n", "edited": b"one\n2\nthree\n"}
    past = activity_of(
        line("file_changed", 1, path="a", before="", after="made", added=2),
        line("file_changed", 2, path="a", before="made", after="edited", added=2, removed=1),
        line("file_changed", 3, path="b", before="", after="gone", added=4),
        line("file_changed", 4, path="b", before="gone", after="lost", added=1),
        line("file_changed", 5, path="c", added=1),
        line("file_changed", 6, path="c", added=1),
    )
    assert past.line_totals() == (11, 1)
    compare(past, bodies)
    assert [(each.added, each.removed) for each in past.changed_files()] == [(3, 0), (5, 0), (2, 0)]
    assert [(each.added, each.removed) for each in past.changed_files_of_run(1)] == [(3, 0), (5, 0), (2, 0)]
    past.apply([line("files_rewound", 7, 2, to_seq=0, files=[{"path": "a", "before": "edited", "after": "made"}])])
    compare(past, bodies)
    assert (past.changed_files()[0].added, past.changed_files()[0].removed) == (2, 0) and past.changed_files_of_run(1)[
        0
    ].added == 3


def test_a_question_and_its_answer_are_one_decision() -> None:
    past = activity_of(
        line("permission_requested", 1, request={"id": "r1", "tool": "run", "object": "make", "reason": "no rule"}),
        line("question_asked", 2, question={"id": "q1", "text": "Which?", "options": [{"label": "A"}]}),
        line("permission_decided", 3, request_id="r1", allowed=True, scope="folder"),
        line("question_answered", 4, question_id="q1", answer={"option": "A"}),
    )
    consent, question = past.decisions
    assert (consent.what, consent.chosen, consent.cause, consent.status) == (
        "run make",
        "allowed folder",
        "you",
        "done",
    )
    assert consent.why == "no rule" and consent.seq == 1
    assert (question.what, question.chosen, question.options) == ("Which?", "A", (("A", ""),))


def test_an_unanswered_request_is_not_pending_after_its_run_ended() -> None:
    asked = line("question_asked", 1, question={"id": "q1", "text": "Which?"})
    wanted = line("permission_requested", 2, request={"id": "r1", "tool": "write", "object": "a"})
    nobody = {"expired": True, "answered_by": "nobody"}
    past = activity_of(asked, wanted, line("question_answered", 3, question_id="q1", answer=nobody))
    assert [(each.status, each.cause) for each in past.decisions] == [("stopped", "nobody"), ("waiting", "")]
    past.apply([line("run_ended", 4, status="failed", error={"message": "It failed.", "cause": "500", "fix": "Wait."})])
    assert [each.status for each in past.decisions] == ["stopped", "stopped"]
    assert past.errors == {1: ErrorDetails("It failed.", "500", "Wait.")}


def test_similar_approvals_are_one_row() -> None:
    allows = [line("call_allowed", seq, call_id=f"c{seq}", reason="reads only") for seq in range(1, 1001)]
    past = activity_of(*allows, line("call_allowed", 1001, call_id="c", reason="a rule", rule_id="r1"))
    assert [(each.count, each.rule) for each in past.decisions] == [(1000, ""), (1, "r1")]


def test_the_last_rating_of_the_user_counts() -> None:
    past = activity_of(
        line("run_rated", 1, run_number=2, rating="up", note={"head": "fine"}),
        line("run_rated", 2, run_number=2, rating="down", by="check"),
        line("run_rated", 3, run_number=1, rating=""),
    )
    assert past.ratings == {2: UserRating("up", "fine"), 1: UserRating()}
