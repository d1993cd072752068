-- is_finished: whether a task is over; no row if it does not exist.
-- ?1 id
SELECT status >= 4 FROM task WHERE id = ?1
