"""Text from outside is shown as it is: nothing is dropped, nothing acts, and no two commands look alike."""

import re
import sys
import unicodedata

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from core.domain.visible import strip_colors, visible, visible_exactly, visible_name

TITLE = "ls x\x1b]0;touch PWNED1;\x07"
HIDDEN = [
    *map(chr, range(9)),
    *map(chr, range(0x0B, 0x20)),
    *map(chr, range(0x7F, 0xA0)),
    "\u00ad",
    "\u034f",
    "\u061c",
    "\u115f",
    "\u1160",
    "\u180e",
    "\u200b",
    "\u200e",
    "\u202e",
    "\u2028",
    "\u2029",
    "\u2060",
    "\u2066",
    "\u2069",
    "\u2800",
    "\u3164",
    "\ufe0f",
    "\ufeff",
    "\uffa0",
    "\ufffc",
    "\ue000",
    "\U000f0000",
    "\U000e0001",
    "\U000e0041",
    "\U000e007f",
    "\U000e0100",
    "\U000e01ef",
    "\U0010fffd",
    "\u0378",
    "\uffff",
    "\ud800",
]
SEQUENCES = [
    "\x1b]0;title\x07",
    "\x1b]8;;https://evil.example\x1b\\",
    "\x1bPq#0\x1b\\",
    "\x1b_app\x1b\\",
    "\x1b^pm\x1b\\",
    "\x1bXsos\x1b\\",
    "\x9d0;title\x9c",
    "\x90q\x9c",
    "\x1b[2K\r",
    "\x1b[1A",
    "\x1b[31m",
    "\x9b31m",
    "\x1bc",
    "\x1b(0",
    "\r",
    "\b\b\b",
    "\x7f",
]
COMMANDS = st.lists(
    st.one_of(
        st.text(max_size=4),
        st.sampled_from(
            [
                *HIDDEN,
                *SEQUENCES,
                "⟦U+202E⟧",
                "⟦U+",
                "⟦",
                "⟧",
                "×",
                "⟦U+0020×70⟧",
                " " * 65,
                " " * 64,
                " " * 70,
                "\t" * 66,
                " \t" * 40,
                "\n" * 9,
                "\n" * 12,
                "\n \n" * 9,
                "\n",
                "\r\n",
                " ",
                "\t",
                "\u00a0",
                "\u3000",
                "a",
                "⚠️",
                "\u200d",
            ]
        ),
    ),
    max_size=8,
).map("".join)


def decoded(shown: str) -> str:
    """Read a text shown by `visible_exactly` back."""
    return re.sub(r"⟦U\+([0-9A-F]{4,6})(?:×(\d+))?⟧", lambda m: chr(int(m[1], 16)) * int(m[2] or 1), shown)


@pytest.mark.parametrize("sequence", SEQUENCES)
def test_a_terminal_sequence_is_written_out_and_its_payload_kept(sequence: str) -> None:
    for show in (visible, visible_name, visible_exactly):
        shown = show(f"ls x{sequence};")
        assert not any(unicodedata.category(sign) == "Cc" for sign in shown)
        assert decoded(shown) == f"ls x{sequence};"
    assert visible_exactly(TITLE) == "ls x⟦U+001B⟧]0;touch PWNED1;⟦U+0007⟧"


@pytest.mark.parametrize("sign", HIDDEN, ids=[f"U+{ord(sign):04X}" for sign in HIDDEN])
def test_a_hidden_character_is_written_out(sign: str) -> None:
    for show in (visible, visible_name, visible_exactly):
        assert show(f"a{sign}b") == f"a⟦U+{ord(sign):04X}⟧b"


@given(COMMANDS)
def test_the_exact_text_can_be_read_back_so_no_two_commands_look_alike(command: str) -> None:
    shown = visible_exactly(command)
    assert decoded(shown) == command
    assert all(sign.isprintable() or sign in "\t\n" for sign in shown)
    assert visible(shown) == shown  # a label that makes its text visible once more does not change it


@given(COMMANDS, COMMANDS)
def test_two_commands_are_never_shown_alike(one: str, other: str) -> None:
    assume(one != other)
    assert visible_exactly(one) != visible_exactly(other)


@given(COMMANDS)
def test_visible_text_stays_as_it_is(text: str) -> None:
    assert visible(visible(text)) == visible(text)
    assert visible_name(visible_name(text)) == visible_name(text)
    assert "\n" not in visible_name(text) and "\t" not in visible_name(text)


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("ls" + " " * 500 + "; rm x", "ls⟦U+0020×500⟧; rm x"),
        ("ls" + "\n" * 40 + "rm x", "ls⟦U+000A×39⟧\nrm x"),
        ("ls\u00a0-la", "ls⟦U+00A0⟧-la"),
        ("ls\u3000x\u2003y", "ls⟦U+3000⟧x⟦U+2003⟧y"),
        ("echo ⟦U+202E⟧", "echo ⟦U+27E6⟧U+202E⟧"),
        ("a\r\nb", "a⟦U+000D⟧\nb"),
        ("if x:\n    y\n\n\tz", "if x:\n    y\n\n\tz"),
        ("echo ⚠️", "echo ⚠⟦U+FE0F⟧"),
        ("echo 文件 über €", "echo 文件 über €"),
    ],
)
def test_spaces_cannot_push_a_command_out_of_view(command: str, shown: str) -> None:
    assert visible_exactly(command) == shown


@pytest.mark.parametrize(
    "text",
    [
        "wide\u00a0space",
        "全角\u3000空白",
        "careful ⚠️ 👩\u200d💻 1️⃣",
        "سلام می\u200cروم",
        "क्\u200dष",
        "tab\tand\nline",
        "🫨",
    ],
)
def test_ordinary_text_of_every_script_is_kept(text: str) -> None:
    assert visible(text) == text


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("python \u0430pp.py", "python ⟦U+0430⟧pp.py"),
        ("sh \u0435\u0445\u0435\u0441.sh", "sh ⟦U+0435⟧⟦U+0445⟧⟦U+0435⟧⟦U+0441⟧.sh"),
        ("cat \u039fne \u03bfne", "cat ⟦U+039F⟧ne ⟦U+03BF⟧ne"),
        ("python tests\u2215run.py", "python tests⟦U+2215⟧run.py"),
        ("python run\u2024py", "python run⟦U+2024⟧py"),
        ("rm \u2010rf x", "rm ⟦U+2010⟧rf x"),
        ("cat cafe\u0301 caf\u00e9", "cat cafe⟦U+0301⟧ caf\u00e9"),
        ("cat \u212aey", "cat ⟦U+212A⟧ey"),
        ("ls\u037e x", "ls⟦U+037E⟧ x"),
        ("cat \u1100\u1161 \uac00", "cat \u1100⟦U+1161⟧ \uac00"),
        ("\U0001d695\U0001d69c", "⟦U+1D695⟧⟦U+1D69C⟧"),
        ("cat ru\u0251 ru\u0261", "cat ru⟦U+0251⟧ ru⟦U+0261⟧"),
    ],
)
def test_no_letter_or_sign_passes_for_another(command: str, shown: str) -> None:
    assert visible_exactly(command) == shown and decoded(shown) == command


@pytest.mark.parametrize(
    "text",
    [
        "git commit -m 'Исправил отчёт о ресурсе'", "echo 'Δx = λ·μ'", "cat Отчёт.txt", "echo 'Ελλάδα und Öl'",
        "echo 日本語テストabc", "git commit -m \"Don’t – really — “quote” it…\"", "cat çalışma.txt naïve.txt",
        "echo 'с а у о'", "echo Ընկեր", "cat 한국어.md",
    ],
)  # fmt: skip
def test_words_of_other_alphabets_are_kept_in_a_request(text: str) -> None:
    assert visible_exactly(text) == text


def test_a_joiner_between_ideographs_is_written_out() -> None:
    assert visible("文\u200d件") == "文⟦U+200D⟧件"
    assert visible("⚠️\ufe0f") == "⚠️⟦U+FE0F⟧"


def test_only_colors_are_removed_from_command_output() -> None:
    assert strip_colors("\x1b[1;31mred\x1b[0m \x9b32mgreen\x1b[m") == "red green"
    assert strip_colors("\x1b[2K\x1b]0;t\x07") == "\x1b[2K\x1b]0;t\x07"


def test_no_code_point_is_dropped() -> None:
    signs = "".join(map(chr, range(sys.maxunicode + 1))).replace("\r\n", "")
    assert decoded(visible_exactly(signs)) == signs
    assert decoded(visible_name(signs)) == signs
