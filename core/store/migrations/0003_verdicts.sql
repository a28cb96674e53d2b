-- A list of sessions shows which were good and where they came from without reading a journal.
-- `verdict` is the person's word on the last run, `checked` that of the task's own check; empty is unknown.

ALTER TABLE session ADD COLUMN verdict TEXT NOT NULL DEFAULT '';
ALTER TABLE session ADD COLUMN checked TEXT NOT NULL DEFAULT '';
ALTER TABLE session ADD COLUMN origin TEXT NOT NULL DEFAULT '';
