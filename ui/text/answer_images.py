"""The images that answers show: files of the session's folder, which are loaded outside of the window's thread.

Images with other addresses are shown as links, and are never loaded.
"""

from collections import OrderedDict
from typing import Final, NamedTuple
from urllib.parse import quote, unquote

from PySide6.QtCore import QObject, QSize, Qt, QUrl, Signal
from PySide6.QtGui import QImage, QPainter, QTextCharFormat, QTextDocument, QTextFormat, QTextImageFormat

from ui.style.theme import Look
from ui.text.file_links import SCHEME as FILE_SCHEME
from ui.text.file_links import file_link

SCHEME: Final = "workspace-image:"
SHOWN_HEIGHT: Final = 420
MAX_IMAGES: Final = 12  # of one answer; further images are links
CACHE_BYTES: Final = 96 * 1024 * 1024
INDENT: Final = QTextFormat.Property.UserProperty.value + 2
"""The format property with the indent of the paragraph, which reduces the room for the image."""

Stamp = tuple[int, int]
"""Modification time and size of a file."""


class AnswerImage(NamedTuple):
    """A file as it was at `stamp`: its decoded image, or why there is none."""

    stamp: Stamp
    image: QImage
    error: str = ""


class AnswerImages(QObject):
    """The images of one session. The answers ask for them by path; whoever handles `requested` delivers them."""

    requested = Signal(str, object)
    """The path of an image to load, and the stamp of the version that is known already, or None."""
    changed = Signal(str)
    """The image at this path is known now, or its file has changed."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._known: OrderedDict[str, AnswerImage] = OrderedDict()
        self._checked: set[str] = set()  # requested since the last answer; their files are not looked at again

    def find(self, path: str) -> AnswerImage | None:
        """Return the image if it is known, and request it if it has not been looked at since the last answer."""
        known = self._known.get(path)
        if path not in self._checked:
            self._checked.add(path)
            self.requested.emit(path, known.stamp if known else None)
        return known

    def deliver(self, path: str, image: AnswerImage) -> None:
        """Store a loaded image, and forget the oldest ones if they take too much memory."""
        self._known[path] = image
        self._known.move_to_end(path)
        while len(self._known) > 1 and sum(each.image.sizeInBytes() for each in self._known.values()) > CACHE_BYTES:
            forgotten, _ = self._known.popitem(last=False)
            self._checked.discard(forgotten)
        self.changed.emit(path)

    def recheck(self) -> None:
        """Look at the files again when their answers are shown next: a run may have replaced them."""
        self._checked.clear()

    def clear(self) -> None:
        """Forget all images, because another session is shown."""
        self._known.clear()
        self._checked.clear()


def image_link(address: str) -> str:
    """Return the link for the address of a Markdown image, or an empty string if it does not name a file."""
    link = file_link(address.removeprefix("file://"))
    return image_link_of_path(unquote(link.removeprefix(FILE_SCHEME))) if link else ""


def image_link_of_path(path: str) -> str:
    """Return the link to an image by its path in the folder."""
    return SCHEME + quote(path, safe="/")


def image_of_link(link: str) -> str:
    """Return the path that an image link names, or an empty string for other links."""
    return unquote(link.removeprefix(SCHEME)) if link.startswith(SCHEME) else ""


def reduced(image: QImage, limit: QSize) -> QImage:
    """Return the image scaled down to fit into `limit`; a smaller image stays as it is."""
    if image.width() <= limit.width() and image.height() <= limit.height():
        return image
    return image.scaled(limit, Qt.AspectRatioMode.KeepAspectRatio, Qt.TransformationMode.SmoothTransformation)


def on_light_ground(image: QImage) -> QImage:
    """Return the image with white below its transparent parts, because most drawings are black on nothing."""
    if not image.hasAlphaChannel():
        return image
    opaque = QImage(image.size(), QImage.Format.Format_RGB32)
    opaque.setDevicePixelRatio(image.devicePixelRatio())
    opaque.fill(Qt.GlobalColor.white)
    with QPainter(opaque) as painter:
        painter.drawImage(0, 0, image)
    return opaque


def image_format(link: str, base: QTextCharFormat, indent: int) -> QTextImageFormat:
    """Return the format of an image in a document, which opens `link` when clicked."""
    made = QTextImageFormat()
    made.merge(base)
    made.setObjectType(QTextFormat.ObjectTypes.ImageObject.value)
    made.setName(link)
    made.setAnchor(True)
    made.setAnchorHref(link)
    made.setProperty(INDENT, indent)
    return made


def fit_images(document: QTextDocument, images: AnswerImages, look: Look, width: int, pixel_ratio: float) -> None:
    """Give a document its images in the size at which they are shown in a text of this width."""
    room: dict[str, int] = {}
    for each in document.allFormats():
        if each.isImageFormat():
            name = each.toImageFormat().name()
            room[name] = min(room.get(name, width), width - each.intProperty(INDENT))
    for name, available in room.items():
        if known := images.find(image_of_link(name)):
            limit = QSize(max(1, available), look.size(SHOWN_HEIGHT)) * pixel_ratio
            shown = on_light_ground(reduced(known.image, limit))
            shown.setDevicePixelRatio(pixel_ratio)
            document.addResource(QTextDocument.ResourceType.ImageResource.value, QUrl(name), shown)
