"""Asks before the window closes while a page has unsaved changes."""

from PySide6.QtCore import QObject

from ui.base.selection import Selection
from ui.shell.page_stack import PageStack
from ui.shell.window_frame import WindowFrame
from ui.style.theme import Look
from ui.widgets.confirm_dialog import ConfirmDialog


class CloseGuard(QObject):
    """Shows the page with the unsaved changes and a confirmation when the window is about to close."""

    def __init__(self, look: Look, shell: WindowFrame, pages: PageStack, selection: Selection) -> None:
        super().__init__(shell)
        self._look, self._shell, self._pages, self._selection = look, shell, pages, selection
        shell.may_close = self.may_close

    def restyle(self, look: Look) -> None:
        self._look = look

    def may_close(self) -> bool:
        """Return whether the window may close now; if not, show a confirmation that closes it if accepted."""
        unsaved = self._pages.unsaved_changes()
        if not unsaved:
            return True
        self._selection.choose_page(unsaved[0][0])
        descriptions = ", ".join(descriptions for _, descriptions in unsaved)
        ConfirmDialog(
            self._look,
            self.tr("Close without saving?"),
            self.tr("Unsaved changes: {}.").format(descriptions),
            self.tr("Close without saving"),
            self._shell.shut_down,
            self._shell,
        ).open()
        return False
