"""Measures the skill editor: opening a file of 10,000 lines, and the time from a key press to the repaint."""

import random
import time
from collections.abc import Callable, Iterator
from functools import partial
from statistics import median
from typing import NamedTuple

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.window.qt_application import get_or_create_application
from tests.bench.benchmark import Measurement, percentile
from ui.skills.editor import SkillEditor
from ui.style.theme import Look, apply_theme, load_fonts, load_theme

LINES = 10_000
TIMES, KEYS = 7, 50
OPEN_MS, KEY_MS = 200, 16
WIDE, HIGH = 1_100, 860
PLACES = (5, LINES // 2, LINES - 20)
WORDS = "read the contract note clause numbers and dates before any letter is written to the landlord"


class Times(NamedTuple):
    """Milliseconds of wall clock, and of CPU time of this process, which other programs do not distort."""

    clock: list[float]
    cpu: list[float]

    def measure(self, act: Callable[[], object]) -> None:
        clock, own = time.perf_counter(), time.process_time()
        act()
        self.cpu.append((time.process_time() - own) * 1000)
        self.clock.append((time.perf_counter() - clock) * 1000)


def measure_editor() -> Iterator[Measurement]:
    """Measure both with and without the preview, and with and without line wrapping."""
    qt = get_or_create_application()
    look = Look(load_theme("dark"), load_fonts())
    apply_theme(qt, look.theme, look.fonts)
    editor = SkillEditor(look)
    editor.resize(WIDE, HIGH)
    editor.show()
    QTest.qWaitForWindowExposed(editor)
    text = _text()
    for preview in (True, False):
        for wrap in (True, False):
            editor.show_preview(preview)
            editor.set_wrap(wrap)
            yield _opened(editor, text, preview, wrap)
            yield _typed(editor, preview, wrap)
    yield _fences(editor)
    editor.close()


def _text() -> str:
    chance, words = random.Random(1), WORDS.split()
    lines = ["---", "name: long-skill", "description: A long one. Use it to measure.", "---"]
    while len(lines) < LINES:
        match chance.randrange(12):
            case 0:
                lines.append(f"## Part {len(lines)}")
            case 1:
                lines += ["```python", "def f(a):  # sum", "    return a + 1  # 'x'", "```"]
            case 2:
                lines.append("")
            case _:
                said = [chance.choice(words) for _ in range(chance.randrange(4, 30))]
                said[1] = chance.choice((f"`{said[1]}`", f"**{said[1]}**", f"[{said[1]}](https://a.example)"))
                lines.append(f"{chance.choice(('', '- ', '1. '))}{' '.join(said)}")
    return "\n".join(lines[:LINES])


def _opened(editor: SkillEditor, text: str, preview: bool, wrap: bool) -> Measurement:
    """Measure from the text in memory to the painted window."""
    times = Times([], [])
    for _ in range(TIMES):
        editor.open("", "SKILL.md")
        _paint(editor)
        times.measure(partial(_open, editor, text))
    values = {"own_ms": round(median(times.cpu), 1), "clock_ms": round(median(times.clock), 1)}
    name = _name("open 10,000 lines", preview, wrap)
    return Measurement(name, values, f"own ≤ {OPEN_MS} ms", median(times.cpu) <= OPEN_MS)


def _typed(editor: SkillEditor, preview: bool, wrap: bool) -> Measurement:
    """Measure from a key press to the painted window, at several places of the file."""
    times = Times([], [])
    for place in PLACES:
        editor.source.go_to_line(place)
        _paint(editor)
        for number in range(KEYS):
            key = Qt.Key.Key_Return if number % 25 == 24 else Qt.Key.Key_A
            times.measure(partial(_press, editor, key))
        editor.source.highlighter.finish_now()
    return _figure(_name("key press", preview, wrap), times)


def _fences(editor: SkillEditor) -> Measurement:
    """Measure the worst case: a code fence typed at the top turns 10,000 lines into code, or back."""
    times = Times([], [])
    for _ in range(TIMES):
        for key in (Qt.Key.Key_QuoteLeft, Qt.Key.Key_Backspace):
            editor.source.go_to_line(4)
            for _ in range(3):
                times.measure(partial(_press, editor, key))
            editor.source.highlighter.finish_now()
    return _figure("fence at the top", times)


def _figure(name: str, times: Times) -> Measurement:
    own = percentile(times.cpu, 0.95)
    values = {
        "own_p95_ms": round(own, 2),
        "clock_median_ms": round(median(times.clock), 2),
        "clock_p95_ms": round(percentile(times.clock, 0.95), 2),
    }
    return Measurement(name, values, f"own p95 ≤ {KEY_MS} ms", own <= KEY_MS)


def _open(editor: SkillEditor, text: str) -> None:
    editor.open(text, "SKILL.md")
    _paint(editor)


def _press(editor: SkillEditor, key: Qt.Key) -> None:
    QTest.keyClick(editor.source, key)
    _paint(editor)


def _paint(editor: SkillEditor) -> None:
    editor.source.viewport().repaint()
    if editor.preview.isVisible():
        editor.preview.viewport().repaint()


def _name(what: str, preview: bool, wrap: bool) -> str:
    return f"{what}{', preview' if preview else ''}{', wrapped' if wrap else ''}"
