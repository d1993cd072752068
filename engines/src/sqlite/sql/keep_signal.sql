-- keep_signal: keeps a signal for a task that does not exist yet, if it is kept already or there is room.
-- ?1 task's id  ?2 name  ?3 until  ?4 how many are kept at most
-- Returns until when it is kept.
INSERT INTO kept_signal (task, name, until)
SELECT ?1, ?2, ?3
WHERE (SELECT count(*) FROM kept_signal) < ?4 OR EXISTS (SELECT 1 FROM kept_signal WHERE task = ?1 AND name = ?2)
ON CONFLICT (task, name) DO UPDATE SET until = max(until, excluded.until)
RETURNING until
