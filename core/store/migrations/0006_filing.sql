-- Where a person keeps a session: when it was pinned, archived or moved to the trash; 0 is not.

ALTER TABLE session ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0;
ALTER TABLE session ADD COLUMN archived INTEGER NOT NULL DEFAULT 0;
ALTER TABLE session ADD COLUMN trashed INTEGER NOT NULL DEFAULT 0;
