"""The skill that is open: its head, its tabs, and the text as it is written."""

from collections.abc import Mapping, Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QStackedWidget, QVBoxLayout, QWidget

from core.domain.skill import MAIN, FileDifference, Finding, OpenSkill, SkillRow
from ui.skills.cards import Card
from ui.skills.compare import CompareTab
from ui.skills.editor import SkillEditor
from ui.skills.files import FilesTab
from ui.skills.foot import Measures
from ui.skills.header import SkillHeader
from ui.skills.menu import deeds
from ui.skills.source import Mark
from ui.skills.used import UsedTab
from ui.skills.work import Body, Work
from ui.theme import Look
from ui.visible import visible
from ui.widgets.tabs import TabLine

WRITE, BOTH, COMPARE, FILES, USED = "write", "both", "compare", "files", "used"


class Desk(QWidget):
    """`wanted` names a deed; the rest asks for what is to be shown."""

    wanted = Signal(str)
    changed = Signal()
    keep = Signal()
    check_wanted = Signal()
    compare_wanted = Signal(int, int)
    tab_changed = Signal(str)

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self.setObjectName("skill.desk")
        self.opened: OpenSkill | None = None
        self.work = Work("", 0, "")
        self.read_only = False
        self.checked_as = ""
        """The name that its text should have; empty for a file that is no skill."""
        self.header = SkillHeader(look)
        self.card = Card(look)
        self.editor = SkillEditor(look)
        self.compare = CompareTab(look)
        self.files = FilesTab(look)
        self.used = UsedTab(look)
        self.tabs = TabLine(look, QWidget(), name="skill.tabs", said=self.tr("Views of the skill"))
        self._stack = QStackedWidget()
        self._lay_out()
        self.header.wanted.connect(self.wanted)
        self.card.done.connect(self.wanted)
        self.editor.rested.connect(self._rested)
        self.editor.keep.connect(self._kept)
        self.editor.changed.connect(self._edited)
        self.files.changed.connect(self._files_changed)
        self.compare.wanted.connect(self.compare_wanted)
        self.tabs.chosen.connect(self._show_tab)

    def show_skill(self, opened: OpenSkill, work: Work) -> None:
        """Open one: with `work` as far as it was written."""
        same = self.opened is not None and work is self.work
        self.opened, self.work = opened, work
        self.checked_as = opened.row.key.rpartition("/")[2]
        self.read_only = opened.row.state == "archived"
        text = work.body(MAIN)
        saved = work.saved(MAIN)
        if not same:
            self.editor.open(
                text if isinstance(text, str) else "",
                MAIN,
                saved=saved if isinstance(saved, str) else "",
                read_only=self.read_only,
            )
        else:
            self.editor.saved(saved if isinstance(saved, str) else "")
            self.editor.source.setReadOnly(self.read_only)
        self.show_findings(opened.findings, None)
        self.compare.show_versions(opened.versions)
        self.files.show_work(work, read_only=self.read_only)
        self.show_row(opened.row)
        self._show_card()
        if self.tabs.current() == COMPARE:
            self.compare.ask()

    def show_proposal(
        self,
        key: str,
        *,
        title: str,
        about: str,
        source: str,
        path: str,
        before: str | None,
        text: str,
        added: Sequence[int],
    ) -> None:
        """A change that waits for a word: what is new in it is marked; it is read only until it is to be edited."""
        self.opened, self.read_only = None, True
        self.work = Work(key, 0, text)
        self.checked_as = title if path == MAIN else ""
        self.card.hide()
        self.header.show_proposal(title, about, source=source)
        self.editor.open(text, path, read_only=True)
        self.editor.source.tint(added)
        if added:
            self.editor.source.go_to_line(added[0])
        self.editor.foot.show_saved(self.tr("not kept yet"), "waiting")
        self.compare.show_versions(())
        self.compare.show_files([FileDifference(path, before, text)])
        self.files.show_work(Work("", 0, ""), read_only=True)
        self.used.show_uses(())
        for tab in (FILES, USED):
            self.tabs.show_figures(tab, [])
        self.check_wanted.emit()

    def clear(self) -> None:
        """Nothing is open: what is written here belongs to nobody."""
        self.opened, self.work = None, Work("", 0, "")

    def edit_proposal(self) -> None:
        """From now on its text can be written over before it is kept."""
        self.read_only = False
        self.editor.source.setReadOnly(False)
        self.header.edit_begun()
        if self.tabs.current() not in (WRITE, BOTH):
            self.choose(BOTH)
        self.focus_text()

    def show_row(self, row: SkillRow) -> None:
        """What is known of it changed, not its text."""
        count = len(self.opened.versions) if self.opened else 0
        self.header.show_skill(row, count, row.description, deeds(row))
        self.tabs.show_figures(FILES, [(str(self.files.count()), "second")] if self.files.count() else [])
        used = self.tr("1 use") if row.uses == 1 else self.tr("{} uses").format(row.uses)
        self.tabs.show_figures(USED, [(used, "second")] if row.uses else [])
        self.show_saving()

    def show_saving(self) -> None:
        if self.opened is None:
            return
        builtin = self.opened.row.source == "builtin"
        unsaved = self.work.changed
        self.header.show_saving(can=unsaved, said=self.tr("Save as yours") if builtin else self.tr("Save"))
        saved = self.tr("version {}").format(self.work.base) if self.work.base else ""
        said = self.tr("not saved") if unsaved else saved
        said = self.tr("read only") if self.read_only else said
        self.editor.foot.show_saved(said, "waiting" if unsaved else "second")

    def show_findings(self, findings: Sequence[Finding], measures: Measures | None) -> None:
        marks = [Mark(each.line, each.level, _said(each)) for each in findings]
        self.editor.show_found(marks, measures)

    def show_files(self, files: Sequence[FileDifference]) -> None:
        """A difference that was asked for, with what is written now laid over it."""
        self.compare.show_files(files)

    def now(self) -> Mapping[str, Body]:
        """What differs from what is saved, with the text as it stands this moment."""
        self.work.write(MAIN, self.editor.text())
        return self.work.changes()

    def take(self, text: str, base: int) -> None:
        """Another text as one change that undo takes back; nothing is saved by it."""
        self.work.base = base
        self.editor.source.replace_all(text)
        self.choose(WRITE if self.tabs.current() not in (WRITE, BOTH) else self.tabs.current())

    def choose(self, tab: str) -> None:
        self.tabs.choose(tab)

    def focus_text(self) -> None:
        self.editor.source.setFocus(Qt.FocusReason.OtherFocusReason)

    def restyle(self, look: Look) -> None:
        self._look = look
        for part in (self.header, self.card, self.editor, self.compare, self.files, self.used, self.tabs):
            part.restyle(look)

    def _edited(self) -> None:
        if not self.work.changed:
            self.work.write(MAIN, self.editor.text())
            self.show_saving()
        self.changed.emit()

    def _rested(self) -> None:
        self.now()
        self.show_saving()
        self.check_wanted.emit()

    def _kept(self) -> None:
        self.now()
        self.keep.emit()

    def _files_changed(self) -> None:
        if self.opened:
            self.show_row(self.opened.row)
        self.keep.emit()
        self.check_wanted.emit()

    def _show_card(self) -> None:
        row = self.opened.row if self.opened else None
        if self.opened is None or row is None:
            self.card.hide()
        elif row.state in ("untrusted", "changed"):
            self.card.show_untrusted(row, self.opened.files, self.opened.findings)
        elif row.state == "broken":
            self.card.show_words(self.tr("No model can use this skill."), visible(row.trouble), ("", ""), ("", ""))
        elif row.state == "shadowed":
            told = self.tr("Another skill of this name goes before it: {}.").format(visible(row.shadowed_by))
            self.card.show_words(told, self.tr("Rename or switch off one of them."), ("", ""), ("", ""))
        elif self.work.base < row.version and self.work.changed:
            told = self.tr("This text was not saved, and somebody saved another one meanwhile.")
            why = self.tr("Save it and choose what stands where both changed the same lines.")
            self.card.show_words(told, why, ("discard", self.tr("Throw mine away")), ("save", self.tr("Save")))
        elif self.work.changed:
            told = self.tr("This text was not saved when it was left. It is here as it was.")
            self.card.show_words(told, "", ("discard", self.tr("Throw it away")), ("save", self.tr("Save")))
        else:
            self.card.hide()

    def _show_tab(self, name: str) -> None:
        parts = {COMPARE: self.compare, FILES: self.files, USED: self.used}
        self._stack.setCurrentWidget(parts.get(name, self.editor))
        if name in (WRITE, BOTH):
            self.editor.show_preview(name == BOTH)
        if name == COMPARE:
            self.compare.ask()
        self.tab_changed.emit(name)

    def _lay_out(self) -> None:
        for name, text in (
            (WRITE, self.tr("Write")),
            (BOTH, self.tr("Write + preview")),
            (COMPARE, self.tr("Difference")),
            (FILES, self.tr("Files")),
            (USED, self.tr("Used in")),
        ):
            self.tabs.add(name, text)
        for part in (self.editor, self.compare, self.files, self.used):
            self._stack.addWidget(part)
        around = QVBoxLayout()
        around.setContentsMargins(16, 0, 16, 8)
        around.addWidget(self.card)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.header)
        column.addLayout(around)
        column.addWidget(self.tabs)
        column.addWidget(self._stack, 1)


def _said(finding: Finding) -> str:
    return " ".join(part for part in (finding.what, finding.why, finding.do) if part)
