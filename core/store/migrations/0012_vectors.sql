-- What memories mean, where a person has chosen a model for that. Made from `memory`; nothing is lost when it is emptied.
-- A number is never used twice: whoever has read up to one reads on from there.

CREATE TABLE memory_vector (
    number INTEGER PRIMARY KEY,
    key INTEGER NOT NULL UNIQUE, -- of the memory
    model TEXT NOT NULL,
    vector BLOB NOT NULL -- 16-bit figures
);
