"""A stack of pages that is as small as the page on display allows."""

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QStackedWidget, QWidget


class ShownPageStack(QStackedWidget):
    """A stack whose size hints are those of the page on display; Qt would need the space of its largest page."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.currentChanged.connect(self.updateGeometry)

    # Overridden Qt methods

    def minimumSizeHint(self) -> QSize:
        page: QWidget | None = self.currentWidget()
        return page.minimumSizeHint() if page else QSize()

    def sizeHint(self) -> QSize:
        page: QWidget | None = self.currentWidget()
        return page.sizeHint() if page else QSize()
