"""The user's permission rules in the data file. Each rule is checked against its examples when it is added or read."""

import dataclasses
import json
import secrets
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, get_args

from core.domain.clock import Clock, now
from core.domain.ids import ALPHABET
from core.domain.permissions import RuleScope
from core.domain.problems import ErrorDetails, Problem
from core.domain.rules import Effect, PermissionRule, Subject, check_rule
from core.store.data_file import DataFile
from core.store.database import Database

T = TypeVar("T")
COLUMNS = "id, effect, tool, subject, pattern, scope, scope_id, matches, misses, author, created_at, session"
_ALLOWED_VALUES: dict[str, frozenset[str]] = {
    "effect": frozenset(get_args(Effect)),
    "subject": frozenset(get_args(Subject)),
    "scope": frozenset(get_args(RuleScope)),
}


@dataclass(frozen=True, slots=True)
class LoadedRules:
    """The rules in effect. If they cannot be read, `rules` is None, `error` says why, and every call needs approval."""

    rules: tuple[PermissionRule, ...] | None
    error: ErrorDetails | None = None


def new_rule_id() -> str:
    return "".join(secrets.choice(ALPHABET) for _ in range(6))


class RuleStore:
    """Reads, adds, replaces and revokes permission rules."""

    def __init__(self, path: Path, database: Database | None, *, frozen: bool = False, clock: Clock = now) -> None:
        self._file = DataFile(path, database, frozen=frozen)
        self._clock = clock
        self._cached: LoadedRules | None = None

    def current(self) -> LoadedRules:
        """Return the rules. They are cached until this object changes them, because no other process does."""
        if self._cached is None or self._cached.rules is None:
            self._cached = self.read()
        return self._cached

    def read(self) -> LoadedRules:
        """Read all rules that were not revoked. If one of them is invalid, the result has no rules but an error."""
        try:
            rows = self._file.rows(f"SELECT {COLUMNS} FROM rule WHERE revoked_at = 0 ORDER BY created_at, id")
            rules = tuple(map(_rule, rows))
            for rule in rules:
                check_rule(rule)
        except Problem as problem:
            return LoadedRules(None, _unreadable(str(problem)))
        except (sqlite3.Error, ValueError, TypeError) as error:
            return LoadedRules(None, _unreadable(f"{error}."))
        return LoadedRules(rules)

    async def add(self, rules: Sequence[PermissionRule]) -> None:
        """Check each rule against its examples, then save all of them."""
        for rule in rules:
            check_rule(rule)
        await self._write(lambda db: _insert(db, rules))

    async def replace(self, name: str, rule: PermissionRule) -> None:
        """Revoke the rule with this ID and save `rule` in its place. Past decisions still refer to the revoked rule."""
        check_rule(rule)
        revoked_at = self._clock()

        def write(db: sqlite3.Connection) -> None:
            _revoke(db, name, revoked_at)
            _insert(db, [rule])

        await self._write(write)

    async def restore(self, name: str) -> str:
        """Restore a revoked rule. Return its description in one line."""

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
        """Revoke the rule with this ID, even if it is invalid. Return its description in one line."""
        revoked_at = self._clock()
        return await self._write(lambda db: _revoke(db, name, revoked_at))

    async def _write(self, write: Callable[[sqlite3.Connection], T]) -> T:
        try:
            return await self._file.writer.run(write)
        finally:
            self._cached = None


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
    for name, allowed_values in _ALLOWED_VALUES.items():
        if fields[name] not in allowed_values:
            raise ValueError(f"{fields[name]!r} is not a valid {name} of a rule")
    has_texts = all(isinstance(value, str) for name, value in fields.items() if name != "created_at")
    if not has_texts or not isinstance(fields["created_at"], int):
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
