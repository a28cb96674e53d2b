"""Reads memories from the SQLite database of ALMA, another memory system for agents. The file is never changed."""

import contextlib
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from core.domain.problems import Problem

SQLITE_HEADER = b"SQLite format 3\0"


class _AlmaTable(NamedTuple):
    """How to read a table of ALMA: the kind of its memories, and the field of that kind for each column.

    `text_column` is the column that is the text of the memory; None if the text is composed from the fields.
    """

    kind: str
    fields: Mapping[str, str]
    text_column: str | None = None


_PREFERENCES = _AlmaTable("preference", {"category": "about"}, text_column="preference")
ALMA_TABLES: Mapping[str, _AlmaTable] = MappingProxyType(
    {
        "heuristics": _AlmaTable("heuristic", {"condition": "when", "strategy": "do"}),
        "outcomes": _AlmaTable(
            "outcome", {"task_description": "task", "strategy_used": "tried", "error_message": "error"}
        ),
        "domain_knowledge": _AlmaTable("knowledge", {"domain": "about", "source": "source"}, text_column="fact"),
        "anti_patterns": _AlmaTable(
            "anti-pattern", {"pattern": "what", "why_bad": "why", "better_alternative": "instead"}
        ),
        "preferences": _PREFERENCES,
        "user_preferences": _PREFERENCES,
    }
)


def is_sqlite_file(file: Path) -> bool:
    with file.open("rb") as opened:
        return opened.read(len(SQLITE_HEADER)) == SQLITE_HEADER


def read_alma_memories(file: Path) -> list[dict[str, Any]]:
    """Return ALMA's memories as dictionaries of kind, text, fields and confidence.

    Raises Problem if the file is not an ALMA database.
    """
    try:
        with contextlib.closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as db:
            db.row_factory = sqlite3.Row
            tables = {row[0] for row in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
            alma_tables = [table for table in ALMA_TABLES if table in tables]
            if not alma_tables:
                raise _import_problem(file, "The database has none of ALMA's tables.")
            return [
                memory
                for table in alma_tables
                for row in db.execute(f"SELECT * FROM {table}")
                if (memory := _memory(ALMA_TABLES[table], row))
            ]
    except sqlite3.Error as error:
        raise _import_problem(file, f"{error}.") from error


def _memory(table: _AlmaTable, row: sqlite3.Row) -> dict[str, Any] | None:
    """Return the memory in a row; None if the row is empty."""
    text = _text(row, table.text_column) if table.text_column else ""
    values = {name: _text(row, column) for column, name in table.fields.items()}
    if not text and not any(values.values()):
        return None
    if table.kind == "outcome":
        values["status"] = "succeeded" if _value(row, "success") else "failed"
    fields = {name: value for name, value in values.items() if value and not value.startswith("[To be determined")}
    confidence = _value(row, "confidence")
    score = float(confidence) if isinstance(confidence, int | float) else 0.5
    return {"kind": table.kind, "text": text, "fields": fields, "confidence": min(1.0, max(0.0, score))}


def _text(row: sqlite3.Row, column: str) -> str:
    return str(_value(row, column) or "").strip()


def _value(row: sqlite3.Row, column: str) -> Any:
    return row[column] if column in row.keys() else None  # noqa: SIM118 - iterating a Row yields values, not names


def _import_problem(file: Path, cause: str) -> Problem:
    return Problem(f"{file.name} cannot be imported.", cause, "Choose a JSON or Markdown file, or an ALMA database.")
