"""Which files a command can print."""

import pytest

from core.domain.command_reads import printed_files

PRINTS = {
    "grep X notes.txt": ("notes.txt",),
    "grep -n -A 3 X a b": ("a", "b"),
    "grep -e X a": ("a",),
    "grep -r X src": ("src",),
    "grep -c X a | wc -l": ("a",),
    "cat a && ls": ("a",),
    "diff src other": ("src", "other"),
    "diff --from-file=notes.txt other": ("other", "notes.txt"),
    "git status -sb": (".git",),
    "git branch": (".git",),  # names of branches are texts, too
    "git ls-files": (),
    "git add -A": (),
    "date +%F": (),
}
PRINTS_ANYTHING = [
    "grep -r -A 3 X",
    "grep -rn X",
    "grep -d recurse X",
    "grep -m 1 --directories=recurse X",
    "grep -re X",
    "grep --frob X a",
    "grep X",
    "date -f notes.txt",
    "date --fil=notes.txt",
    "date -uf notes.txt",
    "git status -sv",
    "git status --verb",
    "git add -p",
    "git add -Ae",
    "git tag -n",
    "git tag --format=%(contents)",
    "git branch -av",
    "awk 1 a",
    "ls | xargs cat",
]


@pytest.mark.parametrize("command", PRINTS)
def test_named_files_are_printed(command: str) -> None:
    assert printed_files(command) == PRINTS[command]


@pytest.mark.parametrize("command", PRINTS_ANYTHING)
def test_in_doubt_any_file_can_be_printed(command: str) -> None:
    assert printed_files(command) is None
