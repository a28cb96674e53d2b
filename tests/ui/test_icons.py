"""Icons exist, are tinted, and are sharp at every pixel ratio."""

import pytest
from PySide6.QtGui import QColor, QImage
from PySide6.QtWidgets import QApplication

from ui.style.icons import STATUS_ICONS, icon, icon_names, pixmap, status_icon
from ui.style.theme import RESOURCES, STATUS_TOKENS


def colors(image: QImage) -> set[str]:
    return {
        image.pixelColor(x, y).name()
        for x in range(image.width())
        for y in range(image.height())
        if image.pixelColor(x, y).alpha() == 255
    }


@pytest.mark.parametrize("ratio", [1.0, 1.5, 2.0, 3.0])
def test_pixmap_has_the_pixels_of_the_screen(qapp: QApplication, ratio: float) -> None:
    drawn = pixmap("square", QColor("#ff0000"), 16, ratio)
    assert drawn.width() == round(16 * ratio)
    assert drawn.deviceIndependentSize().width() == 16


def test_pixmap_is_tinted(qapp: QApplication) -> None:
    assert colors(pixmap("square", QColor("#12ab34"), 24, 2.0).toImage()) == {"#12ab34"}


def test_pixmap_is_cached(qapp: QApplication) -> None:
    one = pixmap("check", QColor("#010203"), 16, 1.0)
    assert pixmap("check", QColor("#010203"), 16, 1.0).cacheKey() == one.cacheKey()
    assert pixmap("check", QColor("#010204"), 16, 1.0).cacheKey() != one.cacheKey()


def test_every_icon_draws(qapp: QApplication) -> None:
    names = icon_names()
    assert names
    assert not [name for name in names if not _has_ink(pixmap(name, QColor("#000000"), 16, 1.0).toImage())]


def test_every_status_has_its_own_glyph() -> None:
    assert set(STATUS_ICONS) == set(STATUS_TOKENS)
    assert len(set(STATUS_ICONS.values())) == len(STATUS_ICONS)
    assert set(STATUS_ICONS.values()) | {status_icon("unheard of")} <= icon_names()


def test_icon_serves_qt_controls(qapp: QApplication) -> None:
    made = icon("search", QColor("#445566"))
    assert not made.isNull()
    assert made.pixmap(16).width() == 16


def test_license_is_bundled() -> None:
    assert "ISC" in (RESOURCES / "icons" / "LICENSE").read_text(encoding="utf-8")


def _has_ink(image: QImage) -> bool:
    return any(image.pixelColor(x, y).alpha() for x in range(image.width()) for y in range(image.height()))
