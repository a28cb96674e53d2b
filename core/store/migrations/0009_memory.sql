-- What is remembered beyond one session. Only `memory_version` and `memory_use` hold what happened; `memory` and its
-- index are made from them. A memory is keyed `memory_place.number << 32 | n`: one range of the index for each folder,
-- agent or session, so that a search in one of them never reads what belongs to another.

CREATE TABLE memory_place (
    number INTEGER PRIMARY KEY,
    reach TEXT NOT NULL,
    place TEXT NOT NULL,
    memories INTEGER NOT NULL, -- in the index, with how many words
    words INTEGER NOT NULL,
    around INTEGER NOT NULL,
    UNIQUE (reach, place)
);
CREATE TABLE memory (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    text TEXT NOT NULL,
    around TEXT NOT NULL,
    parts TEXT NOT NULL,
    confidence FLOAT NOT NULL,
    author TEXT NOT NULL,
    session TEXT NOT NULL,
    seq INTEGER NOT NULL,
    made INTEGER NOT NULL,
    changed INTEGER NOT NULL,
    version INTEGER NOT NULL,
    evidence INTEGER NOT NULL,
    pinned INTEGER NOT NULL,
    standing TEXT NOT NULL,
    links TEXT NOT NULL,
    words TEXT NOT NULL, -- as they are indexed
    around_words TEXT NOT NULL,
    print TEXT NOT NULL, -- the same for sentences of the same words
    recalled INTEGER NOT NULL,
    used INTEGER NOT NULL,
    good INTEGER NOT NULL,
    bad INTEGER NOT NULL,
    last INTEGER NOT NULL
);
CREATE INDEX memory_print ON memory (print);
CREATE INDEX memory_session ON memory (session);
CREATE INDEX memory_must ON memory (kind) WHERE kind = 'preference' OR pinned = 1;
CREATE TABLE memory_version (
    memory TEXT NOT NULL,
    number INTEGER NOT NULL,
    at INTEGER NOT NULL,
    did TEXT NOT NULL,
    by TEXT NOT NULL,
    said TEXT NOT NULL, -- JSON; empty where nothing it says changed
    session TEXT NOT NULL,
    seq INTEGER NOT NULL,
    why TEXT NOT NULL,
    other TEXT NOT NULL,
    back INTEGER NOT NULL,
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
    went TEXT NOT NULL, -- good, bad, or empty where nobody said
    PRIMARY KEY (session, run, memory)
);
CREATE INDEX memory_use_memory ON memory_use (memory);
CREATE VIRTUAL TABLE search_memory USING fts5 (words, around, content='', tokenize="unicode61 remove_diacritics 0");
