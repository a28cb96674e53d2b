-- The rows that later facts may change are those without an end. To say it so is a comparison; to name their statuses
-- was a list that SQLite made anew with every row it wrote.

DROP INDEX step_open;
CREATE INDEX step_open ON step (id) WHERE ended = 0;
