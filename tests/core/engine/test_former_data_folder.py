"""A data folder from before the first release opens with everything in it, and its interrupted run resumes."""

import dataclasses
import gzip
import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from core.domain.events import EVENT_CLASSES, RequestSent, RunResumed
from core.store.codec import decode_event
from core.store.data_folder import DATABASE_FILE
from core.store.migrate import migrate
from core.store.rebuild import rebuild
from tests.core.engine.harness import open_engine, run_bounded
from tests.core.store.made import GOLDEN

FOLDER = GOLDEN / "data-folder"
EXPECTED = json.loads((FOLDER / "e6bb2f3.json").read_text("utf-8"))


@pytest.fixture
def former(tmp_path: Path) -> Path:
    with gzip.open(FOLDER / "e6bb2f3.db.gz") as packed, (tmp_path / DATABASE_FILE).open("wb") as file:
        shutil.copyfileobj(packed, file)
    return tmp_path


@pytest.fixture
def migrated(former: Path) -> Path:
    """A migrated data file that no engine has opened, because an engine also marks active runs as interrupted."""
    with closing(sqlite3.connect(former / DATABASE_FILE, isolation_level=None)) as db:
        migrate(db)
    return former / DATABASE_FILE


def rows(path: Path, query: str) -> list[list[Any]]:
    with closing(sqlite3.connect(path)) as db:
        return [list(row) for row in db.execute(query)]


def unknown_names(payload: Any, value: Any) -> list[str]:
    """Return the names in stored JSON that no field of the decoded value has, at any depth."""
    if isinstance(payload, list):
        return [name for part, inner in zip(payload, value, strict=True) for name in unknown_names(part, inner)]
    if not isinstance(payload, dict) or not dataclasses.is_dataclass(value):
        return []
    fields = {field.name for field in dataclasses.fields(value)}
    deeper = (unknown_names(part, getattr(value, name)) for name, part in payload.items() if name in fields)
    return [name for name in payload if name not in fields] + [name for names in deeper for name in names]


def test_every_session_and_step_is_there(migrated: Path) -> None:
    listed = "SELECT id, title, status, runs, turns, tokens, last_seq, rows, pending_requests FROM session"
    assert rows(migrated, f"{listed} ORDER BY number") == EXPECTED["sessions"]
    steps = (
        "SELECT s.id, t.number, t.status, t.object, t.started_at, t.ended_at, t.tokens"
        " FROM step t JOIN session s ON s.number = t.id >> 32 ORDER BY t.id"
    )
    assert rows(migrated, steps) == EXPECTED["steps"]
    assert [name for (name,) in rows(migrated, "SELECT id FROM pending_request ORDER BY 1")] == EXPECTED["pending"]


def test_no_event_keeps_a_former_name(migrated: Path) -> None:
    found = rows(migrated, "SELECT kind, payload FROM event ORDER BY id")
    assert len(found) == sum(EXPECTED["events"].values())
    assert {kind for kind, _ in found} <= set(EVENT_CLASSES)
    for kind, payload in found:
        assert unknown_names(json.loads(payload), decode_event(kind, payload)) == [], (kind, payload)


def test_a_former_name_is_detected() -> None:
    payload = {"question": {"id": "q", "text": "?", "why": "Because."}, "call_id": "c"}
    event = decode_event("question_asked", json.dumps(payload))
    assert unknown_names(payload, event) == ["why"] and "question" in get_type_hints(type(event))


def test_the_derived_tables_equal_a_rebuild(migrated: Path) -> None:
    tables = ("SELECT * FROM session", "SELECT * FROM step ORDER BY id", "SELECT * FROM pending_request ORDER BY id")
    before = [rows(migrated, table) for table in tables]
    with closing(sqlite3.connect(migrated, isolation_level=None)) as db:
        db.execute("BEGIN")
        rebuild(db)
        db.execute("COMMIT")
    assert [rows(migrated, table) for table in tables] == before


def test_memories_skills_proposals_rules_and_schedules_are_there(migrated: Path) -> None:
    memories = "SELECT id, kind, text, status, confidence, recall_count, use_count FROM memory ORDER BY id"
    assert rows(migrated, memories) == EXPECTED["memories"]
    assert rows(migrated, "SELECT count(*) FROM memory_version") == [[EXPECTED["memory_changes"]]]
    skills = "SELECT key, latest_version, pinned, disabled FROM skill ORDER BY key"
    assert rows(migrated, skills) == EXPECTED["skills"]
    versions = "SELECT digest, reason FROM skill_version ORDER BY skill, number"
    assert rows(migrated, versions) == EXPECTED["skill_versions"]
    proposals = "SELECT id, target, text, reason FROM proposal ORDER BY id"
    assert rows(migrated, proposals) == EXPECTED["proposals"]
    rules = "SELECT id, effect, tool, pattern, scope, scope_id FROM rule ORDER BY id"
    assert rows(migrated, rules) == EXPECTED["rules"]
    schedules = "SELECT id, task, first_due, interval, on_missed FROM schedule"
    assert rows(migrated, schedules) == EXPECTED["schedules"]


def test_memories_are_found_and_the_interrupted_run_resumes(former: Path) -> None:
    with closing(sqlite3.connect(former / DATABASE_FILE)) as db, db:
        (former / "work").mkdir()
        db.execute("UPDATE session SET folder = ?", (str(former / "work"),))

    async def main() -> None:
        async with open_engine(former) as scene:
            (session,) = EXPECTED["interrupted"]
            found = await scene.engine.memory.find("letters")
            assert found
            await scene.engine.resume(session, "skip")
            await scene.until(RunResumed)
            await scene.until(RequestSent)
            await scene.engine.stop(session)  # its script waits for 90 s, so that it could be killed
            await scene.engine.wait_idle(session)
            assert scene.bugs == []

    run_bounded(main())
