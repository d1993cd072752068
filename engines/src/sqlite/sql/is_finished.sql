-- is_finished: whether a task is over; nothing when there is none.
-- ?1 id
SELECT status >= 4 FROM task WHERE id = ?1
