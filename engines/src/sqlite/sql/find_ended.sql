-- find_ended: what must be known of a task before it is sent again.
-- ?1 id
-- Returns key, queue, status, revision.
SELECT key, queue, status, revision FROM task WHERE id = ?1
