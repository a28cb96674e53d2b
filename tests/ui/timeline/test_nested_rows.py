"""Sub-agents expanded among the steps of the delegating session, with up to a million steps."""

from collections.abc import Iterator

from hypothesis import example, given, settings
from hypothesis import strategies as st
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QToolButton
from pytestqt.qtbot import QtBot

from core.domain.sessions import SessionRow
from core.domain.steps import Step
from tests.ui.hands import click, find, press
from tests.ui.timeline.session_data import START, MemorySteps
from ui.style.theme import Look
from ui.timeline.nest_layout import RowAddress
from ui.timeline.run_page import RunPage
from ui.timeline.timeline_model import TimelineModel
from ui.timeline.timeline_view import TimelineView

ROOT = "root"


class DelegatingSessions(MemorySteps):
    """Sessions that delegate: `root` to a and b, a to c."""

    def __init__(self) -> None:
        super().__init__()
        self.of: dict[str, MemorySteps] = {name: MemorySteps() for name in (ROOT, "a", "b", "c")}
        for run in (1, 2):
            self._work(ROOT, "user", run=run)
            self._work(ROOT, "run", run=run)
            self._work(ROOT, "command", run=run, number=1)
            self._work(ROOT, "delegate", run=run, number=2, key="to-a" if run == 1 else "to-b", object="count")
            self._work(ROOT, "reply", run=run)
        for name, calls in (("a", ["to-c"]), ("b", []), ("c", [])):
            self._work(name, "user")
            self._work(name, "run")
            for call in calls:
                self._work(name, "delegate", key=call, number=1)
            self._work(name, "read", number=2)
            self._work(name, "end")

    def _work(self, name: str, kind: str, **values: object) -> Step:
        return self.of[name].add(kind, **values)  # type: ignore[arg-type]

    def grow(self, name: str) -> Step:
        return self._work(name, "command", number=9)

    def session_row(self, name: str, status: str = "running") -> SessionRow:
        parent = {"a": ROOT, "b": ROOT, "c": "a"}.get(name, "")
        rows = len(self.of[name].rows)
        return SessionRow(name, name, rows=rows, steps=rows - 3, parent=parent, parent_call=f"to-{name}", status=status)

    def steps(self, session: str, first: int, count: int) -> list[Step]:
        return self.of[session].steps(session, first, count)

    def children(self, session: str) -> list[SessionRow]:
        return [row for row in map(self.session_row, "abc") if row.parent == session]


def shown_rows(model: TimelineModel) -> list[RowAddress]:
    """Return session and row of each position, from top to bottom."""
    addresses = [model.address_at(place) for place in range(model.rowCount())]
    for place, (session, row) in enumerate(addresses):
        step = model.step_at(place)
        assert step is not None and step.row == row and model.position_of(row, session) == place
    return addresses


def place_of(model: TimelineModel, call: str) -> int:
    steps = (model.step_at(place) for place in range(model.rowCount()))
    return next((place for place, step in enumerate(steps) if step and step.key == call), -1)


class ReferenceModel:
    """A simple reference implementation with lists."""

    def __init__(self, rows: DelegatingSessions) -> None:
        self.rows, self.open, self.folded = rows, set[str](), set[int]()

    def turn(self, call: str) -> None:
        self.open ^= {call}
        if call == "to-a" and call not in self.open:
            self.open.discard("to-c")

    def fold(self, run: int) -> None:
        self.folded ^= {run}
        if run in self.folded:
            self.open -= {"to-a", "to-c"} if run == 1 else {"to-b"}

    def shown_rows(self, name: str = ROOT) -> Iterator[tuple[str, int]]:
        for step in self.rows.of[name].rows:
            if name != ROOT or step.run not in self.folded or step.kind in {"user", "run", "reply"}:
                yield name, step.row
                if step.key in self.open:
                    yield from self.shown_rows(step.key.removeprefix("to-"))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from(["to-a", "to-b", "to-c", "fold 1", "fold 2", "grow a", "grow b", "grow c"]), max_size=14)
)
@example(["to-a", "to-c", "to-a", "grow c", "to-a", "to-c"])
def test_positions_match_the_reference_after_any_operations(operations: list[str]) -> None:
    rows = DelegatingSessions()
    model, plain = TimelineModel(rows), ReferenceModel(rows)
    model.open(ROOT, len(rows.of[ROOT].rows))
    for operation in operations:
        word, _, what = operation.partition(" ")
        if word == "fold":
            model.toggle_run(int(what))
            plain.fold(int(what))
        elif word == "grow":
            step = rows.grow(what)
            if rows.session_row(what).parent in model.sessions:
                model.apply_sub_agent_update(rows.session_row(what), [step], at_tail=False)
        elif (place := place_of(model, word)) >= 0:
            model.toggle_sub_agent(place)
            plain.turn(word)
        assert shown_rows(model) == list(plain.shown_rows())


def test_nested_rows_and_delegating_steps_describe_the_sub_agent(qtmodeltester: object) -> None:
    rows = DelegatingSessions()
    model = TimelineModel(rows)
    model.open(ROOT, len(rows.of[ROOT].rows))
    place = place_of(model, "to-a")
    gave = model.displayed_step(place)
    assert gave and gave.metrics["steps"] == 2 and model.is_expanded(place) is False
    assert "collapsed" in model.index(place, 0).data()
    model.toggle_sub_agent(place)
    qtmodeltester.check(model)  # type: ignore[attr-defined]
    assert "expanded" in model.index(place, 0).data() and "2 steps" in model.index(place, 0).data()
    inner = model.step_at(place + 3)
    assert inner and inner.kind == "delegate" and (inner.run, inner.depth) == (1, 1)
    assert model.index(place + 3, 0).data().startswith("Sub-agent: ")
    assert model.is_hidden(place + 1) and not model.is_hidden(place + 3)  # the delegating step shows the task already
    assert model.address_at(place + 3) == ("a", 2) and model.position_of(2, "a") == place + 3
    assert model.root_row(place + 3) == gave.row and model.delegating_position(place + 3) == place


def test_sub_agent_expands_and_collapses_automatically_at_the_tail() -> None:
    rows = DelegatingSessions()
    model = TimelineModel(rows)
    model.open(ROOT, len(rows.of[ROOT].rows))
    model.apply_sub_agent_update(rows.session_row("a"), [], at_tail=False)
    assert model.sessions == {ROOT}  # the user has scrolled up
    model.apply_sub_agent_update(rows.session_row("a"), [], at_tail=True)
    model.apply_sub_agent_update(rows.session_row("b"), [rows.grow("b")], at_tail=True)
    model.apply_sub_agent_update(rows.session_row("c"), [], at_tail=True)
    assert model.sessions == {ROOT, "a", "b", "c"}
    model.toggle_sub_agent(place_of(model, "to-b"))
    model.apply_sub_agent_update(rows.session_row("b"), [], at_tail=True)
    assert model.sessions == {ROOT, "a", "c"}  # a sub-agent collapsed by the user stays collapsed
    model.apply_sub_agent_update(rows.session_row("a", "done"), [], at_tail=True)
    assert model.sessions == {ROOT}


def test_million_step_sub_agent_expands_without_reading_all_rows(qtbot: QtBot, look: Look) -> None:
    class Endless(DelegatingSessions):
        read = 0

        def steps(self, session: str, first: int, count: int) -> list[Step]:
            if session == ROOT:
                return super().steps(session, first, count)
            self.read += count
            return [
                Step(row, "command", "done", START + row, number=row, object=f"{row}")
                for row in range(first, first + count)
            ]

        def session_row(self, name: str, status: str = "running") -> SessionRow:
            return super().session_row(name, status)._replace(rows=1_000_000, steps=1_000_000)

    rows = Endless()
    model = TimelineModel(rows)
    view = TimelineView(model, look)
    qtbot.addWidget(view)
    view.resize(800, 600)
    view.show()
    model.open(ROOT, len(rows.of[ROOT].rows))
    view.update_layout()
    place = place_of(model, "to-a")
    view.select(place)
    press(view, Qt.Key.Key_Right)
    assert model.rowCount() == 10 + 1_000_000 and rows.read <= 2_000
    view.select(place + 900_000)
    assert model.address_at(place + 900_000) == ("a", 899_999) and rows.read <= 4_000
    last = Step(1_000_000, "command", "done", START, number=1, object="one more")
    model.apply_sub_agent_update(rows.session_row("a")._replace(rows=1_000_001), [last], at_tail=False)
    assert model.rowCount() == 10 + 1_000_001 and rows.read <= 4_000
    press(view, Qt.Key.Key_Left)
    assert view.currentIndex().row() == place
    press(view, Qt.Key.Key_Left)
    assert model.rowCount() == 10


def test_only_rows_of_expanded_sub_agents_can_be_selected(qtbot: QtBot, look: Look) -> None:
    rows = DelegatingSessions()
    page = RunPage(look, rows)
    qtbot.addWidget(page)
    page.show_session(SessionRow(ROOT, "Count", rows=len(rows.of[ROOT].rows)))
    page.select_row(3, "a")
    assert page.view.selected_position == -1
    place = place_of(page.model, "to-a")
    page.model.toggle_sub_agent(place)
    page.select_row(3, "a")
    assert page.selected is not None and page.selected.session == "a"
    assert page.selected.step.kind == "read" and page.selected.root_row == place
    with qtbot.waitSignal(page.fork) as emitted:
        click(find(page, QToolButton, "run.fork"))
    delegating_step = page.model.step_at(place)
    assert delegating_step and emitted.args == [delegating_step.last_seq]
