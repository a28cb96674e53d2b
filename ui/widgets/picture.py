"""Pictures that others made: read with care, shown no larger than they are and no wider than there is room."""

from typing import Final

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QRect, QSize, Qt
from PySide6.QtGui import QFontMetrics, QImage, QImageReader, QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QScrollArea, QSizePolicy, QVBoxLayout, QWidget

from ui.figures import size
from ui.theme import Look
from ui.widgets.paint import draw_frame, draw_line
from ui.widgets.words import label

MOST_BYTES: Final = 32 * 1024 * 1024
MOST_SIDE: Final = 2_400  # larger ones are read smaller: who wants every pixel opens the file
PLAIN: Final = frozenset({"png", "jpeg", "gif", "webp", "bmp"})  # no SVG: it is a document that can name others
PNG, PNG_ENDS = b"\x89PNG", b"IEND\xaeB`\x82"
BEGINS: Final = (PNG, b"\xff\xd8\xff", b"GIF8", b"RIFF", b"BM")
MOST_HIGH: Final = 420


def is_picture(body: bytes) -> bool:
    """By how it begins, and whether it says how large it is; its dots are not read for that."""
    if not body.startswith(BEGINS) or len(body) > MOST_BYTES:
        return False
    buffer = QBuffer()
    buffer.setData(QByteArray(body))
    buffer.open(QIODevice.OpenModeFlag.ReadOnly)
    return _reader(buffer) is not None


def read_picture(body: bytes) -> tuple[QImage, QSize]:
    """The picture, and how large it really is; a null picture where it cannot be read."""
    buffer = QBuffer()
    buffer.setData(QByteArray(body))
    buffer.open(QIODevice.OpenModeFlag.ReadOnly)
    reader = _reader(buffer)
    if reader is None:
        return QImage(), QSize()
    whole = reader.size()
    if max(whole.width(), whole.height()) > MOST_SIDE:
        reader.setScaledSize(whole.scaled(MOST_SIDE, MOST_SIDE, Qt.AspectRatioMode.KeepAspectRatio))
    return reader.read(), whole


def _reader(buffer: QBuffer) -> QImageReader | None:
    if bytes(buffer.data().left(4).data()) == PNG and PNG_ENDS not in bytes(buffer.data().right(64).data()):
        return None  # it was cut; libpng would write so to the terminal, past every handler of messages
    reader = QImageReader(buffer)
    reader.setDecideFormatFromContent(True)
    plain = bytes(reader.format().data()).decode("ascii", "replace") in PLAIN
    return reader if plain and reader.size().isValid() else None


class PictureView(QWidget):
    """A picture and a line below it: its name, how large it is."""

    def __init__(self, look: Look, body: bytes, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self._image, whole = read_picture(body)
        measured = f"{whole.width()} × {whole.height()} · " if self.can_show() else ""
        self._line = f"{name} · {measured}{size(len(body))}" if name else f"{measured}{size(len(body))}"
        self.setObjectName("picture")
        self.setAccessibleName(self._line)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def can_show(self) -> bool:
        return not self._image.isNull()

    def _fitted(self, width: int) -> QSize:
        room = QSize(width, self._look.size(MOST_HIGH))
        own = self._image.size()
        if own.width() <= room.width() and own.height() <= room.height():
            return own
        return own.scaled(room, Qt.AspectRatioMode.KeepAspectRatio)

    def _caption(self) -> int:
        return QFontMetrics(self._look.fonts.second).height() + 6

    # Qt

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        return self._fitted(width).height() + self._caption()

    def sizeHint(self) -> QSize:
        fitted = self._fitted(self._look.size(MOST_HIGH))
        return QSize(fitted.width(), fitted.height() + self._caption())

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = self._look.theme
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
            place = QRect(0, 0, 0, 0)
            if self.can_show():
                place.setSize(self._fitted(self.width()))
                painter.drawImage(place, self._image)
                draw_frame(painter, place, 2, None, theme.line)
            below = QRect(0, place.height() + 4, self.width(), self._caption())
            draw_line(painter, below, self._line, self._look.fonts.second, theme.third)


class PicturesView(QScrollArea):
    """Pictures with a word over each, one below the other."""

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self._bodies: list[tuple[str, bytes]] = []
        self.setObjectName("pictures")
        self.setAccessibleName(self.tr("Pictures"))
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)

    def show_bodies(self, bodies: list[tuple[str, bytes]]) -> None:
        self._bodies = bodies
        inside = QWidget()
        column = QVBoxLayout(inside)
        column.setContentsMargins(20, 16, 20, 16)
        column.setSpacing(8)
        for name, body in bodies:
            column.addWidget(label(name, self._look.fonts.label, "second"))
            column.addWidget(PictureView(self._look, body, ""))
        column.addStretch(1)
        self.setWidget(inside)
        inside.setAutoFillBackground(False)

    def restyle(self, look: Look) -> None:
        self._look = look
        self.show_bodies(self._bodies)
