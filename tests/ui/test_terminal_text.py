"""The output of commands becomes styled lines, piece by piece, and no terminal code hides text or breaks the parser."""

from hypothesis import given
from hypothesis import strategies as st

from core.domain.visible import LINE_LIMIT
from ui.text.terminal_text import PLAIN, Line, RgbColor, TerminalText, TextStyle


def shown(*pieces: str) -> list[str]:
    parser = TerminalText()
    lines = [line for piece in pieces for line in parser.feed(piece)] + [parser.open_line()]
    return ["".join(text for text, _ in line) for line in lines]


def styles(output: str) -> Line:
    parser = TerminalText()
    assert not parser.feed(output)
    return parser.open_line()


def test_colors_and_styles() -> None:
    assert styles("\x1b[1;31mred\x1b[0m plain") == [("red", TextStyle(1, bold=True)), (" plain", PLAIN)]
    assert styles("\x1b[38;5;208ma\x1b[39m\x1b[92mb\x1b[mc") == [
        ("a", TextStyle(208)),
        ("b", TextStyle(10)),
        ("c", PLAIN),
    ]
    assert styles("\x1b[38;2;1;2;3ma\x1b[38:2::4:5:6mb") == [
        ("a", TextStyle(RgbColor(1, 2, 3))),
        ("b", TextStyle(RgbColor(4, 5, 6))),
    ]
    assert styles("\x1b[44ma\x1b[49;3;4mb") == [
        ("a", TextStyle(marked=True)),
        ("b", TextStyle(None, False, True, True)),
    ]


def test_a_progress_bar_is_one_line() -> None:
    assert shown("10%\r", "55%\r100%\ndone\n") == ["100%", "done", ""]
    assert shown("downloading\r\x1b[Kok") == ["ok"]
    assert shown("downloading\x1b[2K\rok") == ["ok"]
    assert shown("abc\b\bX\x1b[4GY\x1b[2DZ") == ["aXZY"]
    assert shown("a\tb\r\nc") == ["a       b", "c"]


def test_codes_may_be_divided_between_pieces() -> None:
    whole = "a\x1b[1;31mb\x1b]0;title\x07c\x1b[0md\n"
    for cut in range(len(whole)):
        assert shown(whole[:cut], whole[cut:]) == ["abcd", ""]


def test_other_codes_are_dropped_and_hidden_characters_are_shown() -> None:
    assert shown("\x1b[?25l\x1b[2J\x1b[1;1Ha\x1b]8;;http://x\x1b\\b\x1b(B\x1b=\x1b[>4;1mc\a\0") == ["abc"]
    assert shown("a\u202eb\x1b\x01c") == ["a⟦U+202E⟧b⟦U+001B⟧⟦U+0001⟧c"]
    assert styles("\x1b[8mhidden") == [("hidden", PLAIN)]


def test_long_lines_are_cut_and_the_cursor_stays_within_them() -> None:
    assert len(shown("x" * 10_000)[0]) == LINE_LIMIT
    assert len(shown("\x1b[99999999Gx\x1b[99999999Cyz")[0]) <= LINE_LIMIT
    assert shown(f"\x1b[{'9' * 5_000}ma")[0].startswith("⟦U+001B⟧[999")


@given(st.lists(st.text(alphabet="ab\x1b[]0;9mKGCD\r\n\b\t\x07\x9b?\\", max_size=30), max_size=6))
def test_any_division_of_any_output_shows_the_same(pieces: list[str]) -> None:
    assert shown(*pieces) == shown("".join(pieces))
