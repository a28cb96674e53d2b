"""Where one works: the session that was chosen, another one beside it, and tabs of those kept at hand."""

from collections.abc import Callable, Collection, Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QSplitter, QVBoxLayout, QWidget

from core.domain.steps import Step
from ui.batch import Batch
from ui.beside import Beside
from ui.known import Known
from ui.selection import Selection
from ui.session_tabs import SessionTabs
from ui.side import Side
from ui.theme import Look
from ui.widgets.words import hairline
from ui.window_state import WindowState


class Desk(QWidget):
    """`words` knows what has come of a session's next reply."""

    changed = Signal()

    def __init__(
        self, look: Look, side: Side, known: Known, selection: Selection, state: WindowState,
        *, words: Callable[[str], str],
    ) -> None:  # fmt: skip
        super().__init__()
        self._look, self._side, self._known = look, side, known
        self._selection, self._state, self._words = selection, state, words
        self._beside: Beside | None = None
        self._name, self._shown = "", ""
        self.tabs = SessionTabs(look, known.row)
        self._split = QSplitter(Qt.Orientation.Horizontal)
        self._split.setObjectName("desk")
        self._split.setHandleWidth(1)
        self._split.setChildrenCollapsible(False)
        self._split.addWidget(side)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        self._below = hairline()
        self._below.hide()
        column.addWidget(self.tabs)
        column.addWidget(self._below)
        column.addWidget(self._split, 1)
        self.tabs.wanted.connect(selection.choose_session)
        self.tabs.kept.connect(self._keep)
        side.view.page.step_opened.connect(self.show_child)

    @property
    def wide(self) -> bool:
        """Does it want the room of the step pane as well?"""
        return bool(self._name) or self._side.view.wide

    @property
    def name(self) -> str:
        """The session beside; empty where there is none."""
        return self._name

    def restore(self) -> None:
        """As the window was left."""
        names, beside = self._state.text("tabs").split(), self._state.text("beside")
        self.tabs.open([name for name in names if name in self._known])
        self.tabs.mark(self._shown)
        if beside in self._known:
            self.show_beside(beside)

    def show_session(self, name: str) -> None:
        """This one is worked in now; where it was the one beside, both change places."""
        self._side.show_session(name)
        if not self._side.name:
            return
        before, self._shown = self._shown, name
        if name == self._name:
            self.show_beside(before)
        self.tabs.mark(name)

    def show_beside(self, name: str) -> None:
        """Put a session beside; none for an empty name, or for the one that is shown already."""
        self._name = "" if name == self._shown else name
        if self._name:
            if self._beside is None:
                self._beside = self._build()
            self._beside.show_session(self._known.row(self._name))
            self._beside.draft(self._words(self._name))
        if self._beside is not None:
            opens = bool(self._name) and self._beside.isHidden()
            self._beside.setVisible(bool(self._name))
            if opens:
                self._split.setSizes([self.width() // 2, self.width() // 2])
        self._keep()
        self.changed.emit()

    def show_child(self, step: Step) -> None:
        """Beside the session that gave it work, a sub-agent is watched as it goes on."""
        if step.kind == "delegate":
            children = self._known.reading.children(self._shown)
            self.show_beside(next((child.id for child in children if child.parent_call == step.key), self._name))

    def turn_tab(self) -> None:
        """Keep the session that is shown at hand, or no longer."""
        if not self.tabs.close(self._shown):
            self.tabs.open([self._shown])
        self.tabs.mark(self._shown)

    def go_to_tab(self, step: int) -> None:
        if name := self.tabs.beside(self._shown, step):
            self._selection.choose_session(name)

    def hear(self, batch: Batch, fresh: Collection[str]) -> None:
        """What happened in the sessions on the desk, what of it is `fresh` to ask, and what the tabs say."""
        self._side.hear(batch, fresh)
        for name in batch.touched:
            self.tabs.refresh(name)
        heard = self._name in batch.touched or any(draft.session == self._name for draft in batch.drafts)
        if heard and self._beside is not None:
            self._beside.show_session(self._known.row(self._name))
            self._beside.apply(batch.steps_of(self._name))
            self._beside.draft(self._words(self._name))

    def place(self, word: str, session: str) -> None:
        """Where the person wants a session: in a `tab`, or `beside`."""
        if word == "beside":
            self.show_beside(session)
        else:
            self.tabs.open([session])
            self.tabs.mark(self._shown)

    def drop_sessions(self, names: Sequence[str]) -> None:
        """These are gone for good."""
        for name in names:
            self.tabs.close(name)
        self._side.drop_sessions(names)
        if self._shown in names:
            self._shown = ""
        if self._name in names:
            self.show_beside("")

    def restyle(self, look: Look) -> None:
        self._look = look
        self.tabs.restyle(look)
        self._side.restyle(look)
        if self._beside is not None:
            self._beside.restyle(look)

    def _build(self) -> Beside:
        made = Beside(self._look, self._known.reading, self._side.view.page)
        made.wanted.connect(lambda: self._selection.choose_session(self._name))
        made.closed.connect(lambda: self.show_beside(""))
        made.hide()
        self._split.addWidget(made)
        return made

    def _keep(self) -> None:
        self._below.setVisible(self.tabs.count() > 0)
        self._state.keep_text("tabs", " ".join(self.tabs.names()))
        self._state.keep_text("beside", self._name)
