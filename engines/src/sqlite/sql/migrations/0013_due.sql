-- 0013_due: which queues a chore has something to do in, and from when on.
--
-- A queue without a row, or with a later time, needs no look. The time is a lower bound: a task that is due earlier lowers
-- it in the transaction that makes it so, and a look that finds nothing due raises it. So a chore costs by the queues
-- that have something to do and not by how many there are.

CREATE TABLE due (
    chore INTEGER NOT NULL, -- 0 promote scheduled tasks, 1 take expired leases back, 2 prune finished tasks
    queue INTEGER NOT NULL REFERENCES queue (key) ON DELETE CASCADE,
    at    INTEGER NOT NULL,
    PRIMARY KEY (chore, queue)
) STRICT, WITHOUT ROWID;
CREATE INDEX due_at ON due (chore, at, queue);

-- Of the tasks that are there nobody has noted the times.
INSERT INTO due (chore, queue, at)
SELECT DISTINCT CASE status WHEN 1 THEN 0 WHEN 3 THEN 1 ELSE 2 END, queue, 0
FROM tally
WHERE tasks > 0 AND status NOT IN (0, 2) AND queue IN (SELECT key FROM queue);
