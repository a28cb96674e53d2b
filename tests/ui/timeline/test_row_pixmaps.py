"""The cache of painted rows: what it keeps, and when a row is painted again."""

import pytest
from PySide6.QtCore import QSize
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QApplication

from core.domain.steps import Step
from ui.style.theme import Look
from ui.timeline.row_pixmaps import RowPixmapCache

STEP = Step(1, "tool", "done", 0)
FAILED = STEP._replace(status="failed")


@pytest.mark.colors
def test_cache_keeps_the_most_recently_used_rows(qapp: QApplication, look: Look) -> None:
    pictures, painted = RowPixmapCache(), list[int]()

    def show(row: int, step: Step = STEP) -> bool:
        """Request the picture; return whether it had to be painted."""
        before = len(painted)

        def paint(painter: QPainter) -> None:
            painted.append(row)

        made = pictures.pixmap_for(
            row,
            step,
            size=QSize(100, 10),
            ratio=2.0,
            background=look.theme.background,
            paint=paint,
            max_pixels=10 * 200 * 20,
        )
        assert made.size() == QSize(200, 20)
        return len(painted) > before

    assert all(show(row) for row in range(10)) and not any(show(row) for row in range(10))
    assert show(10) and not show(1), "the least recently used row is dropped"
    assert show(0) and show(2) and not show(1)
    assert show(1, FAILED) and not show(1, FAILED)
    assert all(show(row) for row in range(20, 30)) and not any(show(row) for row in range(20, 30))
