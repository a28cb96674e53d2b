"""The Compare page: equal steps are folded, the first difference is marked, no cause is claimed."""

from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QLabel, QListView, QPushButton
from pytestqt.qtbot import QtBot

from core.domain.sessions import SessionRow
from core.domain.steps import Step
from core.timeline.run_alignment import Alignment, align_runs
from core.timeline.used_knowledge import UsedKnowledge
from tests.ui.hands import click, find, press
from ui.base.tasks import UndoAction
from ui.compare.lines import comparison_lines, is_equal
from ui.compare.panel import ComparePanel
from ui.compare.texts import accessible_line_text, pair_note
from ui.style.theme import Look

SECOND = 1_000_000


def step(number: int, what: str, kind: str = "command", status: str = "done", tokens: int = 0) -> Step:
    return Step(
        number, kind, status, number * SECOND, number, "", what, (number + 1) * SECOND, tokens=tokens, first_seq=number
    )


def run_of(what: list[str], tokens: int = 0) -> list[Step]:
    run = Step(0, "run", "done", SECOND, ended_at=(len(what) + 1) * SECOND)
    return [run, *(step(number, text, tokens=tokens) for number, text in enumerate(what, 1))]


def found(a: list[str], b: list[str]) -> Alignment:
    return align_runs(run_of(a), run_of(b, tokens=5))


ALIKE = [f"same {n}" for n in range(8)]
PARTED = found([*ALIKE, "one", "x", *ALIKE], [*ALIKE, "other", *ALIKE])


def shape(of: Alignment, *opened: int) -> list[tuple[int, bool, bool]]:
    return [(line.steps, line.pair is None, line.precedes_difference) for line in comparison_lines(of, opened)]


def test_equal_steps_are_collapsed_and_the_first_difference_is_marked() -> None:
    pair, opened = (1, False, False), shape(PARTED, 3)
    assert shape(PARTED) == [pair, pair, pair, (5, True, True), pair, pair, (8, True, False)]
    assert opened[3] == (5, True, False) and opened[4:9] == [pair] * 5 and opened[9] == (0, True, True)


def test_an_immediate_or_missing_difference_is_stated() -> None:
    assert shape(found(["a"], ["b"])) == [(0, True, True), (1, False, False)]
    assert shape(found(["a", "b"], ["a", "b"])) == [(1, False, False)] * 2
    assert comparison_lines(found([], []), ()) == []


def test_the_accessible_text_of_a_row_has_both_sides() -> None:
    said = [accessible_line_text(line, PARTED) for line in comparison_lines(PARTED, ())]
    assert said[0] == "Step 1, in both: Ran same 0, 1.0s, done"
    assert said[3] == "5 equal steps · first difference at step 9"
    assert said[4] == "Step 9, different. left: Ran one, 1.0s, done, right: Ran other, 1.0s, done"
    assert said[5].endswith("right: nothing")


def test_steps_that_look_alike_but_had_other_arguments_say_so() -> None:
    steps = [step(1, "a.txt", "write")._replace(key="r1c1")]
    (mark, line) = comparison_lines(align_runs(steps, steps, {"r1c1": "one"}, {"r1c1": "two"}), ())
    assert mark.precedes_difference and line.pair and not is_equal(line.pair)
    assert accessible_line_text(line, PARTED).endswith("right: Wrote a.txt, 1.0s, done, with other arguments")
    assert pair_note(PARTED.pairs[0]) == pair_note(PARTED.pairs[8]) == ""


def test_the_texts_of_two_equal_thoughts_are_both_read() -> None:
    left, right = ([step(1, text, "thinking"), step(2, "ls", status=status)]
                   for text, status in (("Look first.", "done"), ("Read first.", "failed")))  # fmt: skip
    alignment = align_runs(left, right)
    texts = [accessible_line_text(line, alignment) for line in comparison_lines(alignment, ())]
    assert texts[0] == "Step 1, equal. left: Thought Look first., 1.0s, done, right: Thought Read first., 1.0s, done"
    assert texts[-1].startswith("Step 2, different. left: Ran ls, 1.0s, done, right:")
    assert alignment.equal == 1, "a step that ended differently is not counted as equal"


class Scene:
    """A Compare page with two sessions, recording what it requests."""

    def __init__(self, look: Look) -> None:
        self.gone: list[tuple[str, int]] = []
        self.picks: list[Callable[[str], object]] = []
        self.excluded: list[str] = []
        self.started: list[str] = []
        self.told: list[str] = []
        self.rows: dict[str, SessionRow] = {}
        self.panel = ComparePanel(
            look=look,
            bridge=self,
            start_task=self.start,
            show_toast=self.say,
            row=self.row,
            pick_session=self.pick,
            show_event=lambda name, seq: self.gone.append((name, seq)),
        )

    async def ask(self, work: Callable[[Any], Awaitable[Any]]) -> Any:
        raise LookupError

    def start(self, work: Coroutine[Any, Any, Any], name: str) -> None:
        work.close()
        self.started.append(name)

    def pick(self, hint: str, act: Callable[[str], object], *, exclude: str = "") -> None:
        self.picks.append(act)
        self.excluded.append(exclude)

    def say(self, text: str, undo: UndoAction | None = None) -> None:
        self.told.append(text)

    def row(self, name: str) -> SessionRow:
        return self.rows.get(name) or SessionRow(name, f"Title of {name}", model="a/b", cost=0.5)

    def said(self, name: str) -> str:
        return find(self.panel, QLabel, name).text()


@pytest.fixture
def scene(look: Look, qtbot: QtBot) -> Scene:
    made = Scene(look)
    qtbot.addWidget(made.panel)
    made.panel.resize(1000, 700)
    made.panel.show()
    return made


def test_deltas_are_those_of_the_right_run_and_claim_no_cause(scene: Scene) -> None:
    scene.panel.activate(("s1", "s2"))
    assert scene.started == ["compare"]
    scene.panel.show_alignment(PARTED)
    said = scene.said("compare.said")
    assert said == "Equal steps: 16 of 18. The right session has −1 step · −1.0s · +85 tok · cost unknown."
    assert "because" not in said
    assert find(scene.panel, QLabel, "compare.left.title").accessibleName() == "Title of s1"
    click(find(scene.panel, QPushButton, "compare.swap"))
    assert find(scene.panel, QLabel, "compare.left.title").accessibleName() == "Title of s2"
    assert scene.started == ["compare", "compare"]


def test_one_session_asks_for_the_other(scene: Scene) -> None:
    scene.panel.activate(("s1",))
    assert scene.started == [] and len(scene.picks) == 1
    scene.picks[0]("s9")
    assert scene.started == ["compare"]
    assert find(scene.panel, QLabel, "compare.right.title").accessibleName() == "Title of s9"
    for side in ("left", "right"):
        click(find(scene.panel, QPushButton, f"compare.{side}.choose"))
    assert scene.excluded == ["s1", "s9", "s1"], "a session is not offered for both sides"


def test_sessions_with_the_same_title_are_told_apart_by_their_start(scene: Scene) -> None:
    starts = {"s1": 1_700_000_000 * SECOND, "s2": 1_700_086_400 * SECOND}
    scene.rows = {name: SessionRow(name, "Same title", created_at=at) for name, at in starts.items()}
    scene.panel.activate(("s1", "s2"))
    titles = [find(scene.panel, QLabel, f"compare.{side}.title").accessibleName() for side in ("left", "right")]
    assert all(title.startswith("Same title · 2023-11-1") for title in titles) and titles[0] != titles[1]


def test_the_keyboard_starts_in_the_list_of_steps(scene: Scene) -> None:
    scene.panel.activate(("s1", "s2"))
    scene.panel.show_alignment(PARTED)
    assert scene.panel.focusWidget() is find(scene.panel, QListView, "compare.steps")


def test_without_a_session_the_keyboard_starts_at_the_first_choice(scene: Scene) -> None:
    scene.panel.activate(())
    assert scene.panel.focusWidget() is find(scene.panel, QPushButton, "compare.left.choose")


def test_enter_expands_equal_steps_and_goes_to_a_step(scene: Scene) -> None:
    scene.panel.activate(("s1", "s2"))
    scene.panel.show_alignment(PARTED)
    view = find(scene.panel, QListView, "compare.steps")
    rows = view.model().rowCount()
    assert view.currentIndex().row() == 3
    press(view, Qt.Key.Key_Return)
    assert view.model().rowCount() == rows + 6
    view.setCurrentIndex(view.model().index(0, 0))
    press(view, Qt.Key.Key_Return)
    assert scene.gone == [("s1", 1)]


def test_comparing_a_session_with_itself_or_nothing_is_explained(scene: Scene) -> None:
    scene.panel.activate(())
    assert "Choose two sessions" in scene.said("compare.said")
    scene.panel.activate(("s1", "s2"))
    scene.panel.show_alignment(found(ALIKE, ALIKE))
    assert scene.said("compare.said") == "Both sessions did the same. Equal steps: 8 of 8."
    scene.panel.show_alignment(found([], []))
    assert scene.said("compare.said") == "Neither session has any steps yet."


def test_memories_and_skills_of_only_one_run_are_listed(scene: Scene) -> None:
    had = UsedKnowledge({"m1": "The test database is reset at 02:00.", "m2": "Ask first."}, {"db-reset": 3})
    both = UsedKnowledge({"m2": "Ask first."}, {"db-reset": 2})
    scene.panel.activate(("s1", "s2"))
    scene.panel.show_alignment(replace(PARTED, used_a=both, used_b=had))
    lines = scene.said("compare.said").split("\n")[1:]
    assert lines == [
        "Only the left session used the skill db-reset 2.",
        "Only the right session used the memory “The test database is reset at 02:00” and the skill db-reset 3.",
    ]
    many = UsedKnowledge({str(n): f"Memory {n}" for n in range(9)})
    scene.panel.show_alignment(replace(PARTED, used_a=many, used_b=many))
    assert "\n" not in scene.said("compare.said")
    scene.panel.show_alignment(replace(PARTED, used_a=many))
    assert scene.said("compare.said").endswith("“Memory 0”, the memory “Memory 1” and 7 more memories and skills.")


def test_a_comparison_can_be_exported_once_there_is_one(scene: Scene) -> None:
    export = find(scene.panel, QPushButton, "compare.export")
    scene.panel.activate(("s1", "s2"))
    assert not export.isEnabled()
    scene.panel.show_alignment(PARTED)
    click(export)
    dialog = find(scene.panel, QFileDialog, "compare.file")
    dialog.filterSelected.emit(dialog.nameFilters()[1])
    assert dialog.defaultSuffix() == "csv"
    dialog.close()
    scene.panel.export("there.csv")
    assert scene.started == ["compare", "export a comparison"]
