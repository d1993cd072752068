-- take_kept_signal: forgets a signal that was kept for a task.
-- ?1 task's id  ?2 name
-- Returns until when it was kept.
DELETE FROM kept_signal WHERE task = ?1 AND name = ?2 RETURNING until
