"""Where one works: a session, or two side by side; one of the sides is worked in, and both go on."""

from collections.abc import Callable, Collection

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QSplitter, QVBoxLayout, QWidget

from core.domain.steps import Step
from ui.batch import Batch
from ui.known import Known
from ui.selection import Selection
from ui.session_view import SessionView
from ui.side import Side
from ui.theme import Look
from ui.window_state import WindowState


class Desk(QWidget):
    """A session stands on one side only. `build` makes a side; the second one is built when it is wanted."""

    changed = Signal()
    """What is on the desk, or which side is worked in."""
    built = Signal(object)
    """The second side."""

    def __init__(self, build: Callable[[], Side], known: Known, selection: Selection, state: WindowState) -> None:
        super().__init__()
        self._build, self._known, self._selection, self._state = build, known, selection, state
        self._split = QSplitter(Qt.Orientation.Horizontal)
        self._split.setObjectName("desk")
        self._split.setHandleWidth(1)
        self._split.setChildrenCollapsible(False)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self._split)
        self._sides: list[Side] = []
        self._watched, self._restored = False, False
        self._moved = QTimer(self, singleShot=True, interval=0)
        self._moved.timeout.connect(self._follow_keyboard)
        self.side = self._add()
        self._call()

    # what is on it

    @property
    def sides(self) -> list[Side]:
        """Those that are on the screen, from left to right."""
        return self._sides if self.double else self._sides[:1]

    @property
    def double(self) -> bool:
        return len(self._sides) == 2 and not self._sides[1].isHidden()

    @property
    def view(self) -> SessionView:
        """Of the side that is worked in."""
        return self.side.view

    @property
    def other(self) -> Side | None:
        """The side that is not worked in."""
        return next((side for side in self.sides if side is not self.side), None)

    @property
    def beside(self) -> str:
        """The session on it."""
        return self.other.name if self.other else ""

    @property
    def at_hand(self) -> bool:
        """Has the session that is worked in a tab?"""
        return self.side.name in self.side.tabs.names()

    def restore(self, *, work: bool) -> None:
        """As the window was left; to `work` where it was worked in, too."""
        state, known = self._state, self._known
        tabs, besides = ([name for name in state.text(key).split() if name in known] for key in ("tabs", "beside.tabs"))
        beside, worked = state.text("beside"), state.text("side") == "beside"
        self._restored = True
        self.side.tabs.open(tabs)
        if beside in known and beside != self.side.name:
            self.show_beside(beside)
            self._sides[1].tabs.open(besides)
            if work and worked:
                self._selection.choose_session(beside)
        self._mark()

    # what is done with it

    def show_session(self, name: str) -> None:
        """Work in this one: on the side where it stands or is kept, else on the one that was worked in."""
        self.side = self._side_of(name)
        self.side.show_session(name)
        self._mark()

    def show_beside(self, name: str) -> None:
        """Put a session on the other side; for none, close that side."""
        if not name:
            if self.other:
                self._close(self.other)
        elif name != self.side.name:
            (self.other or self._open()).show_session(name)
            self._mark()

    def show_child(self, parent: str, call: str) -> None:
        """Beside the session that gave it work, a sub-agent is watched as it goes on."""
        children = self._known.reading.children(parent)
        if child := next((child.id for child in children if child.parent_call == call), ""):
            self.show_beside(child)

    def go_over(self) -> None:
        """Work on the other side."""
        if self.other:
            self._selection.choose_session(self.other.name)
            self.view.page.focus_tab()

    def move_over(self, stays: str = "") -> bool:
        """The session goes to the other side; here follows a tab, or what stood there. False where nothing would."""
        here, name = self.side, self.side.name
        rest = [each for each in here.tabs.names() if each != name]
        comes = stays or (rest[0] if rest else self.beside)
        if comes in {"", name}:
            return False
        kept = self.at_hand
        here.tabs.close(name)
        there = self.other or self._open()
        here.show_session(comes)
        there.show_session(name)
        if kept:
            there.tabs.open([name])
        self.side = there
        self._mark()
        self.view.page.focus_tab()
        return True

    def turn_tab(self) -> None:
        """Keep the session that is worked in at hand, or no longer."""
        if self.at_hand:
            self.side.tabs.close(self.side.name)
        else:
            self.side.tabs.open([self.side.name])
        self._mark()

    def close_tab(self) -> None:
        """Of the session that is worked in."""
        self._close_tab(self.side, self.side.name)

    def go_to_tab(self, step: int) -> None:
        if name := self.side.tabs.beside(self.side.name, step):
            self._selection.choose_session(name)

    def place(self, word: str, session: str) -> None:
        """Where the person wants a session: in a `tab`, or `beside`."""
        if word == "beside":
            self.show_beside(session)
        else:
            self._side_of(session).tabs.open([session])
            self._mark()

    def hear(self, batch: Batch, fresh: Collection[str]) -> None:
        """What happened in the sessions on the desk, and where something `fresh` waits."""
        for side in self.sides:
            side.hear(batch, fresh if side is self.side else ())

    def show_questions(self) -> None:
        for side in self.sides:
            side.show_questions()

    def drop_sessions(self, names: Collection[str]) -> None:
        """These are gone for good."""
        for side in self._sides:
            side.drop_sessions(names)
        for side in self.sides:
            if not side.name and self.double:
                self._close(side)
        self._mark()

    def restyle(self, look: Look) -> None:
        for side in self._sides:
            side.restyle(look)

    def keep(self) -> None:
        """How it is left is known after a restart."""
        if not self._restored:
            return
        left, *right = self.sides
        state = self._state
        state.keep_text("session", left.name if self._selection.session else "")
        state.keep_text("tabs", " ".join(left.tabs.names()))
        state.keep_text("beside", right[0].name if right else "")
        state.keep_text("beside.tabs", " ".join(right[0].tabs.names()) if right else "")
        state.keep_text("side", "beside" if right and self.side is right[0] else "")

    def keep_drafts(self) -> None:
        """What was typed a moment ago is on the disk."""
        for side in self._sides:
            side.view.composer.keep_draft()

    def stop_reading(self) -> None:
        """The file is about to be closed."""
        for side in self._sides:
            side.view.stop_reading()

    # sides

    def _add(self) -> Side:
        side = self._build()
        self._sides.append(side)
        self._split.addWidget(side)
        side.tabs.wanted.connect(self._selection.choose_session)
        side.tabs.kept.connect(self.keep)
        side.tabs.closed.connect(lambda name: self._close_tab(side, name))
        side.view.page.step_opened.connect(self._open_origin)
        side.touched.connect(lambda: self._turn_to(side))
        return side

    def _open(self) -> Side:
        """There are two sides from now on; this is the new one."""
        if len(self._sides) == 1:
            self.built.emit(self._add())
        side = self._sides[1]
        self._split.addWidget(side)  # on the right, also where it was the left one before
        side.show()
        half = self._split.width() // 2
        self._split.setSizes([half, half])
        self._call()
        return side

    def _close(self, side: Side) -> None:
        """The other one has all the room, and the tabs of both."""
        stays = next(each for each in self._sides if each is not side)
        held: QWidget | None = self.window().focusWidget()
        names, worked = side.tabs.names(), self.side is side
        side.tabs.pass_on("")
        for name in names:
            side.tabs.close(name)
        side.name = ""
        self._sides, self.side = [stays, side], stays
        self._call()
        stays.tabs.open(names)
        if held and side.isAncestorOf(held):
            self.view.page.focus_tab()
        side.hide()
        if worked and stays.name:
            self._selection.choose_session(stays.name)
        self._mark()

    def _side_of(self, name: str) -> Side:
        """Where a session stands, else where it is kept, else where one works."""
        shown = next((side for side in self.sides if name and side.name == name), None)
        return shown or next((side for side in self.sides if name in side.tabs.names()), self.side)

    def _call(self) -> None:
        left, right = self.tr("The session on the left"), self.tr("The session on the right")
        for side, name, words in zip(self._sides, ("side", "beside"), (left, right), strict=False):
            side.call(name, words)

    def _open_origin(self, step: Step) -> None:
        """Enter on the line that says where a session was forked from."""
        if step.kind == "fork" and self._known.find(step.object):
            self._selection.choose_session(step.object)

    def _turn_to(self, side: Side) -> None:
        if side is not self.side and side.name:
            self._selection.choose_session(side.name)

    def _close_tab(self, side: Side, name: str) -> None:
        """The tab of what is shown beside another session takes its place with it, where no other tab follows."""
        follows = next((each for each in side.tabs.names() if each != name), "")
        side.tabs.close(name)
        if self.double and name == side.name:
            if follows:
                side.show_session(follows)
                if side is self.side:
                    self._selection.choose_session(follows)
            else:
                self._close(side)
        self._mark()

    def _mark(self) -> None:
        """The tabs say what is shown; where there are two sides also what no tab is kept of."""
        for side in self.sides:
            for other in self.sides:
                if other is not side and side.name in other.tabs.names():
                    other.tabs.close(side.name)
                    side.tabs.open([side.name])
            side.tabs.pass_on(side.name if self.double else "")
            side.tabs.mark(side.name, here=side is self.side)
        self.keep()
        self.changed.emit()

    def _watch(self, *, on: bool) -> None:
        """Only while it is seen: a window that is taken apart tells of its focus to parts that are gone."""
        if on != self._watched:
            self._watched = on
            changed = self.window().windowHandle().focusObjectChanged
            if on:
                changed.connect(self._moved.start)
            else:
                changed.disconnect(self._moved.start)
                self._moved.stop()

    def _follow_keyboard(self) -> None:
        """To where it rests: a part that hides with the keyboard in it gives that to any neighbour first."""
        held: QWidget | None = self.window().focusWidget()
        for side in self.sides:
            if held and side.isAncestorOf(held):
                self._turn_to(side)
                return

    # Qt

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._watch(on=True)

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._watch(on=False)
