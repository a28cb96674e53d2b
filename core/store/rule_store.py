"""The user's permission rules in the data file. A rule is checked against its examples when it is added or read."""

import dataclasses
import json
import secrets
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, get_args

from core.domain.clock import Clock, now
from core.domain.ids import ALPHABET
from core.domain.permissions import RuleScope
from core.domain.problems import ErrorDetails, Problem
from core.domain.rules import Effect, PermissionRule, Subject, check_rule
from core.store.database import Database

T = TypeVar("T")
COLUMNS = "id, effect, tool, subject, pattern, scope, scope_id, matches, misses, author, created_at, session"
_WORDS: dict[str, frozenset[str]] = {
    "effect": frozenset(get_args(Effect)),
    "subject": frozenset(get_args(Subject)),
    "scope": frozenset(get_args(RuleScope)),
}


@dataclass(frozen=True, slots=True)
class LoadedRules:
    """The rules in effect.

    `rules` is None if they cannot be read: then every call needs approval, and `error` says why.
    """

    rules: tuple[PermissionRule, ...] | None
    error: ErrorDetails | None = None


def new_rule_id() -> str:
    return "".join(secrets.choice(ALPHABET) for _ in range(6))


class RuleStore:
    """Permission rules, read on separate connections; every change is one transaction."""

    def __init__(self, path: Path, database: Database | None, *, frozen: bool = False, clock: Clock = now) -> None:
        self._path = path
        self._database = database
        self._flags = "immutable=1" if frozen else "mode=ro"
        self._clock = clock
        self._cached: LoadedRules | None = None

    def current(self) -> LoadedRules:
        """Return the rules, cached until the next change. No other process changes them."""
        if self._cached is None or self._cached.rules is None:
            self._cached = self.read()
        return self._cached

    def read(self) -> LoadedRules:
        """Read every rule that was not revoked. If any of them is invalid, the result has no rules but an error."""
        try:
            rows = self._rows(f"SELECT {COLUMNS} FROM rule WHERE revoked_at = 0 ORDER BY created_at, id")
            rules = tuple(map(_rule, rows))
            for rule in rules:
                check_rule(rule)
        except Problem as problem:
            return LoadedRules(None, _unreadable(str(problem)))
        except (sqlite3.Error, ValueError, TypeError) as error:
            return LoadedRules(None, _unreadable(f"{error}."))
        return LoadedRules(rules)

    async def add(self, rules: Sequence[PermissionRule]) -> None:
        """Save rules after checking each against its examples."""
        for rule in rules:
            check_rule(rule)
        await self._write(lambda db: _insert(db, rules))

    async def replace(self, name: str, rule: PermissionRule) -> None:
        """Revoke the rule with this ID and save `rule` instead. Past decisions then still name the old one."""
        check_rule(rule)
        revoked_at = self._clock()

        def write(db: sqlite3.Connection) -> None:
            _revoke(db, name, revoked_at)
            _insert(db, [rule])

        await self._write(write)

    async def restore(self, name: str) -> str:
        """Restore a revoked rule. Return a one-line description."""

        def write(db: sqlite3.Connection) -> str:
            row = db.execute(f"SELECT {COLUMNS} FROM rule WHERE id = ? AND revoked_at > 0", (name,)).fetchone()
            if row is None:
                raise Problem(f"There is no revoked rule {name!r}.", "", "List the rules with `journeyman rules`.")
            rule = _rule(row)
            check_rule(rule)
            db.execute("UPDATE rule SET revoked_at = 0 WHERE id = ?", (name,))
            return rule.description

        return await self._write(write)

    async def revoke(self, name: str) -> str:
        """Revoke the rule with this id, even if it is invalid. Return a one-line description."""
        revoked_at = self._clock()
        return await self._write(lambda db: _revoke(db, name, revoked_at))

    async def _write(self, write: Callable[[sqlite3.Connection], T]) -> T:
        try:
            return await self._writer().run(write)
        finally:
            self._cached = None

    def _rows(self, query: str) -> list[tuple[Any, ...]]:
        uri = f"{self._path.absolute().as_uri()}?{self._flags}"
        with closing(sqlite3.connect(uri, uri=True, isolation_level=None)) as db:
            return db.execute(query).fetchall()

    def _writer(self) -> Database:
        if self._database is None:
            raise Problem("The data folder is not writable.", "It is open read-only.", "")
        return self._database


def _insert(db: sqlite3.Connection, rules: Sequence[PermissionRule]) -> None:
    marks = ", ".join("?" for _ in COLUMNS.split(","))
    db.executemany(f"INSERT INTO rule ({COLUMNS}, revoked_at) VALUES ({marks}, 0)", map(_values, rules))


def _revoke(db: sqlite3.Connection, name: str, revoked_at: int) -> str:
    row = db.execute("SELECT effect, tool, pattern FROM rule WHERE id = ? AND revoked_at = 0", (name,)).fetchone()
    if row is None:
        raise Problem(f"There is no rule {name!r}.", "", "List the rules with `journeyman rules`.")
    db.execute("UPDATE rule SET revoked_at = ? WHERE id = ?", (revoked_at, name))
    return f"{row[0]} {row[1]}" + (f": {row[2]}" if row[2] else "")


def _values(rule: PermissionRule) -> tuple[Any, ...]:
    fields = dataclasses.asdict(rule) | {"matches": json.dumps(rule.matches), "misses": json.dumps(rule.misses)}
    return tuple(fields[name] for name in COLUMNS.split(", "))


def _rule(row: tuple[Any, ...]) -> PermissionRule:
    fields = dict(zip(COLUMNS.split(", "), row, strict=True))
    for name, allowed_values in _WORDS.items():
        if fields[name] not in allowed_values:
            raise ValueError(f"{fields[name]!r} is not a valid {name} of a rule")
    if not all(isinstance(fields[name], str) for name in fields if name != "created_at") or not isinstance(
        fields["created_at"], int
    ):
        raise ValueError(f"the rule {fields['id']!r} has a field of the wrong type")
    for name in ("matches", "misses"):
        examples = json.loads(fields[name])
        if not isinstance(examples, list) or not all(isinstance(example, str) for example in examples):
            raise ValueError(f"the examples of the rule {fields['id']!r} are not a list of strings")
        fields[name] = tuple(examples)
    return PermissionRule(**fields)


def _unreadable(cause: str) -> ErrorDetails:
    return ErrorDetails(
        "Your permission rules cannot be read.", cause, "Revoke the invalid rule. Until then, every call is asked."
    )
