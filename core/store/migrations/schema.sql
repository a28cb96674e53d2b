-- What the migrations up to core.store.migrate.SNAPSHOT_VERSION make of an empty file.


CREATE TABLE session (
    number INTEGER PRIMARY KEY AUTOINCREMENT, -- never used again, so that a key never means two things
    id TEXT NOT NULL UNIQUE,
    title TEXT NOT NULL,
    folder TEXT NOT NULL,
    model TEXT NOT NULL,
    status TEXT NOT NULL,
    activity_kind TEXT NOT NULL,
    activity TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    last_seq INTEGER NOT NULL,
    runs INTEGER NOT NULL,
    turns INTEGER NOT NULL,
    max_turns INTEGER NOT NULL,
    pending_requests INTEGER NOT NULL,
    rows INTEGER NOT NULL,
    steps INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    cost FLOAT NOT NULL
, rating TEXT NOT NULL DEFAULT '', check_rating TEXT NOT NULL DEFAULT '', forked_from TEXT NOT NULL DEFAULT '', mode TEXT NOT NULL DEFAULT '', parent TEXT NOT NULL DEFAULT '', parent_call TEXT NOT NULL DEFAULT '', subagent TEXT NOT NULL DEFAULT '', depth INTEGER NOT NULL DEFAULT 0, pinned INTEGER NOT NULL DEFAULT 0, archived INTEGER NOT NULL DEFAULT 0, trashed INTEGER NOT NULL DEFAULT 0, imported_from TEXT NOT NULL DEFAULT '');
CREATE TABLE "event" (
    id INTEGER PRIMARY KEY,
    run INTEGER NOT NULL,
    at INTEGER NOT NULL,
    kind TEXT NOT NULL,
    payload TEXT NOT NULL
);
CREATE TABLE step (
    id INTEGER PRIMARY KEY,
    number INTEGER NOT NULL,
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    status TEXT NOT NULL,
    object TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    ended_at INTEGER NOT NULL,
    run INTEGER NOT NULL,
    depth INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    cost FLOAT NOT NULL,
    metrics TEXT NOT NULL,
    first_seq INTEGER NOT NULL,
    last_seq INTEGER NOT NULL
);
CREATE TABLE blob (
    hash TEXT PRIMARY KEY NOT NULL,
    size INTEGER NOT NULL,
    body BLOB NOT NULL -- zlib
);
CREATE TABLE "pending_request" (
    id TEXT PRIMARY KEY NOT NULL,
    session INTEGER NOT NULL REFERENCES session (number) ON DELETE CASCADE,
    seq INTEGER NOT NULL
);
CREATE VIRTUAL TABLE "event_search" USING fts5 (words, content='', tokenize="unicode61 remove_diacritics 2");
CREATE TABLE rule (
    id TEXT PRIMARY KEY NOT NULL,
    effect TEXT NOT NULL,
    tool TEXT NOT NULL,
    subject TEXT NOT NULL,
    pattern TEXT NOT NULL,
    scope TEXT NOT NULL,
    scope_id TEXT NOT NULL,
    matches TEXT NOT NULL,
    misses TEXT NOT NULL,
    author TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    session TEXT NOT NULL,
    revoked_at INTEGER NOT NULL
);
CREATE INDEX session_parent ON session (parent);
CREATE TABLE skill (
    number INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    latest_version INTEGER NOT NULL,
    trusted_digest TEXT NOT NULL,
    pinned INTEGER NOT NULL,
    disabled INTEGER NOT NULL,
    archived INTEGER NOT NULL
);
CREATE TABLE skill_version (
    skill INTEGER NOT NULL REFERENCES skill (number) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    name TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    author TEXT NOT NULL,
    digest TEXT NOT NULL,
    reason TEXT NOT NULL,
    session TEXT NOT NULL,
    files TEXT NOT NULL,
    PRIMARY KEY (skill, number)
);
CREATE TABLE skill_use (
    event INTEGER PRIMARY KEY,
    key TEXT NOT NULL,
    version INTEGER NOT NULL
);
CREATE INDEX skill_use_key ON skill_use (key);
CREATE TABLE proposal (
    id TEXT PRIMARY KEY NOT NULL,
    "target_kind" TEXT NOT NULL,
    action TEXT NOT NULL,
    target TEXT NOT NULL,
    text TEXT NOT NULL,
    reason TEXT NOT NULL,
    base_version INTEGER NOT NULL,
    path TEXT NOT NULL,
    details TEXT NOT NULL,
    session TEXT NOT NULL,
    steps TEXT NOT NULL,
    untrusted_sources TEXT NOT NULL,
    author TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    state TEXT NOT NULL,
    resolved_at INTEGER NOT NULL,
    resolved_by TEXT NOT NULL,
    result TEXT NOT NULL
);
CREATE INDEX proposal_state ON proposal (state);
CREATE INDEX proposal_session ON proposal (session);
CREATE TABLE schedule (
    id TEXT PRIMARY KEY NOT NULL,
    task TEXT NOT NULL,
    folder TEXT NOT NULL,
    model TEXT NOT NULL,
    first_due INTEGER NOT NULL,
    due INTEGER NOT NULL,
    interval TEXT NOT NULL,
    on_missed TEXT NOT NULL,
    mode TEXT NOT NULL,
    script TEXT NOT NULL,
    last_session TEXT NOT NULL,
    missed_count INTEGER NOT NULL,
    error TEXT NOT NULL
, worktree INTEGER NOT NULL DEFAULT 0);
CREATE TABLE "memory_scope" (
    number INTEGER PRIMARY KEY,
    scope TEXT NOT NULL,
    scope_id TEXT NOT NULL,
    memory_count INTEGER NOT NULL, -- in the index, with how many words
    word_count INTEGER NOT NULL,
    context_word_count INTEGER NOT NULL,
    UNIQUE (scope, scope_id)
);
CREATE TABLE memory (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    text TEXT NOT NULL,
    context TEXT NOT NULL,
    fields TEXT NOT NULL,
    confidence FLOAT NOT NULL,
    author TEXT NOT NULL,
    session TEXT NOT NULL,
    seq INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    version INTEGER NOT NULL,
    evidence INTEGER NOT NULL,
    pinned INTEGER NOT NULL,
    status TEXT NOT NULL,
    conflicts TEXT NOT NULL,
    words TEXT NOT NULL, -- as they are indexed
    context_words TEXT NOT NULL,
    fingerprint TEXT NOT NULL, -- the same for sentences of the same words
    recall_count INTEGER NOT NULL,
    use_count INTEGER NOT NULL,
    good_runs INTEGER NOT NULL,
    bad_runs INTEGER NOT NULL,
    last_recalled INTEGER NOT NULL
);
CREATE INDEX memory_session ON memory (session);
CREATE TABLE memory_version (
    memory TEXT NOT NULL,
    number INTEGER NOT NULL,
    at INTEGER NOT NULL,
    action TEXT NOT NULL,
    author TEXT NOT NULL,
    content TEXT NOT NULL, -- JSON; empty where nothing it says changed
    session TEXT NOT NULL,
    seq INTEGER NOT NULL,
    reason TEXT NOT NULL,
    related_memory TEXT NOT NULL,
    undoes INTEGER NOT NULL,
    PRIMARY KEY (memory, number)
);
CREATE TABLE memory_use (
    session TEXT NOT NULL,
    run INTEGER NOT NULL,
    memory TEXT NOT NULL,
    version INTEGER NOT NULL,
    at INTEGER NOT NULL,
    score FLOAT NOT NULL,
    used INTEGER NOT NULL,
    run_rating TEXT NOT NULL, -- good, bad, or empty where nobody said
    PRIMARY KEY (session, run, memory)
);
CREATE INDEX memory_use_memory ON memory_use (memory);
CREATE TABLE "memory_embedding" (
    number INTEGER PRIMARY KEY,
    key INTEGER NOT NULL UNIQUE, -- of the memory
    model TEXT NOT NULL,
    embedding BLOB NOT NULL -- 16-bit figures
);
CREATE TABLE "search_backlog" (
    first_event INTEGER PRIMARY KEY,
    last_event INTEGER NOT NULL
);
CREATE INDEX step_open ON step (id) WHERE ended_at = 0;
CREATE INDEX session_updated_at ON session (updated_at);
CREATE INDEX session_imported_from ON session (imported_from) WHERE imported_from <> '';
CREATE INDEX memory_fingerprint ON memory (fingerprint);
CREATE INDEX memory_always_recalled ON memory (kind) WHERE kind = 'preference' OR pinned = 1;
CREATE VIRTUAL TABLE memory_search USING fts5 (words, context, content='', tokenize="unicode61 remove_diacritics 0");
CREATE TRIGGER event_is_append_only BEFORE UPDATE ON event BEGIN SELECT RAISE(ABORT, 'the event log is append-only'); END;
CREATE TABLE untrusted_file (
    id INTEGER PRIMARY KEY,
    path TEXT NOT NULL, -- absolute; with a trailing slash it stands for every file in that folder
    hash TEXT NOT NULL, -- of the contents; empty if they were not recorded
    earlier TEXT NOT NULL, -- hash of the contents before the first such write; empty for a new file
    sources TEXT NOT NULL, -- the untrusted sources, as a JSON list
    session TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    UNIQUE (path, hash)
);
CREATE INDEX untrusted_file_hash ON untrusted_file (hash) WHERE hash <> '';
