-- Facts that came in bulk are made findable afterwards, a slice at a time: here is which are not yet. One range of keys
-- a row; what lies between two ranges was indexed with its own fact.

CREATE TABLE unsearched (
    first INTEGER PRIMARY KEY,
    last INTEGER NOT NULL
);
