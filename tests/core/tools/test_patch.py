"""The `patch` tool: every hunk applies, or nothing is changed."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.problems import Problem
from core.tools.catalogue import read_arguments
from core.tools.patch import PATCH, PatchArguments, timeline_text
from core.tools.unified_diff import apply_diff, parse_diff
from tests.core.tools.calls import call, create_file

TEN = "".join(f"line {n}\n" for n in range(1, 11))


def test_several_files_are_changed_created_and_removed(tmp_path: Path) -> None:
    create_file(tmp_path, "a.txt", TEN)
    create_file(tmp_path, "old/b.txt", "bye\n")
    diff = (
        "diff --git a/a.txt b/a.txt\nindex 1..2 100644\n--- a/a.txt\n+++ b/a.txt\n"
        "@@ -1,3 +1,3 @@\n line 1\n-line 2\n+LINE 2\n line 3\n@@ -9,2 +9,3 @@ there\n line 9\n line 10\n+line 11\n"
        "--- /dev/null\n+++ b/new/c.txt\n@@ -0,0 +1,2 @@\n+hello\n+there\n\\ No newline at end of file\n"
        "--- a/old/b.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-bye\n"
    )
    done = call(tmp_path, "patch", diff=diff)
    assert not done.failed, done.output
    assert (tmp_path / "a.txt").read_text() == TEN.replace("line 2\n", "LINE 2\n") + "line 11\n"
    assert (tmp_path / "new/c.txt").read_text() == "hello\nthere"
    assert not (tmp_path / "old/b.txt").exists() and len(done.changes) == 3
    parameters = read_arguments("patch", '{"diff": "--- a/x\\n+++ b/x\\n@@ -1 +1 @@\\n-a\\n+b\\n"}')
    assert PATCH.paths and PATCH.paths(parameters) == ("x",) and timeline_text(parameters) == "x"


def test_one_failing_hunk_changes_nothing(tmp_path: Path) -> None:
    create_file(tmp_path, "a.txt", TEN)
    create_file(tmp_path, "b.txt", "b\n")
    diff = "--- a.txt\n+++ a.txt\n@@ -1 +1 @@\n-line 1\n+x\n--- b.txt\n+++ b.txt\n@@ -1 +1 @@\n-c\n+d\n"
    done = call(tmp_path, "patch", diff=diff)
    assert done.failed and "does not apply to b.txt" in done.output
    assert (tmp_path / "a.txt").read_text() == TEN and (tmp_path / "b.txt").read_text() == "b\n"


def test_a_file_that_cannot_be_written_reverts_the_others(tmp_path: Path) -> None:
    create_file(tmp_path, "a.txt", "a\n")
    diff = "--- a.txt\n+++ a.txt\n@@ -1 +1 @@\n-a\n+b\n--- /dev/null\n+++ b/.git/hooks/x\n@@ -0,0 +1 @@\n+x\n"
    done = call(tmp_path, "patch", diff=diff)
    assert done.failed and "nothing was changed" in done.output
    assert (tmp_path / "a.txt").read_text() == "a\n"


def test_a_hunk_may_have_moved_but_must_match_once(tmp_path: Path) -> None:
    create_file(tmp_path, "a.txt", "new\n" * 5 + TEN)
    assert not call(tmp_path, "patch", diff="--- a.txt\n+++ a.txt\n@@ -2,2 +2,2 @@\n line 2\n-line 3\n+3\n").failed
    create_file(tmp_path, "b.txt", "x\nsame\ny\nsame\n")
    assert call(tmp_path, "patch", diff="--- b.txt\n+++ b.txt\n@@ -1 +1 @@\n-same\n+other\n").failed


def test_line_endings_and_blank_context_lines(tmp_path: Path) -> None:
    create_file(tmp_path, "a.txt", b"one\r\n\r\ntwo\r\n")
    done = call(tmp_path, "patch", diff="--- a.txt\n+++ a.txt\n@@ -1,3 +1,3 @@\n one\n\n-two\n+2\n-- \n2.40\n")
    assert not done.failed, done.output
    assert (tmp_path / "a.txt").read_bytes() == b"one\r\n\r\n2\r\n"


@pytest.mark.parametrize(
    "diff",
    [
        "nonsense",
        "--- a\n+++ a\n",
        "@@ -1 +1 @@\n-a\n+b\n",
        "--- a\n+++ a\n@@ -1,9 +1,9 @@\n-a\n+b\n",
        "--- a\n+++ a\n@@ -1 +1 @@\n-a\n+b\n+c\n",
        "--- a\n+++ a\n@@ -x +1 @@\n-a\n+b\n",
        "--- a\n+++ b\n@@ -1 +1 @@\n-a\n+b\n",
        "--- a\n+++ a\n@@ -1 +1 @@\n-a\n+b\n--- a\n+++ a\n@@ -1 +1 @@\n-a\n+b\n",
        "--- a\n+++ a\n@@ -1 +1 @@\n-a\n+b\n--- ./a\n+++ ./a\n@@ -1 +1 @@\n-a\n+b\n",
        '--- "a"\n+++ "a"\n@@ -1 +1 @@\n-a\n+b\n',
        "rename from a\nrename to b\n",
        "GIT binary patch\nliteral 3\n",
        "--- /dev/null\n+++ a\n@@ -0,0 +1 @@\n+b\n",
        "--- a\n+++ /dev/null\n@@ -1,2 +1 @@\n-a\n b\n",
        "--- a\n+++ a\n@@ -999999999 +1 @@\n-zzz\n+b\n",
    ],
)
def test_an_unreadable_patch_is_refused(tmp_path: Path, diff: str) -> None:
    create_file(tmp_path, "a", "a\n")
    assert call(tmp_path, "patch", diff=diff).failed
    assert (tmp_path / "a").read_text() == "a\n" and [path.name for path in tmp_path.iterdir()] == ["a"]


LINES = st.lists(st.sampled_from(["a", "b", "", " x", "-", "+", "\\ y", "--- z", "@@", "c\x0c", "é"]), max_size=12)


@given(LINES, LINES, st.booleans(), st.booleans())
def test_a_diff_is_applied_as_patch_would(old: list[str], new: list[str], end: bool, more: bool) -> None:
    before, after = ("".join(f"{line}\n" for line in lines) for lines in (old, new))
    before, after = before if end else before[:-1], after if more else after[:-1]
    if before == after or not before or not after:
        return
    diff = written_by_git(before, after)
    assert apply_diff(parse_diff(diff)[0], before) == after


def written_by_git(before: str, after: str) -> str:
    """Return the diff that git writes, with markers for missing newlines."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("a", before), ("b", after)):
            Path(folder, name).write_bytes(text.encode())
        command = ["git", "diff", "--no-index", "--no-color", "--text", "--no-ext-diff", "a", "b"]
        shown = subprocess.run(command, cwd=folder, capture_output=True, check=False).stdout.decode()
    return shown.replace("--- a/a", "--- a/x").replace("+++ b/b", "+++ b/x")


@given(st.text(alphabet="-+@ \\\na1,", max_size=200))
def test_no_text_breaks_the_parser(text: str) -> None:
    try:
        parse_diff(text)
        parse_diff(f"--- a\n+++ a\n@@ -1,2 +1,2 @@\n{text}")
    except Problem:
        assert timeline_text(PatchArguments(text or "x"))
