"""Links to files in answers: recognized, opened at their line, and never mistaken for web pages."""

import pytest

from ui.text.file_links import code_link, file_link, file_of_link


@pytest.mark.parametrize(
    ("address", "file"),
    [
        ("src/a.py", ("src/a.py", 0)),
        ("src/a.py:12", ("src/a.py", 12)),
        ("src/a.py:12-14", ("src/a.py", 12)),
        ("src/a.py#L12", ("src/a.py", 12)),
        ("src/a.py#L12-L20", ("src/a.py", 12)),
        ("a%20b.md", ("a b.md", 0)),
        ("a.md#heading", ("a.md", 0)),
        ("Makefile:3", ("Makefile", 3)),
        ("../../etc/passwd", ("../../etc/passwd", 0)),  # refused when it is opened
    ],
)
def test_the_file_and_the_line_of_a_link_are_found(address: str, file: tuple[str, int]) -> None:
    assert file_of_link(file_link(address)) == file


@pytest.mark.parametrize(
    "address", ["https://a.example", "javascript:alert(1)", "file:///etc/passwd", "#part", "//host/x", "", "x" * 500]
)
def test_other_addresses_do_not_name_files(address: str) -> None:
    assert file_link(address) == "" and file_of_link(address) is None


def test_code_is_a_link_only_if_it_names_a_line() -> None:
    assert file_of_link(code_link("core/a.py:12")) == ("core/a.py", 12)
    for text in ("core/a.py", "a.b:c", "x = {1:2}", "http://a.example:80", "a.py: 3", "/etc/passwd.x:1"):
        assert code_link(text) == ""
