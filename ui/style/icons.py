"""Lucide icons, colored with theme colors and rendered for the pixel ratio of the screen."""

import re
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from PySide6.QtCore import QByteArray, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QGuiApplication, QIcon, QPainter, QPixmap, QPixmapCache
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QAbstractButton, QMenu

from ui.style.theme import MENU_ICON, RESOURCES, Look, set_style_properties

STROKE: Final = "1.75"

STATUS_ICONS: Final = MappingProxyType(
    {
        "waiting": "circle-question-mark",
        "running": "loader-circle",
        "done": "circle-check",
        "failed": "circle-x",
        "stopped": "circle-slash",
        "pausing": "pause",
        "paused": "circle-pause",
        "interrupted": "circle-dashed",
        "limit": "circle-alert",
        "unknown": "circle-ellipsis",
    }
)


def pixmap(name: str, color: QColor, size: int, ratio: float = 1.0) -> QPixmap:
    """Return an icon of `size` logical pixels, rendered for the device pixel ratio `ratio`."""
    key = f"lucide:{name}:{color.rgba():08x}:{size}:{ratio:.3f}"
    cached = QPixmap()
    if QPixmapCache.find(key, cached):
        return cached
    drawn = _draw(name, color, size, ratio)
    QPixmapCache.insert(key, drawn)
    return drawn


def icon(name: str, color: QColor, size: int = 16) -> QIcon:
    """Return a QIcon with a pixmap for each device pixel ratio in use."""
    ratios = {screen.devicePixelRatio() for screen in QGuiApplication.screens()} | {1.0, 2.0}
    result = QIcon()
    for ratio in sorted(ratios):
        result.addPixmap(pixmap(name, color, size, ratio))
    return result


def set_icon(button: QAbstractButton, name: str, color: QColor, size: int) -> None:
    """Set the icon of a button and its size, because Qt would use the icon size of the system style."""
    button.setIcon(icon(name, color, size))
    button.setIconSize(QSize(size, size))


def set_menu_style(menu: QMenu, look: Look) -> None:
    """Give a menu the font and the icon size of the text size. Its icons are to be made with `menu_icon`."""
    set_style_properties(menu, icon_size=look.size(MENU_ICON))  # see the rules that `style_sheet` adds
    menu.setFont(look.fonts.text)


def menu_icon(name: str, look: Look) -> QIcon:
    return icon(name, look.theme.second, look.size(MENU_ICON))


def status_icon(status: str) -> str:
    """Return the icon for the status of a session or step, so that the status is never shown by color alone."""
    return STATUS_ICONS.get(status, "circle-dot")


def icon_names() -> frozenset[str]:
    return frozenset(file.stem for file in (RESOURCES / "icons").glob("*.svg"))


def _draw(name: str, color: QColor, size: int, ratio: float) -> QPixmap:
    side = max(1, round(size * ratio))
    drawn = QPixmap(side, side)
    drawn.fill(Qt.GlobalColor.transparent)
    renderer = QSvgRenderer(QByteArray(_source(name).replace("currentColor", color.name()).encode()))
    with QPainter(drawn) as painter:
        painter.setOpacity(color.alphaF())
        renderer.render(painter, QRectF(0, 0, side, side))
    drawn.setDevicePixelRatio(ratio)
    return drawn


@lru_cache(maxsize=256)
def _source(name: str) -> str:
    source = (RESOURCES / "icons" / f"{name}.svg").read_text(encoding="utf-8")
    return re.sub(r'stroke-width="[\d.]+"', f'stroke-width="{STROKE}"', source)
