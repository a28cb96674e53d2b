-- A session that another one began: which, by which call, under what name, and how deep. Empty for those of a person.

ALTER TABLE session ADD COLUMN parent TEXT NOT NULL DEFAULT '';
ALTER TABLE session ADD COLUMN parent_call TEXT NOT NULL DEFAULT '';
ALTER TABLE session ADD COLUMN called TEXT NOT NULL DEFAULT '';
ALTER TABLE session ADD COLUMN depth INTEGER NOT NULL DEFAULT 0;
CREATE INDEX session_parent ON session (parent);
