"""The parts of the page by themselves: the list, the work, what differs, and the questions it asks."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QComboBox, QLabel, QLineEdit, QListWidget, QPushButton, QSlider, QToolButton
from pytestqt.modeltest import ModelTester
from pytestqt.qtbot import QtBot

from core.domain.skill import (
    MAIN,
    FileDifference,
    Finding,
    Imported,
    Moved,
    Part,
    SkillFile,
    SkillRow,
    SkillUse,
    SkillVersion,
    valid_name,
)
from tests.ui.hands import click, find, press, write
from ui.skills import templates
from ui.skills.cards import Card
from ui.skills.compare import CompareTab
from ui.skills.drafts import SkillDraft
from ui.skills.files import FilesTab
from ui.skills.import_dialog import ImportDialog
from ui.skills.menu import deeds
from ui.skills.moved import MovedDialog
from ui.skills.name_dialog import NameDialog
from ui.skills.rows import Heading, Line, Proposed, arrange, chip, second_line, spoken
from ui.skills.side import SkillSide
from ui.skills.used import UsedTab
from ui.skills.work import Work
from ui.theme import Look
from ui.widgets.tick import Tick

REVIEW = "folder:/w/.agents/skills/code-review"
ROWS = (
    SkillRow("builtin/skill-writing", "skill-writing", "builtin", "on", "How to write a good skill."),
    SkillRow(REVIEW, "code-review", "folder", "untrusted", "Review.", place=REVIEW.removeprefix("folder:")),
    SkillRow("library/release-notes", "release-notes", "library", "on", "Notes.", version=3, uses=3),
    SkillRow("library/deploy", "deploy", "library", "on", "Deploy.", version=1, pinned=True),
    SkillRow("library/old", "old", "library", "archived", "Old."),
)  # fmt: skip


def names(words: str = "", *, opened: bool = False) -> list[str]:
    return [spoken(item).split(",")[0] for item in arrange(ROWS, (), words=words, folder="/w", opened=opened)]


def test_skills_stand_in_groups_and_what_is_put_away_is_folded() -> None:
    assert names() == [
        "Yours", "deploy", "release-notes", "From this folder · /w", "code-review", "Built in", "skill-writing",
        "Archived",
    ]  # fmt: skip
    assert names(opened=True)[-1] == "old" and names("old") == ["Archived", "old"]
    assert names("NOTES") == ["Yours", "release-notes"] and names("no such") == []
    waiting = arrange(ROWS, [Proposed("p", "deploy", "edit: +1 step", "from “Release”")], words="release")
    assert waiting[0] == Heading("proposed", "Proposed", 1)


def test_a_line_says_what_matters() -> None:
    by_name = {row.name: row for row in ROWS}
    assert second_line(by_name["code-review"]) == ".agents/skills · not trusted yet"
    assert chip(by_name["code-review"]) == ("off", "waiting") and chip(by_name["deploy"]) == ("", "")
    assert second_line(by_name["release-notes"]) == "used 3×"
    assert spoken(Line(by_name["deploy"], unsaved=True)) == "deploy, on, pinned, not saved, Deploy."
    assert {name for name, _ in deeds(by_name["deploy"])} >= {"rename", "unpin", "disable", "archive", "export"}
    assert "archive" not in dict(deeds(by_name["skill-writing"])) and "trust" in dict(deeds(by_name["code-review"]))
    assert [name for name, _ in deeds(by_name["old"])] == ["bring", "export"]


@pytest.fixture
def side(qtbot: QtBot, look: Look) -> SkillSide:
    made = SkillSide(look)
    qtbot.addWidget(made)
    made.resize(280, 600)
    with qtbot.waitExposed(made):
        made.show()
    return made


def test_what_is_searched_begins_at_the_top(qtbot: QtBot, side: SkillSide) -> None:
    side.show_rows([SkillRow(f"library/letter-{n}", f"letter-{n}", "library", "on", "") for n in range(60)], (), "/w")
    bar = side.list.verticalScrollBar()
    side.list.mark("library/letter-50")
    bar.setValue(bar.maximum())
    write(find(side, QLineEdit, "skills.search"), "letter")
    qtbot.waitUntil(lambda: bar.maximum() > 0)
    assert bar.value() == 0


@pytest.mark.colours
def test_the_list_is_walked_by_keys(side: SkillSide, look: Look, qtmodeltester: ModelTester) -> None:
    side.show_rows(ROWS, (), "/w")
    qtmodeltester.check(side.list.rows, force_py=True)  # type: ignore[no-untyped-call]
    chosen: list[str] = []
    side.list.chosen.connect(chosen.append)
    field = find(side, QLineEdit, "skills.search")
    field.setFocus()
    write(field, "e")
    press(field, Qt.Key.Key_Down)
    press(side.list, Qt.Key.Key_Return)
    press(side.list, Qt.Key.Key_Down)
    press(side.list, Qt.Key.Key_Return)
    assert chosen == ["library/deploy", "library/release-notes"]
    field.clear()
    press(side.list, Qt.Key.Key_End)
    press(side.list, Qt.Key.Key_Return)
    press(side.list, Qt.Key.Key_End)
    press(side.list, Qt.Key.Key_Return)
    assert chosen[-1] == "library/old", "the folded group opens by Enter"
    write(field, "zzz")
    assert find(side, QLabel, "skills.none").text() == "No skill has these words."
    side.show_rows((), (), "")
    field.clear()
    assert "No skills yet" in find(side, QLabel, "skills.none").text()
    side.restyle(look)
    assert not side.grab().isNull()


PATHS = st.sampled_from(["SKILL.md", "a.sh", "b.md", "c.png"])
ACTS = st.lists(st.tuples(st.sampled_from(["write", "remove", "rename", "save"]), PATHS, st.text(max_size=3)))


@given(ACTS)
def test_work_knows_what_is_not_saved(acts: list[tuple[str, str, str]]) -> None:
    """Against a plain dictionary of what was saved and one of what is written."""
    work = Work("library/x", 1, "one", [SkillFile("a.sh", "", 1)])
    work.loaded("a.sh", "ls")
    saved: dict[str, str] = {MAIN: "one", "a.sh": "ls"}
    now = dict(saved)
    for act, path, text in acts:
        if act == "write":
            work.write(path, text)
            now[path] = text
        elif act == "remove" and path != MAIN:
            work.remove(path)
            now.pop(path, None)
        elif act == "rename" and path != MAIN and path in now and "new" not in now:
            work.rename(path, "new")
            now["new"] = now.pop(path)
        elif act == "save":
            work.settle(work.base + 1, {MAIN: now[MAIN], **work.changes()})
            saved = dict(now)
        assert set(work.paths()) == set(now)
        assert work.changed == (saved != now)
        assert all(work.body(path) == body for path, body in now.items())


def test_what_is_written_while_a_save_is_under_way_stays_unsaved() -> None:
    work = Work("library/x", 1, "one")
    work.write(MAIN, "two, and more")
    work.write("a.sh", "ls -l")
    work.settle(2, {MAIN: "two", "a.sh": "ls"})
    assert work.base == 2 and work.changes() == {MAIN: "two, and more", "a.sh": "ls -l"}
    again = Work("library/x", 2, "two")
    again.take_up(SkillDraft("library/x", 1, {MAIN: "two", "scripts/x.sh": "ls"}))
    assert again.base == 1 and again.changes() == {"scripts/x.sh": "ls"}


def version(number: int, by: str = "person") -> SkillVersion:
    return SkillVersion(number, "letters", number * 10**15, by, "", why="shorter" if by == "agent" else "")


def test_versions_are_compared_and_restored(qtbot: QtBot, look: Look) -> None:
    tab = CompareTab(look)
    qtbot.addWidget(tab)
    tab.resize(900, 500)
    with qtbot.waitExposed(tab):
        tab.show()
    wanted: list[tuple[int, int]] = []
    tab.wanted.connect(lambda a, b: wanted.append((a, b)))
    tab.show_versions([version(3), version(2, "agent"), version(1)])
    tab.ask()
    slider = find(tab, QSlider, "skill.compare.version")
    slider.setFocus()
    press(slider, Qt.Key.Key_Left)
    find(tab, QComboBox, "skill.compare.with").setCurrentIndex(1)
    assert wanted == [(3, 0), (2, 0), (2, 3)]
    tab.show_files([FileDifference(MAIN, "a\nb\n", "a\nc\n"), FileDifference("x.png", None, None, text=False)])
    assert find(tab, QLabel, "skill.compare.figures").text() == "+1 −1"
    assert find(tab, QLabel, "skill.compare.said").accessibleName().endswith("by an agent: shorter")
    find(tab, QComboBox, "skill.compare.file").setCurrentIndex(1)
    assert find(tab, QLabel, "skill.compare.empty").text() == "This file is no text. It differs."
    tab.show_files([])
    assert find(tab, QLabel, "skill.compare.empty").text() == "Nothing differs."
    with qtbot.waitSignal(tab.restore_wanted) as restored:
        click(find(tab, QPushButton, "skill.compare.restore"))
    assert restored.args == [2]
    press(slider, Qt.Key.Key_Right)
    assert not find(tab, QPushButton, "skill.compare.restore").isEnabled(), "the newest one needs no restoring"
    tab.show_versions([])
    assert "no version yet" in find(tab, QLabel, "skill.compare.empty").text()
    tab.restyle(look)


def test_two_texts_become_one_and_nothing_is_lost(qtbot: QtBot, look: Look) -> None:
    parts = (
        Part("same", ("a\n",), ("a\n",), ("a\n",)),
        Part("clash", ("b\n",), ("mine\n",), ("theirs\n",)),
        Part("theirs", ("c\n",), ("c\n",), ("C\n",)),
    )
    moved = Moved("library/x", 1, version(2, "agent"), "a\ntheirs\nC\n", parts)
    dialog = MovedDialog(look, moved, "a\nmine\nc\n", "an agent")
    qtbot.addWidget(dialog)
    dialog.open()
    assert dialog.text() == "a\ntheirs\nmine\nC\n", "until something is chosen both stand there"
    click(find(dialog, QToolButton, "skill.moved.choice.1.yours"))
    assert dialog.text() == "a\nmine\nC\n"
    with qtbot.waitSignal(dialog.agreed) as agreed:
        click(find(dialog, QPushButton, "skill.moved.both"))
    assert agreed.args == ["a\nmine\nC\n"]


def test_what_an_import_brings_is_seen_first(qtbot: QtBot, look: Look) -> None:
    found = (
        Imported("good", "library/good", (Finding(3, "It is long.", level="warning"),), (MAIN,)),
        Imported("known", "library/known", (), (MAIN,), clash="same"),
        Imported("other", "library/other-2", (), (MAIN, "a.sh"), clash="other"),
        Imported("bad", "library/bad", (), (MAIN,), trouble="It has no description."),
    )
    dialog = ImportDialog(look, "skills.zip", found)
    qtbot.addWidget(dialog)
    dialog.open()
    yes = find(dialog, QPushButton, "skill.import.yes")
    assert yes.text() == "Add 1 skill" and dialog.chosen() == ["library/good"]
    assert not find(dialog, Tick, "skill.import.bad").isEnabled()
    find(dialog, Tick, "skill.import.other").setChecked(True)
    said = [each.text() for each in dialog.findChildren(QLabel)]
    assert "Line 3: It is long." in said and "Another skill has this name. This one would be called other-2." in said
    with qtbot.waitSignal(dialog.agreed) as agreed:
        click(yes)
    assert agreed.args == [["library/good", "library/other-2"]]


def test_files_are_added_named_and_taken_away_by_keys(qtbot: QtBot, look: Look) -> None:
    tab = FilesTab(look)
    qtbot.addWidget(tab)
    tab.resize(800, 500)
    with qtbot.waitExposed(tab):
        tab.show()
    work = Work("library/x", 1, "one", [SkillFile("scripts/a.sh", "", 3, executable=True)])
    wanted: list[str] = []
    tab.wanted.connect(wanted.append)
    tab.show_work(work, read_only=False)
    assert wanted == ["scripts/a.sh"]
    work.loaded("scripts/a.sh", "ls\n")
    tab.show_file("scripts/a.sh")
    tab.source.setFocus()
    write(tab.source, "# ")
    assert work.changes() == {"scripts/a.sh": "# ls\n"}
    press(tab.source, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    write(find(tab, QLineEdit, "skill.find.words"), "ls")
    qtbot.waitUntil(lambda: find(tab, QLabel, "skill.find.said").text() == "1 of 1")
    press(find(tab, QLineEdit, "skill.find.words"), Qt.Key.Key_Escape)
    listed = find(tab, QListWidget, "skill.files.list")
    press(listed, Qt.Key.Key_F2)
    dialog = find(tab, NameDialog, "skill.name")
    field = find(dialog, QLineEdit, "skill.name.field")
    field.setText("../up.sh")
    assert "must stay in the skill" in find(dialog, QLabel, "skill.name.wrong").text()
    field.setText("scripts/b.sh")
    press(field, Qt.Key.Key_Return)
    assert work.changes() == {"scripts/a.sh": None, "scripts/b.sh": "# ls\n"}
    removed: list[tuple[str, object]] = []
    tab.removed.connect(lambda path, body: removed.append((path, body)))
    press(listed, Qt.Key.Key_Delete)
    assert removed == [("scripts/b.sh", "# ls\n")] and tab.count() == 0
    tab.put_back(*removed[0])
    assert work.body("scripts/b.sh") == "# ls\n"
    tab.add("assets/x.png", b"\x89PNG")
    assert "no text" in find(tab, QLabel, "skill.files.note").text()
    tab.restyle(look)


def test_a_skill_nobody_trusts_is_shown_for_what_it_is(qtbot: QtBot, look: Look) -> None:
    card = Card(look)
    qtbot.addWidget(card)
    files = [SkillFile(MAIN, "", 9), SkillFile("scripts/run.sh", "", 9), SkillFile("references/a.md", "", 9)]
    card.show_untrusted(
        ROWS[1], files, [Finding(7, "It hides letters.", level="warning"), Finding(9, "-", level="note")]
    )
    said = card.accessibleName()
    for part in ("It is off", "scripts/run.sh", "And 1 other file.", "Line 7: It hides letters.", "/w/.agents/skills"):
        assert part in said
    assert "Line 9" not in said
    with qtbot.waitSignal(card.done) as done:
        find(card, QPushButton, "skill.card.yes").click()
    assert done.args == ["trust"] and not find(card, QPushButton, "skill.card.no").isVisible()
    card.restyle(look)


def test_runs_that_used_it_are_opened(qtbot: QtBot, look: Look) -> None:
    tab = UsedTab(look)
    qtbot.addWidget(tab)
    tab.resize(600, 400)
    tab.show_uses(
        [SkillUse("s1", "Letter", 1, 3, 10**15, "done", "good"), SkillUse("s2", "Bill", 2, 3, 10**15, "failed")]
    )
    tab.show()
    assert find(tab, QLabel, "skill.used.said").text() == "2 runs · 1 of 2 ended well"
    with qtbot.waitSignal(tab.wanted) as wanted:
        lines = tab.findChildren(QLabel)
        assert lines
        runs = tab.findChild(type(tab._list), "skill.used.list")
        assert runs is not None
        runs.setFocus()
        press(runs, Qt.Key.Key_Down)
        press(runs, Qt.Key.Key_Return)
    assert wanted.args[0] in {"s1", "s2"}
    tab.show_uses([])
    assert "No run has used it yet" in find(tab, QLabel, "skill.used.said").text()
    tab.restyle(look)


@pytest.mark.parametrize("template", [key for key, _ in templates.choices()])
def test_a_template_is_a_skill(template: str, qapp: QApplication) -> None:
    from core.skills.format import read

    text, files = templates.filled(template, "weekly-report")
    reading = read(text, list(files), folder="weekly-report")
    assert reading.valid, reading.findings
    assert valid_name("weekly-report") and all(not Path(path).is_absolute() for path in files)
