-- Files that a run wrote after reading untrusted content, until the user has looked at them.

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
