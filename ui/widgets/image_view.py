"""Decodes images from untrusted sources safely, and shows them in their original size or smaller."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QRect, QSize, Qt
from PySide6.QtGui import QAccessible, QFontMetrics, QImage, QImageReader, QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QScrollArea, QSizePolicy, QVBoxLayout, QWidget

from ui.style.number_formats import size
from ui.style.theme import Look
from ui.text.answer_images import on_light_ground
from ui.widgets.labels import label
from ui.widgets.paint import draw_frame, draw_line

MAX_BYTES: Final = 32 * 1024 * 1024
MAX_SIDE: Final = 2_400  # pixels; larger images are scaled down while they are decoded
# SVG is left out, because it can load external resources.
SUPPORTED_FORMATS: Final = frozenset({"png", "jpeg", "gif", "webp", "bmp"})
PNG_SIGNATURE, PNG_TRAILER = b"\x89PNG", b"IEND\xaeB`\x82"
SIGNATURES: Final = (PNG_SIGNATURE, b"\xff\xd8\xff", b"GIF8", b"RIFF", b"BM")
MAX_HEIGHT: Final = 420  # pixels at the usual text size; a higher image is shown smaller


def is_image(body: bytes) -> bool:
    """Return whether the bytes are an image in a supported format. Only the signature and the header are read."""
    if not body.startswith(SIGNATURES) or len(body) > MAX_BYTES:
        return False
    buffer = QBuffer()
    buffer.setData(QByteArray(body))
    buffer.open(QIODevice.OpenModeFlag.ReadOnly)
    return _reader(buffer) is not None


class DecodedImage(NamedTuple):
    """An image, which may be reduced, and its original size. The image is null if it could not be decoded."""

    image: QImage
    original_size: QSize


class TitledImage(NamedTuple):
    """The contents of an image file, and the heading above the image."""

    title: str
    body: bytes


def decode_image(body: bytes) -> DecodedImage:
    """Decode an image, reduced to at most MAX_SIDE pixels in width and height."""
    buffer = QBuffer()
    buffer.setData(QByteArray(body))
    buffer.open(QIODevice.OpenModeFlag.ReadOnly)
    reader = _reader(buffer)
    if reader is None:
        return DecodedImage(QImage(), QSize())
    original_size = reader.size()
    if max(original_size.width(), original_size.height()) > MAX_SIDE:
        reader.setScaledSize(original_size.scaled(MAX_SIDE, MAX_SIDE, Qt.AspectRatioMode.KeepAspectRatio))
    return DecodedImage(reader.read(), original_size)


def _reader(buffer: QBuffer) -> QImageReader | None:
    """Return a reader for an image; None if its format is not supported or it is damaged."""
    is_png = bytes(buffer.data().left(4).data()) == PNG_SIGNATURE
    if is_png and PNG_TRAILER not in bytes(buffer.data().right(64).data()):
        # A truncated PNG, for which libpng would print an error to the terminal without Qt's message handler.
        return None
    reader = QImageReader(buffer)
    reader.setDecideFormatFromContent(True)
    image_format = bytes(reader.format().data()).decode("ascii", "replace")
    return reader if image_format in SUPPORTED_FORMATS and reader.size().isValid() else None


class ImageView(QWidget):
    """An image with a caption: its name, dimensions and file size."""

    accessible_role = QAccessible.Role.Graphic

    def __init__(self, look: Look, body: bytes, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        decoded = decode_image(body)
        self._image = on_light_ground(decoded.image)
        pixels = f"{decoded.original_size.width()} × {decoded.original_size.height()}" if self.is_valid() else ""
        self._caption_text = " · ".join(filter(None, (name, pixels, size(len(body)))))
        self.setObjectName("picture")
        self.setAccessibleName(self._caption_text)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def is_valid(self) -> bool:
        return not self._image.isNull()

    def _fitted_size(self, width: int) -> QSize:
        """Return the size of the image, reduced if necessary to this width and MAX_HEIGHT."""
        limit = QSize(width, self._look.size(MAX_HEIGHT))
        full_size = self._image.size()
        if full_size.width() <= limit.width() and full_size.height() <= limit.height():
            return full_size
        return full_size.scaled(limit, Qt.AspectRatioMode.KeepAspectRatio)

    def _caption_height(self) -> int:
        return QFontMetrics(self._look.fonts.second).height() + 6

    # Overridden Qt methods

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        return self._fitted_size(width).height() + self._caption_height()

    def sizeHint(self) -> QSize:
        fitted = self._fitted_size(self._look.size(MAX_HEIGHT))
        return QSize(fitted.width(), fitted.height() + self._caption_height())

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = self._look.theme
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
            rect = QRect(0, 0, 0, 0)
            if self.is_valid():
                rect.setSize(self._fitted_size(self.width()))
                painter.drawImage(rect, self._image)
                draw_frame(painter, rect, 2, None, theme.line)
            below = QRect(0, rect.height() + 4, self.width(), self._caption_height())
            draw_line(painter, below, self._caption_text, self._look.fonts.second, theme.third)


class ImageListView(QScrollArea):
    """A scrollable column of images, each with a heading."""

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self._images: Sequence[TitledImage] = ()
        self.setObjectName("pictures")
        self.setAccessibleName(self.tr("Images"))
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)

    def show_images(self, images: Sequence[TitledImage]) -> None:
        self._images = images
        content = QWidget()
        column = QVBoxLayout(content)
        column.setContentsMargins(20, 16, 20, 16)
        column.setSpacing(8)
        for image in images:
            column.addWidget(label(image.title, self._look.fonts.label, "second"))
            column.addWidget(ImageView(self._look, image.body, ""))
        column.addStretch(1)
        self.setWidget(content)
        content.setAutoFillBackground(False)

    def restyle(self, look: Look) -> None:
        self._look = look
        self.show_images(self._images)
