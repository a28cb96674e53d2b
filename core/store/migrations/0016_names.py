"""Renames tables, columns, event kinds, payload fields and values that were stored before the first release."""

import sqlite3

from core.store.former_names import rename_events, rename_values

TABLES = {
    "entry": "event",
    "unsearched": "search_backlog",
    "question": "pending_request",
    "memory_place": "memory_scope",
    "memory_vector": "memory_embedding",
    "search": "event_search",
}
COLUMNS: dict[str, dict[str, str]] = {
    "session": {
        "opened": "created_at",
        "updated": "updated_at",
        "doing_kind": "activity_kind",
        "doing": "activity",
        "seq": "last_seq",
        "rounds": "turns",
        "max_rounds": "max_turns",
        "waiting": "pending_requests",
        "verdict": "rating",
        "checked": "check_rating",
        "origin": "forked_from",
        "called": "subagent",
        "source": "imported_from",
    },
    "step": {"began": "started_at", "ended": "ended_at", "marks": "metrics", "first": "first_seq", "last": "last_seq"},
    "search_backlog": {"first": "first_event", "last": "last_event"},
    "rule": {"place": "scope_id", "by": "author", "made": "created_at", "revoked": "revoked_at"},
    "schedule": {
        "first": "first_due",
        "every": "interval",
        "missed": "on_missed",
        "session": "last_session",
        "skipped": "missed_count",
        "trouble": "error",
    },
    "skill": {"head": "latest_version", "trusted": "trusted_digest"},
    "skill_version": {"made": "created_at", "by": "author", "why": "reason"},
    "skill_use": {"entry": "event"},
    "proposal": {
        "of": "target_kind",
        "what": "action",
        "about": "details",
        "base": "base_version",
        "taint": "untrusted_sources",
        "by": "author",
        "made": "created_at",
        "settled": "resolved_at",
        "settled_by": "resolved_by",
    },
    "memory_scope": {
        "reach": "scope",
        "place": "scope_id",
        "memories": "memory_count",
        "words": "word_count",
        "around": "context_word_count",
    },
    "memory": {
        "around": "context",
        "parts": "fields",
        "made": "created_at",
        "changed": "updated_at",
        "standing": "status",
        "links": "conflicts",
        "around_words": "context_words",
        "print": "fingerprint",
        "recalled": "recall_count",
        "used": "use_count",
        "good": "good_runs",
        "bad": "bad_runs",
        "last": "last_recalled",
    },
    "memory_embedding": {"vector": "embedding"},
    "memory_version": {
        "did": "action",
        "by": "author",
        "said": "content",
        "why": "reason",
        "other": "related_memory",
        "back": "undoes",
    },
    "memory_use": {"went": "run_rating"},
}


def run(db: sqlite3.Connection) -> None:
    """Rename everything within the caller's transaction."""
    db.execute("DROP TRIGGER entry_is_append_only")
    for old, new in TABLES.items():
        db.execute(f"ALTER TABLE {old} RENAME TO {new}")
    for table, columns in COLUMNS.items():
        for old, new in columns.items():
            db.execute(f'ALTER TABLE {table} RENAME COLUMN "{old}" TO {new}')
    _rename_indexes(db)
    _rebuild_memory_search(db)
    rename_values(db)
    rename_events(db)
    db.execute(
        "CREATE TRIGGER event_is_append_only BEFORE UPDATE ON event"
        " BEGIN SELECT RAISE(ABORT, 'the event log is append-only'); END"
    )


def _rename_indexes(db: sqlite3.Connection) -> None:
    for old, definition in {
        "session_updated": "session_updated_at ON session (updated_at)",
        "session_source": "session_imported_from ON session (imported_from) WHERE imported_from <> ''",
        "memory_print": "memory_fingerprint ON memory (fingerprint)",
        "memory_must": "memory_always_recalled ON memory (kind) WHERE kind = 'preference' OR pinned = 1",
    }.items():
        db.execute(f"DROP INDEX {old}")
        db.execute(f"CREATE INDEX {definition}")


def _rebuild_memory_search(db: sqlite3.Connection) -> None:
    """Create and fill the search index again, because the columns of a virtual table cannot be renamed."""
    db.execute("DROP TABLE search_memory")
    db.execute(
        "CREATE VIRTUAL TABLE memory_search USING fts5"
        """ (words, context, content='', tokenize="unicode61 remove_diacritics 0")"""
    )
    db.execute(
        "INSERT INTO memory_search (rowid, words, context)"
        " SELECT key, words, context_words FROM memory WHERE status = 'active'"
    )
