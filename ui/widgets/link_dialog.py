"""The dialog that asks before a link is opened. It shows the host, and the full address in ASCII (punycode)."""

from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtWidgets import QDialog, QHBoxLayout, QVBoxLayout, QWidget

from ui.style.theme import Look
from ui.widgets.button import Button
from ui.widgets.labels import label

SCHEMES = frozenset({"http", "https", "mailto"})


class LinkDialog(QDialog):
    def __init__(self, look: Look, address: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("link")
        self.setWindowTitle(self.tr("Open this link?"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._url = QUrl(address)
        full_address = bytes(self._url.toEncoded().data()).decode("ascii", "replace")
        host = self._url.host(QUrl.ComponentFormattingOption.FullyEncoded) or self._url.path()
        self._may_open = self._url.isValid() and self._url.scheme() in SCHEMES
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 16, 20, 16)
        column.setSpacing(8)
        column.addWidget(label(host, look.fonts.bold, name="link.host", wrap=True))
        column.addWidget(label(full_address, look.fonts.mono, "second", name="link.address", wrap=True))
        if self._url.userInfo():
            warning = self.tr("The part before @ is a user name, not the site the link opens.")
            column.addWidget(label(warning, look.fonts.text, "failed", wrap=True))
        column.addSpacing(4)
        column.addLayout(self._buttons(look, full_address))
        self.setMinimumWidth(look.size(420))

    def _buttons(self, look: Look, full_address: str) -> QHBoxLayout:
        copy = Button(look, self.tr("Copy address"), name="link.copy", tone="quiet")
        cancel = Button(look, self.tr("Cancel"), name="link.cancel")
        open_ = Button(look, self.tr("Open in browser"), name="link.open", tone="primary")
        open_.setEnabled(self._may_open)
        copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(full_address))
        cancel.clicked.connect(self.reject)
        open_.clicked.connect(self._open)
        row = QHBoxLayout()
        row.addWidget(copy)
        row.addStretch(1)
        row.addWidget(cancel)
        row.addWidget(open_)
        return row

    def _open(self) -> None:
        QDesktopServices.openUrl(self._url)
        self.accept()
