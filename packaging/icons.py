"""The icon of the program in the sizes and files that desktops ask for, painted from the one drawing."""

from pathlib import Path

DRAWING = Path(__file__).resolve().parent.parent / "resources" / "journeyman.svg"
SIZES = (16, 32, 48, 64, 128, 256)


def pictures(folder: Path) -> None:
    """A PNG of each size in the folders of the icon theme, and the drawing itself."""
    for size in SIZES:
        place = folder / "hicolor" / f"{size}x{size}" / "apps"
        place.mkdir(parents=True, exist_ok=True)
        paint(place / "journeyman.png", size)
    place = folder / "hicolor" / "scalable" / "apps"
    place.mkdir(parents=True, exist_ok=True)
    (place / "journeyman.svg").write_bytes(DRAWING.read_bytes())


def one_file(path: Path) -> Path:
    """As .ico or .icns, by its name."""
    paint(path, 256)
    return path


def paint(path: Path, size: int) -> None:
    """In memory: without letters in it, a picture needs no application and no display."""
    from PySide6.QtCore import Qt
    from PySide6.QtGui import QImage, QPainter
    from PySide6.QtSvg import QSvgRenderer

    image = QImage(size, size, QImage.Format.Format_ARGB32)
    image.fill(Qt.GlobalColor.transparent)
    with QPainter(image) as painter:
        QSvgRenderer(str(DRAWING)).render(painter)
    if not image.save(str(path)):
        raise OSError(f"{path} could not be painted")
