"""The errors of runs and of their requests are found by the full-text search, in files of older versions too."""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from core.domain.events import RequestRetried, RunEnded, RunPaused
from core.domain.problems import ErrorDetails
from core.domain.text import Text
from core.store.data_folder import DATABASE_FILE
from core.store.database import Database
from core.store.journal import Journal
from core.store.migrate import migrate
from core.store.reader import Reader
from core.store.row_keys import row_key
from core.store.search import search_events, unindex_event
from core.store.search_backlog import TextsInHand, index_slice
from tests.core.store.made import GOLDEN, write
from tests.sessions import create_session

ENDED = RunEnded("failed", "It ended.", ErrorDetails("It ended.", "The mainmast broke."), Text("Sails were set."))
PAUSED = RunPaused(error=ErrorDetails("The request failed.", "The foremast broke."))
RETRIED = RequestRetried(ErrorDetails("The request failed.", "The mizzen broke."), 1)


def test_the_cause_of_an_error_is_found(tmp_path: Path) -> None:
    path = tmp_path / DATABASE_FILE

    async def work(journal: Journal) -> None:
        name = await create_session(journal, "/tmp", "t")
        for event in (PAUSED, RETRIED, ENDED):
            await journal.append(name, event)

    write(path, work)
    reader = Reader(path)
    try:
        for word, kind in (("foremast", "run_paused"), ("mizzen", "request_retried"), ("mainmast", "run_ended")):
            (hit,) = reader.search(word)
            assert hit.kind == kind and word in hit.text
    finally:
        reader.close()


def test_errors_of_an_older_file_are_indexed_once(tmp_path: Path) -> None:
    path = tmp_path / DATABASE_FILE
    shutil.copy(GOLDEN / "databases" / "v0018.db", path)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        session = db.execute("SELECT min(number) FROM session").fetchone()[0]
        ended, paused = row_key(session, 9001), row_key(session, 9002)
        error = {"message": "It ended.", "cause": "The mainmast broke."}
        payloads = {
            ended: (
                "run_ended",
                {"status": "failed", "reason": "It ended.", "error": error, "summary": {"head": "Sails"}},
            ),
            paused: ("run_paused", {"error": error}),
        }
        for key, (kind, payload) in payloads.items():
            db.execute("INSERT INTO event VALUES (?, 1, 0, ?, ?)", (key, kind, json.dumps(payload)))
        db.execute("INSERT INTO event_search (rowid, words) VALUES (?, ?)", (ended, "It ended.\nSails"))
        migrate(db)
        while index_slice(db, TextsInHand()):
            pass
        assert [hit.kind for hit in search_events(db, "mainmast")] == ["run_paused", "run_ended"]
        stored = RunEnded("failed", "It ended.", ErrorDetails(**error), Text("Sails"))
        unindex_event(db, ended, stored)
        assert not search_events(db, "sails") and len(search_events(db, "mainmast")) == 1
    Database(path).close()
