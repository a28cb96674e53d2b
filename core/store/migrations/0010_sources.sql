-- Where a session was imported from: the program that wrote it and its name there. Empty for those of our own.

ALTER TABLE session ADD COLUMN source TEXT NOT NULL DEFAULT '';
CREATE INDEX session_source ON session (source) WHERE source <> '';
