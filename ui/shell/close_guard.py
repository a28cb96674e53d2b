"""Asks before the window closes while a page has unsaved changes or sessions are running."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import QObject, Signal

from core.domain.sessions import SessionRow
from core.settings.schema import CloseAction
from ui.base.selection import Selection
from ui.dialogs.close_dialog import CloseDialog
from ui.shell.page_stack import PageStack
from ui.shell.window_frame import WindowFrame
from ui.style.theme import Look
from ui.widgets.confirm_dialog import ConfirmDialog


class CloseGuard(QObject):
    """Decides whether the window may close, and asks the user if necessary.

    Attributes:
        action: What to do about running sessions: ask the user, keep them running in the background, or stop them.
        has_tray: Returns whether the desktop shows tray icons now.
    """

    background_requested = Signal()
    """Hide the window; the sessions go on."""
    stop_requested = Signal()
    """Pause the sessions after their current step, then quit."""
    remembered = Signal(str)
    """The user wants this `CloseAction` every time."""

    def __init__(
        self,
        look: Look,
        shell: WindowFrame,
        pages: PageStack,
        selection: Selection,
        running: Callable[[], Sequence[SessionRow]],
    ) -> None:
        super().__init__(shell)
        self._look = look
        self._shell = shell
        self._pages = pages
        self._selection = selection
        self._running = running
        self.action: CloseAction = "ask"
        self.has_tray: Callable[[], bool] = lambda: False
        shell.may_close = self.may_close

    def restyle(self, look: Look) -> None:
        self._look = look

    def may_close(self) -> bool:
        """Return whether the window may close now.

        If not, ask the user, or do what the user has chosen to do every time.
        """
        if not self._pages.unsaved_changes() and self._running():
            self._carry_out(self.action)
            return False
        return self._confirm_unsaved()

    def quit(self) -> None:
        """Quit, unless there are unsaved changes. Running sessions are paused first, never kept running."""
        if self._confirm_unsaved():
            if self._running():
                self.stop_requested.emit()
            else:
                self._shell.shut_down()

    def _confirm_unsaved(self) -> bool:
        """Return whether nothing is unsaved.

        Otherwise show the unsaved page, and ask whether to close the window anyway.
        """
        unsaved = self._pages.unsaved_changes()
        if not unsaved:
            return True
        self._selection.choose_page(unsaved[0].page)
        descriptions = ", ".join(page.description for page in unsaved)
        ConfirmDialog(
            self._look,
            self.tr("Close without saving?"),
            self.tr("Unsaved changes: {}.").format(descriptions),
            self.tr("Close without saving"),
            self._shell.shut_down,
            self._shell,
        ).open()
        return False

    def _carry_out(self, action: CloseAction) -> None:
        match action:
            case "background":
                self.background_requested.emit()
            case "stop":
                self.stop_requested.emit()
            case "ask":
                self._open_dialog()

    def _open_dialog(self) -> None:
        """Ask what to do about the running sessions, unless the question is open already."""
        if self._shell.findChild(CloseDialog) is None:
            dialog = CloseDialog(self._look, self._running(), self._shell, has_tray=self.has_tray())
            dialog.chosen.connect(self._on_chosen)
            dialog.open()

    def _on_chosen(self, action: CloseAction, remember: bool) -> None:
        if remember:
            self.action = action
            self.remembered.emit(action)
        self._carry_out(action)
