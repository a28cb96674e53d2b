"""The colors of the diff in a permission request: those of the Changes tab, while the text stays exact."""

from pytestqt.qtbot import QtBot

from tests.ui.ask.permissions import pending_permission
from ui.ask.full_text import DisplayLine, FullTextView
from ui.ask.line_colors import MAX_LINES, line_colors
from ui.ask.pending_permission import call_lines
from ui.style.theme import Look

EDIT = pending_permission(
    "edit", "write", "pay.py", path="pay.py", old_string="def pay(amount):\n    return 1\n",
    new_string="def pay(amount, user):\n    return 1\n",
)  # fmt: skip


def test_changed_words_and_syntax_of_an_edit_are_marked(look: Look, qtbot: QtBot) -> None:
    lines = call_lines(EDIT)
    colors = line_colors(lines)
    added = next(index for index, line in enumerate(lines) if line.sign == "+")
    marked = [lines[added].text[start:end] for start, end in colors[added].changed]
    assert marked == [", user"] or marked == ["user"]
    assert next(lines[added].text[span.start : span.start + span.length] for span in colors[added].spans) == "def"
    view = FullTextView(look, name="text")
    qtbot.addWidget(view)
    view.show_lines(lines)
    text = view.toPlainText().splitlines()
    assert text == ["pay.py", "− def pay(amount):", "+ def pay(amount, user):", "      return 1"], "the text is exact"
    formats = view.document().findBlockByNumber(2).layout().formats()
    shown = {text[2][part.start : part.start + part.length] for part in formats}
    assert {"+", "def", marked[0]} <= shown


def test_a_command_and_a_huge_diff_have_no_colors() -> None:
    assert line_colors([DisplayLine("rm -r x")]) == []
    assert line_colors([DisplayLine("x", "+")] * (MAX_LINES + 1)) == []
    assert len(line_colors([DisplayLine("x", "+")] * MAX_LINES)) == MAX_LINES


def test_strings_over_several_lines_are_followed_on_each_side() -> None:
    lines = [
        DisplayLine("a.py", "@"), DisplayLine('x = """', "-"), DisplayLine("x = 1", "+"), DisplayLine("def f():", " "),
        DisplayLine("old", "-"),
    ]  # fmt: skip
    colors = line_colors(lines)
    assert [span.kind for span in colors[3].spans] == ["word"], "the new text has no open string"
    assert [span.kind for span in colors[4].spans] == ["string"], "the old text has one"


def test_an_edit_is_a_diff_also_with_the_default_arguments_that_the_engine_adds() -> None:
    once, everywhere = (
        call_lines(
            pending_permission(
                "edit",
                "write",
                "letter.md",
                path="letter.md",
                old_string="old\n",
                new_string="new\n",
                replace_all=every,
            )
        )
        for every in (False, True)
    )
    assert [line.sign + line.text for line in once] == ["@letter.md", "-old", "+new"]
    assert [line.sign + line.text for line in everywhere] == ["@letter.md, every occurrence", "-old", "+new"]
