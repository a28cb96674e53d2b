"""Rules are kept, revoked and never half believed."""

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from core.domain.problems import Problem
from core.domain.rules import Rule, made_rule
from core.store.database import Database
from core.store.rule_book import Book, RuleBook, new_rule_id


def kept(path: Path, *work: Callable[[RuleBook], object]) -> Book:
    """What a book holds after some work on it."""
    database = Database(path)

    async def main() -> None:
        for each in work:
            await each(RuleBook(path, database, clock=lambda: 99))  # type: ignore[misc]

    try:
        asyncio.run(main())
        return RuleBook(path, None).read()
    finally:
        database.close()


def log(name: str = "abc234", **more: object) -> Rule:
    given: dict[str, object] = {"scope": "always", "made": 5, "session": "s", "example": "git log -p", **more}
    return made_rule(name, "allow", "run", "command", "git log *", **given)  # type: ignore[arg-type]


def test_a_rule_is_kept_with_who_when_and_where_from(tmp_path: Path) -> None:
    rules = (log(), log("b", scope="folder", where="/w", made=6))
    assert kept(tmp_path / "a.db", lambda book: book.add(rules)) == Book(rules)
    assert rules[0].matches == ("git log -p", "git log") and (rules[0].by, rules[0].session) == ("person", "s")


def test_a_revoked_rule_says_nothing_and_is_remembered(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    assert kept(path, lambda book: book.add([log()]), lambda book: book.revoke("abc234")) == Book(())
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT id, revoked FROM rule").fetchall() == [("abc234", 99)]
    with pytest.raises(Problem):
        kept(path, lambda book: book.revoke("abc234"))


def test_a_rule_that_is_not_true_of_its_examples_is_not_kept(tmp_path: Path) -> None:
    wrong = Rule("a", "allow", "run", "command", "git log *", matches=("git diff",), misses=("ls",))
    with pytest.raises(Problem):
        kept(tmp_path / "a.db", lambda book: book.add([log("b"), wrong]))
    assert kept(tmp_path / "a.db") == Book(())


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE rule SET pattern = 'git *'",
        "UPDATE rule SET pattern = 'rm *'",
        "UPDATE rule SET matches = '[]'",
        "UPDATE rule SET matches = '{'",
        "UPDATE rule SET matches = '[1]'",
        "UPDATE rule SET effect = 'permit'",
        "UPDATE rule SET scope = 'once'",
        "UPDATE rule SET scope = 'folder'",
        "UPDATE rule SET tool = x'00'",
        "UPDATE rule SET made = 'today'",
        "DROP TABLE rule",
    ],
)
def test_one_bad_rule_spoils_the_book(tmp_path: Path, change: str) -> None:
    path = tmp_path / "a.db"
    kept(path, lambda book: book.add([log(), log("good")]))
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(change)
    book = RuleBook(path, None).read()
    assert book.rules is None and book.trouble and book.trouble.why


def test_a_book_that_is_no_database_is_unreadable(tmp_path: Path) -> None:
    (tmp_path / "a.db").write_bytes(b"nonsense" * 1000)
    assert RuleBook(tmp_path / "a.db", None).read().rules is None
    assert RuleBook(tmp_path / "none.db", None).read().rules is None


def test_nothing_is_added_where_nothing_can_be_written(tmp_path: Path) -> None:
    with pytest.raises(Problem):
        asyncio.run(RuleBook(tmp_path / "a.db", None).add([log()]))


def test_names_are_short_and_new() -> None:
    assert len({new_rule_id() for _ in range(100)}) == 100 and len(new_rule_id()) == 6
