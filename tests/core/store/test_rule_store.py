"""Permission rules are saved and revoked, and a file with an invalid rule yields none at all."""

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from core.domain.problems import Problem
from core.domain.rules import PermissionRule, new_rule
from core.store.database import Database
from core.store.rule_store import LoadedRules, RuleStore, new_rule_id


def rules_after(path: Path, *work: Callable[[RuleStore], object]) -> LoadedRules:
    """Return the rules in a store after some work on it."""
    database = Database(path)

    async def main() -> None:
        for each in work:
            await each(RuleStore(path, database, clock=lambda: 99))  # type: ignore[misc]

    try:
        asyncio.run(main())
        return RuleStore(path, None).read()
    finally:
        database.close()


def log(name: str = "abc234", **more: object) -> PermissionRule:
    given: dict[str, object] = {"scope": "always", "created_at": 5, "session": "s", **more}
    return new_rule(name, "allow", "run", "command", "git log *", **given)  # type: ignore[arg-type]


def test_a_rule_is_stored_with_author_time_and_source(tmp_path: Path) -> None:
    rules = (log(), log("b", scope="folder", scope_id="/w", created_at=6))
    assert rules_after(tmp_path / "a.db", lambda book: book.add(rules)) == LoadedRules(rules)
    assert rules[0].matches == ("git log",) and (rules[0].author, rules[0].session) == ("user", "s")


def test_a_revoked_rule_has_no_effect_and_stays_listed(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    assert rules_after(path, lambda book: book.add([log()]), lambda book: book.revoke("abc234")) == LoadedRules(())
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT id, revoked_at FROM rule").fetchall() == [("abc234", 99)]
    with pytest.raises(Problem):
        rules_after(path, lambda book: book.revoke("abc234"))


def test_a_rule_that_does_not_match_its_examples_is_not_stored(tmp_path: Path) -> None:
    wrong = PermissionRule("a", "allow", "run", "command", "git log *", matches=("git diff",), misses=("ls",))
    with pytest.raises(Problem):
        rules_after(tmp_path / "a.db", lambda book: book.add([log("b"), wrong]))
    assert rules_after(tmp_path / "a.db") == LoadedRules(())


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
        "UPDATE rule SET created_at = 'today'",
        "DROP TABLE rule",
    ],
)
def test_one_bad_rule_invalidates_the_file(tmp_path: Path, change: str) -> None:
    path = tmp_path / "a.db"
    rules_after(path, lambda book: book.add([log(), log("good")]))
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(change)
    book = RuleStore(path, None).read()
    assert book.rules is None and book.error and book.error.cause


def test_a_file_that_is_no_database_is_unreadable(tmp_path: Path) -> None:
    (tmp_path / "a.db").write_bytes(b"nonsense" * 1000)
    assert RuleStore(tmp_path / "a.db", None).read().rules is None
    assert RuleStore(tmp_path / "none.db", None).read().rules is None


def test_no_rule_is_added_to_an_unwritable_folder(tmp_path: Path) -> None:
    with pytest.raises(Problem):
        asyncio.run(RuleStore(tmp_path / "a.db", None).add([log()]))


def test_ids_are_short_and_new() -> None:
    assert len({new_rule_id() for _ in range(100)}) == 100 and len(new_rule_id()) == 6
