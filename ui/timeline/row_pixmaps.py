"""A cache of painted rows as pixmaps, limited by their number of pixels."""

from collections.abc import Callable, Hashable

from PySide6.QtCore import QSize
from PySide6.QtGui import QColor, QPainter, QPixmap

from core.domain.steps import Step


class RowPixmapCache:
    """A least-recently-used cache of row pixmaps."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, tuple[Step, QPixmap]] = {}
        self._pixels = 0

    def pixmap_for(
        self, key: Hashable, step: Step, size: QSize, ratio: float, ground: QColor, paint: Callable[[QPainter], None],
        room: int,
    ) -> QPixmap:  # fmt: skip
        """Return the pixmap of a step, calling `paint` unless it is cached.

        `key` holds everything besides `step` that the pixmap depends on; `room` is the cache limit in pixels.
        """
        found = self._kept.pop(key, None)
        if found is not None and found[0] == step:
            self._kept[key] = found
            return found[1]
        if found is not None:
            self._pixels -= _pixels(found[1])
        made = QPixmap(size * ratio)
        made.setDevicePixelRatio(ratio)
        made.fill(ground)
        with QPainter(made) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            paint(painter)
        self._kept[key] = (step, made)
        self._pixels += _pixels(made)
        while self._pixels > room and len(self._kept) > 1:
            self._pixels -= _pixels(self._kept.pop(next(iter(self._kept)))[1])
        return made


def _pixels(picture: QPixmap) -> int:
    return picture.width() * picture.height()
