-- Whether each session of a schedule works in a git worktree of its own.

ALTER TABLE schedule ADD COLUMN worktree INTEGER NOT NULL DEFAULT 0;
