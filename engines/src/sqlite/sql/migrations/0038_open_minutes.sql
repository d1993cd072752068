-- 0038_open_minutes: what happened in a queue's open minute is stored next to its counts, on a page that each commit writes anyway.
CREATE TABLE queue_number (
    queue  INTEGER NOT NULL REFERENCES queue (key) ON DELETE CASCADE,
    what   INTEGER NOT NULL CHECK (what BETWEEN 0 AND 10), -- 0 to 9: the tasks of this status; 10: the open minute
    number INTEGER NOT NULL CHECK (number >= 0),           -- of the open minute: minutes since 1970
    sums   BLOB CHECK ((sums IS NOT NULL) = (what = 10)),  -- of the open minute: those of history_slot, 8 bytes each, the lowest first
    PRIMARY KEY (queue, what)
) STRICT, WITHOUT ROWID;

INSERT INTO queue_number (queue, what, number) SELECT queue, status, tasks FROM tally;
DROP TABLE tally;
CREATE VIEW tally AS SELECT queue, what AS status, number AS tasks FROM queue_number WHERE what < 10;
