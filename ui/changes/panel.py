"""The Changes tab: the files at the left, what changed in the chosen one at the right, and the ways back."""

from typing import Final, Protocol

from PySide6.QtCore import QModelIndex, QPoint, Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QHBoxLayout, QLabel, QListView, QMenu, QStackedWidget, QVBoxLayout, QWidget

from core.domain.sessions import SessionRow
from core.domain.steps import Step
from core.timeline.difference import difference, is_text
from core.timeline.past import Change, FileStory, Past
from ui.changes.files import FilePainter, FileRows
from ui.figures import size
from ui.theme import Look
from ui.visible import visible
from ui.widgets.button import Button
from ui.widgets.difference_view import DifferenceView
from ui.widgets.elided import ElidedLabel
from ui.widgets.halves import halves
from ui.widgets.picture import PicturesView, is_picture
from ui.widgets.words import hairline, label

LIST_WIDTH: Final = 260
TEXT_LIMIT: Final = 8 * 1024 * 1024
STILL: Final = frozenset({"running", "waiting"})


class Contents(Protocol):
    """Where contents and rows are read from: in the app the store's reader."""

    def kept(self, blob: str) -> bytes | None: ...

    def row_of(self, session: str, seq: int) -> int | None: ...

    def steps(self, session: str, first: int, count: int) -> list[Step]: ...


class ChangesPanel(QWidget):
    undo_file_wanted = Signal(str)
    undo_part_wanted = Signal(str, str, str)
    """A file, the name of the contents it should hold now, and the text it is to hold."""
    back_wanted = Signal(int, str)
    """Every file as it was after this entry; and the name of the step for people."""
    undo_back_wanted = Signal()
    row_wanted = Signal(int)

    def __init__(self, look: Look, contents: Contents, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look, self._contents = look, contents
        self._session = SessionRow("")
        self._story: FileStory | None = None
        self._change: Change | None = None
        self._beside = False
        self._wanted = ""
        self.setObjectName("changes")
        self._build_left()
        self._build_right()
        self._lay_out()
        self._show_nothing(reading=False)

    def _build_left(self) -> None:
        look = self._look
        self._count = label("", look.fonts.label, "second", name="changes.count")
        self._total = label("", look.fonts.caption, "second", name="changes.total")
        self._rows = FileRows(self)
        self._files = QListView()
        self._files.setObjectName("changes.files")
        self._files.setAccessibleName(self.tr("Changed files"))
        self._files.setUniformItemSizes(True)
        self._painter = FilePainter(self._rows, look, self._files)
        self._files.setItemDelegate(self._painter)
        self._files.setModel(self._rows)
        self._files.selectionModel().currentChanged.connect(self._choose)
        self._note = label("", look.fonts.second, "second", name="changes.note", wrap=True)
        self._undo = Button(look, self.tr("Undo this file"), name="changes.undo", icon="undo-2")
        self._undo.clicked.connect(self._undo_file)
        self._back = Button(look, self.tr("Back to step…"), name="changes.back", tone="quiet", icon="history")
        self._back.clicked.connect(lambda: self._pop_up(self._back, self._back_menu()))
        self._again = Button(look, self.tr("Undo the last put-back"), name="changes.again", tone="quiet", icon="undo-2")
        self._again.clicked.connect(self.undo_back_wanted)

    def _build_right(self) -> None:
        look = self._look
        self._lines = DifferenceView(look)
        self._lines.undo_wanted.connect(self._undo_part)
        self._name = ElidedLabel("", look.fonts.mono, name="changes.name")
        self._name.setSizePolicy(self._name.sizePolicy().Policy.Maximum, self._name.sizePolicy().Policy.Fixed)
        self._which = Button(look, "", name="changes.which", tone="quiet", opens=True)
        self._which.setToolTip(self.tr("Everything, or what one step changed"))
        self._which.clicked.connect(lambda: self._pop_up(self._which, self._which_menu()))
        self._shape = Button(look, "", name="changes.shape", tone="quiet", opens=True)
        self._shape.setToolTip(self.tr("Unified or side by side"))
        self._shape.clicked.connect(self._turn_shape)
        self._previous = Button(look, "", name="changes.previous", tone="quiet", icon="chevron-up")
        self._next = Button(look, "", name="changes.next", tone="quiet", icon="chevron-down")
        for button, said, by in (
            (self._previous, self.tr("Previous part (P)"), -1),
            (self._next, self.tr("Next part (N)"), 1),
        ):
            button.setToolTip(said)
            button.setAccessibleName(said)
            button.clicked.connect(lambda _=False, by=by: self._lines.go(by))
        self._plain = label("", look.fonts.text, "second", name="changes.plain", wrap=True)
        self._plain.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        self._plain.setContentsMargins(20, 16, 20, 16)

    def _lay_out(self) -> None:
        upper = QHBoxLayout()
        upper.setContentsMargins(14, 12, 14, 6)
        upper.addWidget(self._count, 1)
        upper.addWidget(self._total)
        under = QVBoxLayout()
        under.setContentsMargins(14, 10, 14, 12)
        under.setSpacing(8)
        for part in (self._note, self._undo, self._back, self._again):
            under.addWidget(part)
        left = QWidget()
        column = QVBoxLayout(left)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(upper)
        column.addWidget(self._files, 1)
        column.addLayout(under)
        bar = QHBoxLayout()
        bar.setContentsMargins(14, 7, 12, 7)
        bar.setSpacing(6)
        bar.addWidget(self._name)
        bar.addWidget(self._which)
        bar.addStretch(1)
        for part in (self._shape, self._previous, self._next):
            bar.addWidget(part)
        self._inside = QStackedWidget()
        self._inside.addWidget(self._lines)
        self._inside.addWidget(self._plain)
        self._seen = PicturesView(self._look)
        self._inside.addWidget(self._seen)
        right = QWidget()
        column = QVBoxLayout(right)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(bar)
        column.addWidget(hairline())
        column.addWidget(self._inside, 1)
        self._empty = QLabel()
        self._empty.setObjectName("changes.empty")
        self._empty.setTextFormat(Qt.TextFormat.PlainText)
        self._empty.setProperty("tone", "second")
        self._empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._empty.setFont(self._look.fonts.text)
        self._stack = QStackedWidget()
        self._stack.addWidget(halves(left, right, (self._look.size(LIST_WIDTH), 600)))
        self._stack.addWidget(self._empty)
        around = QVBoxLayout(self)
        around.setContentsMargins(0, 0, 0, 0)
        around.addWidget(self._stack)
        self.setFocusProxy(self._files)

    # in

    def show_past(self, session: SessionRow, past: Past, *, reading: bool) -> None:
        """Every file that was changed in this session, as far as it was read."""
        other = session.id != self._session.id
        self._session = session
        stories = past.stories()
        self._again.setVisible(_put_back(stories))
        calm = session.status not in STILL
        for button in (self._undo, self._back, self._again):
            button.setEnabled(calm)
            button.setToolTip("" if calm else self.tr("Pause or stop the run first."))
        if not stories:
            self._story = None
            self._rows.show([])
            self._show_nothing(reading=reading)
            return
        self._stack.setCurrentIndex(0)
        chosen = "" if other else (self._story.path if self._story else "")
        changed = self._rows.show(stories)
        added, removed = past.totals()
        self._count.setText((self.tr("{} file") if len(stories) == 1 else self.tr("{} files")).format(len(stories)))
        self._total.setText(f"+{added} −{removed}")
        if changed or other:
            self._choose_path(self._wanted or chosen)
            self._wanted = ""

    def show_file(self, path: str) -> None:
        """Look at this file."""
        if self._rows.place(path) >= 0:
            self._choose_path(path)
        else:
            self._wanted = path

    def restyle(self, look: Look) -> None:
        self._look = look
        self._painter.look = look
        for part in (self._undo, self._back, self._again, self._which, self._shape, self._previous, self._next):
            part.restyle(look)
        self._lines.restyle(look)
        self._seen.restyle(look)
        self._count.setFont(look.fonts.label)
        self._total.setFont(look.fonts.caption)
        self._note.setFont(look.fonts.second)
        self._name.setFont(look.fonts.mono)
        for text in (self._plain, self._empty):
            text.setFont(look.fonts.text)
        self._files.viewport().update()

    # what is shown

    def _show_nothing(self, *, reading: bool) -> None:
        self._empty.setText(
            self.tr("Reading…")
            if reading
            else self.tr("No file was changed here.\nWhat the agent writes or edits stands here.")
        )
        self._stack.setCurrentIndex(1)

    def _choose_path(self, path: str) -> None:
        place = max(0, self._rows.place(path))
        index = self._rows.index(place)
        if self._files.currentIndex() == index:
            self._choose(index)
        else:
            self._files.setCurrentIndex(index)

    def _choose(self, index: QModelIndex) -> None:
        story = self._rows.story(index.row())
        if story is None:
            return
        if self._story is None or story.path != self._story.path or self._change not in story.changes:
            self._change = None
        self._story = story
        self._show_story()

    def _show_story(self) -> None:
        story = self._story
        if story is None:
            return
        self._name.show_text(visible(story.path))
        change = self._change
        self._which.setText(self._step_name(change) if change else self.tr("everything"))
        self._shape.setText(self.tr("Side by side") if self._beside else self.tr("Unified"))
        self._note.setText(self._say(story))
        self._undo.setVisible(story.kept and not story.back)
        before = change.before if change else story.changes[0].before
        after = change.after if change else story.changes[-1].after
        self._compare(story, before, after)

    def _compare(self, story: FileStory, before: str, after: str) -> None:
        if not story.kept:
            self._say_plain(self.tr("Only the number of lines is known of this file, its contents were not kept."))
            return
        old, new = (self._contents.kept(name) if name else b"" for name in (before, after))
        if old is None or new is None:
            self._say_plain(self.tr("These contents were not kept."))
        elif is_picture(old) or is_picture(new):
            self._show_pictures(old, new)
        elif not is_text(old) or not is_text(new):
            self._say_plain(self.tr("Not a text: {} before, {} after.").format(size(len(old)), size(len(new))))
        elif max(len(old), len(new)) > TEXT_LIMIT:
            said = self.tr("Too long to compare line by line: {} before, {} after.")
            self._say_plain(said.format(size(len(old)), size(len(new))))
        elif old == new:
            self._say_plain(self.tr("It is as it was before the agent touched it."))
        else:
            found = difference(old.decode("utf-8", "replace"), new.decode("utf-8", "replace"))
            undoable = after == story.changes[-1].after and bool(after) and bool(before)
            undoable = undoable and self._session.status not in STILL
            self._lines.show_difference(found, beside=self._beside, undoable=undoable)
            self._inside.setCurrentWidget(self._lines)

    def _show_pictures(self, old: bytes, new: bytes) -> None:
        """As it was and as it is, one below the other; nothing where there was none."""
        self._seen.show_bodies(
            [(name, body) for name, body in ((self.tr("Before"), old), (self.tr("After"), new)) if body]
        )
        self._inside.setCurrentWidget(self._seen)

    def _say_plain(self, said: str) -> None:
        self._plain.setText(said)
        self._inside.setCurrentWidget(self._plain)

    def _say(self, story: FileStory) -> str:
        """Who changed it, and where."""
        steps = [self._step_of(change) for change in story.changes if not change.rewound]
        commands = [step for step in steps if step and step.kind == "command"]
        if commands:
            said = self.tr("Step {} changed it by a command: {}")
            return said.format(commands[-1].number, visible(commands[-1].object)[:120])
        numbers = [str(step.number) for step in steps[-6:] if step]
        said = self.tr("Changed in steps {}.") if len(numbers) > 1 else self.tr("Changed in step {}.")
        return said.format(", ".join(numbers)) if numbers else ""

    def _step_of(self, change: Change) -> Step | None:
        row = self._contents.row_of(self._session.id, change.seq)
        found = self._contents.steps(self._session.id, row, 1) if row is not None else []
        return found[0] if found else None

    def _step_name(self, change: Change) -> str:
        if change.rewound:
            return self.tr("put back")
        step = self._step_of(change)
        return self.tr("step {}").format(step.number) if step and step.number else self.tr("one step")

    # what is done

    def _undo_file(self) -> None:
        if self._story:
            self.undo_file_wanted.emit(self._story.path)

    def _undo_part(self, part: int) -> None:
        if self._story:
            text = self._lines.rows.difference.without(part)
            self.undo_part_wanted.emit(self._story.path, self._story.changes[-1].after, text)

    def _turn_shape(self) -> None:
        self._beside = not self._beside
        self._show_story()

    def _show_change(self, change: Change | None) -> None:
        self._change = change
        self._show_story()

    def _pop_up(self, button: QWidget, menu: QMenu) -> None:
        menu.popup(button.mapToGlobal(QPoint(0, button.height() + 2)))

    def _which_menu(self) -> QMenu:
        menu = self._menu("changes.which.menu", self.tr("Which changes"))
        self._entry(menu, self.tr("Everything")).triggered.connect(lambda: self._show_change(None))
        for change in self._story.changes[-40:] if self._story else ():
            figures = f"  +{change.added} −{change.removed}" if change.added or change.removed else ""
            action = self._entry(menu, self._step_name(change) + figures)
            action.triggered.connect(lambda _=False, change=change: self._show_change(change))
        if self._change and (step := self._step_of(self._change)):
            menu.addSeparator()
            self._entry(menu, self.tr("Show this step")).triggered.connect(lambda: self.row_wanted.emit(step.row))
        return menu

    def _back_menu(self) -> QMenu:
        """Before the first change, and after each step that changed something."""
        menu = self._menu("changes.back.menu", self.tr("Back to when"))
        self._entry(menu, self.tr("Before everything")).triggered.connect(
            lambda: self.back_wanted.emit(0, self.tr("before everything"))
        )
        seen: dict[int, Step] = {}
        for place in range(self._rows.rowCount()):
            story = self._rows.story(place)
            for change in story.changes if story else ():
                if not change.rewound and (step := self._step_of(change)):
                    seen[step.row] = step
        for row in sorted(seen)[-30:]:
            step = seen[row]
            said = self.tr("After step {}: {}").format(step.number, visible(step.object)[:60])
            self._entry(menu, said).triggered.connect(
                lambda _=False, step=step: self.back_wanted.emit(
                    step.last, self.tr("after step {}").format(step.number)
                )
            )
        return menu

    def _menu(self, name: str, said: str) -> QMenu:
        menu = QMenu(self)
        menu.setObjectName(name)
        menu.setAccessibleName(said)
        menu.aboutToHide.connect(menu.deleteLater)
        return menu

    @staticmethod
    def _entry(menu: QMenu, text: str) -> QAction:
        action = QAction(text.replace("&", "&&"), menu)
        menu.addAction(action)
        return action


def _put_back(stories: list[FileStory]) -> bool:
    """Was the last thing that happened to a file that it was put back?"""
    last = max((story.changes[-1] for story in stories), key=lambda change: change.seq, default=None)
    return last is not None and last.rewound
