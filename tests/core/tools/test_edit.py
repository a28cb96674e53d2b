"""Edits: one exact place, only in what was read, and never a half of it."""

from pathlib import Path

import pytest

from core.tools.seen import seen_after
from core.tools.tool import Change, Result
from tests.core.tools.calls import call, put, seen


def test_the_one_place_is_replaced(tmp_path: Path) -> None:
    put(tmp_path, "a.txt", "one\ntwo\nthree\n")
    done = call(tmp_path, "edit", seen(tmp_path, "a.txt"), path="./a.txt", old="two", new="2")
    assert not done.failed and (tmp_path / "a.txt").read_text() == "one\n2\nthree\n"
    assert done.changes == (Change("./a.txt", b"one\ntwo\nthree\n", b"one\n2\nthree\n"),)
    again = call(tmp_path, "edit", seen_after({}, done), path="a.txt", old="2", new="II")
    assert not again.failed


def test_a_file_that_was_not_read_is_shown_and_left_alone(tmp_path: Path) -> None:
    put(tmp_path, "a.txt", "x" * 5_000)
    done = call(tmp_path, "edit", path="a.txt", old="x", new="y")
    assert done.failed and "was not read" in done.output and "3,500 bytes more" in done.output
    assert len(done.output) < 2_000 and (tmp_path / "a.txt").read_text() == "x" * 5_000


def test_a_file_that_changed_since_is_left_alone(tmp_path: Path) -> None:
    put(tmp_path, "a.txt", "mine")
    known = seen(tmp_path, "a.txt")
    put(tmp_path, "a.txt", "yours")
    done = call(tmp_path, "edit", known, path="a.txt", old="yours", new="ours")
    assert done.failed and "has changed since" in done.output and "yours" in done.output


@pytest.mark.parametrize(
    ("text", "old", "new", "said"),
    [
        ("ab ab", "ab", "c", "more than once"),
        ("aaa", "aa", "b", "more than once"),
        ("one\n two\n", "two \n", "x", "Line 2 begins like it"),
        ("one", "1", "x", "does not stand"),
        ("one", "one", "one", "Nothing would change"),
    ],
)
def test_what_is_not_plain_is_refused(tmp_path: Path, text: str, old: str, new: str, said: str) -> None:
    put(tmp_path, "a.txt", text)
    done = call(tmp_path, "edit", seen(tmp_path, "a.txt"), path="a.txt", old=old, new=new)
    assert done.failed and said in done.output and (tmp_path / "a.txt").read_text() == text


def test_line_ends_stay(tmp_path: Path) -> None:
    put(tmp_path, "a.txt", b"one\r\ntwo\r\nthree\r\n")
    assert not call(tmp_path, "edit", seen(tmp_path, "a.txt"), path="a.txt", old="one\ntwo", new="1\n2").failed
    assert (tmp_path / "a.txt").read_bytes() == b"1\r\n2\r\nthree\r\n"


@pytest.mark.parametrize("body", [b"a\0b", b"\xff\xfe\xfa"])
def test_what_is_no_text_is_not_edited(tmp_path: Path, body: bytes) -> None:
    put(tmp_path, "a.bin", body)
    done = call(tmp_path, "edit", seen(tmp_path, "a.bin"), path="a.bin", old="a", new="b")
    assert done.failed and (tmp_path / "a.bin").read_bytes() == body


@pytest.mark.parametrize("name", ["../out.txt", "/etc/hosts", "link", "link/../../out.txt", "", "a\0b"])
def test_nothing_outside_is_edited(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "inner"
    folder.mkdir()
    put(tmp_path, "out.txt", "canary")
    (folder / "link").symlink_to(tmp_path / "out.txt")
    assert call(folder, "edit", path=name, old="canary", new="gone").failed
    assert call(folder, "patch", diff=f"--- {name}\n+++ {name}\n@@ -1 +1 @@\n-canary\n+gone\n").failed
    assert (tmp_path / "out.txt").read_text() == "canary"


def test_what_read_and_write_have_shown_can_be_edited(tmp_path: Path) -> None:
    put(tmp_path, "a.txt", "one\ntwo\n")
    for name, more in (("read", {"start": 2}), ("write", {"content": "two\n"})):
        first = call(tmp_path, name, path="a.txt", **more)
        assert not call(tmp_path, "edit", seen_after({}, first), path="a.txt", old="two", new="2").failed


def test_what_is_known_follows_reads_and_own_writes_only() -> None:
    first = seen_after({}, Result("", seen=(("./a", "1"),)))
    assert first == {"a": "1"}
    other = seen_after(first, Result("", changes=(Change("a", b"somebody's", b"new"),)))
    assert other == {"a": "1"}  # what it wrote over was not what it had read
    assert seen_after(first, Result("", changes=(Change("a", b"x", None),))) == {}
