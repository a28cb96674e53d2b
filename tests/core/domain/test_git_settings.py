"""Which settings of git give no orders."""

import pytest

from core.domain.git_settings import is_plain, plain_lines

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


def test_what_git_writes_itself_gives_no_orders() -> None:
    assert is_plain(USUAL) and plain_lines(USUAL) == USUAL


@pytest.mark.parametrize("orders", ORDERS)
def test_orders_are_found_and_left_out(orders: str) -> None:
    whole = USUAL + orders + "\n"
    assert not is_plain(whole, USUAL) and is_plain(whole, whole)
    assert is_plain(plain_lines(whole)) and plain_lines(whole).startswith(USUAL)


def test_an_old_order_under_another_section_is_a_new_one() -> None:
    assert not is_plain("[core]\n\tfsmonitor = x\n", "[other]\n\tfsmonitor = x\n")
