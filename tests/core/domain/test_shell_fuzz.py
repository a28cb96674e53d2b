"""The parser of command lines agrees with the shells that are installed."""

import random
import shutil

import pytest

from tests.core.domain.shell_fuzz import SHELLS, divergences, random_line, run, understood


@pytest.mark.parametrize("shell", SHELLS)
def test_the_parser_finds_every_command_that_a_shell_would_run(shell: str) -> None:
    if not shutil.which(shell):
        pytest.skip(f"no {shell} here")
    source = random.Random(2)
    lines = [random_line(source) for _ in range(1_500)]
    assert sum(understood(line) is not None for line in lines) > 100
    assert divergences(lines, [shell]) == []


@pytest.mark.parametrize("shell", SHELLS)
def test_the_comparison_notices_a_misread_line(shell: str) -> None:
    """The comparison sees what a shell runs, so it would see a command that the parser overlooked."""
    if not shutil.which(shell):
        pytest.skip(f"no {shell} here")
    assert run(shell, ["prog a; tool 'b  c' | other"], 0) == [
        {("prog", "a"): 1, ("tool", "b  c"): 1, ("other",): 1},
    ]
    assert run(shell, ["prog a && tool; other *.txt"], 1) == [
        {("prog", "a"): 1, ("other", "a.txt", "b.txt", "c d.txt"): 1}
    ]


@pytest.mark.parametrize(
    "line",
    [
        "prog .*",
        "cat .?",
        "prog ~root",
        "prog =ls",
        "prog a 12>x",
        "prog &>x",
        "prog >&x",
        "prog <<<x",
        "prog {a,b}",
        "X=1 prog",
        "PATH=. prog",
        "prog <<E\n$x\nE",
        "prog <<E\nx",
        "prog 'a'*",
        "prog [ab]",
        "prog \\a",
        "> x",
        "prog >/dev/tcp/a/1",
        ". ./x",
    ],
)
def test_lines_that_shells_read_differently_are_unclear(line: str) -> None:
    assert understood(line) is None
