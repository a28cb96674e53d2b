-- The journal and what is folded from it. Only `entry` and `blob` hold facts; every other table can be made again.
-- Rows that belong to a session are keyed `session.number << 32 | place`: one tree in reading order, and the same
-- number serves the full-text index.

CREATE TABLE session (
    number INTEGER PRIMARY KEY AUTOINCREMENT, -- never used again, so that a key never means two things
    id TEXT NOT NULL UNIQUE,
    title TEXT NOT NULL,
    folder TEXT NOT NULL,
    model TEXT NOT NULL,
    status TEXT NOT NULL,
    doing_kind TEXT NOT NULL,
    doing TEXT NOT NULL,
    opened INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    runs INTEGER NOT NULL,
    rounds INTEGER NOT NULL,
    max_rounds INTEGER NOT NULL,
    waiting INTEGER NOT NULL,
    rows INTEGER NOT NULL,
    steps INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    cost FLOAT NOT NULL
);
CREATE INDEX session_updated ON session (updated);

CREATE TABLE entry (
    id INTEGER PRIMARY KEY,
    run INTEGER NOT NULL,
    at INTEGER NOT NULL,
    kind TEXT NOT NULL,
    payload TEXT NOT NULL
);
CREATE TRIGGER entry_is_append_only BEFORE UPDATE ON entry
BEGIN
    SELECT RAISE(ABORT, 'the journal is append-only');
END;

CREATE TABLE step (
    id INTEGER PRIMARY KEY,
    number INTEGER NOT NULL,
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    status TEXT NOT NULL,
    object TEXT NOT NULL,
    began INTEGER NOT NULL,
    ended INTEGER NOT NULL,
    run INTEGER NOT NULL,
    depth INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    cost FLOAT NOT NULL,
    marks TEXT NOT NULL,
    first INTEGER NOT NULL,
    last INTEGER NOT NULL
);
CREATE INDEX step_open ON step (id) WHERE status IN ('running', 'waiting', 'unknown', 'interrupted', 'paused');

CREATE TABLE blob (
    hash TEXT PRIMARY KEY NOT NULL,
    size INTEGER NOT NULL,
    body BLOB NOT NULL -- zlib
);

CREATE TABLE question (
    id TEXT PRIMARY KEY NOT NULL,
    session INTEGER NOT NULL REFERENCES session (number) ON DELETE CASCADE,
    seq INTEGER NOT NULL
);

CREATE VIRTUAL TABLE search USING fts5 (words, content='', tokenize="unicode61 remove_diacritics 2");
