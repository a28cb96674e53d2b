"""The dialog that shows an image from a session's folder, as large as possible."""

from PySide6.QtCore import QRect, QSize, Qt, Signal
from PySide6.QtGui import QAccessible, QGuiApplication, QImage, QPainter, QPaintEvent
from PySide6.QtWidgets import QDialog, QHBoxLayout, QVBoxLayout, QWidget

from ui.style.number_formats import size
from ui.style.theme import Look
from ui.text.answer_images import on_light_ground
from ui.text.visible import visible
from ui.widgets.button import Button
from ui.widgets.elided import ElidedLabel
from ui.widgets.labels import label
from ui.widgets.paint import draw_frame

MAX_WINDOW_FRACTION = 0.85  # maximum width and height of the dialog, compared with the window
MIN_IMAGE_SIZE = QSize(320, 160)
MARGIN = 16


class ImageDialog(QDialog):
    """Shows an image with its path, dimensions and file size. `open_requested` asks to open the file in the editor."""

    open_requested = Signal()

    def __init__(self, look: Look, path: str, image: QImage, file_size: int, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("image")
        self.setWindowTitle(visible(path))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._image = image
        dimensions = f"{image.width()} × {image.height()} · {size(file_size)}"
        title = ElidedLabel(visible(path), look.fonts.mono, name="image.path")
        dimensions_label = label(dimensions, look.fonts.second, "second", name="image.figures")
        heading = QHBoxLayout()
        heading.setSpacing(12)
        heading.addWidget(title, 1)
        heading.addWidget(dimensions_label)
        self._picture = _FittedImage(look, image, self.tr("{}, {}").format(visible(path), dimensions))
        open_ = Button(look, self.tr("Open in editor"), name="image.open", tone="quiet")
        copy = Button(look, self.tr("Copy image"), name="image.copy", tone="quiet", icon="copy")
        close = Button(look, self.tr("Close"), name="image.close", tone="primary")
        open_.clicked.connect(lambda: self.open_requested.emit())
        copy.clicked.connect(lambda: QGuiApplication.clipboard().setImage(self._image))
        close.clicked.connect(self.accept)
        close.setDefault(True)
        buttons = QHBoxLayout()
        buttons.addWidget(open_)
        buttons.addWidget(copy)
        buttons.addStretch(1)
        buttons.addWidget(close)
        column = QVBoxLayout(self)
        column.setContentsMargins(MARGIN, 12, MARGIN, 12)
        column.setSpacing(10)
        column.addLayout(heading)
        column.addWidget(self._picture, 1)
        column.addLayout(buttons)
        max_size = parent.window().size() * MAX_WINDOW_FRACTION
        self.resize(self.sizeHint().boundedTo(max_size).expandedTo(self.minimumSizeHint()))
        close.setFocus()


class _FittedImage(QWidget):
    """An image, centered and scaled down to the size of the widget."""

    accessible_role = QAccessible.Role.Graphic

    def __init__(self, look: Look, image: QImage, description: str) -> None:
        super().__init__()
        self._look = look
        self._image = on_light_ground(image)
        self.setObjectName("image.picture")
        self.setAccessibleName(description)
        self.setMinimumSize(MIN_IMAGE_SIZE)

    def _natural_size(self) -> QSize:
        return self._image.size() / self.devicePixelRatioF()

    # Overridden Qt methods

    def sizeHint(self) -> QSize:
        return self._natural_size().expandedTo(MIN_IMAGE_SIZE)

    def paintEvent(self, event: QPaintEvent) -> None:
        natural = self._natural_size()
        fits = natural.width() <= self.width() and natural.height() <= self.height()
        shown = natural if fits else natural.scaled(self.size(), Qt.AspectRatioMode.KeepAspectRatio)
        target = QRect(0, 0, shown.width(), shown.height())
        target.moveCenter(self.rect().center())
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
            painter.drawImage(target, self._image)
            draw_frame(painter, target, 2, None, self._look.theme.line)
