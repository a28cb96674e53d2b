"""Reads memories from the SQLite database of ALMA, another memory system for agents. The file is never changed."""

import contextlib
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from core.domain.problems import Problem

HEAD = b"SQLite format 3\0"
# For each table of ALMA: the kind of its memories, and the field of that kind for each column. "" is the memory's text.
ALMA: Mapping[str, tuple[str, Mapping[str, str]]] = MappingProxyType(
    {
        "heuristics": ("heuristic", {"condition": "when", "strategy": "do"}),
        "outcomes": ("outcome", {"task_description": "task", "strategy_used": "tried", "error_message": "error"}),
        "domain_knowledge": ("knowledge", {"fact": "", "domain": "about", "source": "source"}),
        "anti_patterns": ("anti-pattern", {"pattern": "what", "why_bad": "why", "better_alternative": "instead"}),
        "preferences": ("preference", {"preference": "", "category": "about"}),
        "user_preferences": ("preference", {"preference": "", "category": "about"}),
    }
)


def is_sqlite_file(file: Path) -> bool:
    with file.open("rb") as opened:
        return opened.read(len(HEAD)) == HEAD


def read_alma_memories(file: Path) -> list[dict[str, Any]]:
    """Return ALMA's memories as dictionaries of kind, text, fields and confidence.

    Raises Problem if the file is not an ALMA database.
    """
    try:
        with contextlib.closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as db:
            db.row_factory = sqlite3.Row
            tables = {row[0] for row in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
            alma_tables = [table for table in ALMA if table in tables]
            if not alma_tables:
                raise _import_problem(file, "The database has none of ALMA's tables.")
            return [
                memory
                for table in alma_tables
                for row in db.execute(f"SELECT * FROM {table}")
                if (memory := _memory(table, row))
            ]
    except sqlite3.Error as error:
        raise _import_problem(file, f"{error}.") from error


def _memory(table: str, row: sqlite3.Row) -> dict[str, Any] | None:
    kind, fields = ALMA[table]
    values = {name: str(row[column] or "").strip() for column, name in fields.items() if column in row.keys()}  # noqa: SIM118 - iterating a Row yields values, not names
    text = values.pop("", "")
    if kind == "outcome":
        values["status"] = "succeeded" if _value(row, "success") else "failed"
    confidence = _value(row, "confidence")
    if not text and not any(values.values()):
        return None
    parts = {name: value for name, value in values.items() if value and not value.startswith("[To be determined")}
    score = float(confidence) if isinstance(confidence, int | float) else 0.5
    return {"kind": kind, "text": text, "fields": parts, "confidence": min(1.0, max(0.0, score))}


def _value(row: sqlite3.Row, name: str) -> Any:
    return row[name] if name in row.keys() else None  # noqa: SIM118 - iterating a Row yields values, not names


def _import_problem(file: Path, cause: str) -> Problem:
    return Problem(f"{file.name} cannot be imported.", cause, "Choose a JSON or Markdown file, or an ALMA database.")
