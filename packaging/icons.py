"""Renders the app icon from its SVG in the sizes and formats that desktops need."""

from pathlib import Path

DRAWING = Path(__file__).resolve().parent.parent / "resources" / "journeyman.svg"
SIZES = (16, 32, 48, 64, 128, 256)


def pictures(folder: Path) -> None:
    """Write the icon as an SVG and as a PNG of each size, in the folder structure of an icon theme."""
    for size in SIZES:
        place = folder / "hicolor" / f"{size}x{size}" / "apps"
        place.mkdir(parents=True, exist_ok=True)
        paint(place / "journeyman.png", size)
    place = folder / "hicolor" / "scalable" / "apps"
    place.mkdir(parents=True, exist_ok=True)
    (place / "journeyman.svg").write_bytes(DRAWING.read_bytes())


def one_file(path: Path) -> Path:
    """Write the icon as one .ico or .icns file. The suffix of `path` decides which."""
    paint(path, 256)
    return path


def paint(path: Path, size: int) -> None:
    """Render the icon as a PNG. The SVG has no text, so neither a QApplication nor a display is needed."""
    from PySide6.QtCore import Qt
    from PySide6.QtGui import QImage, QPainter
    from PySide6.QtSvg import QSvgRenderer

    image = QImage(size, size, QImage.Format.Format_ARGB32)
    image.fill(Qt.GlobalColor.transparent)
    with QPainter(image) as painter:
        QSvgRenderer(str(DRAWING)).render(painter)
    if not image.save(str(path)):
        raise OSError(f"{path} could not be written")
