"""Rendering of untrusted Markdown: what is shown, what is refused, and how long it may take."""

import os
import random
import subprocess
import sys
import unicodedata
from pathlib import Path
from time import process_time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QImage, QTextBlock, QTextCharFormat, QTextDocument, QTextTable
from PySide6.QtWidgets import QApplication

from tests.ui.timeline.session_data import ANSWER
from ui.style.theme import Look
from ui.text.code_blocks import code_frames, code_text
from ui.text.markdown import MarkdownStream, render, render_with_positions
from ui.text.safe_document import SafeDocument
from ui.text.visible import cut_lines, visible

HUNG_S = 2.0  # without limits, each of these takes 4 to 150 seconds
EVERYTHING = f"""{ANSWER}
> quoted *words* with `code`

1. one
2. two
   - nested **bold**

   ```python
   def f(x):
       return x
   ```
3. three

- [ ] open
- [x] **done**
- plain

---

| name | what |
|------|-----:|
| a.py | [link](https://example.org) |

# Title
Words <b>html</b> &amp; ~~gone~~
line two
***
```
unclosed
"""


def written(text: str, look: Look) -> SafeDocument:
    document = SafeDocument()
    render(document, text, look)
    return document


def links(document: QTextDocument) -> list[str]:
    return [form.anchorHref() for form in formats(document) if form.isAnchor()]


def formats(document: QTextDocument) -> list[QTextCharFormat]:
    found = []
    for block in blocks(document):
        part = block.begin()
        while not part.atEnd():
            found.append(part.fragment().charFormat())
            part += 1
    return found


def blocks(document: QTextDocument) -> list[QTextBlock]:
    return [document.findBlockByNumber(number) for number in range(document.blockCount())]


def lines(document: QTextDocument) -> list[str]:
    return [line for line in document.toPlainText().split("\n") if line.strip()]


def test_markdown_is_rendered_as_expected(look: Look) -> None:
    document = written(EVERYTHING, look)
    said = lines(document)
    assert said[0].startswith("The letter is ready. It asks for the repair by 5 December 2026, cites")
    assert said[1:4] == [
        "Before you send it",
        "Put your phone number where it says [phone].",
        "Keep the envelope receipt: the 14 days start when it arrives.",
    ]
    assert said[6:10] == ["quoted words with code", "one", "two", "nested bold"]
    assert "Words <b>html</b> & gone line two" in said
    assert [code_text(frame) for frame in code_frames(document)] == [
        "complaint.docx   22 KB   letter, two pages\ncomplaint.md      3 KB   the same as text",
        "def f(x):\n    return x",
        "unclosed",
    ]
    (table,) = [frame for frame in document.rootFrame().childFrames() if isinstance(frame, QTextTable)]
    assert (table.rows(), table.columns()) == (2, 2)
    assert links(document) == ["https://example.org"]


def test_table_columns_are_aligned(look: Look) -> None:
    document = written("|a|b|c|\n|-|-:|:-:|\n|1|2|3|\n", look)
    (table,) = [frame for frame in document.rootFrame().childFrames() if isinstance(frame, QTextTable)]
    for row in range(2):
        blocks = [table.cellAt(row, column).firstCursorPosition().blockFormat() for column in range(3)]
        assert [block.alignment() & Qt.AlignmentFlag.AlignHorizontal_Mask for block in blocks] == [
            Qt.AlignmentFlag.AlignLeft, Qt.AlignmentFlag.AlignRight, Qt.AlignmentFlag.AlignHCenter,
        ]  # fmt: skip


def test_task_items_have_a_check_box_instead_of_a_bullet(look: Look) -> None:
    text = "- [ ] a `b`\n- [x] **c**\n- [X] d\n\n  more\n- [ ]\n- [x](https://x.org)\n- [y] e\n\n1. [ ] f\n\n[ ] g\n"
    document = written(text, look)
    assert lines(document) == ["☐ a b", "☑ c", "☑ d", "more", "[ ]", "x", "[y] e", "☐ f", "[ ] g"]
    bullets = [block.text() for block in blocks(document) if block.textList() is not None]
    assert bullets == ["[ ]", "x", "[y] e", "☐ f"]


@pytest.mark.parametrize("seed", range(6))
def test_streaming_ends_like_rendering_at_once(look: Look, seed: int) -> None:
    chance = random.Random(seed)
    document = SafeDocument()
    flow = MarkdownStream(document, look)
    end = 0
    while end < len(EVERYTHING):
        end += chance.randint(1, 60)
        flow.write(EVERYTHING[:end])
        assert document.toPlainText() == written(EVERYTHING[:end], look).toPlainText()
    flow.finish(EVERYTHING)
    assert document.toHtml() == written(EVERYTHING, look).toHtml()


@settings(max_examples=60, deadline=None)
@example(["- b\n", "``", "``", "c", "``"])
@given(
    st.lists(
        st.sampled_from(
            [
                "# a\n",
                "``",
                "c",
                "~~~\n",
                "- b\n",
                "- [",
                " ] t\n",
                "x] u\n",
                "  - c\n",
                "```\n",
                "x\n",
                "\n",
                "> q\n",
                "---\n",
                "|a|\n|-|\n|b|\n",
            ]
        )
    )
)
def test_any_prefix_of_any_text_can_be_streamed(qapp: QApplication, parts: list[str]) -> None:
    from ui.style.theme import load_fonts, load_theme

    look = Look(load_theme("dark"), load_fonts())
    document, text = SafeDocument(), ""
    flow = MarkdownStream(document, look)
    for part in parts:
        text += part
        flow.write(text)
    assert document.toPlainText() == written(text, look).toPlainText()


def test_code_grows_without_being_parsed_again(look: Look) -> None:
    lines = [f"    value_{number} = {number}  # ünïcode" for number in range(400)]
    text = "Here:\n\n```python\n" + "\n".join(lines) + "\n\n    last\n```\n\nThat is all."
    document = SafeDocument()
    flow = MarkdownStream(document, look)
    for end in range(0, len(text), 23):
        flow.write(text[:end])
        if end % 7 == 0:
            assert document.toPlainText().rstrip() == written(text[:end], look).toPlainText().rstrip()
    flow.finish(text)
    assert document.toHtml() == written(text, look).toHtml()


def test_text_that_is_not_a_continuation_is_rendered_again(look: Look) -> None:
    document = SafeDocument()
    flow = MarkdownStream(document, look)
    for text in ("one\n\ntwo\n\nthree", "One\n\ntwo", "", "four"):
        flow.write(text)
        assert lines(document) == text.split()


def test_an_address_at_the_end_is_found(look: Look) -> None:
    text = "See [this][1] first.\n\nMore.\n\n[1]: https://example.org\n"
    document = SafeDocument()
    flow = MarkdownStream(document, look)
    for end in range(1, len(text)):
        flow.write(text[:end])
    flow.finish(text)
    assert links(document) == ["https://example.org"]


def test_U1_markup_in_text_stays_text(look: Look) -> None:
    nasty = "<b>bold</b> <img src=file:///etc/passwd> <a href='https://evil.example'>here</a> <script>x</script>"
    document = written(nasty, look)
    assert document.toPlainText() == nasty
    assert not links(document)


@pytest.mark.parametrize(
    "address",
    [
        "javascript:alert(1)",
        "file:///etc/passwd",
        "data:text/html;base64,PGI+",
        "//host/x",
        "vbscript:x",
        "/etc/passwd",
    ],
)
def test_U5_only_web_and_mail_addresses_are_links(look: Look, address: str) -> None:
    document = written(f"[here]({address}) and <{address}>", look)
    assert not links(document)
    assert address in document.toPlainText()


def test_a_unc_path_is_not_a_link(look: Look) -> None:
    assert not links(written("[here](\\\\\\\\host\\\\x)", look))


def test_web_and_mail_addresses_are_links(look: Look) -> None:
    text = "[a](https://a.example/x?y=z) [b](http://b.example) [c](mailto:me@c.example)"
    assert links(written(text, look)) == ["https://a.example/x?y=z", "http://b.example", "mailto:me@c.example"]


def test_U6_images_are_shown_as_text_and_nothing_is_loaded(look: Look, tmp_path: Path) -> None:
    fifo = tmp_path / "picture.png"
    os.mkfifo(fifo)  # reading it would block the process forever
    document = written(f"![a cat]({fifo.as_uri()}) ![](https://example.org/pixel.png)", look)
    assert document.toPlainText() == "[a cat] [image]"
    kinds = QTextDocument.ResourceType
    for kind in (kinds.ImageResource, kinds.StyleSheetResource, kinds.HtmlResource):
        picture = document.resource(kind.value, QUrl.fromLocalFile(str(fifo)))
        assert isinstance(picture, QImage) and picture.size().width() == 1


def test_omissions_are_stated(look: Look) -> None:
    long = written("word " * 20_000 + "\n\nend", look).toPlainText()
    assert long.endswith("The rest is shown in the step pane, under Output.") and len(long) < 70_000
    table = written("|a|b|\n|-|-|\n" + "|c|d|\n" * 900, look).toPlainText()
    assert table.rstrip().endswith("… 601 more rows")


BOMBS = {
    "one long line": "x" * 1_000_000,
    "one long word of marks": "a" + "\u0301" * 5_000,
    "brackets": "[" * 100_000,
    "lines of brackets": ("[" * 4_000 + "\n") * 60,
    "paragraphs of brackets": ("[" * 8_000 + "\n\n") * 60,
    "stars": "*a " * 40_000,
    "underscores": "_" * 50_000 + "a",
    "ticks": "".join("`" * n + "a" for n in range(1, 600)),
    "quotes": ">" * 20_000 + "x",
    "list levels": "".join("  " * n + "- x\n" for n in range(2_000)),
    "tags": "<div>" * 20_000,
    "links": "[a](" * 30_000,
    "pictures": "![" * 30_000,
    "table": "|a" * 50 + "|\n" + "|-" * 50 + "|\n" + ("|b" * 50 + "|\n") * 200,
    "wide table": "|a" * 3_000 + "|\n" + "|-" * 3_000 + "|\n" + "|b" * 3_000 + "|\n",
    "rules": "---\n\n" * 3_000,
    "entities": "&amp;" * 40_000,
    "definitions": "[a]: <\n" * 20_000,
}


@pytest.mark.parametrize("name", BOMBS)
def test_U7_no_text_freezes_the_window(look: Look, name: str) -> None:
    written("warm up", look)
    before = process_time()  # CPU time, because other processes share the cores
    document = written(BOMBS[name], look)
    document.setTextWidth(760)
    assert document.size().height() > 0
    assert process_time() - before < HUNG_S


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("tab\tand\nline\r\n", "tab\tand\nline\n"),
        ("\x1b[31mred\x1b[0m", "⟦U+001B⟧[31mred⟦U+001B⟧[0m"),
        ("\x1b]0;title\x07link", "⟦U+001B⟧]0;title⟦U+0007⟧link"),
        ("\x1b]52;c;aGk=\x07x", "⟦U+001B⟧]52;c;aGk=⟦U+0007⟧x"),
        ("\x9b31mred", "⟦U+009B⟧31mred"),
        ("a\rb\x08c\x00", "a⟦U+000D⟧b⟦U+0008⟧c⟦U+0000⟧"),
        ("x\u202egpj.sh", "x⟦U+202E⟧gpj.sh"),
        ("\u2066a\u2069", "⟦U+2066⟧a⟦U+2069⟧"),
        ("pass\u200bword \ufeff", "pass⟦U+200B⟧word ⟦U+FEFF⟧"),
        ("a\U000e0041b", "a⟦U+E0041⟧b"),
        ("a\ufe0fb", "a⟦U+FE0F⟧b"),
        ("careful ⚠️ 👩\u200d💻 1️⃣", "careful ⚠️ 👩\u200d💻 1️⃣"),
        ("\ud800", "⟦U+D800⟧"),
        ("سلام می\u200cروم", "سلام می\u200cروم"),
    ],
)
def test_U2_U3_invisible_characters_are_written_out(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(st.text())
def test_visible_text_hides_nothing(text: str) -> None:
    shown = visible(text)
    assert not any(unicodedata.category(sign) in {"Cc", "Cs"} and sign not in "\t\n" for sign in shown)
    assert not set(shown) & set("\u202a\u202b\u202d\u202e\u2066\u2067\u2068\u2069\u200b\u200e\u200f\ufeff")


def test_long_lines_are_truncated() -> None:
    assert cut_lines("short\n" + "x" * 5_000) == "short\n" + "x" * 4_096 + " …"


def test_the_parser_is_loaded_with_the_first_reply() -> None:
    code = "import sys, ui.text.markdown, ui.timeline.run_page; print('markdown_it' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "False"


def test_positions_name_the_line_and_the_rendered_position(look: Look) -> None:
    document = SafeDocument()
    places = render_with_positions(document, "# One\n\nTwo\nmore\n\n```\ncode\n```\n- a\n- b\n", look)
    assert [line for line, _ in places] == [0, 2, 5, 8]
    found = [document.findBlock(at).text() for _, at in places]
    assert found[:2] == ["One", "Two more"] and "a" in document.findBlock(places[3][1]).text()


def test_entities_cannot_hide_text(look: Look) -> None:
    shown = written("a &#x202e;b&#10;c &#x200b; `&#x202e;`", look).toPlainText()
    assert shown == "a ⟦U+202E⟧b⟦U+000A⟧c ⟦U+200B⟧ &#x202e;"


def test_code_blocks_have_the_syntax_colors_of_their_language(look: Look) -> None:
    text = "```python\ndef f():\n    return '''a\nb'''\n```\n\n```\ndef g():\n```\n"
    document = written(text, look)
    colored, plain = code_frames(document)
    kinds = []
    block = colored.firstCursorPosition().block()
    while block.isValid() and block.position() <= colored.lastPosition():
        kinds.append([block.text()[part.start : part.start + part.length] for part in block.layout().formats()])
        block = block.next()
    assert kinds == [["def"], ["return", "'''a"], ["b'''"]]
    assert not plain.firstCursorPosition().block().layout().formats()
    assert code_text(colored) == "def f():\n    return '''a\nb'''", "the text that is copied does not change"


@pytest.mark.parametrize(
    "formula",
    ["$a_1 * b_2 * c_3$", r"$\frac{1}{2}_{x}*y*$", "$$x_1 *y* z_2$$", r"\(a_1 \cdot b_2\)", r"\[\sum_{i=1}^n x_i\]"],
)
def test_formulas_are_shown_as_they_are_written(look: Look, formula: str) -> None:
    assert written(f"So {formula} holds.", look).toPlainText() == f"So {formula} holds."


def test_money_is_not_a_formula(look: Look) -> None:
    assert written("It costs $5 and *not* $10.", look).toPlainText() == "It costs $5 and not $10."
    assert written("Save 5$*now* or 10$", look).toPlainText() == "Save 5$now or 10$"


@pytest.mark.parametrize("text", ["$" * 6_000, "\\[" * 3_000, "\\(" * 3_000, "$a" * 3_000, "$$a" * 2_000])
def test_broken_formulas_are_parsed_fast(look: Look, text: str) -> None:
    began = process_time()
    written(text, look)
    assert process_time() - began < HUNG_S
