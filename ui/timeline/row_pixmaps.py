"""A cache of painted rows as pixmaps, with a limit on the total number of pixels."""

from collections.abc import Callable, Hashable
from typing import NamedTuple

from PySide6.QtCore import QSize
from PySide6.QtGui import QColor, QPainter, QPixmap

from core.domain.steps import Step


class PaintedRow(NamedTuple):
    """The pixmap of a row, and the step that it shows."""

    step: Step
    pixmap: QPixmap


class RowPixmapCache:
    """A least-recently-used cache of row pixmaps."""

    def __init__(self) -> None:
        self._cache: dict[Hashable, PaintedRow] = {}
        self._pixels = 0

    def pixmap_for(
        self,
        key: Hashable,
        step: Step,
        *,
        size: QSize,
        ratio: float,
        background: QColor,
        paint: Callable[[QPainter], None],
        max_pixels: int,
    ) -> QPixmap:
        """Return the pixmap of a step; if it is not in the cache, call `paint` to paint it.

        `key` holds everything besides `step` on which the pixmap depends. `max_pixels` limits the size of the cache.
        """
        cached = self._cache.pop(key, None)
        if cached is not None and cached.step == step:
            self._cache[key] = cached
            return cached.pixmap
        if cached is not None:
            self._pixels -= _pixels(cached.pixmap)
        picture = QPixmap(size * ratio)
        picture.setDevicePixelRatio(ratio)
        picture.fill(background)
        with QPainter(picture) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            paint(painter)
        self._cache[key] = PaintedRow(step, picture)
        self._pixels += _pixels(picture)
        while self._pixels > max_pixels and len(self._cache) > 1:
            self._pixels -= _pixels(self._cache.pop(next(iter(self._cache))).pixmap)
        return picture


def _pixels(picture: QPixmap) -> int:
    return picture.width() * picture.height()
