-- audit_counts: by status, how many tasks of a queue are tallied and how many there are. One arm per stretch of a partial
-- index: an arm that no index covers would read all tasks of the store.
-- ?1 queue
SELECT status, sum(tallied), sum(found)
FROM (
    SELECT status, tasks AS tallied, 0 AS found FROM tally WHERE queue = ?1
    UNION ALL
    SELECT 0, 0, count(*) FROM task WHERE queue = ?1 AND status = 0
    UNION ALL
    SELECT 1, 0, count(*) FROM task WHERE queue = ?1 AND status = 1
    UNION ALL
    SELECT 2, 0, count(*) FROM task WHERE queue = ?1 AND status = 2 AND gate IS NULL
    UNION ALL
    SELECT 2, 0, count(*) FROM task WHERE queue = ?1 AND status = 2 AND gate IS NOT NULL
    UNION ALL
    SELECT 3, 0, count(*) FROM task WHERE queue = ?1 AND status = 3
    UNION ALL
    SELECT status, 0, count(*) FROM task WHERE queue = ?1 AND status >= 4 GROUP BY status
)
GROUP BY status
HAVING sum(tallied) <> sum(found)
