-- What a session asks a person about, shown beside it without reading its journal; empty before its first run.

ALTER TABLE session ADD COLUMN mode TEXT NOT NULL DEFAULT '';
