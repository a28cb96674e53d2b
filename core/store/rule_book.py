"""The rules a person made, kept in the data file: added, revoked, and read with their examples tried again."""

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
from core.domain.consent import Scope
from core.domain.ids import ALPHABET
from core.domain.problems import Problem, Trouble
from core.domain.rules import Effect, Rule, Subject, check
from core.store.database import Database

T = TypeVar("T")
COLUMNS = "id, effect, tool, subject, pattern, scope, place, matches, misses, by, made, session"
_WORDS: dict[str, frozenset[str]] = {
    "effect": frozenset(get_args(Effect)), "subject": frozenset(get_args(Subject)), "scope": frozenset(get_args(Scope)),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Book:
    """The rules that hold. `rules` is None where they cannot be read: then everything asks, and `trouble` says why."""

    rules: tuple[Rule, ...] | None
    trouble: Trouble | None = None


def new_rule_id() -> str:
    return "".join(secrets.choice(ALPHABET) for _ in range(6))


class RuleBook:
    """Reads beside the writer; every change is one transaction."""

    def __init__(self, path: Path, database: Database | None, *, frozen: bool = False, clock: Clock = now) -> None:
        self._path = path
        self._database = database
        self._flags = "immutable=1" if frozen else "mode=ro"
        self._clock = clock
        self._now: Book | None = None

    def now(self) -> Book:
        """The rules as they were when they last changed: nobody but the owner of the folder changes them."""
        if self._now is None or self._now.rules is None:
            self._now = self.read()
        return self._now

    def read(self) -> Book:
        """Every rule that was not revoked, or none at all: one bad rule spoils the book."""
        try:
            rows = self._rows(f"SELECT {COLUMNS} FROM rule WHERE revoked = 0 ORDER BY made, id")
            rules = tuple(map(_rule, rows))
            for rule in rules:
                check(rule)
        except Problem as problem:
            return Book(None, _unreadable(str(problem)))
        except (sqlite3.Error, ValueError, TypeError) as error:
            return Book(None, _unreadable(f"{error}."))
        return Book(rules)

    async def add(self, rules: Sequence[Rule]) -> None:
        """Keep rules; each is tried on its examples first."""
        for rule in rules:
            check(rule)
        rows = [_values(rule) for rule in rules]
        marks = ", ".join("?" for _ in COLUMNS.split(","))

        def write(db: sqlite3.Connection) -> None:
            db.executemany(f"INSERT INTO rule ({COLUMNS}, revoked) VALUES ({marks}, 0)", rows)

        await self._write(write)

    async def revoke(self, name: str) -> str:
        """End a rule, named by its id; what it said. A rule that cannot be read can be revoked as well."""
        moment = self._clock()

        def write(db: sqlite3.Connection) -> str:
            found = db.execute(
                "SELECT effect, tool, pattern FROM rule WHERE id = ? AND revoked = 0", (name,)
            ).fetchone()
            if found is None:
                raise Problem(f"There is no rule {name!r}.", "", "List them with `journeyman rules list`.")
            db.execute("UPDATE rule SET revoked = ? WHERE id = ?", (moment, name))
            return f"{found[0]} {found[1]}" + (f": {found[2]}" if found[2] else "")

        return await self._write(write)

    async def _write(self, write: Callable[[sqlite3.Connection], T]) -> T:
        try:
            return await self._writer().do(write)
        finally:
            self._now = None

    def _rows(self, query: str) -> list[tuple[Any, ...]]:
        uri = f"{self._path.absolute().as_uri()}?{self._flags}"
        with closing(sqlite3.connect(uri, uri=True, isolation_level=None)) as db:
            return db.execute(query).fetchall()

    def _writer(self) -> Database:
        if self._database is None:
            raise Problem("The data folder cannot be written.", "It was opened to look at.", "")
        return self._database


def _values(rule: Rule) -> tuple[Any, ...]:
    plain = dataclasses.asdict(rule) | {"matches": json.dumps(rule.matches), "misses": json.dumps(rule.misses)}
    return tuple(plain["where" if name == "place" else name] for name in COLUMNS.split(", "))


def _rule(row: tuple[Any, ...]) -> Rule:
    plain = dict(zip(COLUMNS.split(", "), row, strict=True))
    for name, words in _WORDS.items():
        if plain[name] not in words:
            raise ValueError(f"{plain[name]!r} is no {name} of a rule")
    if not all(isinstance(plain[name], str) for name in plain if name != "made") or not isinstance(plain["made"], int):
        raise ValueError(f"the rule {plain['id']!r} holds something else than text")
    for name in ("matches", "misses"):
        examples = json.loads(plain[name])
        if not isinstance(examples, list) or not all(isinstance(example, str) for example in examples):
            raise ValueError(f"the examples of the rule {plain['id']!r} are no list of texts")
        plain[name] = tuple(examples)
    plain["where"] = plain.pop("place")
    return Rule(**plain)


def _unreadable(why: str) -> Trouble:
    return Trouble("Your rules cannot be read.", why, "Everything is asked until the bad rule is revoked.")
