"""The skill editor, used with the keyboard and the mouse."""

from pathlib import Path
from time import process_time

import pytest
from PySide6.QtCore import QPoint, QSize, Qt
from PySide6.QtGui import QTextCharFormat, QTextCursor, QTextLayout
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QPushButton, QToolButton
from pytestqt.qtbot import QtBot

from tests.ui.hands import click, find, press, write
from ui.skills.drafts import SkillDraft, SkillDrafts
from ui.skills.editor import SkillEditor
from ui.skills.editor_status import SkillSizes
from ui.skills.skill_preview import preview_slice
from ui.skills.source_editor import FindingMark, SourceEditor
from ui.style.theme import Look, load_fonts

SKILL = "---\nname: letters\ndescription: Write letters.\n---\n\n# Letters\n\n1. Read (all) of it\n2. Write `it`\n"
CONTROL = Qt.KeyboardModifier.ControlModifier
SHIFT = Qt.KeyboardModifier.ShiftModifier


@pytest.fixture
def editor(qtbot: QtBot, look: Look) -> SkillEditor:
    made = SkillEditor(look)
    qtbot.addWidget(made)
    made.resize(900, 600)
    with qtbot.waitExposed(made):
        made.show()
    made.open(SKILL, "SKILL.md")
    made.source.setFocus()
    qtbot.waitUntil(made.source.hasFocus)
    return made


def at(editor: SkillEditor, line: int, column: int = -1) -> SourceEditor:
    """Place the cursor on a line, at its end or at a column."""
    field = editor.source
    block = field.document().findBlockByNumber(line)
    cursor = QTextCursor(block)
    cursor.setPosition(block.position() + (block.length() - 1 if column < 0 else column))
    field.setTextCursor(cursor)
    return field


def lines(editor: SkillEditor) -> list[str]:
    return editor.text().split("\n")


def test_enter_continues_and_ends_a_list(editor: SkillEditor) -> None:
    field = at(editor, 8)
    press(field, Qt.Key.Key_Return)
    write(field, "Send it")
    assert lines(editor)[9] == "3. Send it"
    press(field, Qt.Key.Key_Return)
    press(field, Qt.Key.Key_Return)
    assert lines(editor)[9:11] == ["3. Send it", ""]
    field = at(editor, 1)
    press(field, Qt.Key.Key_Return)
    assert lines(editor)[2] == "", "the front matter has no Markdown lists"


def test_tab_indents_and_brackets_close(editor: SkillEditor) -> None:
    field = at(editor, 8, 0)
    press(field, Qt.Key.Key_Tab)
    assert lines(editor)[8] == "  2. Write `it`"
    press(field, Qt.Key.Key_Backtab)
    assert lines(editor)[8] == "2. Write `it`"
    field = at(editor, 8)
    write(field, " (x)")
    assert lines(editor)[8].endswith(" (x)")
    write(field, "[")
    press(field, Qt.Key.Key_Backspace)
    assert lines(editor)[8].endswith(" (x)")
    field = at(editor, 8, 3)
    for _ in range(5):
        press(field, Qt.Key.Key_Right, SHIFT)
    write(field, "*")
    assert lines(editor)[8] == "2. *Write* `it` (x)"


def test_characters_outside_the_basic_plane_are_handled(editor: SkillEditor) -> None:
    field = at(editor, 7)
    field.insertPlainText(" 😀😀")
    press(field, Qt.Key.Key_Backspace)
    write(field, "(a)")
    press(field, Qt.Key.Key_Return)
    assert lines(editor)[7:9] == ["1. Read (all) of it 😀(a)", "2. "]


def test_undo_works_across_a_save(editor: SkillEditor) -> None:
    field = at(editor, 8)
    write(field, " now")
    editor.mark_saved(editor.text())
    press(field, Qt.Key.Key_Z, CONTROL)
    assert editor.text() == SKILL
    press(field, Qt.Key.Key_Z, CONTROL | SHIFT)
    assert editor.text() == SKILL.replace("`it`\n", "`it` now\n")


def test_findings_are_shown_at_their_lines(editor: SkillEditor) -> None:
    marks = [FindingMark(2, "error", "The name is taken."), FindingMark(8, "warning", "This is long.")]
    editor.show_findings(marks, SkillSizes(7, 14, 20))
    found = find(editor, QPushButton, "skill.foot.findings")
    assert found.text() == "1 error · 1 warning" and "The name is taken." in found.toolTip()
    click(found)
    assert editor.source.textCursor().blockNumber() == 1
    press(editor.source, Qt.Key.Key_F8)
    assert editor.source.textCursor().blockNumber() == 7
    press(editor.source, Qt.Key.Key_F8)
    assert editor.source.textCursor().blockNumber() == 1
    assert editor.source.finding_text(7) == "This is long."
    waves = [
        each
        for each in editor.source.extraSelections()
        if each.format.underlineStyle() == QTextCharFormat.UnderlineStyle.WaveUnderline
    ]
    assert [each.cursor.blockNumber() for each in waves] == [1, 7]
    assert find(editor, QLabel, "skill.foot.measures").accessibleName().startswith("name 7/64")


def test_front_matter_keys_are_completed(editor: SkillEditor, qtbot: QtBot) -> None:
    field = at(editor, 2)
    press(field, Qt.Key.Key_Return)
    write(field, "l")
    assert editor.completion.isVisible() and editor.completion.count() == 1
    press(field, Qt.Key.Key_Tab)
    assert lines(editor)[3] == "license: " and not editor.completion.isVisible()
    press(field, Qt.Key.Key_Return)
    press(field, Qt.Key.Key_Space, CONTROL)
    offered = [editor.completion.item(row).text().split()[0] for row in range(editor.completion.count())]
    assert offered == ["compatibility", "metadata", "allowed-tools"], "keys that are present are not offered"
    press(field, Qt.Key.Key_Escape)
    assert not editor.completion.isVisible()


def test_text_is_found_and_replaced(editor: SkillEditor, qtbot: QtBot) -> None:
    press(editor.source, Qt.Key.Key_F, CONTROL)
    words, said = find(editor, QLineEdit, "skill.find.text"), find(editor, QLabel, "skill.find.count")
    write(words, "LETTERS")
    qtbot.waitUntil(lambda: said.text() == "1 of 3")
    press(words, Qt.Key.Key_Return, SHIFT)
    qtbot.waitUntil(lambda: said.text() == "3 of 3")
    assert editor.source.textCursor().blockNumber() == 5
    click(find(editor, QToolButton, "skill.find.case"))
    qtbot.waitUntil(lambda: said.text() == "No matches")
    click(find(editor, QToolButton, "skill.find.case"))
    click(find(editor, QToolButton, "skill.find.pattern"))
    words.setText(r"^(\d)\. (\w+)")
    qtbot.waitUntil(lambda: said.text() == "1 of 2")
    instead = find(editor, QLineEdit, "skill.find.replacement")
    write(instead, r"$1) \2!")
    press(instead, Qt.Key.Key_Return)
    assert lines(editor)[7] == "1) Read! (all) of it"
    press(editor.source, Qt.Key.Key_Z, CONTROL)
    qtbot.waitUntil(lambda: said.text().endswith("of 2") or said.text() == "2 found")
    click(find(editor, QPushButton, "skill.find.replace_all"))
    assert lines(editor)[7:9] == ["1) Read! (all) of it", "2) Write! `it`"]
    press(editor.source, Qt.Key.Key_Z, CONTROL)
    assert editor.text() == SKILL, "all replacements are undone at once"
    press(words, Qt.Key.Key_Escape)
    assert editor.source.hasFocus() and not editor.find_bar.isVisible()


def test_the_buttons_of_the_find_bar_follow_the_text_size(editor: SkillEditor, look: Look) -> None:
    editor.find_bar.open()
    buttons = [find(editor, QToolButton, f"skill.find.{name}") for name in ("previous", "next", "close")]
    fields = [find(editor, QLineEdit, f"skill.find.{name}") for name in ("text", "replacement")]
    assert {button.iconSize().width() for button in buttons} == {16}
    editor.restyle(Look(look.theme, load_fonts(2.0)))
    assert {button.iconSize().width() for button in buttons} == {32}
    assert {button.icon().actualSize(QSize(99, 99)).width() for button in buttons} == {32}
    assert {field.minimumWidth() for field in fields} == {320}


def test_a_pattern_that_took_too_long_is_searched_for_again_in_a_changed_text(
    editor: SkillEditor, qtbot: QtBot
) -> None:
    editor.open("a" * 15_000 + "c\n", "notes.txt")
    editor.find_bar.open()
    click(find(editor, QToolButton, "skill.find.pattern"))
    find(editor, QLineEdit, "skill.find.text").setText("(a+)+$")
    count = find(editor, QLabel, "skill.find.count")
    qtbot.waitUntil(lambda: "takes too long" in count.text())
    editor.source.setPlainText("aaa")
    qtbot.waitUntil(lambda: count.text() in ("1 of 1", "1 found"))


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("(a+)+$", "This pattern takes too long. Use a simpler one."),
        ("(a|aa)+$", "This pattern takes too long. Use a simpler one."),
        ("(*LIMIT_MATCH=999999999)(a+)+$", "This pattern takes too long. Use a simpler one."),
        ("(", "missing closing parenthesis"),
        ("c$", "1 of 51"),
    ],
)
def test_no_pattern_blocks_the_window(editor: SkillEditor, qtbot: QtBot, pattern: str, expected: str) -> None:
    editor.open("a" * 15_000 + "c\n" + ("a" * 3_000 + "c\n") * 50, "notes.txt")
    editor.find_bar.open()
    click(find(editor, QToolButton, "skill.find.pattern"))
    before = process_time()
    find(editor, QLineEdit, "skill.find.text").setText(pattern)
    assert process_time() - before < 2
    qtbot.waitUntil(lambda: find(editor, QLabel, "skill.find.count").text() == expected)


def test_highlighting_follows_a_fence_that_is_opened_far_above(editor: SkillEditor, qtbot: QtBot) -> None:
    text = SKILL + "\n".join(f"# Heading {number}" for number in range(6_000))
    editor.open(text, "SKILL.md")
    coloring, field = editor.source.highlighter, editor.source
    qtbot.waitUntil(lambda: coloring.done)
    last = field.document().lastBlock()
    assert coloring.state_before(last).region == "body"
    write(at(editor, 4), "```")
    qtbot.waitUntil(lambda: coloring.done)
    assert coloring.state_before(last).region == "fence"
    field.go_to_line(5_000)
    field.repaint()
    assert formats(field, 5_000) == []
    press(field, Qt.Key.Key_Z, CONTROL)
    field.undo()
    qtbot.waitUntil(lambda: coloring.done and coloring.state_before(last).region == "body")
    field.go_to_line(5_000)
    field.repaint()
    assert formats(field, 5_000) == [(0, len("# Heading 4990"))]
    assert editor.text() == text


def formats(field: SourceEditor, line: int) -> list[tuple[int, int]]:
    held: list[QTextLayout.FormatRange] = field.document().findBlockByNumber(line).layout().formats()
    return [(each.start, each.length) for each in held]


def test_the_preview_follows_the_cursor(editor: SkillEditor, qtbot: QtBot) -> None:
    qtbot.waitUntil(lambda: "Letters" in editor.preview.toPlainText())
    assert "description:" not in editor.preview.toPlainText()
    text = SKILL + "\n\n".join(f"Paragraph {number}" for number in range(4_000))
    editor.open(text, "SKILL.md")
    editor.source.go_to_line(text.split("\n").index("Paragraph 3000"))
    number = "Paragraph 3000"
    qtbot.waitUntil(lambda: number in editor.preview.toPlainText())
    place = editor.preview.cursorForPosition(QPoint(20, editor.preview.viewport().height() // 4)).block()
    near = [place, *(place := place.next() for _ in range(6))]
    assert number in [block.text() for block in near]


def test_a_partial_preview_does_not_begin_inside_code() -> None:
    text = SKILL + "```\n" + "x\n" * 900 + "```\n" + "\n".join(str(number) for number in range(900))
    shown = preview_slice(text, 700)
    assert shown.is_partial and shown.text.startswith("```") and shown.text.count("\n") < 320
    assert preview_slice(SKILL, 0).text.lstrip().startswith("# Letters") and not preview_slice(SKILL, 0).is_partial
    assert preview_slice("---\nname: a\n", 0).text.startswith("---")


def test_replacing_the_text_is_one_undo_step(editor: SkillEditor) -> None:
    editor.source.replace_text(SKILL.replace("Read", "Look 😀 through").replace("Write `it`", "Write"))
    assert "Look 😀 through (all)" in editor.text()
    press(editor.source, Qt.Key.Key_Z, CONTROL)
    assert editor.text() == SKILL


def test_a_draft_is_private_and_ignored_if_it_is_damaged(tmp_path: Path) -> None:
    drafts = SkillDrafts(tmp_path)
    assert drafts.keys() == frozenset() and drafts.load("library/a") is None
    draft = SkillDraft("library/a", 3, {"SKILL.md": "ä\ud800", "scripts/x.sh": "ls\n"})
    drafts.save(draft)
    assert drafts.load("library/a") == draft and drafts.keys() == {"library/a"}
    file = next((tmp_path / "drafts" / "skills").iterdir())
    assert file.stat().st_mode & 0o777 == 0o600
    file.write_text(file.read_text()[:20])
    assert drafts.load("library/a") is None and drafts.keys() == frozenset()
    drafts.delete("library/a")
    drafts.delete("library/a")
    assert not list((tmp_path / "drafts" / "skills").iterdir())


@pytest.mark.colors
def test_parts_have_accessible_names_and_follow_the_theme(editor: SkillEditor, look: Look, qapp: QApplication) -> None:
    for part in (editor.source, editor.preview, editor.completion):
        assert part.accessibleName()
    for tool in editor.find_bar.findChildren(QToolButton):
        assert tool.accessibleName() and tool.toolTip()
    editor.restyle(look)
    assert not editor.grab().isNull()
