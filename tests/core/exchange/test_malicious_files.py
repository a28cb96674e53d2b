"""Malicious and malformed files: an import ends with a Problem or with a session that can be read and exported."""

import asyncio
import copy
import json
import os
import random
import shutil
import sqlite3
import zipfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from core.domain.problems import Problem
from tests.core.exchange.home import Home, home
from tests.core.exchange.test_importers import SAMPLES, Holds

TURNS = 10
DEEP = "[" * 100_000 + "]" * 100_000
STRANGE: tuple[Any, ...] = (
    None, True, -1, 10**40, 1e308, float("inf"), float("nan"), "", "\ud800", "x" * 9000, [], {}, [[]], {"a": {"b": []}},
    [None, 7, {"type": "text"}], {"type": 7, "text": None},
)  # fmt: skip


def places(plain: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every list and object with each of its indexes or keys."""
    found = plain.items() if isinstance(plain, dict) else enumerate(plain) if isinstance(plain, list) else ()
    for name, inner in list(found):
        yield plain, name
        yield from places(inner)


def spoiled(text: str, chance: random.Random) -> str:
    """Return the JSON with one to three of its values replaced."""
    plain = json.loads(text)
    for _ in range(chance.randint(1, 3)):
        if all_places := list(places(plain)):
            holder, name = chance.choice(all_places)
            holder[name] = copy.deepcopy(chance.choice(STRANGE))
    return json.dumps(plain)


def spoil(path: Path, chance: random.Random) -> None:
    if path.suffix == ".jsonl":
        lines = path.read_text("utf-8").splitlines()
        lines[chance.randrange(len(lines))] = spoiled(chance.choice(lines), chance)
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    elif path.suffix in (".eval", ".db", ".md"):
        body = bytearray(path.read_bytes())
        body[chance.randrange(len(body))] ^= 1 << chance.randrange(8)
        path.write_bytes(bytes(body))
    else:
        path.write_text(spoiled(path.read_text("utf-8"), chance), encoding="utf-8")


async def brought(made: Home, path: Path) -> None:
    """Import a file. It must give a Problem with a cause, or sessions that can be read and exported."""
    try:
        done = await made.exchange.import_file(path)
    except Problem as problem:
        assert problem.details.message and problem.details.cause
        return
    for name in done.sessions:
        assert await made.events(name)
        assert await made.export_text(name, "html")


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: f"{sample.agent} {sample.path.name[-12:]}")
def test_fields_of_wrong_types(sample: Holds, tmp_path: Path) -> None:
    async def main() -> None:
        async with home(tmp_path / "a.db") as made:
            for turn in range(TURNS):
                chance = random.Random(f"{sample.path.name} {turn}")
                place = tmp_path / str(turn) / sample.path.name
                if sample.path.is_dir():
                    shutil.copytree(sample.path, place)
                    spoil(chance.choice(sorted(place.rglob("*.json"))), chance)
                else:
                    place.parent.mkdir()
                    spoil(Path(shutil.copy(sample.path, place)), chance)
                await brought(made, place)
            await made.exchange.index_backlog()

    asyncio.run(main())


def hostile(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield files with the expected error, empty for those that can be imported at least in part."""
    claude = '{"type":"user","sessionId":"s","parentUuid":null,"message":{"role":"user","content":"hi"}}\n'
    yield _file(folder / "deep.jsonl", claude + DEEP + "\n"), ""
    yield _file(folder / "bytes.jsonl", claude.encode() + b'{"type":"user","x":"\xff\xfe\xc0\n\x00\x00\n'), ""
    yield _file(folder / "long.jsonl", claude + '{"type":"user","x":"' + "y" * (20 << 20) + '"}\n'), ""
    yield _file(folder / "deep.json", '{"schema_version":"ATIF-v1.8","steps":' + DEEP + "}"), "nested too deeply"
    yield _file(folder / "bytes.json", b'{"schema_version":"ATIF-v1.8","steps":"\xff"}'), "expected JSON"
    yield _file(folder / "other.json", '{"schema_version":"ATIF-v1.8","steps":7}'), ""
    yield _zip(folder / "bomb.eval", "samples/1.json", b" " * (300 << 20)), "up to 256 MB"
    conversation = b'[{"mapping": {}, "create_time": 1, "x": "' + b" " * (300 << 20)
    yield _zip(folder / "bomb.zip", "conversations.json", conversation), "has more than 256 MB"
    yield _zip(folder / "deep.zip", "conversations.json", b'[{"mapping": 1, "create_time": ' + DEEP.encode()), "damaged"
    yield _beside_a_pipe(folder / "droid.jsonl"), ""
    yield _zip(folder / "deep.eval", "samples/1.json", DEEP.encode()), "nested too deeply"
    yield _zip(folder / "list.eval", "header.json", b"[]"), "contains no records of Inspect"
    yield _database(folder / "opencode.db"), "not match the transcript format of OpenCode"


def _file(path: Path, body: str | bytes) -> Path:
    path.write_bytes(body if isinstance(body, bytes) else body.encode())
    return path


def _zip(path: Path, name: str, body: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(name, body)
    return path


def _beside_a_pipe(path: Path) -> Path:
    """Write a session of Droid whose settings are a pipe, which could not be read to an end."""
    start = {"type": "session_start", "id": "d", "cwd": "/"}
    message = {"type": "message", "message": {"role": "user", "content": "hi"}}
    if hasattr(os, "mkfifo"):
        os.mkfifo(path.with_suffix(".settings.json"))
    return _file(path, f"{json.dumps(start)}\n{json.dumps(message)}\n")


def _database(path: Path) -> Path:
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE session (id, parent_id, directory, title, time_created)")
        db.execute("CREATE TABLE message (id, session_id, time_created, data)")
        db.execute("CREATE TABLE part (id, message_id, data)")
        db.execute("CREATE TABLE project (id)")
        db.execute("INSERT INTO session VALUES ('s', NULL, '/', 't', 1)")
        db.execute("INSERT INTO message VALUES ('m', 's', 1, ?)", (DEEP,))
        db.commit()
    return path


def test_malicious_files_end_with_an_error(tmp_path: Path) -> None:
    async def main() -> None:
        async with home(tmp_path / "a.db") as made:
            for path, words in hostile(tmp_path):
                if words:
                    with pytest.raises(Problem, match=words):
                        await made.exchange.import_file(path)
                else:
                    await brought(made, path)

    asyncio.run(main())
