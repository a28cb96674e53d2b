"""Compatibility: golden examples of each kind of event, and of a data file with each schema version, stay readable."""

import dataclasses
import json
import shutil
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from core.domain.events import EVENT_CLASSES
from core.domain.steps import Step
from core.memory.index_terms import index_terms
from core.memory.memories import Memories
from core.store.codec import decode_event, encode_event
from core.store.data_folder import DATABASE_FILE, open_data_folder
from core.store.journal import Journal
from core.store.memory_store import MemoryStore
from core.store.migrate import list_migrations
from core.store.proposal_store import ProposalStore
from core.store.reader import Reader
from core.store.rule_store import RuleStore
from core.store.schedule_store import ScheduleStore
from core.store.skill_store import SkillStore
from tests.core.store.made import GOLDEN, examples

FORMS = sorted((GOLDEN / "databases").glob("v*.db"))


def test_every_kind_has_examples_and_no_example_is_of_a_removed_kind() -> None:
    assert sorted(file.stem for file in (GOLDEN / "events").glob("*.json")) == sorted(EVENT_CLASSES)


@pytest.mark.parametrize("kind", sorted(EVENT_CLASSES))
def test_an_example_is_read_and_written_unchanged(kind: str) -> None:
    for example in examples(kind):
        event = decode_event(kind, json.dumps(example["payload"]))
        assert type(event) is EVENT_CLASSES[kind]
        assert _holds(json.loads(json.dumps(dataclasses.asdict(event))), example["fields"])
        packed = encode_event(event)
        assert (packed.kind, json.loads(packed.payload)) == (kind, example["payload"])


@pytest.mark.parametrize("kind", sorted(EVENT_CLASSES))
def test_examples_of_a_kind_cover_all_its_fields(kind: str) -> None:
    used = {name for example in examples(kind) for name in example["payload"]}
    assert used == {field.name for field in dataclasses.fields(EVENT_CLASSES[kind])}


def test_every_schema_version_has_a_file() -> None:
    forms = [number for number, _ in list_migrations()]
    whole = [
        number for place, number in enumerate(forms, 1) if place == number
    ]  # A number ahead of the sequence does not count.
    assert [int(file.stem[1:]) for file in FORMS] == whole


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.stem)
def test_a_file_of_an_older_schema_opens_and_shows_the_same(form: Path, tmp_path: Path) -> None:
    shutil.copy(form, tmp_path / DATABASE_FILE)
    opened = open_data_folder(tmp_path)
    assert opened.database is not None and opened.warnings == ()
    reader = Reader(opened.path)
    try:
        kept = {"rules": _rules(opened.path), "schedules": _schedules(opened.path)} | _remembered(opened.path)
        kept["untrusted_files"] = _plainly(map(dataclasses.asdict, reader.untrusted_files("/home/me/work")))
        shown = show(reader) | kept | _learned(opened.path, reader)
        assert all(len(reader.find_blob(name) or b"") == size for name, size in _contents(opened.path))
    finally:
        reader.close()
        opened.database.close()
    assert _holds(shown, json.loads(form.with_suffix(".json").read_text("utf-8")))


def show(reader: Reader) -> dict[str, Any]:
    """Return everything of a file that the user can see."""
    sessions = reader.sessions()
    shown = {
        "sessions": [row._asdict() for row in sessions],
        "steps": [[_plain(step) for step in reader.steps(row.id, 0, row.rows)] for row in sessions],
        "entries": [[list(line) for line in reader.raw_events(row.id)] for row in sessions],
        "found": [dataclasses.asdict(hit) for hit in reader.search("folder")],
        "questions": [[asked.session, dataclasses.asdict(asked.question)] for asked in reader.questions()],
    }
    plain: dict[str, Any] = json.loads(json.dumps(shown))
    return plain


def _contents(path: Path) -> list[tuple[str, int]]:
    with closing(sqlite3.connect(path)) as db:
        return db.execute("SELECT hash, size FROM blob").fetchall()


def _rules(path: Path) -> Any:
    rules = RuleStore(path, None).read().rules
    assert rules is not None
    return json.loads(json.dumps([dataclasses.asdict(rule) for rule in rules]))


def _schedules(path: Path) -> Any:
    return json.loads(json.dumps([dataclasses.asdict(each) for each in ScheduleStore(path, None).read()]))


def _plainly(rows: Iterable[dict[str, Any]]) -> Any:
    return json.loads(json.dumps(list(rows)))


def _learned(path: Path, reader: Reader) -> dict[str, Any]:
    """Return the skills with their versions, and the proposals."""
    store = SkillStore(path, None)
    versions = [dataclasses.asdict(version) for key in store.records() for version in store.versions(key)]
    proposals = [
        dataclasses.asdict(one) | {"result": str(one.result or "")}
        for one in ProposalStore(path, None, Journal(None, reader)).find()
    ]
    skills = {key: known._asdict() for key, known in store.records().items()}
    plain: dict[str, Any] = json.loads(json.dumps({"skills": skills, "versions": versions, "proposals": proposals}))
    return plain


def _remembered(path: Path) -> dict[str, Any]:
    book = MemoryStore(path, None, index_terms)
    memories = Memories(book)
    try:
        known = memories.listed(status=None)
        told = {one.id: [dataclasses.asdict(change) for change in memories.changes(one.id)] for one in known}
        found = [one.memory.id for one in memories.find("ports of the server")]
        shown = {"memories": [dataclasses.asdict(one) for one in known], "changes": told, "remembered": found}
    finally:
        book.close()
    plain: dict[str, Any] = json.loads(json.dumps(shown))
    return plain


def _plain(step: Step) -> dict[str, Any]:
    return step._asdict() | {"metrics": dict(step.metrics)}


def _holds(found: Any, kept: Any) -> bool:
    """Return whether the value still contains everything stored. Newer versions may have more fields."""
    if isinstance(kept, dict):
        return isinstance(found, dict) and all(name in found and _holds(found[name], kept[name]) for name in kept)
    if isinstance(kept, list):
        return isinstance(found, list) and len(found) == len(kept) and all(map(_holds, found, kept))
    return bool(found == kept)
