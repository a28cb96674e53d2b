"""Rows that are painted once: which of their pictures are kept, and when one is made anew."""

import pytest
from PySide6.QtCore import QSize
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QApplication

from core.domain.steps import Step
from ui.theme import Look
from ui.timeline.pictures import Pictures

STEP = Step(1, "tool", "done", 0)
FAILED = STEP._replace(status="failed")


@pytest.mark.colours
def test_a_few_screens_are_kept_and_what_was_used_last_among_them(qapp: QApplication, look: Look) -> None:
    pictures, painted = Pictures(), list[int]()

    def show(row: int, step: Step = STEP) -> bool:
        """Was it painted for this?"""
        before = len(painted)

        def paint(painter: QPainter) -> None:
            painted.append(row)

        made = pictures.picture(row, step, QSize(100, 10), 2.0, look.theme.background, paint, room=10 * 200 * 20)
        assert made.size() == QSize(200, 20)
        return len(painted) > before

    assert all(show(row) for row in range(10)) and not any(show(row) for row in range(10))
    assert show(10) and not show(1), "the one that was not seen for longest made room"
    assert show(0) and show(2) and not show(1)
    assert show(1, FAILED) and not show(1, FAILED)
    assert all(show(row) for row in range(20, 30)) and not any(show(row) for row in range(20, 30))
