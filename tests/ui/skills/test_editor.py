"""The text of a skill as a person writes it."""

from pathlib import Path
from time import process_time

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QTextCharFormat, QTextCursor, QTextLayout
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QPushButton, QToolButton
from pytestqt.qtbot import QtBot

from tests.ui.hands import click, find, press, write
from ui.skills.drafts import SkillDraft, SkillDrafts
from ui.skills.editor import SkillEditor
from ui.skills.foot import Measures
from ui.skills.preview import around
from ui.skills.source import Mark, SourceField
from ui.theme import Look

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


def at(editor: SkillEditor, line: int, column: int = -1) -> SourceField:
    """The cursor on a line, at its end or at a column."""
    field = editor.source
    block = field.document().findBlockByNumber(line)
    cursor = QTextCursor(block)
    cursor.setPosition(block.position() + (block.length() - 1 if column < 0 else column))
    field.setTextCursor(cursor)
    return field


def lines(editor: SkillEditor) -> list[str]:
    return editor.text().split("\n")


def test_a_list_goes_on_and_ends(editor: SkillEditor) -> None:
    field = at(editor, 8)
    press(field, Qt.Key.Key_Return)
    write(field, "Send it")
    assert lines(editor)[9] == "3. Send it"
    press(field, Qt.Key.Key_Return)
    press(field, Qt.Key.Key_Return)
    assert lines(editor)[9:11] == ["3. Send it", ""]
    field = at(editor, 1)
    press(field, Qt.Key.Key_Return)
    assert lines(editor)[2] == "", "the front matter holds no lists of Markdown"


def test_tab_moves_lines_and_pairs_close(editor: SkillEditor) -> None:
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


def test_no_sign_beyond_the_first_plane_is_in_the_way(editor: SkillEditor) -> None:
    field = at(editor, 7)
    field.insertPlainText(" 😀😀")
    press(field, Qt.Key.Key_Backspace)
    write(field, "(a)")
    press(field, Qt.Key.Key_Return)
    assert lines(editor)[7:9] == ["1. Read (all) of it 😀(a)", "2. "]


def test_undo_goes_back_over_a_save(editor: SkillEditor) -> None:
    field = at(editor, 8)
    write(field, " now")
    editor.saved(editor.text())
    press(field, Qt.Key.Key_Z, CONTROL)
    assert editor.text() == SKILL
    press(field, Qt.Key.Key_Z, CONTROL | SHIFT)
    assert editor.text() == SKILL.replace("`it`\n", "`it` now\n")


def test_what_was_found_is_shown_at_its_line(editor: SkillEditor) -> None:
    marks = [Mark(2, "error", "The name is taken."), Mark(8, "warning", "This is long.")]
    editor.show_found(marks, Measures(7, 14, 20))
    found = find(editor, QPushButton, "skill.foot.findings")
    assert found.text() == "1 error · 1 warning" and "The name is taken." in found.toolTip()
    click(found)
    assert editor.source.textCursor().blockNumber() == 1
    press(editor.source, Qt.Key.Key_F8)
    assert editor.source.textCursor().blockNumber() == 7
    press(editor.source, Qt.Key.Key_F8)
    assert editor.source.textCursor().blockNumber() == 1
    assert editor.source.said_of(7) == "This is long."
    waves = [
        each
        for each in editor.source.extraSelections()
        if each.format.underlineStyle() == QTextCharFormat.UnderlineStyle.WaveUnderline
    ]
    assert [each.cursor.blockNumber() for each in waves] == [1, 7]
    assert find(editor, QLabel, "skill.foot.measures").text().startswith("name 7/64")


def test_keys_of_the_front_matter_are_offered(editor: SkillEditor, qtbot: QtBot) -> None:
    field = at(editor, 2)
    press(field, Qt.Key.Key_Return)
    write(field, "l")
    assert editor.completion.isVisible() and editor.completion.count() == 1
    press(field, Qt.Key.Key_Tab)
    assert lines(editor)[3] == "license: " and not editor.completion.isVisible()
    press(field, Qt.Key.Key_Return)
    press(field, Qt.Key.Key_Space, CONTROL)
    offered = [editor.completion.item(row).text().split()[0] for row in range(editor.completion.count())]
    assert offered == ["compatibility", "metadata", "allowed-tools"], "what is there already is not offered"
    press(field, Qt.Key.Key_Escape)
    assert not editor.completion.isVisible()


def test_words_are_found_and_replaced(editor: SkillEditor, qtbot: QtBot) -> None:
    press(editor.source, Qt.Key.Key_F, CONTROL)
    words, said = find(editor, QLineEdit, "skill.find.words"), find(editor, QLabel, "skill.find.said")
    write(words, "LETTERS")
    qtbot.waitUntil(lambda: said.text() == "1 of 3")
    press(words, Qt.Key.Key_Return, SHIFT)
    qtbot.waitUntil(lambda: said.text() == "3 of 3")
    assert editor.source.textCursor().blockNumber() == 5
    click(find(editor, QToolButton, "skill.find.case"))
    qtbot.waitUntil(lambda: said.text() == "Nothing found")
    click(find(editor, QToolButton, "skill.find.case"))
    click(find(editor, QToolButton, "skill.find.pattern"))
    words.setText(r"^(\d)\. (\w+)")
    qtbot.waitUntil(lambda: said.text() == "1 of 2")
    instead = find(editor, QLineEdit, "skill.find.with")
    write(instead, r"$1) \2!")
    press(instead, Qt.Key.Key_Return)
    assert lines(editor)[7] == "1) Read! (all) of it"
    press(editor.source, Qt.Key.Key_Z, CONTROL)
    qtbot.waitUntil(lambda: said.text().endswith("of 2") or said.text() == "2 found")
    click(find(editor, QPushButton, "skill.find.all"))
    assert lines(editor)[7:9] == ["1) Read! (all) of it", "2) Write! `it`"]
    press(editor.source, Qt.Key.Key_Z, CONTROL)
    assert editor.text() == SKILL, "all replacements are one change"
    press(words, Qt.Key.Key_Escape)
    assert editor.source.hasFocus() and not editor.finder.isVisible()


@pytest.mark.parametrize(
    ("pattern", "told"),
    [
        ("(a+)+$", "The pattern takes too long. Make it simpler."),
        ("(a|aa)+$", "The pattern takes too long. Make it simpler."),
        ("(*LIMIT_MATCH=999999999)(a+)+$", "The pattern takes too long. Make it simpler."),
        ("(", "missing closing parenthesis"),
        ("c$", "1 of 51"),
    ],
)
def test_no_pattern_hangs(editor: SkillEditor, qtbot: QtBot, pattern: str, told: str) -> None:
    editor.open("a" * 15_000 + "c\n" + ("a" * 3_000 + "c\n") * 50, "notes.txt")
    editor.finder.open()
    click(find(editor, QToolButton, "skill.find.pattern"))
    before = process_time()
    find(editor, QLineEdit, "skill.find.words").setText(pattern)
    assert process_time() - before < 2
    qtbot.waitUntil(lambda: find(editor, QLabel, "skill.find.said").text() == told)


def test_colours_follow_a_fence_far_up_and_nothing_is_lost(editor: SkillEditor, qtbot: QtBot) -> None:
    text = SKILL + "\n".join(f"# Heading {number}" for number in range(6_000))
    editor.open(text, "SKILL.md")
    colouring, field = editor.source.colouring, editor.source
    qtbot.waitUntil(lambda: colouring.done)
    last = field.document().lastBlock()
    assert colouring.state_of(last).where == "body"
    write(at(editor, 4), "```")
    qtbot.waitUntil(lambda: colouring.done)
    assert colouring.state_of(last).where == "fence"
    field.go_to_line(5_000)
    field.repaint()
    assert formats(field, 5_000) == []
    press(field, Qt.Key.Key_Z, CONTROL)
    field.undo()
    qtbot.waitUntil(lambda: colouring.done and colouring.state_of(last).where == "body")
    field.go_to_line(5_000)
    field.repaint()
    assert formats(field, 5_000) == [(0, len("# Heading 4990"))]
    assert editor.text() == text


def formats(field: SourceField, line: int) -> list[tuple[int, int]]:
    held: list[QTextLayout.FormatRange] = field.document().findBlockByNumber(line).layout().formats()
    return [(each.start, each.length) for each in held]


def test_the_preview_goes_with_the_cursor(editor: SkillEditor, qtbot: QtBot) -> None:
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


def test_a_preview_from_the_middle_begins_outside_of_code() -> None:
    text = SKILL + "```\n" + "x\n" * 900 + "```\n" + "\n".join(str(number) for number in range(900))
    shown = around(text, 700)
    assert shown.cut and shown.text.startswith("```") and shown.text.count("\n") < 320
    assert around(SKILL, 0).text.lstrip().startswith("# Letters") and not around(SKILL, 0).cut
    assert around("---\nname: a\n", 0).text.startswith("---")


def test_a_replaced_text_is_one_change(editor: SkillEditor) -> None:
    editor.source.replace_all(SKILL.replace("Read", "Look 😀 through").replace("Write `it`", "Write"))
    assert "Look 😀 through (all)" in editor.text()
    press(editor.source, Qt.Key.Key_Z, CONTROL)
    assert editor.text() == SKILL


def test_a_draft_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    drafts = SkillDrafts(tmp_path)
    assert drafts.keys() == frozenset() and drafts.draft("library/a") is None
    draft = SkillDraft("library/a", 3, {"SKILL.md": "ä\ud800", "scripts/x.sh": "ls\n"})
    drafts.keep(draft)
    assert drafts.draft("library/a") == draft and drafts.keys() == {"library/a"}
    file = next((tmp_path / "drafts" / "skills").iterdir())
    assert file.stat().st_mode & 0o777 == 0o600
    file.write_text(file.read_text()[:20])
    assert drafts.draft("library/a") is None and drafts.keys() == frozenset()
    drafts.drop("library/a")
    drafts.drop("library/a")
    assert not list((tmp_path / "drafts" / "skills").iterdir())


@pytest.mark.colours
def test_it_can_be_read_aloud_and_worn_anew(editor: SkillEditor, look: Look, qapp: QApplication) -> None:
    for part in (editor.source, editor.preview, editor.completion):
        assert part.accessibleName()
    for tool in editor.finder.findChildren(QToolButton):
        assert tool.accessibleName() and tool.toolTip()
    editor.restyle(look)
    assert not editor.grab().isNull()
