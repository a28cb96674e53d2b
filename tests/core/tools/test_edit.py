"""The `edit` tool: one match, not in files that changed since they were read, and all or nothing."""

from difflib import SequenceMatcher
from pathlib import Path

import pytest

from core.tools import edit
from core.tools.read_before_edit import updated_digests
from core.tools.tool import KnownFile, ToolResult
from core.workspace.file_change import FileChange
from tests.core.tools.calls import call, create_file, seen


def test_the_only_match_is_replaced(tmp_path: Path) -> None:
    create_file(tmp_path, "a.txt", "one\ntwo\nthree\n")
    done = call(tmp_path, "edit", seen(tmp_path, "a.txt"), path="./a.txt", old_string="two", new_string="2")
    assert not done.failed and (tmp_path / "a.txt").read_text() == "one\n2\nthree\n"
    assert done.changes == (FileChange("./a.txt", b"one\ntwo\nthree\n", b"one\n2\nthree\n"),)
    again = call(tmp_path, "edit", updated_digests({}, done), path="a.txt", old_string="2", new_string="II")
    assert not again.failed


def test_a_file_that_was_not_read_is_shown_and_not_edited(tmp_path: Path) -> None:
    create_file(tmp_path, "a.txt", "x" * 5_000)
    done = call(tmp_path, "edit", path="a.txt", old_string="x", new_string="y")
    assert done.failed and "was not read" in done.output and "3,500 bytes more" in done.output
    assert len(done.output) < 2_000 and (tmp_path / "a.txt").read_text() == "x" * 5_000


def test_an_exact_match_needs_no_reading_before(tmp_path: Path) -> None:
    create_file(tmp_path, "a.txt", "one\ntwo\n")
    done = call(tmp_path, "edit", path="a.txt", old_string="two", new_string="2")
    assert done.output == "Edited a.txt at line 2." and (tmp_path / "a.txt").read_text() == "one\n2\n"
    assert not done.known_files  # the model has not seen the rest


@pytest.mark.parametrize(
    ("before", "new", "after"),
    [
        ("one\n", "two", "one\ntwo\n"),
        ("one", "two\n", "one\ntwo\n"),
        ("one\r\n", "two\nthree", "one\r\ntwo\r\nthree\r\n"),
        ("", "two", "two\n"),
    ],
)
def test_an_empty_old_string_appends_lines(tmp_path: Path, before: str, new: str, after: str) -> None:
    (tmp_path / "a.txt").write_bytes(before.encode())
    done = call(tmp_path, "edit", path="a.txt", old_string="", new_string=new)
    assert done.output == "Appended new_string to a.txt." and (tmp_path / "a.txt").read_bytes() == after.encode()


def test_the_same_text_is_not_appended_twice_in_a_row(tmp_path: Path) -> None:
    create_file(tmp_path, "a.txt", "one\nsugar: 30 g\n")
    done = call(tmp_path, "edit", path="a.txt", old_string="", new_string="sugar: 30 g")
    assert "ends with new_string already" in done.output and not done.failed and not done.changes
    assert call(tmp_path, "edit", path="b.txt", old_string="", new_string="one").failed, "there is no such file"


def test_an_edit_that_was_made_before_changes_nothing(tmp_path: Path) -> None:
    create_file(tmp_path, "a.txt", "port = 9090\n")
    done = call(tmp_path, "edit", seen(tmp_path, "a.txt"), path="a.txt", old_string="8080", new_string="9090")
    assert not done.failed and "Nothing was changed" in done.output and not done.changes


@pytest.mark.parametrize(
    ("old", "new", "after"),
    [
        ("if a:\n    return b", "if a:\n    return c\n", "def f():\n    if a:\n        return c\n    return 0\n"),
        ("  if a:\n      return b  \n", "  if b:\n      pass\n", "def f():\n    if b:\n        pass\n    return 0\n"),
        ("        if a:\n            return b", "        return a", "def f():\n    return a\n    return 0\n"),
    ],
)
def test_lines_match_apart_from_their_indentation(tmp_path: Path, old: str, new: str, after: str) -> None:
    create_file(tmp_path, "a.py", "def f():\n    if a:\n        return b\n    return 0\n")
    done = call(tmp_path, "edit", seen(tmp_path, "a.py"), path="a.py", old_string=old, new_string=new)
    assert (tmp_path / "a.py").read_text() == after and "was adjusted" in done.output


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        ("  return value\n\treturn value\n", "    return value", "return 1"),  # two lines match
        ("  if a:\n      return b\n", "if a:\n  return b", "pass"),  # the lines are indented in another way
        ("\treturn value\n", "  return value  ", "  return 1"),  # a tab instead of spaces
        ("  return value\n", "    return value", "return 1"),  # the new line is not indented as far
    ],
)
def test_an_unclear_indentation_is_refused(tmp_path: Path, text: str, old: str, new: str) -> None:
    create_file(tmp_path, "a.py", text)
    done = call(tmp_path, "edit", seen(tmp_path, "a.py"), path="a.py", old_string=old, new_string=new)
    assert done.failed and (tmp_path / "a.py").read_text() == text


def test_a_file_changed_since_it_was_read_is_not_edited(tmp_path: Path) -> None:
    create_file(tmp_path, "a.txt", "mine")
    known = seen(tmp_path, "a.txt")
    create_file(tmp_path, "a.txt", "yours")
    done = call(tmp_path, "edit", known, path="a.txt", old_string="yours", new_string="ours")
    assert done.failed and "has changed since" in done.output and "yours" in done.output


@pytest.mark.parametrize(
    ("text", "old", "new", "said"),
    [
        ("ab ab", "ab", "c", "more than once"),
        ("aaa", "aa", "b", "more than once"),
        ("one\n two\n", "two \n", "x", "The most similar text is line 2: ' two'"),
        ("def f(a):\n    return a - 1\n", "return a-1\nend", "x", "line 2: '    return a - 1'"),
        ("one", "1", "x", "was not found"),
        ("one", "one", "one", "Nothing would change"),
    ],
)
def test_an_ambiguous_edit_is_refused(tmp_path: Path, text: str, old: str, new: str, said: str) -> None:
    create_file(tmp_path, "a.txt", text)
    done = call(tmp_path, "edit", seen(tmp_path, "a.txt"), path="a.txt", old_string=old, new_string=new)
    assert done.failed and said in done.output and (tmp_path / "a.txt").read_text() == text


def test_line_endings_are_kept(tmp_path: Path) -> None:
    create_file(tmp_path, "a.txt", b"one\r\ntwo\r\nthree\r\n")
    assert not call(
        tmp_path, "edit", seen(tmp_path, "a.txt"), path="a.txt", old_string="one\ntwo", new_string="1\n2"
    ).failed
    assert (tmp_path / "a.txt").read_bytes() == b"1\r\n2\r\nthree\r\n"


def test_every_occurrence_is_replaced_on_request(tmp_path: Path) -> None:
    create_file(tmp_path, "a.txt", "Monday, Monday\nTuesday\n")
    known = seen(tmp_path, "a.txt")
    call(tmp_path, "edit", known, path="a.txt", old_string="Monday", new_string="Friday", replace_all=True)
    assert (tmp_path / "a.txt").read_text() == "Friday, Friday\nTuesday\n"
    done = call(tmp_path, "edit", path="a.txt", old_string="Friday", new_string="Sunday", replace_all=True)
    assert (
        done.output == "Edited a.txt in 2 places." and (tmp_path / "a.txt").read_text() == "Sunday, Sunday\nTuesday\n"
    )


def test_a_short_file_that_is_shown_counts_as_read(tmp_path: Path) -> None:
    """The next edit need not be preceded by a call of `read`, and says when the file changed in between."""
    create_file(tmp_path, "a.txt", "port = 8080\nhost = a\n")
    failed = call(tmp_path, "edit", path="a.txt", old_string="port: 8080", new_string="port: 9090")
    assert failed.failed and "was not found" in failed.output and "port = 8080\nhost = a" in failed.output
    known = updated_digests({}, failed)
    create_file(tmp_path, "a.txt", "port = 8081\n")
    assert "has changed since" in call(tmp_path, "edit", known, path="a.txt", old_string="port", new_string="p").output
    ambiguous = call(tmp_path, "edit", path="a.txt", old_string="8", new_string="9")
    assert ambiguous.failed and "more than once" in ambiguous.output and "port = 8081" in ambiguous.output


@pytest.mark.parametrize("body", [b"a\0b", b"\xff\xfe\xfa"])
def test_binary_files_are_not_edited(tmp_path: Path, body: bytes) -> None:
    create_file(tmp_path, "a.bin", body)
    done = call(tmp_path, "edit", seen(tmp_path, "a.bin"), path="a.bin", old_string="a", new_string="b")
    assert done.failed and (tmp_path / "a.bin").read_bytes() == body


@pytest.mark.parametrize("name", ["../out.txt", "/etc/hosts", "link", "link/../../out.txt", "", "a\0b"])
def test_nothing_outside_is_edited(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "inner"
    folder.mkdir()
    create_file(tmp_path, "out.txt", "canary")
    (folder / "link").symlink_to(tmp_path / "out.txt")
    assert call(folder, "edit", path=name, old_string="canary", new_string="gone").failed
    assert call(folder, "patch", diff=f"--- {name}\n+++ {name}\n@@ -1 +1 @@\n-canary\n+gone\n").failed
    assert (tmp_path / "out.txt").read_text() == "canary"


def test_files_shown_by_read_and_write_can_be_edited(tmp_path: Path) -> None:
    create_file(tmp_path, "a.txt", "one\ntwo\n")
    for name, more in (("read", {"start": 2}), ("write", {"content": "two\n"})):
        first = call(tmp_path, name, path="a.txt", **more)
        assert not call(
            tmp_path, "edit", updated_digests({}, first), path="a.txt", old_string="two", new_string="2"
        ).failed


def test_the_files_that_still_contain_a_replaced_identifier_are_named(tmp_path: Path) -> None:
    create_file(tmp_path, "a.py", "def old_name():\n    return 1\n")
    create_file(tmp_path, "b.py", "from a import old_name\n")
    create_file(tmp_path, "c.py", "very_old_name = 1\n")
    digests = seen(tmp_path, "a.py") | seen(tmp_path, "b.py") | seen(tmp_path, "c.py")
    done = call(tmp_path, "edit", digests, path="a.py", old_string="old_name", new_string="new_name")
    assert done.output == "Edited a.py at line 1. old_name is also in b.py."
    done = call(tmp_path, "edit", digests, path="b.py", old_string="from a import", new_string="from z import")
    assert done.output == "Edited b.py at line 1."


@pytest.mark.parametrize(
    ("old", "new", "note"),
    [
        ('__version__ = "2.0.9"', '__version__ = "2.1.0"', " 2.0.9 is also in setup.cfg."),
        ("2.0.9", "2.1.0", " 2.0.9 is also in setup.cfg."),
        ("def area():", "def surface():", " area is also in setup.cfg."),
        ("def area():\n    return 1", "def surface():\n    return 2", ""),
        ('__version__ = "2.0.9"', '__version__ = "2.0.9"  # area', ""),
    ],
)
def test_a_name_that_is_replaced_in_a_longer_text_is_found_in_other_files(
    tmp_path: Path, old: str, new: str, note: str
) -> None:
    create_file(tmp_path, "app.py", '__version__ = "2.0.9"\n\n\ndef area():\n    return 1\n')
    create_file(tmp_path, "setup.cfg", "version = 2.0.9\nentry = area\n")
    create_file(tmp_path, "notes.txt", "Version 12.0.9 and 2.0.91 had areas.\n")
    digests = seen(tmp_path, "app.py") | seen(tmp_path, "setup.cfg") | seen(tmp_path, "notes.txt")
    done = call(tmp_path, "edit", digests, path="app.py", old_string=old, new_string=new)
    assert not done.failed and done.output.partition(".py at line ")[2][2:] == note


def test_known_contents_follow_reads_and_own_writes_only() -> None:
    first = updated_digests({}, ToolResult("", known_files=(KnownFile("./a", "1"),)))
    assert first == {"a": "1"}
    other = updated_digests(first, ToolResult("", changes=(FileChange("a", b"somebody's", b"new"),)))
    assert other == {"a": "1"}  # it overwrote other contents than it had read
    assert updated_digests(first, ToolResult("", changes=(FileChange("a", b"x", None),))) == {}


def test_a_text_that_is_not_there_is_compared_with_few_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of these comparisons takes a tenth of a second, so the number of real ones is limited."""
    lines = [f"{'a' * 90}{number:05}{'b' * 90}" for number in range(3_000)]
    compared: list[str] = []

    class Counting(SequenceMatcher[str]):
        def ratio(self) -> float:
            compared.append("")
            return super().ratio()

    monkeypatch.setattr(edit, "SequenceMatcher", Counting)
    quoted = edit._nearest("\n".join([*lines, "x = compute(1)"]), "x = compute(2)")
    assert "line 3001: 'x = compute(1)'" in quoted
    edit._nearest("\n".join(lines), "ab" * 100)
    assert len(compared) <= 2 * edit.MAX_CANDIDATES
