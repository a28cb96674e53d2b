"""The model of rows: pages, changes, drafts and folds."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PySide6.QtCore import QModelIndex, Qt
from pytestqt.qtbot import QtBot

from core.domain.clock import SECOND
from core.domain.sessions import SessionRow
from core.domain.steps import VERBS
from tests.ui.timeline.journals import START, ListedRows, letter
from ui.looks import KINDS, STATUSES
from ui.timeline.folds import Folds
from ui.timeline.model import STEP_ROLE, TimelineModel
from ui.timeline.pages import KEPT, PAGE


def shown(model: TimelineModel) -> list[int | None]:
    steps = [model.step(place) for place in range(model.rowCount())]
    return [None if step is None else step.row for step in steps]


def long_session(runs: int = 3, works: int = 300) -> ListedRows:
    rows = ListedRows()
    for run in range(1, runs + 1):
        rows.add("person", run=run, said=f"Do {run}")
        rows.add("run", run=run, marks={"calls": works})
        for _ in range(works):
            rows.add("read", run=run, object="a.py", number=1)
        rows.add("reply", run=run, said="Read them all.")
        rows.add("end", "completed", run=run)
    return rows


def test_reads_pages_on_demand_and_keeps_few() -> None:
    rows = long_session(runs=1, works=60 * PAGE)
    model = TimelineModel(rows)
    model.open("s", len(rows.rows))
    assert (model.rowCount(), rows.reads) == (len(rows.rows), 0)
    for place in range(0, model.rowCount(), PAGE):
        step = model.step(place)
        assert step is not None and step.row == place
    assert len(model._pages._pages) == KEPT
    before = rows.reads
    assert model.index(model.rowCount() - 1, 0).data(STEP_ROLE).row == model.rowCount() - 1
    assert rows.reads == before


def test_is_a_sound_model(qtmodeltester: Any) -> None:
    rows = letter()
    model = TimelineModel(rows)
    model.open("s", len(rows.rows))
    qtmodeltester.check(model)
    model.draft("Half a sent")
    model.toggle(2)
    qtmodeltester.check(model)
    model.end_draft()
    model.toggle(2)
    qtmodeltester.check(model)


def test_new_rows_come_in_one_insertion_and_known_rows_change(qtbot: QtBot) -> None:
    rows = letter()
    model = TimelineModel(rows)
    model.open("s", 5)
    inserted: list[tuple[int, int]] = []
    changed: list[int] = []
    model.rowsInserted.connect(lambda parent, first, last: inserted.append((first, last)))
    model.dataChanged.connect(lambda first, last, roles: changed.append(first.row()))
    model.apply([rows.rows[1], *rows.rows[5:9]])
    assert (inserted, changed) == ([(5, 8)], [1])
    assert shown(model) == list(range(9))


def test_a_gap_is_read_from_the_store() -> None:
    rows = letter()
    model = TimelineModel(rows)
    model.open("s", 2)
    assert model.step(1) is not None
    model.apply([rows.rows[8]])
    assert shown(model) == list(range(9))


def test_the_reply_takes_the_place_of_its_draft(qtbot: QtBot) -> None:
    rows = letter()
    model = TimelineModel(rows)
    model.open("s", 10)
    model.draft("The let")
    assert model.is_draft(10) and model.words(10) == "The let" and model.step(10) is None
    with qtbot.assertNotEmitted(model.rowsInserted), qtbot.assertNotEmitted(model.rowsRemoved):
        model.apply([rows.rows[10]])
        model.end_draft()
    assert shown(model) == list(range(11))
    model.draft("More")
    model.apply([rows.rows[11]])
    assert shown(model) == [*range(12), None]
    model.end_draft()
    assert shown(model) == list(range(12))


def test_folding_hides_the_work_and_keeps_what_was_said() -> None:
    rows = long_session()
    model = TimelineModel(rows)
    model.open("s", len(rows.rows))
    model.toggle(2)
    kinds = [step.kind for place in range(300, 312) if (step := model.step(place))]
    assert kinds[2:8] == ["reply", "end", "person", "run", "reply", "end"]
    assert model.rowCount() == len(rows.rows) - 300
    assert model.place(310) is None and model.is_folded(2)
    model.toggle(1)
    model.toggle(3)
    assert model.rowCount() == 12
    for run in (2, 1, 3):
        model.toggle(run)
    assert shown(model) == list(range(len(rows.rows)))


def test_work_that_comes_to_a_folded_run_stays_folded(qtbot: QtBot) -> None:
    rows = ListedRows()
    rows.add("run", "running")
    rows.add("read")
    model = TimelineModel(rows)
    model.open("s", 2)
    model.toggle(1)
    assert shown(model) == [0]
    with qtbot.assertNotEmitted(model.rowsInserted):
        model.apply([rows.add("command")])
    model.apply([rows.add("reply", said="So far"), rows.add("command"), rows.add("end", "completed")])
    assert shown(model) == [0, 3, 5]
    model.toggle(1)
    assert shown(model) == list(range(6))


def test_finds_runs_without_reading_everything() -> None:
    rows = long_session(runs=40)
    model = TimelineModel(rows)
    model.open("s", len(rows.rows))
    header = model.header(31)
    assert header is not None and header.kind == "run" and header.run == 31
    assert rows.reads < 30
    assert model.first_row(99) == len(rows.rows)


def test_rows_read_aloud_say_what_is_painted() -> None:
    rows = letter()
    model = TimelineModel(rows, clock=lambda: START)
    model.open("s", len(rows.rows))
    said = [model.index(place, 0).data(Qt.ItemDataRole.AccessibleTextRole) for place in range(model.rowCount())]
    assert said[1] == "Run 2: 3 thinking, 7 tool calls, 1m 48s, 21.3k tok, Done"
    assert said[4] == "Step 18: Ran exiftool -DateTimeOriginal photos/*.jpg, exit 0, 0.6s, done"
    assert said[5] == "Step 19: Wrote complaint.md, +84, −3, 31ms, done"
    assert said[11] == "End of the run: Done, 6m 40s"


def test_words_that_wait_are_said_to_wait_and_to_be_sent_as_they_were_changed() -> None:
    rows = ListedRows()
    step = rows.add("person", "queued", said="teh rest", first=4, last=4)
    model = TimelineModel(rows, clock=lambda: START)
    model.open("s", 1)
    assert model.index(0, 0).data() == "Queued teh rest"
    rows.texts[7, "text"] = "the rest\nof it"
    changed = step._replace(object="the rest", last=7)
    model.apply([changed])
    assert model.index(0, 0).data() == "Queued the rest of it"
    model.apply([changed._replace(status="stopped", ended=START)])
    assert model.index(0, 0).data() == "Taken back the rest of it"
    model.apply([changed._replace(status="done", ended=START)])
    assert model.index(0, 0).data() == "You said the rest of it"


def test_what_was_sent_along_with_words_stands_below_them() -> None:
    rows = letter()
    said = next(step for step in rows.rows if step.kind == "person")
    rows.texts[said.first, "text"] = "Look at this"
    rows.entries[said.first] = {"attachments": [{"name": "plan.png", "size": 2_560}, {"name": "a.txt"}]}
    model = TimelineModel(rows)
    model.open("s", len(rows.rows))
    place = model.place(said.row)
    assert place is not None and model.words(place) == "Look at this\n[plan.png · 2.5 KB]\n[a.txt · 0 bytes]"


def test_a_row_that_is_still_going_counts_until_now() -> None:
    rows = ListedRows()
    step = rows.add("command", "running", began=START, number=1, object="make")
    model = TimelineModel(rows, clock=lambda: START + 6_100_000)
    model.open("s", 1)
    assert model.lasted(step) == 6_100_000
    assert model.index(0, 0).data() == "Step 1: Running make, 6.1s, running"


def test_time_stands_still_in_an_interrupted_run() -> None:
    rows = ListedRows()
    rows.add("run", "interrupted")
    rows.add("command", "unknown", object="make deploy", number=1)
    rows.add("interrupted", "waiting", object="make deploy")
    model = TimelineModel(rows, clock=lambda: START + 10**12)
    model.open("s", 3)
    assert [model.lasted(step) // SECOND for step in rows.rows[:2]] == [2, 1]
    assert model.axis(1)[1] - START < 60 * SECOND


def test_nothing_outside_the_rows() -> None:
    model = TimelineModel(ListedRows())
    assert model.rowCount() == 0 and model.step(0) is None and model.index(0, 0).data() is None
    assert model.data(QModelIndex()) is None
    model.draft("nobody listens")
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
def test_folds_agree_with_a_plain_list(hidden: set[int]) -> None:
    folds = Folds()
    for row in hidden:
        folds.hide(row, row + 1)
    left = [row for row in range(61) if row not in hidden]
    assert folds.hidden == len(hidden)
    assert [folds.row(place) for place in range(len(left))] == left
    assert [folds.place(row) for row in left] == list(range(len(left)))
    assert all(folds.place(row) is None for row in hidden)


def test_a_reply_is_read_aloud_without_signs_and_in_full() -> None:
    rows = ListedRows()
    said = "**Done.** See `a.py` and [the page](https://example.org):\n\n- one\n- *two*\n\n```\nls -l\n```"
    rows.add("reply", said=said)
    rows.add("person", said="# Now\nthe _rest_")
    model = TimelineModel(rows)
    model.open("s", 2)
    assert model.index(0, 0).data() == "Replied Done. See a.py and the page: one two ls -l"
    assert model.index(1, 0).data() == "You said Now the rest"


def test_a_fork_names_the_session_it_came_from_by_its_title() -> None:
    class Named(ListedRows):
        def session(self, name: str) -> SessionRow | None:
            return SessionRow(name, "Write the letter") if name == "s1" else None

    rows = Named()
    rows.add("fork", object="s1")
    rows.add("fork", object="gone")
    model = TimelineModel(rows)
    model.open("s", 2)
    assert "Forked from Write the letter" in model.index(0, 0).data()
    assert "Forked from gone" in model.index(1, 0).data()
