-- The rules a person made about what an agent may do. A revoked one stays, so that the journal can still name it.

CREATE TABLE rule (
    id TEXT PRIMARY KEY NOT NULL,
    effect TEXT NOT NULL,
    tool TEXT NOT NULL,
    subject TEXT NOT NULL,
    pattern TEXT NOT NULL,
    scope TEXT NOT NULL,
    place TEXT NOT NULL,
    matches TEXT NOT NULL,
    misses TEXT NOT NULL,
    by TEXT NOT NULL,
    made INTEGER NOT NULL,
    session TEXT NOT NULL,
    revoked INTEGER NOT NULL
);
