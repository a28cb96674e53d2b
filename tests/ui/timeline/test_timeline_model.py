"""The timeline model: paging, updates, drafts, folding and texts for screen readers."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PySide6.QtCore import QModelIndex, Qt
from pytestqt.qtbot import QtBot

from core.domain.clock import SECOND
from core.domain.sessions import SessionRow
from core.domain.steps import VERBS
from tests.ui.timeline.session_data import START, MemorySteps, letter_session
from ui.base.step_presentation import KINDS, STATUSES
from ui.timeline.folds import Folds
from ui.timeline.step_pages import MAX_PAGES, PAGE_SIZE
from ui.timeline.timeline_model import STEP_ROLE, TimelineModel


def shown_rows(model: TimelineModel) -> list[int | None]:
    steps = [model.step_at(place) for place in range(model.rowCount())]
    return [None if step is None else step.row for step in steps]


def long_session(runs: int = 3, works: int = 300) -> MemorySteps:
    rows = MemorySteps()
    for run in range(1, runs + 1):
        rows.add("user", run=run, text=f"Do {run}")
        rows.add("run", run=run, metrics={"calls": works})
        for _ in range(works):
            rows.add("read", run=run, object="a.py", number=1)
        rows.add("reply", run=run, text="Read them all.")
        rows.add("end", "completed", run=run)
    return rows


def test_reads_pages_on_demand_and_keeps_few() -> None:
    rows = long_session(runs=1, works=60 * PAGE_SIZE)
    model = TimelineModel(rows)
    model.open("s", len(rows.rows))
    assert (model.rowCount(), rows.reads) == (len(rows.rows), 0)
    for place in range(0, model.rowCount(), PAGE_SIZE):
        step = model.step_at(place)
        assert step is not None and step.row == place
    assert len(model._pages._pages) == MAX_PAGES
    before = rows.reads
    assert model.index(model.rowCount() - 1, 0).data(STEP_ROLE).row == model.rowCount() - 1
    assert rows.reads == before


def test_the_model_passes_the_model_tester(qtmodeltester: Any) -> None:
    rows = letter_session()
    model = TimelineModel(rows)
    model.open("s", len(rows.rows))
    qtmodeltester.check(model)
    model.show_draft("Half a sent")
    model.toggle_run(2)
    qtmodeltester.check(model)
    model.end_draft()
    model.toggle_run(2)
    qtmodeltester.check(model)


def test_new_rows_come_in_one_insertion_and_known_rows_change(qtbot: QtBot) -> None:
    rows = letter_session()
    model = TimelineModel(rows)
    model.open("s", 5)
    inserted: list[tuple[int, int]] = []
    changed: list[int] = []
    model.rowsInserted.connect(lambda parent, first, last: inserted.append((first, last)))
    model.dataChanged.connect(lambda first, last, roles: changed.append(first.row()))
    model.apply([rows.rows[1], *rows.rows[5:9]])
    assert (inserted, changed) == ([(5, 8)], [1])
    assert shown_rows(model) == list(range(9))


def test_a_gap_is_read_from_the_store() -> None:
    rows = letter_session()
    model = TimelineModel(rows)
    model.open("s", 2)
    assert model.step_at(1) is not None
    model.apply([rows.rows[8]])
    assert shown_rows(model) == list(range(9))


def test_the_reply_replaces_its_draft(qtbot: QtBot) -> None:
    rows = letter_session()
    model = TimelineModel(rows)
    model.open("s", 10)
    model.show_draft("The let")
    assert model.is_draft(10) and model.text_of(10) == "The let" and model.step_at(10) is None
    with qtbot.assertNotEmitted(model.rowsInserted), qtbot.assertNotEmitted(model.rowsRemoved):
        model.apply([rows.rows[10]])
        model.end_draft()
    assert shown_rows(model) == list(range(11))
    model.show_draft("More")
    model.apply([rows.rows[11]])
    assert shown_rows(model) == [*range(12), None]
    model.end_draft()
    assert shown_rows(model) == list(range(12))


def test_folding_hides_steps_and_keeps_messages() -> None:
    rows = long_session()
    model = TimelineModel(rows)
    model.open("s", len(rows.rows))
    model.toggle_run(2)
    kinds = [step.kind for place in range(300, 312) if (step := model.step_at(place))]
    assert kinds[2:8] == ["reply", "end", "user", "run", "reply", "end"]
    assert model.rowCount() == len(rows.rows) - 300
    assert model.position_of(310) is None and model.is_folded(2)
    model.toggle_run(1)
    model.toggle_run(3)
    assert model.rowCount() == 12
    for run in (2, 1, 3):
        model.toggle_run(run)
    assert shown_rows(model) == list(range(len(rows.rows)))


def test_new_steps_of_a_folded_run_are_hidden(qtbot: QtBot) -> None:
    rows = MemorySteps()
    rows.add("run", "running")
    rows.add("read")
    model = TimelineModel(rows)
    model.open("s", 2)
    model.toggle_run(1)
    assert shown_rows(model) == [0]
    with qtbot.assertNotEmitted(model.rowsInserted):
        model.apply([rows.add("command")])
    model.apply([rows.add("reply", text="So far"), rows.add("command"), rows.add("end", "completed")])
    assert shown_rows(model) == [0, 3, 5]
    model.toggle_run(1)
    assert shown_rows(model) == list(range(6))


def test_finds_runs_without_reading_everything() -> None:
    rows = long_session(runs=40)
    model = TimelineModel(rows)
    model.open("s", len(rows.rows))
    header = model.header(31)
    assert header is not None and header.kind == "run" and header.run == 31
    assert rows.reads < 30
    assert model.first_row(99) == len(rows.rows)


def test_accessible_text_matches_what_is_painted() -> None:
    rows = letter_session()
    model = TimelineModel(rows, clock=lambda: START)
    model.open("s", len(rows.rows))
    said = [model.index(place, 0).data(Qt.ItemDataRole.AccessibleTextRole) for place in range(model.rowCount())]
    assert said[1] == "Run 2: 3 thoughts, 7 tool calls, 1m 48s, 21.3k tok, Done, expanded"
    model.toggle_run(2)
    assert str(model.index(1, 0).data(Qt.ItemDataRole.AccessibleTextRole)).endswith("Done, collapsed")
    assert said[4] == "Step 18: Ran exiftool -DateTimeOriginal photos/*.jpg, exit 0, 0.6s, done"
    assert said[5] == "Step 19: Wrote complaint.md, +84, −3, 31ms, done"
    assert said[11] == "End of the run: Done, 6m 40s"


def test_queued_message_shows_its_edited_text() -> None:
    rows = MemorySteps()
    step = rows.add("user", "queued", text="teh rest", first_seq=4, last_seq=4)
    model = TimelineModel(rows, clock=lambda: START)
    model.open("s", 1)
    assert model.index(0, 0).data() == "Queued teh rest"
    rows.texts[7, "text"] = "the rest\nof it"
    changed = step._replace(object="the rest", last_seq=7)
    model.apply([changed])
    assert model.index(0, 0).data() == "Queued the rest of it"
    model.apply([changed._replace(status="stopped", ended_at=START)])
    assert model.index(0, 0).data() == "Removed the rest of it"
    model.apply([changed._replace(status="done", ended_at=START)])
    assert model.index(0, 0).data() == "You said the rest of it"


def test_attachments_are_listed_below_the_message() -> None:
    rows = letter_session()
    said = next(step for step in rows.rows if step.kind == "user")
    rows.texts[said.first_seq, "text"] = "Look at this"
    rows.events[said.first_seq] = {"attachments": [{"name": "plan.png", "size": 2_560}, {"name": "a.txt"}]}
    model = TimelineModel(rows)
    model.open("s", len(rows.rows))
    place = model.position_of(said.row)
    assert place is not None and model.text_of(place) == "Look at this\n[plan.png · 2.5 KB]\n[a.txt · 0 bytes]"


def test_open_step_lasts_until_now() -> None:
    rows = MemorySteps()
    step = rows.add("command", "running", started_at=START, number=1, object="make")
    model = TimelineModel(rows, clock=lambda: START + 6_100_000)
    model.open("s", 1)
    assert model.duration_of(step) == 6_100_000
    assert model.index(0, 0).data() == "Step 1: Running make, 6.1s, running"


def test_a_paused_run_lasts_until_the_pause() -> None:
    rows = MemorySteps()
    run, _ = rows.add("run", "paused"), rows.add("command", "done")
    pause = rows.add("paused", "paused", object="paused by you")
    model = TimelineModel(rows, lambda: pause.started_at + 3600 * SECOND)
    model.open("s", 3)
    assert model.duration_of(run) == pause.started_at - run.started_at
    assert model.duration_of(pause) == 3600 * SECOND


def test_interrupted_run_lasts_until_its_last_event() -> None:
    rows = MemorySteps()
    rows.add("run", "interrupted")
    rows.add("command", "unknown", object="make deploy", number=1)
    rows.add("interrupted", "waiting", object="make deploy")
    model = TimelineModel(rows, clock=lambda: START + 10**12)
    model.open("s", 3)
    assert [model.duration_of(step) // SECOND for step in rows.rows[:2]] == [2, 1]
    assert model.axis(1).end - START < 60 * SECOND


def test_positions_outside_the_rows_are_empty() -> None:
    model = TimelineModel(MemorySteps())
    assert model.rowCount() == 0 and model.step_at(0) is None and model.index(0, 0).data() is None
    assert model.data(QModelIndex()) is None
    model.show_draft("nobody listens")
    assert model.rowCount() == 0


@pytest.mark.parametrize("kind", sorted(VERBS))
def test_every_kind_of_step_has_a_look(kind: str) -> None:
    assert kind in KINDS


def test_every_status_has_its_own_glyph() -> None:
    known = {"done", "failed", "stopped", "running", "waiting", "unknown", "interrupted", "skipped", "limit"}
    assert known <= set(STATUSES)
    assert len({STATUSES[status].icon for status in known}) == len(known)


@settings(max_examples=60, deadline=None)
@given(st.sets(st.integers(0, 60), max_size=30))
def test_folding_agrees_with_a_plain_list(hidden: set[int]) -> None:
    folds = Folds()
    for row in hidden:
        folds.hide(row, row + 1)
    left = [row for row in range(61) if row not in hidden]
    assert folds.hidden_count == len(hidden)
    assert [folds.row_at(place) for place in range(len(left))] == left
    assert [folds.position_of(row) for row in left] == list(range(len(left)))
    assert all(folds.position_of(row) is None for row in hidden)


def test_accessible_text_of_a_failed_run_has_the_cause_and_the_fix() -> None:
    rows = MemorySteps()
    rows.add("run", "failed")
    end = rows.add("end", "failed", object="The request was rejected.")
    error = {"message": end.object, "cause": "It returned status 400.", "fix": "Choose another model."}
    rows.events[end.last_seq] = {"error": error}
    model = TimelineModel(rows)
    model.open("s", len(rows.rows))
    text = str(model.index(1, 0).data(Qt.ItemDataRole.AccessibleTextRole))
    assert text.startswith("End of the run: Failed, The request was rejected.")
    assert text.endswith(". It returned status 400. Choose another model.")


def test_accessible_text_of_a_reply_is_plain_and_complete() -> None:
    rows = MemorySteps()
    said = "**Done.** See `a.py` and [the page](https://example.org):\n\n- one\n- *two*\n\n```\nls -l\n```"
    rows.add("reply", text=said)
    rows.add("user", text="# Now\nthe _rest_")
    model = TimelineModel(rows)
    model.open("s", 2)
    assert model.index(0, 0).data() == "Replied Done. See a.py and the page: one. two. ls -l"
    assert model.index(1, 0).data() == "You said Now. the rest"


def test_a_fork_names_the_session_it_came_from_by_its_title() -> None:
    class Named(MemorySteps):
        def session(self, name: str) -> SessionRow | None:
            return SessionRow(name, "Write the letter") if name == "s1" else None

    rows = Named()
    rows.add("fork", object="s1")
    rows.add("fork", object="gone")
    model = TimelineModel(rows)
    model.open("s", 2)
    assert "Forked from Write the letter" in model.index(0, 0).data()
    assert "Forked from gone" in model.index(1, 0).data()
