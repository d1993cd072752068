-- audit_waiting: what a waiting task waits for.
-- ?1 key
-- Returns its dependencies, those that are signalled, its edges with the signals from outside that it waits for, and how
-- many edges no end will signal: their predecessor is gone or over, and that is not still to be signalled.
SELECT coalesce((SELECT total FROM dependent WHERE task = ?1), 0),
       coalesce((SELECT signals FROM dependent WHERE task = ?1), 0),
       count(*) + (SELECT count(*) FROM external_signal WHERE task = ?1 AND state = 0),
       coalesce(sum(NOT EXISTS (SELECT 1 FROM task WHERE key = edge.predecessor AND status < 4)
                AND NOT EXISTS (SELECT 1 FROM signal_due AS due
                                WHERE due.predecessor = edge.predecessor AND edge.since < due.before)), 0)
FROM dependency AS edge
WHERE edge.successor = ?1
