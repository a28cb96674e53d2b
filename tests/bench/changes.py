"""Measures the Changes tab: opening 2,000 changed lines over 30 files, going to the next file, and scrolling."""

import random
import time
from collections.abc import Callable, Iterator
from functools import partial
from statistics import median

from PySide6.QtCore import QCoreApplication
from PySide6.QtTest import QTest

from app.window.qt_application import get_or_create_application
from core.domain.sessions import SessionRow
from core.domain.steps import Step
from core.domain.untrusted_file import UntrustedFile
from core.timeline.session_activity import SessionActivity
from tests.bench.benchmark import Measurement, percentile
from ui.changes.panel import ChangesPanel
from ui.diff.diff_view import DiffView
from ui.style.theme import Look, apply_theme, load_fonts, load_theme

FILES, LINES, CHANGED = 30, 800, 2_000
LARGE_LINES = 20_000
TIMES, STEPS, WHEEL_STEPS = 7, 60, 5
OPEN_MS, SCROLL_MS = 150, 8
WIDE, HIGH = 1_160, 760
STATEMENTS = (
    "    total = price * count + {n}  # the tax of line {n}",
    "def pay_{n}(amount: int, user: str) -> None:",
    '    """Pay what invoice {n} asks for."""',
    "    return [user.upper() for user in users if user != 'nobody-{n}']",
    "",
)


class _Contents:
    """The contents of the files before and after, in memory."""

    def __init__(self) -> None:
        self.blobs: dict[str, bytes] = {}

    def find_blob(self, blob: str) -> bytes | None:
        return self.blobs.get(blob)

    def row_of(self, session: str, seq: int) -> int | None:
        return seq

    def steps(self, session: str, first: int, count: int) -> list[Step]:
        return [Step(first, "edit", "done", 0, number=first, object="a.py", first_seq=first, last_seq=first)]

    def untrusted_files(self, folder: str) -> list[UntrustedFile]:
        return []


def measure_changes() -> Iterator[Measurement]:
    """Measure many files, and one large file, both unified and side by side."""
    qt = get_or_create_application()
    look = Look(load_theme("dark"), load_fonts())
    apply_theme(qt, look.theme, look.fonts)
    contents = _Contents()
    many = _activity(contents, "many", FILES, LINES, CHANGED // FILES)
    large = _activity(contents, "large", 1, LARGE_LINES, CHANGED)
    for side_by_side in (False, True):
        suffix = ", side by side" if side_by_side else ""
        yield from _measure(look, contents, many, f"30 files{suffix}", side_by_side, goal=True)
        yield from _measure(look, contents, large, f"{LARGE_LINES:,} lines{suffix}", side_by_side, goal=False)


def _measure(
    look: Look, contents: _Contents, activity: SessionActivity, name: str, side_by_side: bool, *, goal: bool
) -> Iterator[Measurement]:
    panels = [ChangesPanel(look, contents) for _ in range(TIMES)]
    yield _figure(
        f"open {name}", [_time(partial(_open, each, activity, side_by_side)) for each in panels], OPEN_MS * goal
    )
    panel = panels[-1]
    if len(activity.files) > 1:
        yield _figure(f"next file {name}", [_time(partial(_turn, panel)) for _ in range(FILES - 1)], OPEN_MS)
    yield _figure(f"scroll {name}", _scroll(_view(panel)), SCROLL_MS * goal)
    for each in panels:
        each.close()


def _activity(contents: _Contents, name: str, files: int, lines: int, changed: int) -> SessionActivity:
    chance, activity = random.Random(1), SessionActivity()
    for number in range(files):
        old = [chance.choice(STATEMENTS).format(n=n) + "\n" for n in range(lines)]
        new = list(old)
        for at in chance.sample(range(lines), changed):
            new[at] = new[at].rstrip("\n") + f"  # changed {at}\n"
        for side, text in (("old", old), ("new", new)):
            contents.blobs[f"{name}-{number}-{side}"] = "".join(text).encode()
        event = {"kind": "file_changed", "seq": number + 1, "run": 1, "path": f"package/module_{number}.py"}
        blobs = {"before": f"{name}-{number}-old", "after": f"{name}-{number}-new"}
        activity.apply([{**event, **blobs, "added": changed, "removed": changed}])
    return activity


def _open(panel: ChangesPanel, activity: SessionActivity, side_by_side: bool) -> None:
    """Show the changes from contents in memory to the painted window."""
    panel.show_side_by_side(side_by_side)
    panel.resize(WIDE, HIGH)
    panel.show_past(SessionRow("s", "Title", status="done"), activity, loading=False)
    panel.show()
    QTest.qWaitForWindowExposed(panel)
    _view(panel).viewport().repaint()


def _turn(panel: ChangesPanel) -> None:
    panel.go_to_file(1, True)
    _view(panel).viewport().repaint()


def _scroll(view: DiffView) -> list[float]:
    """Scroll by three lines, as a mouse wheel does, at places all over the file."""
    bar, times = view.verticalScrollBar(), list[float]()
    for step in range(STEPS):
        bar.setValue(bar.maximum() * step // STEPS)
        _paint_updates()
        for _ in range(WHEEL_STEPS):
            times.append(_time(partial(_scroll_by, view, 60)))
    return times


def _scroll_by(view: DiffView, pixels: int) -> None:
    bar = view.verticalScrollBar()
    bar.setValue(bar.value() + pixels)
    _paint_updates()


def _paint_updates() -> None:
    """Paint only what has changed, as the event loop does after an event."""
    QCoreApplication.sendPostedEvents(None, 0)


def _view(panel: ChangesPanel) -> DiffView:
    view = panel.findChild(DiffView, "changes.lines")
    assert isinstance(view, DiffView)
    return view


def _time(act: Callable[[], object]) -> float:
    began = time.process_time()
    act()
    return (time.process_time() - began) * 1000


def _figure(name: str, times: list[float], goal: int) -> Measurement:
    p95 = percentile(times, 0.95)
    values = {"own_median_ms": round(median(times), 2), "own_p95_ms": round(p95, 2)}
    return Measurement(name, values, f"own p95 ≤ {goal} ms", p95 <= goal) if goal else Measurement(name, values)
