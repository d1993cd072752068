-- 0023_deleted_ends: the deletion of a task is signalled to its successors as an end is.
--
-- A status of 10: the task was deleted, and a successor that then waits for no other is released; 11: it is deleted too.

ALTER TABLE signal_due RENAME TO signal_due_before;

CREATE TABLE signal_due (
    number      INTEGER PRIMARY KEY,
    predecessor INTEGER NOT NULL,
    id          TEXT    NOT NULL,
    before      INTEGER NOT NULL,
    status      INTEGER NOT NULL CHECK (status BETWEEN 4 AND 11)
) STRICT;

INSERT INTO signal_due (number, predecessor, id, before, status)
SELECT number, predecessor, id, before, status FROM signal_due_before;

DROP TABLE signal_due_before;
