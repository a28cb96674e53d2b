"""Which lines of a git configuration are harmless."""

import pytest

from core.domain.git_config import harmless_lines, is_harmless
from core.domain.git_destinations import is_harmless_change, leads_elsewhere

USUAL = """[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = false
[remote "origin"]
\turl = https://example.org/a.git
\tfetch = +refs/heads/*:refs/remotes/origin/*
[branch "main"]
\tremote = origin
\tmerge = refs/heads/main
[user]
\tname = Ada Byron
\temail = ada@example.org
"""
ORDERS = [
    "[core]\n\tfsmonitor = touch x", "[core]\n\thooksPath = h", "[core]\n\tsshCommand = x", "[core]\n\tpager = x",
    "[core] fsmonitor = x", "[CORE]\nFsMonitor=x", "[core]\n\teditor = x", "[core]\n\tworktree = /",
    "[core]\n\tbare = false \\\n\tfsmonitor = x", '[core]\n\tbare = "false"', "[core]\n\tbare = false # x",
    "[include]\n\tpath = x", '[includeIf "gitdir:/"]\n\tpath = x', "[alias]\n\tst = !x", '[filter "a"]\n\tsmudge = x',
    '[diff "a"]\n\ttextconv = x', '[merge "a"]\n\tdriver = x', "[credential]\n\thelper = !x", "[gpg]\n\tprogram = x",
    '[remote "o"]\n\turl = ext::sh -c x', '[remote "o"]\n\tuploadpack = x', '[submodule "a"]\n\tupdate = !x',
    '[url "x"]\n\tinsteadOf = y', "[http]\n\tproxy = x", "[gc]\n\trecentObjectsHook = x", "[user]\n\tname = a\x0bb",
    '[core "\\""]\n\tbare = false', "\ufeff[core]\n\tbare = false", "[sequence]\n\teditor = x", "[man]\n\tviewer = x",
]  # fmt: skip


def test_settings_written_by_git_itself_are_harmless() -> None:
    assert is_harmless(USUAL) and harmless_lines(USUAL) == USUAL


@pytest.mark.parametrize("orders", ORDERS)
def test_program_settings_are_found_and_removed(orders: str) -> None:
    whole = USUAL + orders + "\n"
    assert not is_harmless(whole, USUAL) and is_harmless(whole, whole)
    assert is_harmless(harmless_lines(whole)) and harmless_lines(whole).startswith(USUAL)


def test_a_known_setting_in_another_section_is_new() -> None:
    assert not is_harmless("[core]\n\tfsmonitor = x\n", "[other]\n\tfsmonitor = x\n")


@pytest.mark.parametrize(
    ("lines", "elsewhere"),
    [
        ('[remote "origin"]\n\tpushurl = https://evil.example/a.git\n', True),
        ('[remote "other"]\n\turl = https://example.org/a.git\n', True),
        ('[branch "main"]\n\tpushRemote = https://evil.example/a.git\n', True),
        ('[branch "main"]\n\tremote = sub\n', True),
        ('[submodule "s"]\n\turl = https://evil.example/s.git\n', True),
        ('[branch "topic"]\n\tremote = origin\n\tmerge = refs/heads/main\n', False),
        ('[branch "topic"]\n\tremote = .\n', False),
        ('[remote "origin"]\n\turl = https://example.org/a.git\n', False),
        ("[user]\n\tname = Bob\n", True),
    ],
)
def test_new_places_to_fetch_from_and_push_to_are_found(lines: str, elsewhere: bool) -> None:
    assert is_harmless(USUAL + lines) and leads_elsewhere(USUAL + lines, USUAL) == elsewhere


def test_a_changed_address_is_found() -> None:
    assert leads_elsewhere(USUAL.replace("example.org", "evil.example"), USUAL)


@pytest.mark.parametrize(
    "lines",
    [
        '[remote "origin"]\n\tpush = :refs/heads/main', '[remote "origin"]\n\tmirror = true',
        '[remote "origin"]\n\tfetch = +refs/heads/*:refs/heads/*', "[push]\n\tdefault = matching",
        "[core]\n\tsharedRepository = 0666", "[core]\n\tprotectHFS = false", "[user]\n\temail = evil@example.org",
    ],
)  # fmt: skip
def test_what_decides_the_next_push_is_found_although_it_runs_no_program(lines: str) -> None:
    assert is_harmless(USUAL + lines) and leads_elsewhere(USUAL + lines, USUAL)
    assert not leads_elsewhere(USUAL + lines, USUAL + lines)


@pytest.mark.parametrize(
    "lost",
    [
        "[core]\n\thooksPath = .hooks", '[remote "o"]\n\turl = https://example.org/o.git',
        "[transfer]\n\tfsckObjects = true", '[remote "origin"]\n\tpushurl = none', "[remote]\n\tpushDefault = fork",
        '[branch "main"]\n\tpushRemote = origin',
    ],
)  # fmt: skip
def test_lost_settings_are_found(lost: str) -> None:
    assert not is_harmless_change(USUAL, USUAL + lost) and is_harmless_change(USUAL + lost, USUAL + lost)


@pytest.mark.parametrize(
    "lost",
    ['[branch "x"]\n\tremote = origin\n\tpushRemote = origin\n\tnote = x\n', "[core]\n\tignoreCase = true\n"],
)
def test_a_removed_branch_and_harmless_settings_may_be_lost(lost: str) -> None:
    assert is_harmless_change(USUAL, USUAL + lost)


def test_where_a_branch_is_pushed_is_lost_only_with_the_branch() -> None:
    former = USUAL + '[branch "x"]\n\tpushRemote = origin\n'
    assert is_harmless_change(USUAL, former, lambda name: name != "x")
    assert not is_harmless_change(USUAL, former, lambda name: name == "x")


def test_an_author_may_be_named_where_there_is_none() -> None:
    former = USUAL.partition("[user]")[0]
    assert not leads_elsewhere(USUAL, former)


def test_further_branches_to_fetch_are_usual() -> None:
    more = '[remote "origin"]\n\tfetch = +refs/heads/x:refs/remotes/origin/x\n\tfetch = refs/tags/*:refs/tags/*'
    assert not leads_elsewhere(USUAL + more, USUAL)


@pytest.mark.parametrize(
    ("trusted", "added"),
    [
        ("[advice]\n\tx = 1\n[core] ; mine\n\tbare = false\n", "\tfsmonitor = x\n"),
        ("[advice]\n[core]\t# mine\n", "\tfsmonitor = x\n"),
        ('[remote "a"]\n\tuploadpack = x\n[remote "b"]\n\turl = https://b.example/b.git\n', "\tuploadpack = x\n"),
    ],
)
def test_a_line_is_judged_in_the_section_that_git_reads_it_in(trusted: str, added: str) -> None:
    assert is_harmless(trusted, trusted) and not is_harmless(trusted + added, trusted)
    assert added not in harmless_lines(trusted + added)


@pytest.mark.parametrize("end", ["\\\n", "\\\r\n"])
def test_a_header_in_a_continued_value_begins_no_section(end: str) -> None:
    trusted = f"[core]\n\tsshCommand = ssh {end} -v\n"
    changed = f"[core]\n\tsshCommand = ssh {end}[advice]\n\tfsmonitor = x\n"
    assert is_harmless(trusted, trusted) and not is_harmless(changed, trusted)
    assert harmless_lines(changed) == "[core]\n"


def test_a_backslash_in_a_comment_continues_nothing() -> None:
    trusted = "[advice]\n\tx = 1 # \\\n[core]\n"
    assert not is_harmless(trusted + "\tfsmonitor = x\n", trusted)


def test_a_value_of_many_lines_is_read_once() -> None:
    assert harmless_lines("[core]\n\tx = " + "\\\n" * 100_000 + "[user]\n\tname = a\n") == "[core]\n"
