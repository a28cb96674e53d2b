-- Skills with every version there was, the calls that used them, and what agents want to be kept.

CREATE TABLE skill (
    number INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    head INTEGER NOT NULL,
    trusted TEXT NOT NULL,
    pinned INTEGER NOT NULL,
    disabled INTEGER NOT NULL,
    archived INTEGER NOT NULL
);
CREATE TABLE skill_version (
    skill INTEGER NOT NULL REFERENCES skill (number) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    name TEXT NOT NULL,
    made INTEGER NOT NULL,
    by TEXT NOT NULL,
    digest TEXT NOT NULL,
    why TEXT NOT NULL,
    session TEXT NOT NULL,
    files TEXT NOT NULL,
    PRIMARY KEY (skill, number)
);
CREATE TABLE skill_use (
    entry INTEGER PRIMARY KEY,
    key TEXT NOT NULL,
    version INTEGER NOT NULL
);
CREATE INDEX skill_use_key ON skill_use (key);
CREATE TABLE proposal (
    id TEXT PRIMARY KEY NOT NULL,
    "of" TEXT NOT NULL,
    what TEXT NOT NULL,
    target TEXT NOT NULL,
    text TEXT NOT NULL,
    reason TEXT NOT NULL,
    base INTEGER NOT NULL,
    path TEXT NOT NULL,
    about TEXT NOT NULL,
    session TEXT NOT NULL,
    steps TEXT NOT NULL,
    taint TEXT NOT NULL,
    by TEXT NOT NULL,
    made INTEGER NOT NULL,
    state TEXT NOT NULL,
    settled INTEGER NOT NULL,
    settled_by TEXT NOT NULL,
    result TEXT NOT NULL
);
CREATE INDEX proposal_state ON proposal (state);
CREATE INDEX proposal_session ON proposal (session);
