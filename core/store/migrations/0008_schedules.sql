-- Sessions that begin at a time. A schedule that is removed is gone; the sessions it began say so themselves.

CREATE TABLE schedule (
    id TEXT PRIMARY KEY NOT NULL,
    task TEXT NOT NULL,
    folder TEXT NOT NULL,
    model TEXT NOT NULL,
    first INTEGER NOT NULL,
    due INTEGER NOT NULL,
    every TEXT NOT NULL,
    missed TEXT NOT NULL,
    mode TEXT NOT NULL,
    script TEXT NOT NULL,
    session TEXT NOT NULL,
    skipped INTEGER NOT NULL,
    trouble TEXT NOT NULL
);
