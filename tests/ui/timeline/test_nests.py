"""Sub-agents among the steps of the session that gave them work: unfolded, folded, growing, a million steps long."""

from collections.abc import Iterator

from hypothesis import example, given, settings
from hypothesis import strategies as st
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from core.domain.sessions import SessionRow
from core.domain.steps import Step
from tests.ui.hands import press
from tests.ui.timeline.journals import START, ListedRows
from ui.theme import Look
from ui.timeline.model import TimelineModel
from ui.timeline.view import TimelineView

ROOT = "root"


class Families(ListedRows):
    """Sessions that give work to others: `root` to a and b, a to c."""

    def __init__(self) -> None:
        super().__init__()
        self.of: dict[str, ListedRows] = {name: ListedRows() for name in (ROOT, "a", "b", "c")}
        for run in (1, 2):
            self._work(ROOT, "person", run=run)
            self._work(ROOT, "run", run=run)
            self._work(ROOT, "command", run=run, number=1)
            self._work(ROOT, "delegate", run=run, number=2, key="to-a" if run == 1 else "to-b", object="count")
            self._work(ROOT, "reply", run=run)
        for name, calls in (("a", ["to-c"]), ("b", []), ("c", [])):
            self._work(name, "person")
            self._work(name, "run")
            for call in calls:
                self._work(name, "delegate", key=call, number=1)
            self._work(name, "read", number=2)
            self._work(name, "end")

    def _work(self, name: str, kind: str, **values: object) -> Step:
        return self.of[name].add(kind, **values)  # type: ignore[arg-type]

    def grow(self, name: str) -> Step:
        return self._work(name, "command", number=9)

    def line(self, name: str, status: str = "running") -> SessionRow:
        parent = {"a": ROOT, "b": ROOT, "c": "a"}.get(name, "")
        rows = len(self.of[name].rows)
        return SessionRow(name, name, rows=rows, steps=rows - 3, parent=parent, parent_call=f"to-{name}", status=status)

    def steps(self, session: str, first: int, count: int) -> list[Step]:
        return self.of[session].steps(session, first, count)

    def children(self, session: str) -> list[SessionRow]:
        return [row for row in map(self.line, "abc") if row.parent == session]


def shown(model: TimelineModel) -> list[tuple[str, int]]:
    """The sessions and rows from top to bottom."""
    steps = [model.step(place) for place in range(model.rowCount())]
    assert all(step is not None and model.place(step.row) == place for place, step in enumerate(steps))
    return [model.origin(step.row) for step in steps if step]


def place_of(model: TimelineModel, call: str) -> int:
    steps = (model.step(place) for place in range(model.rowCount()))
    return next((place for place, step in enumerate(steps) if step and step.key == call), -1)


class Plain:
    """The same as lists: what is to be seen, told in the simplest way."""

    def __init__(self, rows: Families) -> None:
        self.rows, self.open, self.folded = rows, set[str](), set[int]()

    def turn(self, call: str) -> None:
        self.open ^= {call}
        if call == "to-a" and call not in self.open:
            self.open.discard("to-c")

    def fold(self, run: int) -> None:
        self.folded ^= {run}
        if run in self.folded:
            self.open -= {"to-a", "to-c"} if run == 1 else {"to-b"}

    def shown(self, name: str = ROOT) -> Iterator[tuple[str, int]]:
        for step in self.rows.of[name].rows:
            if name != ROOT or step.run not in self.folded or step.kind in {"person", "run", "reply"}:
                yield name, step.row
                if step.key in self.open:
                    yield from self.shown(step.key.removeprefix("to-"))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from(["to-a", "to-b", "to-c", "fold 1", "fold 2", "grow a", "grow b", "grow c"]), max_size=14)
)
@example(["to-a", "to-c", "to-a", "grow c", "to-a", "to-c"])
def test_whatever_is_unfolded_folded_and_grows_stands_where_it_belongs(deeds: list[str]) -> None:
    rows = Families()
    model, plain = TimelineModel(rows), Plain(rows)
    model.open(ROOT, len(rows.of[ROOT].rows))
    for deed in deeds:
        word, _, what = deed.partition(" ")
        if word == "fold":
            model.toggle(int(what))
            plain.fold(int(what))
        elif word == "grow":
            step = rows.grow(what)
            if rows.line(what).parent in model.sessions:
                model.hear_child(rows.line(what), [step], at_tail=False)
        elif (place := place_of(model, word)) >= 0:
            step_there = model.step(place)
            assert step_there
            model.turn_nest(step_there.row)
            plain.turn(word)
        assert shown(model) == list(plain.shown())


def test_a_nested_row_says_whose_it_is_and_the_step_that_gave_the_work_what_came_of_it(qtmodeltester: object) -> None:
    rows = Families()
    model = TimelineModel(rows)
    model.open(ROOT, len(rows.of[ROOT].rows))
    place = place_of(model, "to-a")
    gave = model.shown(place)
    assert gave and gave.marks["steps"] == 2 and model.unfolded(gave.row) is False
    assert "closed" in model.index(place, 0).data()
    model.turn_nest(gave.row)
    qtmodeltester.check(model)  # type: ignore[attr-defined]
    assert "open" in model.index(place, 0).data() and "2 steps" in model.index(place, 0).data()
    inner = model.step(place + 3)
    assert inner and inner.kind == "delegate" and (inner.run, inner.depth) == (1, 1)
    assert model.index(place + 3, 0).data().startswith("Sub-agent: ")
    assert model.is_hidden(place + 1) and not model.is_hidden(place + 3)  # its task is what the step says already
    assert model.origin(inner.row) == ("a", 2) and model.row_in("a", 2) == inner.row
    assert model.root_row(inner.row) == gave.row and model.gave(inner.row) == place


def test_one_that_begins_while_the_tail_is_looked_at_unfolds_and_folds_by_itself() -> None:
    rows = Families()
    model = TimelineModel(rows)
    model.open(ROOT, len(rows.of[ROOT].rows))
    model.hear_child(rows.line("a"), [], at_tail=False)
    assert model.sessions == {ROOT}  # somebody reads further up
    model.hear_child(rows.line("a"), [], at_tail=True)
    model.hear_child(rows.line("b"), [rows.grow("b")], at_tail=True)
    model.hear_child(rows.line("c"), [], at_tail=True)
    assert model.sessions == {ROOT, "a", "b", "c"}
    gave = model.step(place_of(model, "to-b"))
    assert gave
    model.turn_nest(gave.row)
    model.hear_child(rows.line("b"), [], at_tail=True)
    assert model.sessions == {ROOT, "a", "c"}  # what a person folds stays so
    model.hear_child(rows.line("a", "done"), [], at_tail=True)
    assert model.sessions == {ROOT}


def test_a_sub_agent_with_a_million_steps_unfolds_and_grows_without_being_read(qtbot: QtBot, look: Look) -> None:
    class Endless(Families):
        read = 0

        def steps(self, session: str, first: int, count: int) -> list[Step]:
            if session == ROOT:
                return super().steps(session, first, count)
            self.read += count
            return [
                Step(row, "command", "done", START + row, number=row, object=f"{row}")
                for row in range(first, first + count)
            ]

        def line(self, name: str, status: str = "running") -> SessionRow:
            return super().line(name, status)._replace(rows=1_000_000, steps=1_000_000)

    rows = Endless()
    model = TimelineModel(rows)
    view = TimelineView(model, look)
    qtbot.addWidget(view)
    view.resize(800, 600)
    view.show()
    model.open(ROOT, len(rows.of[ROOT].rows))
    view.settle()
    place = place_of(model, "to-a")
    view.select(place)
    press(view, Qt.Key.Key_Right)
    assert model.rowCount() == 10 + 1_000_000 and rows.read <= 2_000
    view.select(place + 900_000)
    step = model.step(place + 900_000)
    assert step and model.origin(step.row) == ("a", 899_999) and rows.read <= 4_000
    last = Step(1_000_000, "command", "done", START, number=1, object="one more")
    model.hear_child(rows.line("a")._replace(rows=1_000_001), [last], at_tail=False)
    assert model.rowCount() == 10 + 1_000_001 and rows.read <= 4_000
    press(view, Qt.Key.Key_Left)
    assert view.currentIndex().row() == place
    press(view, Qt.Key.Key_Left)
    assert model.rowCount() == 10
