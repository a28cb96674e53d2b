"""A cache of painted rows as pixmaps, with a limit on the total number of pixels."""

from collections.abc import Callable, Hashable

from PySide6.QtCore import QSize
from PySide6.QtGui import QColor, QPainter, QPixmap

from core.domain.steps import Step


class RowPixmapCache:
    """A least-recently-used cache of row pixmaps."""

    def __init__(self) -> None:
        self._cache: dict[Hashable, tuple[Step, QPixmap]] = {}
        self._pixels = 0

    def pixmap_for(
        self, key: Hashable, step: Step, size: QSize, ratio: float, background: QColor,
        paint: Callable[[QPainter], None], max_pixels: int,
    ) -> QPixmap:  # fmt: skip
        """Return the pixmap of a step; if it is not in the cache, call `paint` to paint it.

        `key` holds everything besides `step` on which the pixmap depends. `max_pixels` limits the size of the cache.
        """
        cached = self._cache.pop(key, None)
        if cached is not None and cached[0] == step:
            self._cache[key] = cached
            return cached[1]
        if cached is not None:
            self._pixels -= _pixels(cached[1])
        picture = QPixmap(size * ratio)
        picture.setDevicePixelRatio(ratio)
        picture.fill(background)
        with QPainter(picture) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            paint(painter)
        self._cache[key] = (step, picture)
        self._pixels += _pixels(picture)
        while self._pixels > max_pixels and len(self._cache) > 1:
            self._pixels -= _pixels(self._cache.pop(next(iter(self._cache)))[1])
        return picture


def _pixels(picture: QPixmap) -> int:
    return picture.width() * picture.height()
