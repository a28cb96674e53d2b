"""Rows painted once: a row that changes no more is a picture until it is scrolled far away."""

from collections.abc import Callable, Hashable
from typing import Final

from PySide6.QtCore import QSize
from PySide6.QtGui import QColor, QPainter, QPixmap

from core.domain.steps import Step

BUDGET: Final = 24 * 1024 * 1024


class Pictures:
    """The pictures used last, within a budget of bytes."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, tuple[Step, QPixmap]] = {}
        self._bytes = 0

    def picture(
        self, key: Hashable, step: Step, size: QSize, ratio: float, ground: QColor, paint: Callable[[QPainter], None]
    ) -> QPixmap:
        """The picture of `step` as it is now; `key` is everything else that it depends on."""
        found = self._kept.pop(key, None)
        if found is not None and found[0] == step:
            self._kept[key] = found
            return found[1]
        if found is not None:
            self._bytes -= _bytes(found[1])
        made = QPixmap(size * ratio)
        made.setDevicePixelRatio(ratio)
        made.fill(ground)
        with QPainter(made) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            paint(painter)
        self._kept[key] = (step, made)
        self._bytes += _bytes(made)
        while self._bytes > BUDGET and len(self._kept) > 1:
            self._bytes -= _bytes(self._kept.pop(next(iter(self._kept)))[1])
        return made


def _bytes(picture: QPixmap) -> int:
    return picture.width() * picture.height() * 4
