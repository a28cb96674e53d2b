"""The images in answers: files of the session's folder, which are loaded by another thread than that of the window.

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
MAX_IMAGES: Final = 12  # images in an answer at most; any further ones are shown as links
CACHE_BYTES: Final = 96 * 1024 * 1024
INDENT: Final = QTextFormat.Property.UserProperty.value + 2
"""The format property with the indent of the paragraph, which reduces the room for the image."""


class FileStamp(NamedTuple):
    """The modification time of a file in nanoseconds, and its size in bytes, by which a new version is noticed."""

    modified_at: int = 0
    size: int = 0


class AnswerImage(NamedTuple):
    """An image file at the time `stamp`: the decoded image, or the error that prevented loading it."""

    stamp: FileStamp
    image: QImage
    error: str = ""


class AnswerImages(QObject):
    """The images of one session. An answer asks for an image by its path; the receiver of `requested` delivers it."""

    requested = Signal(str, object)
    """The path of an image to load, and the stamp of the version that is known already, or None."""
    changed = Signal(str)
    """The image at this path is known now, or its file has changed."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._known: OrderedDict[str, AnswerImage] = OrderedDict()
        self._checked: set[str] = set()  # paths requested since the last `recheck`; they are not requested again

    def find(self, path: str) -> AnswerImage | None:
        """Return an image if it has been loaded; request it, unless that has been done since the last `recheck`."""
        known = self._known.get(path)
        if path not in self._checked:
            self._checked.add(path)
            self.requested.emit(path, known.stamp if known else None)
        return known

    def deliver(self, path: str, image: AnswerImage) -> None:
        """Store a loaded image. If the images take too much memory, discard the oldest ones."""
        self._known[path] = image
        self._known.move_to_end(path)
        cached_bytes = sum(known.image.sizeInBytes() for known in self._known.values())
        while len(self._known) > 1 and cached_bytes > CACHE_BYTES:
            forgotten, oldest = self._known.popitem(last=False)
            cached_bytes -= oldest.image.sizeInBytes()
            self._checked.discard(forgotten)
        self.changed.emit(path)

    def recheck(self) -> None:
        """Check each file again when its answer is shown next, because a run may have changed it."""
        self._checked.clear()

    def clear(self) -> None:
        """Discard all images. Called when another session is shown."""
        self._known.clear()
        self._checked.clear()


def image_link(address: str) -> str:
    """Return the link for the address in a Markdown image; "" if the address does not name a file."""
    link = file_link(address.removeprefix("file://"))
    return image_link_of_path(unquote(link.removeprefix(FILE_SCHEME))) if link else ""


def image_link_of_path(path: str) -> str:
    """Return the link for an image by its path within the folder."""
    return SCHEME + quote(path, safe="/")


def image_of_link(link: str) -> str:
    """Return the path of an image link; "" for any other link."""
    return unquote(link.removeprefix(SCHEME)) if link.startswith(SCHEME) else ""


def reduced(image: QImage, limit: QSize) -> QImage:
    """Return the image, scaled down to fit into `limit`. A smaller image is not changed."""
    if image.width() <= limit.width() and image.height() <= limit.height():
        return image
    return image.scaled(limit, Qt.AspectRatioMode.KeepAspectRatio, Qt.TransformationMode.SmoothTransformation)


def on_light_ground(image: QImage) -> QImage:
    """Return the image with a white background, because a drawing with a transparent background is usually black."""
    if not image.hasAlphaChannel():
        return image
    opaque = QImage(image.size(), QImage.Format.Format_RGB32)
    opaque.setDevicePixelRatio(image.devicePixelRatio())
    opaque.fill(Qt.GlobalColor.white)
    with QPainter(opaque) as painter:
        painter.drawImage(0, 0, image)
    return opaque


def image_format(link: str, base: QTextCharFormat, indent: int) -> QTextImageFormat:
    """Return the format of an image in a document. A click on the image opens `link`."""
    made = QTextImageFormat()
    made.merge(base)
    made.setObjectType(QTextFormat.ObjectTypes.ImageObject.value)
    made.setName(link)
    made.setAnchor(True)
    made.setAnchorHref(link)
    made.setProperty(INDENT, indent)
    return made


def fit_images(document: QTextDocument, images: AnswerImages, look: Look, width: int, pixel_ratio: float) -> None:
    """Insert the images into a document, in the size in which they fit into a text of this width."""
    room: dict[str, int] = {}
    for each in document.allFormats():
        if each.isImageFormat():
            name = each.toImageFormat().name()
            room[name] = min(room.get(name, width), width - each.intProperty(INDENT))
    for name, available in room.items():
        if known := images.find(image_of_link(name)):
            limit = QSize(max(1, available), look.size(SHOWN_HEIGHT)) * pixel_ratio
            # A copy, because the functions return the cached image itself if they have nothing to change.
            shown = QImage(on_light_ground(reduced(known.image, limit)))
            shown.setDevicePixelRatio(pixel_ratio)
            document.addResource(QTextDocument.ResourceType.ImageResource.value, QUrl(name), shown)
