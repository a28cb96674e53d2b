"""Memories out of the SQLite file of another program: read, never written."""

import contextlib
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from core.domain.problems import Problem

HEAD = b"SQLite format 3\0"
# table: (kind, columns and the fields they become)
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


def is_database(file: Path) -> bool:
    with file.open("rb") as opened:
        return opened.read(len(HEAD)) == HEAD


def alma(file: Path) -> list[dict[str, Any]]:
    """What ALMA has learnt, as the fields of what is said; Problem where it is the file of somebody else."""
    try:
        with contextlib.closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as db:
            db.row_factory = sqlite3.Row
            tables = {row[0] for row in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
            known = [table for table in ALMA if table in tables]
            if not known:
                raise _wrong(file, "It has none of ALMA's tables.")
            return [one for table in known for row in db.execute(f"SELECT * FROM {table}") if (one := _one(table, row))]
    except sqlite3.Error as error:
        raise _wrong(file, f"{error}.") from error


def _one(table: str, row: sqlite3.Row) -> dict[str, Any] | None:
    kind, fields = ALMA[table]
    told = {name: str(row[column] or "").strip() for column, name in fields.items() if column in row.keys()}  # noqa: SIM118 - a row yields its values
    text = told.pop("", "")
    if kind == "outcome":
        told["status"] = "succeeded" if _value(row, "success") else "failed"
    confidence = _value(row, "confidence")
    if not text and not any(told.values()):
        return None
    parts = {name: value for name, value in told.items() if value and not value.startswith("[To be determined")}
    sure = float(confidence) if isinstance(confidence, int | float) else 0.5
    return {"kind": kind, "text": text, "parts": parts, "confidence": min(1.0, max(0.0, sure))}


def _value(row: sqlite3.Row, name: str) -> Any:
    return row[name] if name in row.keys() else None  # noqa: SIM118 - a row yields its values


def _wrong(file: Path, why: str) -> Problem:
    return Problem(f"{file.name} is no memory that can be taken in.", why, "Name a JSON or Markdown file, or ALMA's.")
