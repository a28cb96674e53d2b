"""Asked before the window closes over text that no page has kept."""

from PySide6.QtCore import QObject

from ui.pages import Pages
from ui.selection import Selection
from ui.shell import Shell
from ui.theme import Look
from ui.widgets.confirm import Confirm


class Unsaved(QObject):
    """The page is shown, so that the person sees what is meant."""

    def __init__(self, look: Look, shell: Shell, pages: Pages, selection: Selection) -> None:
        super().__init__(shell)
        self._look, self._shell, self._pages, self._selection = look, shell, pages, selection
        shell.may_close = self.ask

    def restyle(self, look: Look) -> None:
        self._look = look

    def ask(self) -> bool:
        """May the window close? Where not, the person is asked, and it closes if they say so."""
        unsaved = self._pages.unsaved()
        if not unsaved:
            return True
        self._selection.choose_page(unsaved[0][0])
        words = ", ".join(words for _, words in unsaved)
        Confirm(
            self._look,
            self.tr("Close without keeping it?"),
            self.tr("Not kept yet: {}.").format(words),
            self.tr("Close without keeping"),
            self._shell.leave,
            self._shell,
        ).open()
        return False
