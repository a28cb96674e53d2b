"""The parts of the Skills page in isolation: list, unsaved changes, tabs and dialogs."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QCoreApplication, QEvent, QPoint, Qt
from PySide6.QtWidgets import (
    QApplication,
    QComboBox,
    QLabel,
    QLineEdit,
    QListWidget,
    QMenu,
    QPushButton,
    QSlider,
    QWidget,
)
from pytestqt.modeltest import ModelTester
from pytestqt.qtbot import QtBot

from core.domain.skill import (
    SKILL_FILE,
    ImportedSkill,
    MergeHunk,
    SkillAuthor,
    SkillFile,
    SkillFileDiff,
    SkillFinding,
    SkillRow,
    SkillSaveConflict,
    SkillUse,
    SkillVersion,
    is_valid_name,
)
from tests.ui.hands import click, find, press, write
from ui.skills import templates
from ui.skills.compare_tab import CompareTab
from ui.skills.conflict_dialog import SaveConflictDialog
from ui.skills.drafts import SkillDraft
from ui.skills.edited_skill import EditedSkill
from ui.skills.files_tab import FilesTab
from ui.skills.header import SkillHeader
from ui.skills.list_items import (
    ProposalItem,
    SkillGroupHeading,
    SkillItem,
    accessible_text,
    group_skills,
    second_line,
    state_chip,
)
from ui.skills.list_pane import SkillListPane
from ui.skills.name_dialog import NameDialog
from ui.skills.skill_import_dialog import SkillImportDialog
from ui.skills.skill_menu import SkillAction, menu_entries
from ui.skills.skill_notice import SkillNotice
from ui.skills.usage_tab import UsageTab
from ui.style.theme import Look, load_fonts
from ui.widgets.button import Button
from ui.widgets.check_box import CheckBox

REVIEW = "folder:/w/.agents/skills/code-review"
ROWS = (
    SkillRow("builtin/skill-writing", "skill-writing", "builtin", "enabled", "How to write a good skill."),
    SkillRow(REVIEW, "code-review", "folder", "untrusted", "Review.", path=REVIEW.removeprefix("folder:")),
    SkillRow("library/release-notes", "release-notes", "library", "enabled", "Notes.", version=3, use_count=3),
    SkillRow("library/deploy", "deploy", "library", "enabled", "Deploy.", version=1, pinned=True),
    SkillRow("library/old", "old", "library", "archived", "Old."),
)  # fmt: skip


def names(words: str = "", *, opened: bool = False) -> list[str]:
    return [
        accessible_text(item).split(",")[0]
        for item in group_skills(ROWS, (), query=words, folder="/w", archive_open=opened)
    ]


def test_skills_are_grouped_and_the_archived_ones_are_folded() -> None:
    assert names() == [
        "Yours", "deploy", "release-notes", "From this folder · /w", "code-review", "Built in", "skill-writing",
        "Archived",
    ]  # fmt: skip
    assert names(opened=True)[-1] == "old" and names("old") == ["Archived", "old"]
    assert names("NOTES") == ["Yours", "release-notes"] and names("no such") == []
    waiting = group_skills(ROWS, [ProposalItem("p", "deploy", "edit: +1 step", "from “Release”")], query="release")
    assert waiting[0] == SkillGroupHeading("proposed", "Proposed", 1)


def test_an_item_has_the_text_and_actions_for_its_state() -> None:
    by_name = {row.name: row for row in ROWS}
    assert second_line(by_name["code-review"]) == ".agents/skills · not trusted yet"
    assert state_chip(by_name["code-review"]) == ("untrusted", "waiting") and state_chip(by_name["deploy"]) is None
    assert second_line(by_name["release-notes"]) == "used 3×"
    assert (
        accessible_text(SkillItem(by_name["deploy"], unsaved=True))
        == "deploy, enabled, pinned, unsaved changes, Deploy."
    )
    actions = {name: [entry[0] for entry in menu_entries(row) if entry] for name, row in by_name.items()}
    assert {"rename", "unpin", "disable", "archive", "export"} <= set(actions["deploy"])
    assert SkillAction.ARCHIVE not in actions["skill-writing"] and SkillAction.TRUST in actions["code-review"]
    assert actions["old"] == [SkillAction.UNARCHIVE, SkillAction.EXPORT]


@pytest.fixture
def side(qtbot: QtBot, look: Look) -> SkillListPane:
    made = SkillListPane(look)
    qtbot.addWidget(made)
    made.resize(280, 600)
    with qtbot.waitExposed(made):
        made.show()
    return made


def test_a_search_scrolls_to_the_top(qtbot: QtBot, side: SkillListPane) -> None:
    side.show_rows(
        [SkillRow(f"library/letter-{n}", f"letter-{n}", "library", "enabled", "") for n in range(60)], (), "/w"
    )
    bar = side.list.verticalScrollBar()
    side.list.mark_open("library/letter-50")
    bar.setValue(bar.maximum())
    write(find(side, QLineEdit, "skills.search"), "letter")
    qtbot.waitUntil(lambda: bar.maximum() > 0)
    assert bar.value() == 0


@pytest.mark.colors
def test_the_list_is_navigated_with_the_keyboard(side: SkillListPane, look: Look, qtmodeltester: ModelTester) -> None:
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
    assert chosen[-1] == "library/old", "Enter unfolds the group"
    write(field, "zzz")
    assert find(side, QLabel, "skills.none").text() == "No matching skills."
    side.show_rows((), (), "")
    field.clear()
    assert "There are no skills yet" in find(side, QLabel, "skills.none").text()
    side.restyle(look)
    assert not side.grab().isNull()


PATHS = st.sampled_from(["SKILL.md", "a.sh", "b.md", "c.png"])
ACTS = st.lists(st.tuples(st.sampled_from(["write", "remove", "rename", "save"]), PATHS, st.text(max_size=3)))


@given(ACTS)
def test_unsaved_changes_are_tracked(acts: list[tuple[str, str, str]]) -> None:
    """Compare with two plain dictionaries, of the saved and of the current files."""
    work = EditedSkill("library/x", 1, "one", [SkillFile("a.sh", "", 1)])
    work.set_saved_contents("a.sh", "ls")
    saved: dict[str, str] = {SKILL_FILE: "one", "a.sh": "ls"}
    now = dict(saved)
    for act, path, text in acts:
        if act == "write":
            work.write(path, text)
            now[path] = text
        elif act == "remove" and path != SKILL_FILE:
            work.remove(path)
            now.pop(path, None)
        elif act == "rename" and path != SKILL_FILE and path in now and "new" not in now:
            work.rename(path, "new")
            now["new"] = now.pop(path)
        elif act == "save":
            work.mark_saved(work.base + 1, {SKILL_FILE: now[SKILL_FILE], **work.unsaved_changes()})
            saved = dict(now)
        assert set(work.paths()) == set(now)
        assert work.changed == (saved != now)
        assert all(work.contents(path) == body for path, body in now.items())


def test_changes_made_during_a_save_stay_unsaved() -> None:
    work = EditedSkill("library/x", 1, "one")
    work.write(SKILL_FILE, "two, and more")
    work.write("a.sh", "ls -l")
    work.mark_saved(2, {SKILL_FILE: "two", "a.sh": "ls"})
    assert work.base == 2 and work.unsaved_changes() == {SKILL_FILE: "two, and more", "a.sh": "ls -l"}
    again = EditedSkill("library/x", 2, "two")
    again.apply_draft(SkillDraft("library/x", 1, {SKILL_FILE: "two", "scripts/x.sh": "ls"}))
    assert again.base == 1 and again.unsaved_changes() == {"scripts/x.sh": "ls"}


def version(number: int, by: SkillAuthor = "user") -> SkillVersion:
    return SkillVersion(number, "letters", number * 10**15, by, "", reason="shorter" if by == "agent" else "")


def test_versions_are_compared_and_restored(qtbot: QtBot, look: Look) -> None:
    tab = CompareTab(look)
    qtbot.addWidget(tab)
    tab.resize(900, 500)
    with qtbot.waitExposed(tab):
        tab.show()
    wanted: list[tuple[int, int]] = []
    tab.diff_requested.connect(lambda a, b: wanted.append((a, b)))
    tab.show_versions([version(3), version(2, "agent"), version(1)])
    tab.request_diff()
    slider = find(tab, QSlider, "skill.compare.version")
    slider.setFocus()
    press(slider, Qt.Key.Key_Left)
    find(tab, QComboBox, "skill.compare.with").setCurrentIndex(1)
    assert wanted == [(3, 0), (2, 0), (2, 3)]
    tab.show_files([SkillFileDiff(SKILL_FILE, "a\nb\n", "a\nc\n"), SkillFileDiff("x.png", None, None, text=False)])
    assert find(tab, QLabel, "skill.compare.figures").text() == "+1 −1"
    assert find(tab, QLabel, "skill.compare.said").accessibleName().endswith("by an agent: shorter")
    find(tab, QComboBox, "skill.compare.file").setCurrentIndex(1)
    assert find(tab, QLabel, "skill.compare.empty").text() == "This is a binary file. The two versions differ."
    tab.show_files([])
    assert find(tab, QLabel, "skill.compare.empty").text() == "There are no differences."
    with qtbot.waitSignal(tab.restore_requested) as restored:
        click(find(tab, QPushButton, "skill.compare.restore"))
    assert restored.args == [2]
    press(slider, Qt.Key.Key_Right)
    assert not find(tab, QPushButton, "skill.compare.restore").isEnabled(), (
        "the newest version is current and cannot be restored"
    )
    tab.show_versions([])
    assert "no versions yet" in find(tab, QLabel, "skill.compare.empty").text()
    tab.restyle(look)


@pytest.mark.parametrize("kind", [FilesTab, CompareTab])
def test_a_narrow_tab_shows_icons_with_tooltips_rather_than_cut_words(
    look: Look, qtbot: QtBot, kind: type[FilesTab | CompareTab]
) -> None:
    column, tab = QWidget(), kind(Look(look.theme, load_fonts(1.5)))
    qtbot.addWidget(column)
    tab.setParent(column)
    tab.setGeometry(0, 0, 460, 400)
    with qtbot.waitExposed(column):
        column.show()
    buttons = [button for button in tab.findChildren(Button) if button.isVisible()]
    assert buttons
    for button in buttons:
        is_icon = button.width() < button.full_width()
        assert button.width() >= button.sizeHint().width() and is_icon == (button.toolTip() == button.text())


def test_conflicting_texts_are_merged_without_loss(qtbot: QtBot, look: Look) -> None:
    parts = (
        MergeHunk("same", ("a\n",), ("a\n",), ("a\n",)),
        MergeHunk("clash", ("b\n",), ("mine\n",), ("theirs\n",)),
        MergeHunk("theirs", ("c\n",), ("c\n",), ("C\n",)),
    )
    moved = SkillSaveConflict("library/x", 1, version(2, "agent"), "a\ntheirs\nC\n", parts)
    dialog = SaveConflictDialog(look, moved, "a\nmine\nc\n", "an agent")
    qtbot.addWidget(dialog)
    dialog.open()
    assert dialog.merged_text() == "a\ntheirs\nmine\nC\n", "by default both sides are kept"
    click(find(dialog, QPushButton, "skill.moved.choice.1.yours"))
    assert dialog.merged_text() == "a\nmine\nC\n"
    with qtbot.waitSignal(dialog.resolved) as agreed:
        click(find(dialog, QPushButton, "skill.moved.both"))
    assert agreed.args == ["a\nmine\nC\n"]


def test_an_import_is_previewed_and_confirmed(qtbot: QtBot, look: Look) -> None:
    found = (
        ImportedSkill("good", "library/good", (SkillFinding(3, "It is long.", level="warning"),), (SKILL_FILE,)),
        ImportedSkill("known", "library/known", (), (SKILL_FILE,), name_taken_by="same"),
        ImportedSkill("other", "library/other-2", (), (SKILL_FILE, "a.sh"), name_taken_by="other"),
        ImportedSkill("bad", "library/bad", (), (SKILL_FILE,), error="It has no description."),
    )
    dialog = SkillImportDialog(look, "skills.zip", found)
    qtbot.addWidget(dialog)
    dialog.open()
    yes = find(dialog, QPushButton, "skill.import.yes")
    assert yes.text() == "Import 1 skill" and dialog.selected() == ["library/good"]
    assert not find(dialog, CheckBox, "skill.import.bad").isEnabled()
    find(dialog, CheckBox, "skill.import.other").setChecked(True)
    texts = [each.text() for each in dialog.findChildren(QLabel)]
    assert "Line 3: It is long." in texts
    assert "Your library has another skill with this name. This one will be named other-2." in texts
    with qtbot.waitSignal(dialog.confirmed) as agreed:
        click(yes)
    assert agreed.args == [["library/good", "library/other-2"]]


def test_files_are_added_renamed_and_removed_with_the_keyboard(qtbot: QtBot, look: Look) -> None:
    tab = FilesTab(look)
    qtbot.addWidget(tab)
    tab.resize(800, 500)
    with qtbot.waitExposed(tab):
        tab.show()
    work = EditedSkill("library/x", 1, "one", [SkillFile("scripts/a.sh", "", 3, executable=True)])
    wanted: list[str] = []
    tab.file_requested.connect(wanted.append)
    tab.show_edit(work, read_only=False)
    assert wanted == ["scripts/a.sh"]
    work.set_saved_contents("scripts/a.sh", "ls\n")
    tab.show_file("scripts/a.sh")
    tab.source.setFocus()
    write(tab.source, "# ")
    assert work.unsaved_changes() == {"scripts/a.sh": "# ls\n"}
    press(tab.source, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    write(find(tab, QLineEdit, "skill.find.text"), "ls")
    qtbot.waitUntil(lambda: find(tab, QLabel, "skill.find.count").text() == "1 of 1")
    press(find(tab, QLineEdit, "skill.find.text"), Qt.Key.Key_Escape)
    listed = find(tab, QListWidget, "skill.files.list")
    press(listed, Qt.Key.Key_F2)
    dialog = find(tab, NameDialog, "skill.name")
    field = find(dialog, QLineEdit, "skill.name.field")
    field.setText("../up.sh")
    assert "relative path inside the skill" in find(dialog, QLabel, "skill.name.wrong").text()
    field.setText("scripts/b.sh")
    press(field, Qt.Key.Key_Return)
    assert work.unsaved_changes() == {"scripts/a.sh": None, "scripts/b.sh": "# ls\n"}
    removed: list[tuple[str, object]] = []
    tab.removed.connect(lambda path, body: removed.append((path, body)))
    press(listed, Qt.Key.Key_Delete)
    assert removed == [("scripts/b.sh", "# ls\n")] and tab.count() == 0
    tab.restore(*removed[0])
    assert work.contents("scripts/b.sh") == "# ls\n"
    tab.add("assets/x.png", b"\x89PNG")
    assert "cannot be shown" in find(tab, QLabel, "skill.files.note").text()
    tab.restyle(look)


def test_a_proposal_has_no_menu(qtbot: QtBot, look: Look) -> None:
    header = SkillHeader(look)
    qtbot.addWidget(header)
    header.show_skill(ROWS[0], 1, "", menu_entries(ROWS[0]))
    header.open_menu(QPoint())
    (menu,) = header.findChildren(QMenu)
    menu.close()
    QCoreApplication.sendPostedEvents(menu, QEvent.Type.DeferredDelete)
    header.show_proposal("deploy", "Proposed change", "", source="")
    header.open_menu(QPoint())
    assert not header.findChildren(QMenu)


def test_the_notice_of_an_untrusted_skill_lists_scripts_and_findings(qtbot: QtBot, look: Look) -> None:
    card = SkillNotice(look)
    qtbot.addWidget(card)
    files = [SkillFile(SKILL_FILE, "", 9), SkillFile("scripts/run.sh", "", 9), SkillFile("references/a.md", "", 9)]
    card.show_untrusted(
        ROWS[1], files, [SkillFinding(7, "It hides characters.", level="warning"), SkillFinding(9, "-", level="note")]
    )
    text = card.accessibleName()
    for part in ("not trusted", "scripts/run.sh", "1 other file.", "Line 7: It hides characters.", "/w/.agents/skills"):
        assert part in text
    assert "Line 9" not in text
    with qtbot.waitSignal(card.action_requested) as done:
        find(card, QPushButton, "skill.card.yes").click()
    assert done.args == [SkillAction.TRUST] and not find(card, QPushButton, "skill.card.no").isVisible()
    card.restyle(look)


def test_the_notice_of_an_untrusted_skill_counts_the_findings_that_it_does_not_list(qtbot: QtBot, look: Look) -> None:
    card = SkillNotice(look)
    qtbot.addWidget(card)
    findings = [SkillFinding(line, "It hides characters.", level="warning") for line in range(1, 10)]
    card.show_untrusted(ROWS[1], [SkillFile("scripts/run.sh", "", 9), SkillFile("a.md", "", 9)], findings)
    text = card.accessibleName()
    assert "Line 6:" in text and "Line 7:" not in text and "And 3 more findings." in text
    assert "1 other file." in text


def test_only_a_rating_counts_as_success(qtbot: QtBot, look: Look) -> None:
    tab = UsageTab(look)
    qtbot.addWidget(tab)
    said = find(tab, QLabel, "skill.used.said")
    completed = SkillUse("s1", "Letter", 1, 3, 10**15, "completed")
    tab.show_uses([completed])
    assert said.text() == "1 run · not rated"
    tab.show_uses([completed, completed])
    assert said.text() == "2 runs · none rated"
    rated = [SkillUse("s2", "Bill", 1, 3, 10**15, "completed", rating) for rating in ("up", "down", "up")]
    tab.show_uses([completed, *rated])
    assert said.text() == "4 runs · 2 of 3 rated good"


def test_a_run_that_used_the_skill_is_opened(qtbot: QtBot, look: Look) -> None:
    tab = UsageTab(look)
    qtbot.addWidget(tab)
    tab.resize(600, 400)
    tab.show_uses(
        [SkillUse("s1", "Letter", 1, 3, 10**15, "done", "up"), SkillUse("s2", "Bill", 2, 3, 10**15, "failed")]
    )
    tab.show()
    assert find(tab, QLabel, "skill.used.said").text() == "2 runs · 1 of 1 rated good · 1 failed"
    with qtbot.waitSignal(tab.session_requested) as wanted:
        lines = tab.findChildren(QLabel)
        assert lines
        runs = tab.findChild(type(tab._list), "skill.used.list")
        assert runs is not None
        runs.setFocus()
        press(runs, Qt.Key.Key_Down)
        press(runs, Qt.Key.Key_Return)
    assert wanted.args[0] in {"s1", "s2"}
    tab.show_uses([])
    assert "No run has used this skill yet" in find(tab, QLabel, "skill.used.said").text()
    tab.restyle(look)


@pytest.mark.parametrize("template", [key for key, _ in templates.template_choices()])
def test_every_template_is_a_valid_skill(template: str, qapp: QApplication) -> None:
    from core.skills.skill_md import parse_skill

    text, files = templates.fill_template(template, "weekly-report")
    reading = parse_skill(text, list(files), folder="weekly-report")
    assert reading.valid, reading.findings
    assert is_valid_name("weekly-report") and all(not Path(path).is_absolute() for path in files)
