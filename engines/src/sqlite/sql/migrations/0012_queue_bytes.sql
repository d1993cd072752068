-- 0012_queue_bytes: the bytes that wait in queues which limit them.

-- What each task that waits in such a queue counts there. Others have no row, nor have those of a queue whose limit was
-- set while it held tasks, until they are come to.
CREATE TABLE weight (
    task  INTEGER PRIMARY KEY REFERENCES task (key) ON DELETE CASCADE,
    queue INTEGER NOT NULL,
    bytes INTEGER NOT NULL
) STRICT;

ALTER TABLE queue ADD COLUMN waiting_bytes INTEGER NOT NULL DEFAULT 0; -- the sum of its tasks' weights
ALTER TABLE queue ADD COLUMN weighed INTEGER;      -- the key up to which tasks were come to; NULL when all were
ALTER TABLE queue ADD COLUMN weigh_until INTEGER;  -- the key of the last task that may lack its weight
